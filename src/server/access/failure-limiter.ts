import type { Clock } from '../../core/values/clock.js'

interface Window {
  failures: number
  readonly endsAt: number
}

const ADDRESSES_MAX = 10_000

/** Counts failures per address in windows of fixed length. */
export class FailureLimiter {
  readonly #clock: Clock
  readonly #failuresMax: number
  readonly #windowMs: number
  readonly #windows = new Map<string, Window>()

  constructor(clock: Clock, failuresMax: number, windowMs: number) {
    this.#clock = clock
    this.#failuresMax = failuresMax
    this.#windowMs = windowMs
  }

  /** Counts a failure; returns how long the address should wait, 0 while it is within the limit. */
  failed(address: string): number {
    const now = this.#clock.now()
    const known = this.#windows.get(address)
    const window = known && known.endsAt > now ? known : { failures: 0, endsAt: now + this.#windowMs }
    window.failures++
    if (window !== known) {
      this.#windows.delete(address)
      // An attack from many addresses only evicts the oldest windows.
      if (this.#windows.size >= ADDRESSES_MAX) this.#windows.delete(this.#windows.keys().next().value!)
      this.#windows.set(address, window)
    }
    return window.failures > this.#failuresMax ? window.endsAt - now : 0
  }
}
