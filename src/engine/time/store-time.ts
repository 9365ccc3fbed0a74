import type { Clock } from '../../core/values/clock.js'

/**
 * Estimates the store's clock from its answers and this process's clock, so that a worker whose own clock is an hour
 * off decides and records like any other.
 */
export class StoreTime {
  readonly #clock: Clock
  #offsetMs: number | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  now(): number {
    return this.#clock.now() + (this.#offsetMs ?? 0)
  }

  /**
   * Corrects the estimate with a store's answer to a call sent at `sentAt`. The answer was given at some time between
   * `sentAt` and now. The first one is assumed to be half-way; a later one corrects only what it contradicts, so that a
   * slow answer does not make a good estimate worse.
   */
  observe(storeNow: number, sentAt: number): void {
    const least = storeNow - this.#clock.now()
    const most = storeNow - sentAt
    const known = this.#offsetMs ?? Math.round((least + most) / 2)
    this.#offsetMs = Math.min(most, Math.max(least, known))
  }
}
