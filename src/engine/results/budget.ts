import type { Clock } from '../../core/values/clock.js'

/** Limits how often something is done: some at once, then at a steady rate. */
export class Budget {
  readonly #clock: Clock
  readonly #perMs: number
  readonly #burst: number
  #left: number
  #at: number

  constructor(clock: Clock, { perSecond, burst }: { readonly perSecond: number; readonly burst: number }) {
    this.#clock = clock
    this.#perMs = perSecond / 1_000
    this.#burst = burst
    this.#left = burst
    this.#at = clock.now()
  }

  /** Takes one and returns 0, or returns in how many milliseconds there is one. */
  take(): number {
    const now = this.#clock.now()
    this.#left = Math.min(this.#burst, this.#left + Math.max(0, now - this.#at) * this.#perMs)
    this.#at = now
    if (this.#left < 1) return Math.ceil((1 - this.#left) / this.#perMs)
    this.#left--
    return 0
  }
}
