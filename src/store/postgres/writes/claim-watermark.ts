import type { Clock } from '../../../core/values/clock.js'

/** A position among the jobs of one queue and priority, by due time and arrival. */
export interface Watermark {
  readonly queue: string
  readonly priority: number
  readonly runAt: number
  readonly pk: number
}

const VALID_MS = 250
/** Full scans may take at most one part in this many of the time. */
const SHARE = 10
/** A claim may delay the enqueue that shares its transaction by about this long. */
const QUICK_MS = 20

/**
 * The positions where the last claims ended. While an old transaction is open anywhere in the database, PostgreSQL
 * can't remove the index entries of claimed jobs, and a claim that scans all of them gets slower and slower. So a
 * claim continues where the last one ended, as long as that one found as many jobs as requested. From time to time a
 * claim scans from the beginning, to find jobs with an earlier due time; they wait a quarter of a second at most.
 */
export class Watermarks {
  readonly #clock: Clock
  readonly #watermarks = new Map<string, Watermark>()
  #validUntil = 0
  #tookMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Returns no positions if it is time to scan from the beginning. */
  get(): readonly Watermark[] {
    if (this.#clock.now() >= this.#validUntil) this.#watermarks.clear()
    return [...this.#watermarks.values()]
  }

  /** Stores where a full claim ended. `fromTheBeginningMs` is its duration if it scanned from the beginning. */
  raise(lines: readonly Watermark[], fromTheBeginningMs?: number): void {
    if (fromTheBeginningMs !== undefined)
      this.#validUntil = this.#clock.now() + Math.max(VALID_MS, fromTheBeginningMs * SHARE)
    for (const line of lines) this.#watermarks.set(`${line.priority} ${line.queue}`, line)
  }

  /** Records the duration of a scan from the beginning. */
  took(ms: number): void {
    this.#tookMs = ms
  }

  /** Whether a scan from the beginning is fast enough to share the transaction of an enqueue. */
  get isQuick(): boolean {
    return this.#tookMs <= QUICK_MS
  }

  /** Forgets the positions, because there may be work before them. */
  reset(): void {
    this.#watermarks.clear()
    this.#validUntil = 0
  }
}
