import { type PgClient, type PgQuery, type PgResult, TYPES } from './driver.js'
import { failure, lostConnection, type Site, unknownOutcome } from './failure.js'

export type Row = readonly unknown[]

/** Asks within an open transaction. */
export type Ask = <R extends Row = Row>(sql: string, ...values: readonly unknown[]) => Promise<R[]>

const IDLE_MS = 10_000

/**
 * Everything that is set here ends with the transaction. Its level is named because a database may have another
 * default, under which claims would fail each other; plans of a few milliseconds are not worth compiling.
 */
const begin = (statementMs: number): string => `
  BEGIN ISOLATION LEVEL READ COMMITTED;
  SET LOCAL statement_timeout = ${statementMs};
  SET LOCAL lock_timeout = ${Math.ceil(statementMs / 2)};
  SET LOCAL idle_in_transaction_session_timeout = ${IDLE_MS};
  SET LOCAL jit = off;`

/**
 * A kept plan is made once, for any values; and it must not be one that reads a whole table because that was empty
 * when it was made.
 */
const KEPT = 'SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL enable_seqscan = off;'

/** How a transaction goes on: where, and by when the server gives up a statement, or half of it for a lock. */
export interface Manners {
  readonly site: Site
  readonly statementMs: number
}

/**
 * All of it in one transaction and, where the driver can, in one round trip. With the COMMIT under way, a connection
 * that is lost leaves the outcome unknown.
 */
export async function flight(
  client: PgClient,
  { site, statementMs }: Manners,
  queries: readonly PgQuery[],
): Promise<Row[][]> {
  const warned = unreplicated(client)
  const kept = queries.some(({ name }) => name !== undefined) ? KEPT : ''
  const all = [{ text: begin(statementMs) + kept }, ...queries, { text: 'COMMIT' }]
  try {
    const answers = client.pipeline ? await together(client, all) : await oneByOne(client, all)
    if (unreplicated(client) !== warned) throw new UnreplicatedError()
    return answers.slice(1, -1).map(({ rows }) => rows as Row[])
  } catch (error) {
    throw isInDoubt(error) ? unknownOutcome(error, site) : error
  }
}

/** A transaction in which one question depends on the answer to another. */
export async function conversation<T>(
  client: PgClient,
  { site, statementMs }: Manners,
  textOf: (sql: string) => string,
  act: (ask: Ask) => Promise<T>,
): Promise<T> {
  const ask: Ask = async (sql, ...values) => (await client.query(query(textOf(sql), values))).rows as never
  let answer: T
  try {
    await client.query({ text: begin(statementMs) })
    answer = await act(ask)
  } catch (error) {
    // Nothing was committed, so nothing is in doubt.
    if (lostConnection(error)) throw failure(error, site)
    await client.query({ text: 'ROLLBACK' })
    throw error
  }
  await commit(client, site)
  return answer
}

async function commit(client: PgClient, site: Site): Promise<void> {
  const warned = unreplicated(client)
  try {
    await client.query({ text: 'COMMIT' })
    if (unreplicated(client) !== warned) throw new UnreplicatedError()
  } catch (error) {
    throw isInDoubt(error) ? unknownOutcome(error, site) : error
  }
}

const isInDoubt = (error: unknown): boolean => lostConnection(error) || error instanceof UnreplicatedError

export function query(text: string, values: readonly unknown[] = [], name?: string): PgQuery {
  return { text, values, rowMode: 'array', types: TYPES, ...(name !== undefined && { name }) }
}

async function together(client: PgClient, queries: readonly PgQuery[]): Promise<PgResult[]> {
  const answers = await Promise.allSettled(sendAll(client, queries))
  // A statement that failed turned the COMMIT behind it into a rollback, and all between them into echoes.
  const failed = answers.find(each => each.status === 'rejected')
  if (failed) throw failed.reason
  return answers.map(each => (each as PromiseFulfilledResult<PgResult>).value)
}

/** As one piece: each of its own would be a packet, and wake the other side. */
function sendAll(client: PgClient, queries: readonly PgQuery[]): Promise<PgResult>[] {
  const stream = client.connection?.stream
  stream?.cork?.()
  try {
    return queries.map(each => client.query(each))
  } finally {
    stream?.uncork?.()
  }
}

async function oneByOne(client: PgClient, queries: readonly PgQuery[]): Promise<PgResult[]> {
  const answers: PgResult[] = []
  try {
    for (const each of queries) answers.push(await client.query(each))
    return answers
  } catch (error) {
    if (!lostConnection(error)) await client.query({ text: 'ROLLBACK' })
    throw error
  }
}

// ---------------------------------------------------------------- synchronous replication

/**
 * A COMMIT that was interrupted while it waited for its standby answers that all is well, with a warning. It is kept
 * here and may be lost in a failover: its outcome is unknown.
 */
class UnreplicatedError extends Error {
  override readonly message = 'the standby did not confirm the commit'
}

const warnings = new WeakMap<PgClient, number>()

const unreplicated = (client: PgClient): number => warnings.get(client) ?? 0

export function listenForWarnings(client: PgClient): void {
  client.on('notice', ({ code, routine }) => {
    if (code === '01000' && routine === 'SyncRepWaitForLSN') warnings.set(client, unreplicated(client) + 1)
  })
}
