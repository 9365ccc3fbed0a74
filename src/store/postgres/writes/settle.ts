import type { JobState } from '../../../core/job/job.js'
import { toCounters, toDecision, toText } from '../../columns.js'
import { DeltaDraft } from '../../delta.js'
import { settledAs, spawnedBy } from '../../run.js'
import type { NewJob, RunEnd, Settled, Settlement } from '../../store.js'
import { flags, ids, isId, jsons, numbers, texts, words } from '../arrays.js'
import { chunks } from '../chunks.js'
import { rounds } from '../connection/batch-rounds.js'
import { failure } from '../connection/failure.js'
import type { Ask, Database, Row, Statement } from '../connection/pool.js'
import { askThrough } from '../connection/user-transaction.js'
import type { KnownLanes } from '../lanes/known.js'
import { noteEnded, noteValues } from '../lanes/notes.js'
import { appendEnded, appendSettled } from './deltas.js'
import { enqueueAsking } from './enqueue.js'
import { ErrorBodies, KEEP_ERRORS } from './errors.js'
import { isSuccess, notSucceeded, successes } from './succeed.js'

type Ended = Settlement & { readonly end: Extract<RunEnd, { kind: 'ended' }> }
type HandedBack = Settlement & { readonly end: Extract<RunEnd, { kind: 'handed-back' }> }

/** What belongs only to the attempts is kept out of the update of the jobs. */
const SAID = `unnest($1::uuid[], $12::uuid[], $13::text[], $14::text[]) AS said (id, error_hash, note, decision)`

/** The different errors of a batch. */
const ERRORS = 'unnest($21::uuid[], $22::text[]) AS error (hash, body)'

/** What a sweeper needs to be true still, of a job `j`. */
const STILL_EXPIRED = `(given.expired_run IS NULL OR j.lease_until < clock.now AND j.run = given.expired_run)
      AND j.begun = coalesce(given.begun, j.begun)`

/**
 * Settles many runs: jobs and attempts in one statement. Jobs are found by their id alone, and the token is the fence;
 * a condition on the state would make the planner use the index of all running jobs. Columns without a value in the
 * batch are empty arrays.
 */
const endText = (notes: string): string => `
  WITH clock AS MATERIALIZED (
    SELECT @now_ms() AS now, CASE WHEN cardinality($21::uuid[]) > 0 THEN ${KEEP_ERRORS} END AS lock
  ),
  given AS MATERIALIZED (
    SELECT id, token, coalesce(state, 'succeeded') AS state, coalesce(status, 'succeeded') AS status, started_at,
      finished_at, coalesce(back, 0) AS back, delay_ms, counters, reason, result, expired_run, group_name, dependency, pass,
      failed_at, due_at, begun
    FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::integer[],
      $8::float8[], $9::text[], $10::text[], $11::text[], $15::integer[], $16::text[], $17::text[], $18::bigint[],
      $20::bigint[], $23::bigint[], $24::boolean[])
      AS given (id, token, state, status, started_at, finished_at, back, delay_ms, counters, reason, result,
        expired_run, group_name, dependency, pass, failed_at, due_at, begun)
  ),
  ended AS (
    UPDATE @jobs j SET
      state = CASE WHEN given.state = 'waiting' AND j.cancel_requested THEN 'cancelled' ELSE given.state END,
      finished_at = CASE WHEN given.state = 'waiting' AND NOT j.cancel_requested THEN NULL ELSE given.finished_at END,
      run_at = CASE WHEN given.state = 'waiting' AND NOT j.cancel_requested
        THEN ceil(clock.now + given.delay_ms)::bigint ELSE j.run_at END,
      dependency = CASE WHEN given.state = 'waiting' AND NOT j.cancel_requested
        THEN coalesce(j.dependency, given.dependency) ELSE j.dependency END,
      pass = CASE WHEN given.state = 'waiting' AND NOT j.cancel_requested THEN given.pass END,
      fingerprint = CASE given.state WHEN 'succeeded' THEN j.fingerprint
        ELSE coalesce(given.group_name, j.fingerprint) END,
      attempt = j.attempt - given.back, counters = given.counters, reason = given.reason, result = given.result,
      token = NULL
    FROM given, clock
    WHERE j.id = ANY ($1::uuid[]) AND j.id = given.id AND j.token = given.token
      AND ${STILL_EXPIRED}
    RETURNING j.id, j.pk, j.state, j.run_at, j.run, j.generation, j.attempt + given.back AS attempt, j.worker_id,
      j.fingerprint, given.state AS given_state, given.group_name, given.token, given.status, given.started_at,
      given.finished_at, given.delay_ms, given.back, given.reason, given.failed_at, given.due_at
  ),
  logged AS (
    INSERT INTO @attempts (job, run, generation, attempt, status, started_at, finished_at, worker_id, token, error_hash,
      note, decision, fingerprint, delay_ms, next_run_at)
    SELECT pk, run, generation, attempt, status, started_at, finished_at, worker_id, token, error_hash, note, decision,
      group_name, CASE WHEN state = 'waiting' THEN delay_ms END, CASE WHEN state = 'waiting' THEN run_at END
    FROM ended JOIN ${SAID} USING (id)
  ),
  explained AS (
    INSERT INTO @errors (hash, body) SELECT hash, body FROM ${ERRORS}
    WHERE hash IN (SELECT error_hash FROM ended JOIN ${SAID} USING (id)) ORDER BY hash
    ON CONFLICT (hash) DO NOTHING
  ),
  counted AS (${appendSettled('$19', `(SELECT body FROM ${SAID} JOIN ${ERRORS} ON hash = error_hash WHERE said.id = ended.id)`)})${notes}
  SELECT id, token, state, run_at FROM ended`

