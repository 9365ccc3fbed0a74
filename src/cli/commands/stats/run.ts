import { PHASES } from '../../../core/job/job.js'
import { formatMs } from '../../../core/values/duration.js'
import { percentText, retryRateText } from '../../../core/values/number.js'
import type { Activity, FleetStats } from '../../../engine/figures/statistics.js'
import { absolute } from '../../output/moment.js'
import { type Cell, paint, type Style, table } from '../../output/print.js'
import { countText, many } from '../../output/show.js'
import { markText, PHASE_MARKS } from '../../output/symbols.js'
import { padEnd, padStart } from '../../output/width.js'

const LABEL_COLUMNS = 22

export function reportOf(stats: FleetStats, style: Style): string {
  const part = (name: string, text: string): string => `${paint(name, 'strong', style)}\n${text}`
  const parts = [
    part('Jobs', phases(stats, style)),
    part('Retries', retries(stats)),
    part('Activity', activity(stats, style)),
  ]
  return `${parts.join('\n')}\n${part('Workers', fleet(stats, style))}`
}

function phases({ jobs }: FleetStats, style: Style): string {
  const widest = Math.max(...PHASES.map(phase => countText(jobs[phase]).length))
  return PHASES.map(phase => {
    const mark = markText({ ...PHASE_MARKS[phase], word: padEnd(PHASE_MARKS[phase].word, LABEL_COLUMNS - 2) }, style)
    return `  ${mark}${padStart(countText(jobs[phase]), widest)}\n`
  }).join('')
}

const line = (label: string, words: string): string => `  ${padEnd(label, LABEL_COLUMNS)}${words}\n`

const NO_RATE = 'no first attempts in the last 5m'

function retries(stats: FleetStats): string {
  const { totalRetries, successfulRetries, retrySuccessRate, retryRate, failedRuns, failedJobs } = stats
  return [
    line('total', `${countText(totalRetries)} since ${absolute(stats.since)}`),
    line('successful', `${countText(successfulRetries)} (${percentText(retrySuccessRate / 100)})`),
    line('retry rate', retryRate === undefined ? NO_RATE : `${retryRateText(retryRate)}, over the last 5m`),
    line('failed runs', countText(failedRuns)),
    line('dead jobs', countText(failedJobs)),
  ].join('')
}

const COUNTED: readonly (keyof Activity)[] = [
  'enqueued',
  'started',
  'succeeded',
  'failed',
  'retries',
  'dead',
  'cancelled',
]

function activity({ last5m, lastHour }: FleetStats, style: Style): string {
  const columns = [{ title: '  Last' }, ...COUNTED.map(name => ({ title: titleOf(name), align: 'right' as const }))]
  const row = (name: string, counts: Activity): Cell[] => [name, ...COUNTED.map(name => countText(counts[name]))]
  const rows = [row('5 minutes', last5m), row('hour', lastHour)]
  const text = table(columns, rows, { ...style, boxes: false, colour: false })
  return text
    .trimEnd()
    .split('\n')
    .map(each => `  ${each.trimStart()}\n`)
    .join('')
}

const titleOf = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1)

function fleet({ workers, deadLetters, oldestDueAgeMs }: FleetStats, style: Style): string {
  const { alive, silent, concurrency, running } = workers
  const silence = silent === 0 ? '' : paint(`, ${silent} silent`, 'odd', style)
  const dead = countText(deadLetters)
  return [
    line('workers', `${many(alive, 'worker')} alive${silence}, ${running} of ${concurrency} slots busy`),
    line(
      'dead letters',
      deadLetters.value === 0 ? 'none unacknowledged' : paint(`${dead} unacknowledged`, 'bad', style),
    ),
    line(
      'oldest due job',
      oldestDueAgeMs === undefined ? 'none waiting for a worker' : `has waited ${formatMs(oldestDueAgeMs)}`,
    ),
  ].join('')
}
