import { type OccurrenceView, viewOccurrences } from '../../../core/schedule/occurrences.js'
import { checkHappens, parseTiming } from '../../../core/schedule/timing.js'
import { type Duration, parseDuration } from '../../../core/values/duration.js'
import { present } from '../../../core/values/present.js'
import { integer, read } from '../../../core/values/schema.js'
import { timeOf } from '../../../engine/client/enqueuer.js'
import { systemClock } from '../../../engine/time/system.js'
import { time } from '../../argument.js'
import type { Io } from '../../io.js'
import { relative } from '../../output/moment.js'
import { type Cell, type Style, table } from '../../output/print.js'
import { show } from '../../output/show.js'

interface NextFlags {
  readonly tz?: string
  readonly count?: number
  readonly from?: string
  readonly json?: true
}

const COUNT_MAX = 1_000

/** Needs no store: it uses the scheduler's own code. */
export function showNext(expression: string, { tz, count = 10, from, json }: NextFlags, io: Io): void {
  read(integer(1, COUNT_MAX), count, '--count')
  const now = systemClock.now()
  const since = from === undefined ? now : timeOf(time(from), '--from')
  const when = parseDuration(expression) === undefined ? { cron: expression } : { every: expression as Duration }
  const timing = parseTiming(present({ ...when, timeZone: tz }), since, 'next')
  checkHappens(timing, since, 'next')
  const data = viewOccurrences(timing, since, count)
  show(io, json ? { json } : {}, { data }, style => occurrenceTable(data, timing.timeZone, now, style))
}

function occurrenceTable(ticks: readonly OccurrenceView[], timeZone: string, now: number, style: Style): string {
  const isUtc = timeZone === 'UTC'
  const columns = [{ title: timeZone }, ...(isUtc ? [] : [{ title: 'UTC' }]), { title: 'When' }, { title: '' }]
  const rows = ticks.map(({ at, local, clocks }): Cell[] => [
    local.replace('T', ' '),
    ...(isUtc ? [] : [at.replace('T', ' ').replace('.000Z', '')]),
    relative(at, now),
    clocks === undefined ? '' : { text: clockWords(clocks), tone: 'warn' },
  ])
  return table(columns, rows, { ...style, boxes: false })
}

/** `+1h` is a change of the clocks. */
function clockWords(clocks: string): string {
  return clocks.startsWith('-') ? `clocks go back ${clocks.slice(1)}` : `clocks go forward ${clocks.slice(1)}`
}
