import { wasRefused } from './failure.js'
import type { Row, Statement } from './pool.js'

/**
 * Combines an enqueue that is about to be sent with the claim of an idle worker in one transaction, so that new jobs
 * start one commit sooner.
 */
export class SharedCommit {
  #guest: readonly Statement[] = []
  #arrive: (rows: Row[][]) => void = () => undefined
  #fail: (error: unknown) => void = () => undefined
  #isOpen = true

  /** Adds the statements of a claim and returns their rows; undefined if it is too late. */
  join(statements: readonly Statement[]): Promise<Row[][]> | undefined {
    if (!this.#isOpen) return undefined
    this.#isOpen = false
    this.#guest = statements
    return new Promise((resolve, reject) => {
      this.#arrive = resolve
      this.#fail = reject
    })
  }

  /**
   * Sends the statements, those of the enqueue first. If the server rejects the combined transaction, the enqueue is
   * sent alone, so that it never fails because of the claim.
   */
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

  /** The enqueue failed or is sent in another way, so the claim is not part of it. */
  abandon(error?: unknown): void {
    this.#isOpen = false
    this.#fail(error)
  }
}
