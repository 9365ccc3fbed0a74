import type { Clock } from '../../core/values/clock.js'

/**
 * Estimates the store's clock from its answers and the time that passes here, so that a worker whose own clock is an
 * hour off, or is set forward while it runs, decides and records like any other.
 */
export class StoreTime {
  readonly #clock: Clock
  #offsetMs: number | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  now(): number {
    return this.#offsetMs === undefined ? this.#clock.now() : this.#steady() + this.#offsetMs
  }

  /**
   * Corrects the estimate with a store's answer to a call sent at `sentAt`. The answer was given at some time between
   * `sentAt` and now. The first one is assumed to be given now, so that the estimate is never ahead of the store: a slow
   * first answer must not start an occurrence early. A later one corrects only what it contradicts, so that a slow answer
   * does not make a good estimate worse.
   */
  observe(storeNow: number, sentAt: number): void {
    const least = storeNow - this.#steady()
    const most = least + Math.max(0, this.#clock.now() - sentAt)
    this.#offsetMs = Math.min(most, Math.max(least, this.#offsetMs ?? least))
  }

  #steady(): number {
    return this.#clock.steady?.() ?? this.#clock.now()
  }
}
