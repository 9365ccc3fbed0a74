import type { Transaction } from '../../core/job/options.js'
import { ChronosError, shown } from '../../core/values/error.js'

type Rows = Awaited<ReturnType<Transaction['query']>>
/** Answers the statements of the code under test. */
export type Answer = (text: string, values: readonly unknown[]) => Rows['rows'] | Promise<Rows['rows']>

/**
 * A transaction of the store in memory, so that code which writes and enqueues in one transaction can be tested without a
 * database. What the store is asked to do in it happens at the commit. Its own statements are kept and answered by the test.
 */
export class MemoryTransaction implements Transaction {
  /** The statements that were sent, in their order. */
  readonly queries: { readonly text: string; readonly values: readonly unknown[] }[] = []
  readonly #answer: Answer
  readonly #writes: (() => void)[] = []
  readonly #onEnd: (() => void)[] = []
  isOpen = true

  constructor(answer: Answer = () => []) {
    this.#answer = answer
  }

  async query(text: string, values: unknown[] = []): Promise<Rows> {
    this.checkOpen('query')
    this.queries.push({ text, values })
    return { rows: await this.#answer(text, values) }
  }

  /** Performs `write` with the commit. `onEnd` is called after the commit or the rollback. */
  add(write: () => void, onEnd?: () => void): void {
    this.checkOpen('a store call')
    this.#writes.push(write)
    if (onEnd) this.#onEnd.push(onEnd)
  }

  commit(): void {
    this.checkOpen('commit')
    for (const write of this.#writes) write()
    this.#end()
  }

  rollback(): void {
    this.checkOpen('rollback')
    this.#end()
  }

  #end(): void {
    this.isOpen = false
    for (const end of this.#onEnd) end()
  }

  private checkOpen(what: string): void {
    if (!this.isOpen) throw new ChronosError('NOT_ALLOWED', `${what}: the transaction has ended`)
  }
}

export function memoryTransaction(tx: unknown): MemoryTransaction {
  if (tx instanceof MemoryTransaction) return tx
  throw new ChronosError(
    'STORE_NOT_SUPPORTED',
    `tx: the memory store joins only its own transactions, got ${shown(tx)}; in a test use \`t.transaction(tx => …)\`, else leave it out (instead of \`job.complete\`, return from the handler) or use postgres://`,
  )
}
