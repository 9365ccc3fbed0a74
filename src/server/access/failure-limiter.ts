import type { Clock } from '../../core/values/clock.js'

interface Window {
  failures: number
  readonly endsAt: number
}

const PLACES_MAX = 10_000

/** Counts failures by place, and says how long a place has to wait once it has had too many. */
export class Limiter {
  readonly #clock: Clock
  readonly #failuresMax: number
  readonly #windowMs: number
  readonly #windows = new Map<string, Window>()

  constructor(clock: Clock, failuresMax: number, windowMs: number) {
    this.#clock = clock
    this.#failuresMax = failuresMax
    this.#windowMs = windowMs
  }

  /** 0: go ahead. */
  waitMs(place: string): number {
    const window = this.#windows.get(place)
    if (!window || window.failures < this.#failuresMax) return 0
    return Math.max(0, window.endsAt - this.#clock.now())
  }

  failed(place: string): void {
    const now = this.#clock.now()
    const window = this.#windows.get(place)
    if (window && window.endsAt > now) {
      window.failures++
      return
    }
    // Whoever fills it from many places only makes the oldest be forgotten.
    if (this.#windows.size >= PLACES_MAX) this.#windows.delete(this.#windows.keys().next().value!)
    this.#windows.set(place, { failures: 1, endsAt: now + this.#windowMs })
  }

  succeeded(place: string): void {
    this.#windows.delete(place)
  }
}