const END = endText('')
const END_IN_LANES = endText(`, noted AS (${noteEnded('ended', 25)})`)

/**
 * Undoes the claim: the job gets the state it had after its last run. Without a delay it keeps its place in the queue.
 */
const handBackText = (notes: string): string => `
  WITH clock AS MATERIALIZED (SELECT @now_ms() AS now),
  given AS MATERIALIZED (
    SELECT * FROM unnest($1::uuid[], $2::text[], $3::float8[], $4::integer[], $5::boolean[])
      AS given (id, token, delay_ms, expired_run, begun)
  ),
  undone AS (
    UPDATE @jobs j SET
      state = CASE WHEN j.cancel_requested THEN 'cancelled' ELSE 'waiting' END,
      finished_at = CASE WHEN j.cancel_requested THEN clock.now END,
      run_at = CASE WHEN given.delay_ms > 0 THEN ceil(clock.now + given.delay_ms)::bigint ELSE j.run_at END,
      pass = CASE WHEN NOT j.cancel_requested THEN j.pass END,
      run = j.run - 1, attempt = j.attempt - 1, begun = false, token = NULL,
      started_at = (SELECT a.started_at FROM @attempts a WHERE a.job = j.pk ORDER BY a.run DESC LIMIT 1),
      first_started_at = CASE j.generation
        WHEN (SELECT a.generation FROM @attempts a WHERE a.job = j.pk ORDER BY a.run DESC LIMIT 1)
        THEN j.first_started_at END
    FROM given, clock
    WHERE j.id = ANY ($1::uuid[]) AND j.id = given.id AND j.token = given.token
      AND ${STILL_EXPIRED}
    RETURNING j.id, j.pk, j.state, j.run_at, j.run, j.queue, j.name, j.tenant_id, j.reason, j.fingerprint, given.token
  ),
  silenced AS (DELETE FROM @job_logs l USING undone WHERE l.job = undone.pk AND l.run > undone.run),
  counted AS (${appendEnded(`undone WHERE state = 'cancelled'`)})${notes}
  SELECT id, token, state, run_at FROM undone`

const HAND_BACK = handBackText('')
const HAND_BACK_IN_LANES = handBackText(`, noted AS (${noteEnded('undone', 6)})`)

/**
 * Finds runs that were already settled with the same status. A run that the sweeper marked as lost does not match a
 * worker's own status.
 */
const ALREADY = `
  SELECT j.id, a.token, a.status, a.run FROM @attempts a JOIN @jobs j ON a.job = j.pk
  WHERE j.id = ANY ($1::uuid[]) AND a.token = ANY ($2::text[])
  UNION ALL
  SELECT id, ran_token, 'succeeded', run FROM @jobs WHERE id = ANY ($1::uuid[]) AND ran_token = ANY ($2::text[])`

type SettledRow = [id: string, token: string, state: JobState, runAt: number]
type AlreadyRow = [id: string, token: string, status: string, run: number]

/** A settlement and its index in the batch. */
interface Entry {
  readonly index: number
  readonly settlement: Settlement
  /** The id of the job, as the database writes it. */
  readonly id: string
}

/** The key of a fence, as the database writes it. */
const nameOf = (id: string, token: string): string => `${id} ${token}`
const fenceOf = ({ id, settlement }: Entry): string => nameOf(id, toText(settlement.lease.token))

