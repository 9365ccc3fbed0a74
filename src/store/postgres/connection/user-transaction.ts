import type { Transaction } from '../../../core/job/options.js'
import { ChronosError, shown } from '../../../core/values/error.js'
import { failure } from './failure.js'
import type { Ask, Database, Row, Statement } from './pool.js'

export type PostgresTransaction = Transaction

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
  const caller = tx as PostgresTransaction & PgClient
  let isChecked = false
  return async (sql, ...values) => {
    try {
      if (!isChecked) await checkOpen(caller, what)
      isChecked = true
      const { rows } = await caller.query(db.text(sql), [...values])
      return rows.map(row => (Array.isArray(row) ? row : Object.values(row))) as never
    } catch (error) {
      throw transactionFailure(error, db, what)
    }
  }
}

/** The part of a `pg` client that knows whether a transaction is open. */
interface PgClient {
  getTransactionStatus?: () => string | null
}

const IDLE = 'I'

/** Without a transaction, the job would be enqueued at once, even if the caller rolls its own writes back. */
async function checkOpen(caller: PostgresTransaction & PgClient, what: string): Promise<void> {
  if (caller.getTransactionStatus?.() !== IDLE) return
  // A BEGIN that was not awaited is answered before this.
  await caller.query('SELECT 1', [])
  if (caller.getTransactionStatus() !== IDLE) return
  throw new ChronosError(
    'INVALID_OPTION',
    `${what}: \`tx\` is a client without an open transaction; execute BEGIN on it first, or leave \`tx\` out`,
  )
}

/** The transaction, and with it this call, can't be committed any more. */
function transactionFailure(error: unknown, db: Database, what: string): unknown {
  const known = failure(error, db)
  if (known instanceof ChronosError) return known
  const reason = error instanceof Error ? error.message : String(error)
  return new ChronosError(
    'STORE_UNAVAILABLE',
    `${what}: a statement in your transaction failed (${reason}); roll the transaction back and repeat it`,
    { cause: error },
  )
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
