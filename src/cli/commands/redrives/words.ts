import { type RedriveFilter, redriveFilterWords } from '../../../core/job/filter.js'
import type { RedriveView } from '../../../engine/dead/redrives.js'
import { type BarPart, bar } from '../../output/bar.js'
import { absolute } from '../../output/moment.js'
import type { Style } from '../../output/print.js'
import { countText, many } from '../../output/show.js'

/** The number of jobs to start; at least those already started, if jobs were added since the count. */
export function wholeOf({ total, started, conflictCount }: RedriveView): number {
  return Math.max(started, total.value - conflictCount)
}

export function barOf(redrive: RedriveView, columns: number, style: Style): string {
  const { succeeded, failing, results } = redrive
  const parts: readonly BarPart[] = [
    { value: succeeded, symbol: '█', ascii: '#', tone: 'good' },
    { value: failing, symbol: '▓', ascii: 'x', tone: 'bad' },
    { value: results.pending + results.running + results.cancelled, symbol: '▒', ascii: '=', tone: 'calm' },
  ]
  return bar(parts, wholeOf(redrive), columns, style)
}

/** `1,200 of 2,000 started, 1,180 succeeded, 3 failing`. */
export function progressWords(redrive: RedriveView): string {
  const { started, succeeded, failing, total, results } = redrive
  const whole = countText({ value: wholeOf(redrive), relation: total.relation })
  const cancelled = results.cancelled > 0 ? `, ${countText(results.cancelled)} cancelled` : ''
  return `${countText(started)} of ${whole} started, ${countText(succeeded)} succeeded, ${countText(failing)} failing${cancelled}`
}

/** The jobs that were not started, and why. */
export function leftWords({ skipped, conflictCount }: RedriveView): readonly string[] {
  return [
    ...(skipped > 0 ? [`${many(skipped, 'job')} with unknown outcome or discarded skipped`] : []),
    ...(conflictCount > 0 ? [`${many(conflictCount, 'job')} blocked by a live job with the same unique value`] : []),
  ]
}

export function filterWords(filter: RedriveFilter): string {
  return redriveFilterWords(filter, absolute)
}
