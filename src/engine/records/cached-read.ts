import type { Clock } from '../../core/values/clock.js'

/** What was read within this time is not read again. */
const FRESH_MS = 1_000

/** Something that is read from the store as a whole. Callers of the same moment share one read. */
export class CachedRead {
  readonly #clock: Pick<Clock, 'now'>
  readonly #read: () => Promise<void>
  #readAt = Number.NEGATIVE_INFINITY
  #reading: Promise<void> | undefined

  constructor(clock: Pick<Clock, 'now'>, read: () => Promise<void>) {
    this.#clock = clock
    this.#read = read
  }

  get isLoaded(): boolean {
    return this.#readAt !== Number.NEGATIVE_INFINITY
  }

  load(): Promise<void> {
    this.#reading ??= this.#load().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  /** Reads unless it was read just now: for callers in a process without the loop that reads it. */
  async fresh(): Promise<void> {
    if (this.#clock.now() - this.#readAt > FRESH_MS) await this.load()
  }

  async #load(): Promise<void> {
    const at = this.#clock.now()
    await this.#read()
    this.#readAt = at
  }
}
