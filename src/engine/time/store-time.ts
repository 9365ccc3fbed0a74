import type { Clock } from '../../core/values/clock.js'

/**
 * The store's clock, carried on between its answers by this process's. A worker whose own clock is an hour off
 * decides and records like any other.
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
   * A store's answer to a call sent at `sentAt` on this process's clock: it was given some time between then and now.
   * The first one is taken to have come half-way; a later one corrects only what it contradicts, so that a slow
   * answer does not make good time worse.
   */
  observe(storeNow: number, sentAt: number): void {
    const least = storeNow - this.#clock.now()
    const most = storeNow - sentAt
    const known = this.#offsetMs ?? Math.round((least + most) / 2)
    this.#offsetMs = Math.min(most, Math.max(least, known))
  }
}
