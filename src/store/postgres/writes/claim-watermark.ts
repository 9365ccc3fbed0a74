import type { Clock } from '../../../core/values/clock.js'

/** Jobs of one queue and priority, by due time and arrival. */
export interface Floor {
  readonly queue: string
  readonly priority: number
  readonly runAt: number
  readonly pk: number
}

const VALID_MS = 250
/** Looking from the beginning may take at most one part in so many of the time. */
const SHARE = 10
/** An enqueue may be kept waiting by a claim that goes with it for about so long. */
const QUICK_MS = 20

/**
 * Where the last claims ended. While some old transaction is open anywhere in the database, PostgreSQL can't remove
 * the index entries of jobs that were claimed, and a claim that walks over all of them takes longer and longer. So a
 * claim goes on where the last one ended, as long as that found all it asked for; from time to time one looks from
 * the beginning, for what came in with an earlier time: that waits a quarter of a second at most.
 */
export class Floors {
  readonly #clock: Clock
  readonly #floors = new Map<string, Floor>()
  #validUntil = 0
  #tookMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** None, when it is time to look from the beginning. */
  get(): readonly Floor[] {
    if (this.#clock.now() >= this.#validUntil) this.#floors.clear()
    return [...this.#floors.values()]
  }

  /** A claim that found all it asked for ended at these; one from the beginning took so long. */
  raise(lines: readonly Floor[], fromTheBeginningMs?: number): void {
    if (fromTheBeginningMs !== undefined)
      this.#validUntil = this.#clock.now() + Math.max(VALID_MS, fromTheBeginningMs * SHARE)
    for (const line of lines) this.#floors.set(`${line.priority} ${line.queue}`, line)
  }

  /** How long the last look from the beginning took. */
  took(ms: number): void {
    this.#tookMs = ms
  }

  /** To look from the beginning takes hardly any time. */
  get isQuick(): boolean {
    return this.#tookMs <= QUICK_MS
  }

  /** There may be work below them. */
  reset(): void {
    this.#floors.clear()
    this.#validUntil = 0
  }
}