export function settle(db: Database, settlements: readonly Settlement[], lanes: KnownLanes): Promise<Settled[]> {
  const send: Send = parts =>
    settlements.some(spawns)
      ? db.transaction('control', ask => settleAsking(ask, parts, lanes))
      : settleTogether(db, parts)
  return settleBy(send, (sql, ...values) => db.read(sql, ...values), settlements)
}

/** Settles in the caller's transaction, which keeps the rows of these jobs locked until it ends. */
export async function settleWithin(
  db: Database,
  tx: unknown,
  settlements: readonly Settlement[],
  lanes: KnownLanes,
): Promise<Settled[]> {
  const ask = askThrough(db, tx, 'job.complete')
  try {
    return await settleBy(parts => settleAsking(ask, parts, lanes), ask, settlements)
  } catch (error) {
    throw failure(error, db)
  }
}

type Send = (parts: readonly Part[]) => Promise<Row[][]>

async function settleBy(send: Send, look: Ask, settlements: readonly Settlement[]): Promise<Settled[]> {
  const answers: Settled[] = settlements.map(() => ({ status: 'lost' }))
  const entries = settlements.flatMap((settlement, index): Entry[] => {
    const { id } = settlement.lease
    return isId(id) ? [{ index, settlement, id: id.toLowerCase() }] : []
  })
  // If a job occurs twice in a batch, the second settlement sees the effect of the first.
  const parts = rounds(entries, ({ id }) => [id]).flatMap(partsOf)
  if (parts.length === 0) return answers
  const results = await send(parts)
  const missed = parts.flatMap(({ entries: sent, fill }, part) => fill(answers, sent, results[part]!))
  if (missed.length > 0) await findSettled(look, missed, answers)
  return answers
}

/** All jobs that the settlement may create. */
export function spawnOf({ end }: Settlement): readonly NewJob[] {
  return [...((end.kind === 'ended' && end.spawn) || []), ...(end.spawnIfCancelled ?? [])]
}

const spawns = (settlement: Settlement): boolean => spawnOf(settlement).length > 0

function settleTogether(db: Database, parts: readonly Part[]): Promise<Row[][]> {
  const statements = parts.map(({ statement }) => statement)
  return db.write('control', statements)
}

/** The jobs to create are known only after the database has answered which runs were settled. */
async function settleAsking(ask: Ask, parts: readonly Part[], lanes: KnownLanes): Promise<Row[][]> {
  const results: Row[][] = []
  for (const { statement, entries } of parts) {
    const rows = await ask(statement.sql, ...(statement.values ?? []))
    const states = new Map((rows as SettledRow[]).map(([id, token, state]) => [nameOf(id, token), state]))
    const jobs = entries.flatMap(entry => {
      const state = states.get(fenceOf(entry))
      return state === undefined ? [] : spawnedBy(entry.settlement.end, state)
    })
    if (jobs.length > 0) await enqueueAsking(ask, jobs, lanes)
    results.push(rows)
  }
  return results
}

interface Part {
  readonly entries: readonly Entry[]
  readonly statement: Statement
  /** Fills in the settled entries, and returns the others. */
  readonly fill: (answers: Settled[], entries: readonly Entry[], rows: readonly Row[]) => Entry[]
}

const SUCCEEDED: Settled = { status: 'settled', state: 'succeeded' }

/**
 * Jobs are locked in the order of their ids, so that two transactions with the same jobs wait for each other instead
 * of deadlocking.
 */
function partsOf(round: readonly Entry[]): Part[] {
  const sorted = [...round].sort((a, b) => (a.id < b.id ? -1 : 1))
  const plain = sorted.filter(({ settlement }) => isSuccess(settlement))
  const rest = plain.length === sorted.length ? [] : sorted.filter(({ settlement }) => !isSuccess(settlement))
  const ended = rest.filter(({ settlement }) => settlement.end.kind === 'ended')
  const handedBack = rest.filter(({ settlement }) => settlement.end.kind === 'handed-back')
  return [
    ...chunks(plain, sizeOf).map(part => ({
      entries: part,
      statement: successes(part.map(({ settlement }) => settlement)),
      fill: fillSuccesses,
    })),
    ...chunks(ended, sizeOf).map(part => ({ entries: part, statement: endStatement(part), fill })),
    ...chunks(handedBack, () => 0).map(part => ({ entries: part, statement: handBackStatement(part), fill })),
  ]
}

const sizeOf = ({ settlement }: Entry): number => (settlement as Ended).end.result?.length ?? 0

