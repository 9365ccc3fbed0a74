import type { Clock, Timer } from '../../core/values/clock.js'

/** Waits for the work, but not longer than `ms`; then it goes on unobserved. */
export async function within(ms: number, done: Promise<void>, clock: Clock): Promise<void> {
  let timer: Timer | undefined
  const patience = new Promise<void>(resolve => {
    timer = clock.timer(ms, resolve)
  })
  await Promise.race([done, patience])
  timer?.cancel()
}
