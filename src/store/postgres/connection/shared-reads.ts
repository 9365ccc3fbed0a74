import type { Clock } from '../../../core/values/clock.js'
import { wasRefused } from './failure.js'
import type { Row, Statement } from './pool.js'

interface Asked {
  readonly statement: Statement
  readonly resolve: (rows: Row[]) => void
  readonly reject: (error: unknown) => void
}

/** One transaction has at most this many reads, so that none waits long for the others. */
const SHARED_MAX = 20
/** A read with more rows takes long, such as one of all queues in a store with very many of them. */
const SHORT_ROWS_MAX = 1_000

/**
 * Short reads that are requested at the same moment share a transaction. The loops of an idle process wake together and
 * read a few records each, and a server with many such processes has far fewer transactions.
 */
export class SharedReads {
  readonly #clock: Clock
  readonly #send: (statements: readonly Statement[]) => Promise<Row[][]>
  /** Statements whose last answer was long: they are sent alone, so that no other read waits for them. */
  readonly #long = new Set<string>()
  #asked: Asked[] = []

  constructor(clock: Clock, send: (statements: readonly Statement[]) => Promise<Row[][]>) {
    this.#clock = clock
    this.#send = send
  }

  read(statement: Statement): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      const asked = { statement, resolve, reject }
      if (this.#long.has(statement.sql)) void this.#answer([asked])
      else if (this.#asked.push(asked) === 1) this.#clock.soon(() => this.#flush())
    })
  }

  #flush(): void {
    const all = this.#asked
    this.#asked = []
    for (let from = 0; from < all.length; from += SHARED_MAX) void this.#answer(all.slice(from, from + SHARED_MAX))
  }

  /** If the server rejects one of the statements, each is sent alone, so that no read fails because of another. */
  async #answer(asked: readonly Asked[]): Promise<void> {
    try {
      const results = await this.#send(asked.map(({ statement }) => statement))
      for (const [index, { statement, resolve }] of asked.entries()) {
        const rows = results[index]!
        if (rows.length > SHORT_ROWS_MAX) this.#long.add(statement.sql)
        else this.#long.delete(statement.sql)
        resolve(rows)
      }
    } catch (error) {
      if (asked.length > 1 && wasRefused(error)) for (const one of asked) void this.#answer([one])
      else for (const { reject } of asked) reject(error)
    }
  }
}
