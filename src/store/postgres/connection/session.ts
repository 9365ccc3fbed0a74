import type { PgClient, PgQuery } from './driver.js'

/** An open transaction without a query for this long is ended by the server. */
const IDLE_MS = 10_000

/**
 * The settings of every transaction. The isolation level is set because the database may have another default, under
 * which concurrent claims would fail. JIT compilation does not pay off for plans that take a few milliseconds.
 */
const settingsOf = (statementMs: number): Readonly<Record<string, string | number>> => ({
  default_transaction_isolation: 'read committed',
  statement_timeout: statementMs,
  lock_timeout: Math.ceil(statementMs / 2),
  idle_in_transaction_session_timeout: IDLE_MS,
  jit: 'off',
})

/**
 * Begins a transaction whose settings end with it. A pooler may give the next transaction of this connection to another
 * session of the server, so nothing must depend on the session.
 */
export function beginText(statementMs: number): string {
  const { default_transaction_isolation: isolation, ...others } = settingsOf(statementMs)
  const sets = Object.entries(others).map(([name, value]) => `SET LOCAL ${name} = ${value};`)
  return `BEGIN ISOLATION LEVEL ${isolation}; ${sets.join(' ')}`
}

/**
 * A prepared plan is made once, for all values. It must not be a sequential scan only because the table was empty at
 * that time.
 */
const KEPT = { plan_cache_mode: 'force_generic_plan', enable_seqscan: 'off' } as const
const setKept = (scope: 'LOCAL' | 'SESSION'): string =>
  Object.entries(KEPT)
    .map(([name, value]) => `SET ${scope} ${name} = ${value};`)
    .join(' ')
export const KEPT_LOCALLY = setKept('LOCAL')
const KEPT_ON = setKept('SESSION')
const KEPT_OFF = Object.keys(KEPT)
  .map(name => `RESET ${name};`)
  .join(' ')

/** A connection that leads to the server without a pooler has these settings for as long as it lives. */
interface Session {
  readonly statementMs: number
  isKept: boolean
}

const sessions = new WeakMap<PgClient, Session>()

/**
 * Sets the session once, if there is no pooler in between: then the connection was made by the very process of the
 * server that answers, and the two process ids are equal. Call it before the first query of the connection.
 */
export function openSession(client: PgClient, statementMs: number): void {
  const { processID } = client
  if (typeof processID !== 'number') return
  const sets = Object.entries(settingsOf(statementMs)).map(
    ([name, value]) => `set_config('${name}', '${value}', false)`,
  )
  const text = `SELECT ${sets.join(', ')} WHERE pg_backend_pid() = ${processID}`
  client.query({ text }).then(
    ({ rows }) => void (rows.length > 0 && sessions.set(client, { statementMs, isKept: false })),
    // The connection is lost; the call that uses it reports that.
    () => undefined,
  )
}

/** Whether the session already has the settings of a transaction. */
export function hasSettings(client: PgClient, statementMs: number): boolean {
  return sessions.get(client)?.statementMs === statementMs
}

/** The queries to send before those of a transaction, so that it plans its statements in the right way. */
export function planning(client: PgClient, isKept: boolean): PgQuery[] {
  const session = sessions.get(client)
  if (session === undefined || session.isKept === isKept) return []
  session.isKept = isKept
  return [{ text: isKept ? KEPT_ON : KEPT_OFF }]
}
