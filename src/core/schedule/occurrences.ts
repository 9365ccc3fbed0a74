import { timeText } from '../job/view.js'
import { formatMs } from '../values/duration.js'
import { about, anyText, type Infer, named } from '../values/schema.js'
import { view } from '../values/shape.js'
import { timestamp } from '../values/time.js'
import { offsetMs } from './time-zone.js'
import { nextTicks, type Timing, ticksOf } from './timing.js'

/** A future occurrence, as users see it. */
export const occurrenceView = named(
  'Occurrence',
  view(
    { at: timestamp, local: about(anyText, 'In local time of its time zone: `2026-03-29T03:00:00+02:00`.') },
    { clocks: about(anyText, 'How the clocks changed since the previous occurrence: `+1h`.') },
  ),
)
export type OccurrenceView = Infer<typeof occurrenceView>

export function viewOccurrences(timing: Timing, from: number, count: number): readonly OccurrenceView[] {
  const { timeZone } = timing
  let before = offsetMs(timeZone, from)
  return nextTicks(ticksOf(timing), from, count).map(tick => {
    const offset = offsetMs(timeZone, tick)
    const change = offset - before
    before = offset
    const clocks = change === 0 ? {} : { clocks: `${change > 0 ? '+' : ''}${formatMs(change)}` }
    return { at: timeText(tick), local: localText(tick, offset), ...clocks }
  })
}

/** RFC 3339 with the offset of the time zone. */
export function localText(at: number, offset: number): string {
  const minutes = Math.abs(offset) / 60_000
  const two = (n: number): string => String(Math.floor(n)).padStart(2, '0')
  const zone = offset === 0 ? 'Z' : `${offset < 0 ? '-' : '+'}${two(minutes / 60)}:${two(minutes % 60)}`
  return `${new Date(at + offset).toISOString().replace(/\.000Z$|Z$/, '')}${zone}`
}
