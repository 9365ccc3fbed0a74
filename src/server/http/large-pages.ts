import type { Clock } from '../../core/values/clock.js'
import { Problem } from './problem.js'

/** A page of up to this many items costs little more than any other request. */
const SMALL_MAX = 10
/** One is made while another waits for the store. */
const AT_ONCE = 2

/**
 * Makes large pages in turn. A page of 200 jobs with their payloads takes a hundred times as long as most requests. If
 * hundreds of clients ask for one at the same time, the requests of all others are answered in between instead of after.
 */
export class LargePages {
  readonly #clock: Clock
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** `items`: how many the page may have. Small pages need no turn. `signal`: aborted when the client is gone. */
  async inTurn<T>(items: number, signal: AbortSignal, make: () => Promise<T>): Promise<T> {
    if (items <= SMALL_MAX) return make()
    if (this.#running < AT_ONCE) this.#running++
    else await new Promise<void>(resolve => this.#waiting.push(resolve))
    try {
      if (signal.aborted) throw new Problem(408, 'TIMED_OUT', 'the client disconnected before its turn')
      return await make()
    } finally {
      // Other requests that have arrived meanwhile come first.
      this.#clock.soon(() => {
        const next = this.#waiting.shift()
        if (next) next()
        else this.#running--
      })
    }
  }
}
