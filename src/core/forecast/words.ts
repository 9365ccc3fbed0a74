import { countText } from '../values/number.js'
import type { Forecast, ForecastBand } from './forecast.js'

type Facts = Omit<Forecast, 'summary'>

/** The forecast in sentences. `time` formats a time. */
export function forecastWords(forecast: Facts, time: (at: string) => string): string[] {
  const { jobs, dying, held, first, last, instead } = forecast
  if (jobs.value === 0) return ['No job waits for a retry.']
  return [
    ...(first && last ? [`If nothing improves, ${deathWords(dying, first, last, time)}.`] : []),
    ...(held > 0 ? [heldWords(held, jobs.value - dying)] : []),
    ...(instead ? [`With the policy ${instead.policy}, ${insteadWords(dying, instead, time)}.`] : []),
    ...(jobs.relation === 'exact' ? [] : ['There are too many jobs to read them all: those that are due first count.']),
  ]
}

function deathWords(dying: number, first: ForecastBand, last: ForecastBand, time: (at: string) => string): string {
  if (dying === 1) return `one job dies ${bandWords(first, time)}`
  const many = countText(dying)
  if (bandWords(first, time) === bandWords(last, time)) return `all ${many} jobs die ${bandWords(first, time)}`
  return `the first job dies ${bandWords(first, time)}, and the last of ${many} ${bandWords(last, time)}`
}

function insteadWords(
  dying: number,
  { first, last }: NonNullable<Facts['instead']>,
  time: (at: string) => string,
): string {
  if (dying === 1) return `it would last until ${time(last!.latest)}`
  const [soonest, latest] = [bandWords(first!, time), bandWords(last!, time)]
  return soonest === latest ? `all would die ${soonest}` : `the first would die ${soonest}, and the last ${latest}`
}

/** `at 03:12`, or with jitter `between 03:05 and 03:12`. */
export function bandWords({ earliest, latest }: ForecastBand, time: (at: string) => string): string {
  const [from, to] = [time(earliest), time(latest)]
  return from === to ? `at ${from}` : `between ${from} and ${to}`
}

function heldWords(held: number, safe: number): string {
  const jobs = held === 1 ? 'One job does not start' : `${countText(held)} jobs do not start`
  const why = 'because of a paused queue or an open circuit'
  if (safe === held) return `${jobs} ${why}, and use${held === 1 ? 's' : ''} no attempts.`
  return `${jobs} ${why}; only deadlines can end them.`
}
