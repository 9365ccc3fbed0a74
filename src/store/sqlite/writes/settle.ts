import type { JobState } from '../../../core/job/job.js'
import { fromText, toCounters, toDecision, toErrorJson, toText, toTextOrNull } from '../../columns.js'
import type { DeltaDraft } from '../../delta.js'
import { isPlainSuccess } from '../../history.js'
import { settledAs, spawnedBy } from '../../run.js'
import type { RunEnd, Settled, Settlement } from '../../store.js'
import type { Connection } from '../file/connection.js'
import { enqueue } from './enqueue.js'
import type { RowidCache } from './rowid-cache.js'

type Ended = Extract<RunEnd, { kind: 'ended' }>

const NO_LEASE = 'token = NULL, worker_id = NULL, lease_until = NULL, lease_ms = NULL'

/** The last value is a time in the far future, unless the settlement requires that the lease has expired. */
const FENCE = 'pk = ? AND token = ? AND lease_until < ?'
const ANY_TIME = Number.MAX_SAFE_INTEGER

const END = `
  UPDATE jobs SET state = ?, reason = ?, finished_at = ?, attempt = attempt - ?, counters = ?, result = ?, pass = NULL,
    fingerprint = ifnull(?, fingerprint), ${NO_LEASE}
  WHERE ${FENCE}`

/** Settles a plain success, the most frequent outcome: the row of the job then holds every fact about the run. */
const SUCCEED = `
  UPDATE jobs SET state = 'succeeded', finished_at = ?, counters = ?, result = ?, pass = NULL, ran_at = ?,
    ran_token = token, token = NULL, lease_until = NULL, lease_ms = NULL
  WHERE ${FENCE}`

const WAIT_AGAIN = `
  UPDATE jobs SET state = 'waiting', run_at = ?, dependency = ifnull(dependency, ?), pass = ?, attempt = attempt - ?, counters = ?,
    fingerprint = ifnull(?, fingerprint), ${NO_LEASE}
  WHERE ${FENCE} AND cancel_requested = 0`

/** A cancellation that was requested during the run turns waiting into cancelled. */
const CANCEL_INSTEAD = `
  UPDATE jobs SET state = 'cancelled', finished_at = ?, pass = NULL, attempt = attempt - ?, counters = ?,
    fingerprint = ifnull(?, fingerprint), ${NO_LEASE}
  WHERE ${FENCE} AND cancel_requested = 1`

const HAND_BACK = `
  UPDATE jobs SET
    state = iif(cancel_requested, 'cancelled', 'waiting'),
    finished_at = iif(cancel_requested, ?, NULL),
    run_at = ifnull(?, run_at), run = run - 1, attempt = attempt - 1, begun = 0,
    started_at = (SELECT a.started_at FROM attempts a WHERE a.job = pk ORDER BY a.run DESC LIMIT 1),
    first_started_at = iif(
      (SELECT a.generation FROM attempts a WHERE a.job = pk ORDER BY a.run DESC LIMIT 1) = generation,
      first_started_at, NULL),
    ${NO_LEASE}
  WHERE ${FENCE}
  RETURNING state, run_at, run`

const INSERT_REMARKS = `
  INSERT INTO remarks (error, note, delay_ms, next_run_at, decision, fingerprint) VALUES (?, ?, ?, ?, ?, ?)`

/** The row of the remarks was inserted just before. */
const INSERT_ATTEMPT = `
  INSERT INTO attempts (job, run, generation, attempt, status, started_at, finished_at, worker_id, token, remarks)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, last_insert_rowid())`

export function settle(
  db: Connection,
  rowids: RowidCache,
  settlement: Settlement,
  now: number,
  delta: DeltaDraft,
): Settled {
  const { lease, end } = settlement
  const pk = rowids.find(db, lease.id)
  if (pk === undefined) return { status: 'lost' }
  rowids.forget(lease.id)
  const fence = [pk, toText(lease.token), settlement.onlyIfExpired ? now : ANY_TIME] as const
  if (end.kind === 'handed-back') return handBack(db, fence, settlement, end, now, delta)
  const isPlain = isPlainSuccess(end, settlement.attempt)
  const become = isPlain
    ? succeed(db, fence, settlement, end)
    : end.transition.to === 'waiting'
      ? waitAgain(db, fence, settlement, end, now)
      : finish(db, fence, settlement, end, end.transition.to)
  if (!become) return wasSettled(db, pk, settlement, end) ? { status: 'already' } : { status: 'lost' }
  delta.settled(settlement, end, become.state, isPlain ? undefined : groupOf(db, pk, end, become.state))
  spawn(db, end, become.state, now, delta)
  if (!isPlain) insertAttempt(db, pk, settlement, end, become)
  return become
}

