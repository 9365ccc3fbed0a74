import type { Clock } from '../../core/values/clock.js'
import type { Claimed } from '../../store/store.js'

/**
 * Admits only jobs whose timeout ends before this time, so that none is interrupted because its process ends. Others are
 * released until then, without using an attempt.
 */
export function admitUntil(
  until: number | undefined,
  clock: Clock,
  timeoutOf: (claimed: Claimed) => number,
): ((claimed: Claimed) => number | undefined) | undefined {
  if (until === undefined) return undefined
  return claimed => {
    const leftMs = until - clock.now()
    return timeoutOf(claimed) > leftMs ? Math.max(1, leftMs) : undefined
  }
}
