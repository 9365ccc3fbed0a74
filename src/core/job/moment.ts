import { formatMs } from '../values/duration.js'
import { timeText } from './view.js'

/** A time, relative and exact. */
export function moment(at: number, now: number): string {
  return at > now ? `in ${formatMs(at - now)} (${timeText(at)})` : `now`
}
