import { wasRefused } from './failure.js'
import type { Row, Statement } from './pool.js'

/**
 * An enqueue that is about to be sent, and the claim of an idle worker that goes with it, in one transaction: what comes
 * in is started a commit sooner.
 */
export class Joint {
  #guest: readonly Statement[] = []
  #arrive: (rows: Row[][]) => void = () => undefined
  #fail: (error: unknown) => void = () => undefined
  #isOpen = true

  /** What the statements of the claim gave; undefined where it comes too late. */
  join(statements: readonly Statement[]): Promise<Row[][]> | undefined {
    if (!this.#isOpen) return undefined
    this.#isOpen = false
    this.#guest = statements
    return new Promise((resolve, reject) => {
      this.#arrive = resolve
      this.#fail = reject
    })
  }

  /** Sends all of it, the enqueue first. That must not fail for the claim's sake: what the server refused goes alone. */
  async send(own: readonly Statement[], write: (all: () => readonly Statement[]) => Promise<Row[][]>): Promise<void> {
    try {
      const rows = await write(() => {
        this.#isOpen = false
        return [...own, ...this.#guest]
      })
      this.#arrive(rows.slice(own.length))
    } catch (error) {
      if (this.#guest.length === 0 || !wasRefused(error)) throw error
      this.#fail(error)
      await write(() => own)
    }
  }

  /** The enqueue failed, or goes in another way: whoever wanted to go with it is alone. */
  abandon(error?: unknown): void {
    this.#isOpen = false
    this.#fail(error)
  }
}
