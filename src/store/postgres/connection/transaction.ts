import { type PgClient, type PgQuery, type PgResult, TYPES } from './driver.js'
import { failure, lostConnection, type Site, unknownOutcome } from './failure.js'
import { beginText, hasSettings, KEPT_LOCALLY, planning } from './session.js'

export type Row = readonly unknown[]

/** Runs a query in an open transaction. */
export type Ask = <R extends Row = Row>(sql: string, ...values: readonly unknown[]) => Promise<R[]>

/** The settings of a transaction: the database, and the statement timeout. The lock timeout is half of it. */
export interface TransactionOptions {
  readonly site: Site
  readonly statementMs: number
}

/**
 * Runs all statements in one transaction and, if the driver supports it, in one round trip. A single statement is a
 * transaction by itself. If the connection is lost after the end was sent, the outcome is unknown.
 */
export async function flight(
  client: PgClient,
  options: TransactionOptions,
  queries: readonly PgQuery[],
): Promise<Row[][]> {
  const warned = unreplicated(client)
  const { before, after } = around(client, options, queries)
  const all = [...before, ...queries, ...after]
  try {
    const answers = await send(client, all)
    if (unreplicated(client) !== warned) throw new UnreplicatedError()
    return answers.slice(before.length, before.length + queries.length)
  } catch (error) {
    throw isInDoubt(error) ? unknownOutcome(error, options.site) : error
  }
}

const COMMIT: PgQuery = { text: 'COMMIT' }

/**
 * Runs statements in one transaction and two round trips: those of the second depend on the answers to the first. All of
 * them are kept prepared.
 */
export async function exchange(
  client: PgClient,
  options: TransactionOptions,
  first: readonly PgQuery[],
  next: (answers: readonly Row[][]) => readonly PgQuery[],
): Promise<Row[][]> {
  const warned = unreplicated(client)
  const { before, after } = around(client, options, [...first, COMMIT])
  let rest: readonly PgQuery[]
  try {
    const answers = await send(client, [...before, ...first])
    rest = next(answers.slice(before.length))
  } catch (error) {
    // The COMMIT was not sent, so nothing was committed.
    if (lostConnection(error)) throw failure(error, options.site)
    await client.query({ text: 'ROLLBACK' })
    throw error
  }
  try {
    const answers = await send(client, [...rest, ...after])
    if (unreplicated(client) !== warned) throw new UnreplicatedError()
    return answers.slice(0, rest.length)
  } catch (error) {
    throw isInDoubt(error) ? unknownOutcome(error, options.site) : error
  }
}

async function send(client: PgClient, queries: readonly PgQuery[]): Promise<Row[][]> {
  const answers = client.pipeline ? await together(client, queries) : await oneByOne(client, queries)
  return answers.map(({ rows }) => rows as Row[])
}

/** What is sent before and after the queries of a transaction. */
function around(
  client: PgClient,
  { statementMs }: TransactionOptions,
  queries: readonly PgQuery[],
): Readonly<Record<'before' | 'after', readonly PgQuery[]>> {
  const isKept = queries.some(({ name }) => name !== undefined)
  if (!hasSettings(client, statementMs))
    return { before: [{ text: beginText(statementMs) + (isKept ? KEPT_LOCALLY : '') }], after: [COMMIT] }
  const before = planning(client, isKept)
  return queries.length === 1 ? { before, after: [] } : { before: [...before, { text: 'BEGIN' }], after: [COMMIT] }
}

/** A transaction in which one query depends on the answer to another. */
export async function conversation<T>(
  client: PgClient,
  { site, statementMs }: TransactionOptions,
  textOf: (sql: string) => string,
  act: (ask: Ask) => Promise<T>,
): Promise<T> {
  const ask: Ask = async (sql, ...values) => (await client.query(query(textOf(sql), values))).rows as never
  let answer: T
  try {
    for (const each of planning(client, false)) await client.query(each)
    await client.query({ text: beginText(statementMs) })
    answer = await act(ask)
  } catch (error) {
    // The COMMIT was not sent, so nothing was committed.
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
    await client.query(COMMIT)
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
  // After a failed statement, the statements behind it only fail in consequence, and the COMMIT becomes a rollback.
  const failed = answers.find(each => each.status === 'rejected')
  if (failed) throw failed.reason
  return answers.map(each => (each as PromiseFulfilledResult<PgResult>).value)
}

/** The queries are sent in one packet; separate packets would wake the server for each of them. */
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
    if (!lostConnection(error) && queries.includes(COMMIT)) await client.query({ text: 'ROLLBACK' })
    throw error
  }
}

// ---------------------------------------------------------------- synchronous replication

/**
 * If a COMMIT is interrupted while it waits for its standby, the server reports success with a warning. The data is
 * stored locally and may be lost in a failover: the outcome is unknown.
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
