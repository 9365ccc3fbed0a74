import type { Clock } from '../../core/values/clock.js'

interface Window {
  failures: number
  readonly endsAt: number
}

const ADDRESSES_MAX = 10_000

/** Counts failures per address in windows of fixed length, and says how long an address with too many has to wait. */
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

  /** 0 while the address is below the limit. */
  waitMs(address: string): number {
    const window = this.#windows.get(address)
    if (!window || window.failures < this.#failuresMax) return 0
    return Math.max(0, window.endsAt - this.#clock.now())
  }

  failed(address: string): void {
    const now = this.#clock.now()
    const window = this.#windows.get(address)
    if (window && window.endsAt > now) {
      window.failures++
      return
    }
    // An attack from many addresses only evicts the oldest windows.
    if (this.#windows.size >= ADDRESSES_MAX) this.#windows.delete(this.#windows.keys().next().value!)
    this.#windows.set(address, { failures: 1, endsAt: now + this.#windowMs })
  }

  succeeded(address: string): void {
    this.#windows.delete(address)
  }
}
