import { ChronosError, shown } from '../../../core/values/error.js'
import type { Ask, Database, Row, Statement } from './pool.js'

/**
 * An open transaction of the caller: the client of `pg` on which BEGIN was said, or a few words around what another
 * library calls its transaction. `values` stand for `$1`, `$2`, …; rows are objects, or arrays, in the order of the columns.
 */
export interface PostgresTransaction {
  query(text: string, values: unknown[]): PromiseLike<{ readonly rows: readonly object[] }>
}

/** Asks within it. What other people's settings make of numbers is undone by whoever reads the rows. */
export function askThrough(db: Database, tx: unknown, what: string): Ask {
  const { query, totalCount, idleCount } = (tx ?? {}) as Record<string, unknown>
  if (typeof query !== 'function') {
    throw new ChronosError(
      'STORE_NOT_SUPPORTED',
      `${what}: \`tx\` has no \`query(text, values)\` (got ${shown(tx)}); give the client of "pg" on which you said BEGIN, ` +
        'or an adapter for your library (docs/postgres.md)',
    )
  }
  if (totalCount !== undefined && idleCount !== undefined) {
    throw new ChronosError(
      'INVALID_OPTION',
      `${what}: \`tx\` is a pool, which would use another connection than your transaction; give the client on which you said BEGIN`,
    )
  }
  const caller = tx as PostgresTransaction
  return async (sql, ...values) => {
    const { rows } = await caller.query(db.text(sql), [...values])
    return rows.map(row => (Array.isArray(row) ? row : Object.values(row))) as never
  }
}

/** Statements, one after the other; the rows of each. */
export type Send = (statements: readonly Statement[]) => Promise<readonly Row[][]>

export function sendThrough(ask: Ask): Send {
  return async statements => {
    const results: Row[][] = []
    for (const { sql, values = [] } of statements) results.push(await ask(sql, ...values))
    return results
  }
}