function spawn(db: Connection, end: RunEnd, state: JobState, now: number, delta: DeltaDraft): void {
  const jobs = spawnedBy(end, state)
  if (jobs.length > 0) enqueue(db, jobs, now, delta)
}

/** The error group of a job. A job that dies without an error of its own stays in its group. */
function groupOf(db: Connection, pk: number, { group }: Ended, state: JobState): string | undefined {
  if (group || state !== 'dead') return group?.fingerprint
  const [known] = db.get<[string | null]>('SELECT fingerprint FROM jobs WHERE pk = ?', pk)!
  return known === null ? undefined : fromText(known)
}

type Fence = readonly [pk: number, token: string, expiredBefore: number]
type Became = Extract<Settled, { status: 'settled' }>

function succeed(db: Connection, fence: Fence, { startedAt, finishedAt }: Settlement, end: Ended): Became | undefined {
  const changed = db.run(SUCCEED, finishedAt, toCounters(end.transition), toTextOrNull(end.result), startedAt, ...fence)
  return changed === 1 ? { status: 'settled', state: 'succeeded' } : undefined
}

function finish(
  db: Connection,
  fence: Fence,
  { finishedAt }: Settlement,
  end: Ended,
  state: 'succeeded' | 'dead' | 'cancelled',
): Became | undefined {
  const { transition } = end
  const changed = db.run(
    END,
    state,
    state === 'dead' ? (transition.reason ?? null) : null,
    finishedAt,
    transition.attemptBack ? 1 : 0,
    toCounters(transition),
    state === 'succeeded' ? toTextOrNull(end.result) : null,
    state === 'succeeded' ? null : toTextOrNull(end.group?.fingerprint),
    ...fence,
  )
  return changed === 1 ? { status: 'settled', state } : undefined
}

function waitAgain(
  db: Connection,
  fence: Fence,
  { finishedAt }: Settlement,
  { transition, dependency, pass, group }: Ended,
  now: number,
): Became | undefined {
  const runAt = Math.ceil(now + transition.delayMs)
  const fingerprint = toTextOrNull(group?.fingerprint)
  const facts = [transition.attemptBack ? 1 : 0, toCounters(transition), fingerprint, ...fence] as const
  const waits = db.run(WAIT_AGAIN, runAt, toTextOrNull(dependency), pass ?? null, ...facts) === 1
  if (waits) return { status: 'settled', state: 'waiting', runAt }
  if (db.run(CANCEL_INSTEAD, finishedAt, ...facts) === 0) return undefined
  return { status: 'settled', state: 'cancelled' }
}

/**
 * Undoes the claim: the job gets the state it had after its last run. Without a delay it keeps its place in the queue.
 */
function handBack(
  db: Connection,
  fence: Fence,
  { lease, queue, name }: Settlement,
  end: Extract<RunEnd, { kind: 'handed-back' }>,
  now: number,
  delta: DeltaDraft,
): Settled {
  const runAt = end.delayMs > 0 ? Math.ceil(now + end.delayMs) : null
  const row = db.get<[JobState, number, number]>(HAND_BACK, now, runAt, ...fence)
  if (!row) return { status: 'lost' }
  const [state, at, run] = row
  if (state === 'cancelled') delta.ended({ id: lease.id, queue, name, state })
  spawn(db, end, state, now, delta)
  db.run('DELETE FROM job_logs WHERE job = ? AND run > ?', fence[0], run)
  return settledAs(state, at)
}

function insertAttempt(db: Connection, pk: number, settlement: Settlement, end: Ended, become: Became): void {
  const { lease, generation, run, attempt, startedAt, finishedAt, workerId } = settlement
  const { status, decision, delayMs } = end.transition
  const facts = [pk, run, generation, attempt, status, startedAt, finishedAt] as const
  const holder = [toText(workerId), toText(lease.token)] as const
  const why = toDecision(decision, attempt, { status, error: end.error })
  const next = become.state === 'waiting' ? [delayMs, become.runAt] : [null, null]
  const group = toTextOrNull(end.group?.fingerprint)
  db.do(INSERT_REMARKS, toErrorJson(end.error), toTextOrNull(end.note), ...next, why, group)
  db.do(INSERT_ATTEMPT, ...facts, ...holder)
}

const SAME = `
  SELECT 1 FROM attempts WHERE job = ? AND run = ? AND token = ? AND status = ?
  UNION ALL
  SELECT 1 FROM jobs WHERE pk = ? AND run = ? AND ran_token = ? AND 'succeeded' = ?`

/**
 * Whether this run was already settled with the same status. A run that the sweeper marked as lost does not match a
 * worker's own status.
 */
function wasSettled(db: Connection, pk: number, { lease, run }: Settlement, { transition }: Ended): boolean {
  const values = [pk, run, toText(lease.token), transition.status] as const
  return db.get(SAME, ...values, ...values) !== undefined
}
