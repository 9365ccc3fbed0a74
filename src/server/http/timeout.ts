import type { Clock } from '../../core/values/clock.js'
import { Problem } from './problem.js'

/** What looks at every job, or changes many, may take its time. */
export const LONG_MS = 600_000

/** No request waits for ever; its work may still be done, as with any answer that is lost. */
export async function within<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T> {
  let timer: { cancel(): void } | undefined
  const silence = new Promise<never>((_, reject) => {
    timer = clock.timer(ms, () => reject(tooLate(ms)))
  })
  try {
    return await Promise.race([work, silence])
  } finally {
    timer?.cancel()
  }
}

function tooLate(ms: number): Problem {
  return new Problem(503, 'TIMED_OUT', `no answer within ${ms} ms; it may have been done: look before you repeat it`, {
    headers: { 'Retry-After': '2' },
  })
}
