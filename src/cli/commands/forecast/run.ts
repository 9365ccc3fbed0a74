import type { Forecast, ForecastBand, ForecastPlace } from '../../../core/forecast/forecast.js'
import { BLOCK_WORDS } from '../../../core/job/wait-reason.js'
import { utcTime } from '../../../engine/forecast/forecast.js'
import { type Column, type Style, table } from '../../output/print.js'
import { countText, hang } from '../../output/show.js'

const COLUMNS: readonly Column[] = [
  { title: 'Queue' },
  { title: 'Dependency' },
  { title: 'Jobs', align: 'right' },
  { title: 'First death' },
  { title: 'Last death' },
]

/** The sentences, then the places if there are several. */
export function forecastText({ summary, places, at }: Forecast, style: Style): string {
  const sentences = summary.map(line => hang('', 0, line, style)).join('')
  if (places.length < 2) return sentences
  const time = utcTime(at)
  const rows = places.map(place => [
    place.queue,
    dependencyText(place),
    countText(place.jobs),
    place.first ? bandText(place.first, time) : (place.held && BLOCK_WORDS[place.held]) || '',
    place.last ? bandText(place.last, time) : '',
  ])
  return `${sentences}\n${table(COLUMNS, rows, style)}`
}

function dependencyText({ dependency = '', tenantId }: ForecastPlace): string {
  return tenantId === undefined ? dependency : `${dependency} (tenant ${tenantId})`
}

function bandText({ earliest, latest }: ForecastBand, time: (at: string) => string): string {
  const [from, to] = [time(earliest), time(latest)].map(text => text.replace(/ UTC$/, ''))
  return from === to ? `${from} UTC` : `${from} to ${to} UTC`
}