function endStatement(entries: readonly Entry[]): Statement {
  const all = entries.map(({ settlement }) => settlement as Ended)
  const of = <T>(value: (one: Ended) => T): T[] => all.map(value)
  const rare = <T>(value: T, usual: T): T | null => (value === usual ? null : value)
  const delta = new DeltaDraft()
  for (const one of all) delta.settled(one, one.end, one.end.transition.to)
  const errors = new ErrorBodies()
  const values = [
    ids(of(({ lease }) => lease.id)),
    texts(of(({ lease }) => lease.token)),
    words(of(({ end }) => rare<string>(end.transition.to, 'succeeded'))),
    words(of(({ end }) => rare<string>(end.transition.status, 'succeeded'))),
    numbers(of(({ startedAt }) => startedAt)),
    numbers(of(({ finishedAt }) => finishedAt)),
    numbers(of(({ end }) => (end.transition.attemptBack ? 1 : null))),
    numbers(of(({ end }) => (end.transition.to === 'waiting' ? end.transition.delayMs : null))),
    jsons(of(({ end }) => toCounters(end.transition))),
    words(of(({ end }) => (end.transition.to === 'dead' ? end.transition.reason : null))),
    texts(of(({ end }) => (end.transition.to === 'succeeded' ? end.result : null))),
    words(of(({ end }) => errors.hashOf(end.error))),
    texts(of(({ end }) => end.note)),
    jsons(
      of(({ end: { transition, error }, attempt }) =>
        toDecision(transition.decision, attempt, { status: transition.status, error }),
      ),
    ),
    numbers(of(({ onlyIfExpired, run }) => (onlyIfExpired ? run : null))),
    texts(of(({ end }) => end.group?.fingerprint)),
    texts(of(({ end }) => (end.transition.to === 'waiting' ? end.dependency : null))),
    numbers(of(({ end }) => (end.transition.to === 'waiting' ? end.pass : null))),
    delta.toText(0),
    numbers(of(({ failedAt }) => failedAt)),
    words(errors.hashes),
    jsons(errors.bodies),
    numbers(of(({ dueAt }) => dueAt)),
    flags(of(({ ifBegun }) => ifBegun)),
  ]
  const notes = noteValues(all)
  return notes ? { sql: END_IN_LANES, values: [...values, ...notes], isKept: true } : { sql: END, values, isKept: true }
}

function handBackStatement(entries: readonly Entry[]): Statement {
  const all = entries.map(({ settlement }) => settlement as HandedBack)
  const values = [
    ids(all.map(({ lease }) => lease.id)),
    texts(all.map(({ lease }) => lease.token)),
    numbers(all.map(({ end }) => end.delayMs)),
    numbers(all.map(({ onlyIfExpired, run }) => (onlyIfExpired ? run : null))),
    flags(all.map(({ ifBegun }) => ifBegun)),
  ]
  const notes = noteValues(all)
  return notes ? { sql: HAND_BACK_IN_LANES, values: [...values, ...notes] } : { sql: HAND_BACK, values }
}

function fill(answers: Settled[], entries: readonly Entry[], rows: readonly Row[]): Entry[] {
  const settled = new Map((rows as unknown as SettledRow[]).map(row => [nameOf(row[0], row[1]), row]))
  return entries.filter(entry => {
    const row = settled.get(fenceOf(entry))
    if (row) answers[entry.index] = settledAs(row[2], Number(row[3]))
    return !row
  })
}

function fillSuccesses(answers: Settled[], entries: readonly Entry[], rows: readonly Row[]): Entry[] {
  const missed = notSucceeded(rows)
  return entries.filter(({ index, id }) => {
    const isMissed = missed.has(id)
    if (!isMissed) answers[index] = SUCCEEDED
    return isMissed
  })
}

/**
 * This runs after the commit: another process may have ended these runs while the statement waited for their locks,
 * and a statement does not see commits that are newer than its start.
 */
async function findSettled(look: Ask, missed: readonly Entry[], answers: Settled[]): Promise<void> {
  const leases = missed.map(({ settlement }) => settlement.lease)
  const rows = await look<AlreadyRow>(ALREADY, ids(leases.map(({ id }) => id)), texts(leases.map(({ token }) => token)))
  const statuses = new Map(rows.map(([id, token, status, run]) => [`${nameOf(id, token)} ${run}`, status]))
  for (const entry of missed) {
    const { end, run } = entry.settlement
    const status = statuses.get(`${fenceOf(entry)} ${run}`)
    if (end.kind === 'ended' && status === end.transition.status) answers[entry.index] = { status: 'already' }
  }
}

/** Whether to notify other workers. The worker that ran the job already knows about a retry of its own. */
export function isForOthers({ end }: Settlement, settled: Settled): boolean {
  if (settled.status !== 'settled' || settled.state !== 'waiting') return false
  return end.kind === 'handed-back' || end.transition.status === 'released' || end.transition.status === 'lost'
}
