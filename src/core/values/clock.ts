/** Time and chance, given to everything that needs them. `engine/time/system.ts` is the only file that reads the real ones. */
export interface Clock {
  /** Epoch milliseconds; never goes back within one process. */
  now(): number
  /** Runs once after `ms`; any length is safe. */
  timer(ms: number, run: () => void): Timer
  /** Runs once after everything that is ready now. */
  soon(run: () => void): void
}

export interface Timer {
  cancel(): void
}

export interface Dice {
  /** 0 ≤ u < 1 */
  random(): number
  /** 128 random bits in hex. */
  token(): string
  /** A UUIDv7 for this moment; later calls in one process sort after earlier ones. */
  id(now: number): string
}
