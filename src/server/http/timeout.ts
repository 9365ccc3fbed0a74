import type { Clock, Timer } from '../../core/values/clock.js'
import { Problem } from './problem.js'

/** The limit for requests that read every job or change many. */
export const LONG_MS = 600_000

/** Waits for the work, but not longer than `ms`; then `onTimeout` gives the result, and the work goes on unobserved. */
export async function within<T>(clock: Clock, ms: number, work: Promise<T>, onTimeout: () => T): Promise<T> {
  let timer: Timer | undefined
  const late = new Promise<void>(resolve => {
    timer = clock.timer(ms, resolve)
  })
  try {
    return await Promise.race([work, late.then(onTimeout)])
  } finally {
    timer?.cancel()
  }
}

export function requestTimedOut(ms: number): Problem {
  const detail = `no answer within ${ms} ms; the request may still take effect: check before repeating it`
  return new Problem(503, 'TIMED_OUT', detail, { headers: { 'Retry-After': '2' } })
}
