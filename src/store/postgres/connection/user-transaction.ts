import { ChronosError, shown } from '../../../core/values/error.js'
import type { Ask, Database, Row, Statement } from './pool.js'

/**
 * An open transaction of the caller: a `pg` client on which BEGIN was executed, or an adapter for the transaction of
 * another library. `values` stand for `$1`, `$2`, …; rows are objects, or arrays in the order of the columns.
 */
export interface PostgresTransaction {
  query(text: string, values: unknown[]): PromiseLike<{ readonly rows: readonly object[] }>
}

/**
 * Runs queries in the caller's transaction. The callers' settings can change how numbers are parsed; the row readers
 * convert them.
 */
export function askThrough(db: Database, tx: unknown, what: string): Ask {
  const { query, totalCount, idleCount } = (tx ?? {}) as Record<string, unknown>
  if (typeof query !== 'function') {
    throw new ChronosError(
      'STORE_NOT_SUPPORTED',
      `${what}: \`tx\` has no \`query(text, values)\` (got ${shown(tx)}); pass the "pg" client on which you executed BEGIN, ` +
        'or an adapter for your library (docs/postgres.md)',
    )
  }
  if (totalCount !== undefined && idleCount !== undefined) {
    throw new ChronosError(
      'INVALID_OPTION',
      `${what}: \`tx\` is a pool, which would use another connection than your transaction; pass the client on which you executed BEGIN`,
    )
  }
  const caller = tx as PostgresTransaction
  return async (sql, ...values) => {
    const { rows } = await caller.query(db.text(sql), [...values])
    return rows.map(row => (Array.isArray(row) ? row : Object.values(row))) as never
  }
}

/** Runs statements one after another, and returns the rows of each. */
export type Send = (statements: readonly Statement[]) => Promise<readonly Row[][]>

export function sendThrough(ask: Ask): Send {
  return async statements => {
    const results: Row[][] = []
    for (const { sql, values = [] } of statements) results.push(await ask(sql, ...values))
    return results
  }
}
