import type { JobState } from '../../../core/job/job.js'
import { present } from '../../../core/values/present.js'
import { fromText, toCounters, toDecision, toErrorJson, toText, toTextOrNull } from '../../columns.js'
import type { DeltaDraft } from '../../delta.js'
import { isPlainSuccess } from '../../history.js'
import { settledAs, spawnedBy } from '../../run.js'
import type { RunEnd, Settled, Settlement } from '../../store.js'
import type { Connection } from '../file/connection.js'
import type { Value } from '../file/driver.js'
import type { Session } from '../file/session.js'
import { ID } from '../rows.js'
import { enqueue } from './enqueue.js'
import { ErrorTexts } from './errors.js'
import { keyOf } from './job.js'
import { isLaned, LaneDraft } from './lanes.js'

type Ended = Extract<RunEnd, { kind: 'ended' }>

const NO_LEASE = 'token = NULL, worker_id = NULL, lease_until = NULL, lease_ms = NULL'

/**
 * The last three values are a time in the far future and nulls, unless the lease of this very run must have expired, and the
 * run must have begun, or not.
 */
const FENCE = 'pk = ? AND token = ? AND lease_until < ? AND run = ifnull(?, run) AND begun = ifnull(?, begun)'
const ANY_TIME = Number.MAX_SAFE_INTEGER

/** The fence of several jobs of one claim, whose leases may have expired. The primary key finds them. */
const FENCES = 'pk IN (SELECT value FROM json_each(?)) AND +token = ?'

/** An end of a run as an UPDATE: of one job, or of several jobs that end in the same way. */
interface Form {
  readonly one: string
  readonly several: string
  /** Counts the jobs that `several` would change. */
  readonly held: string
}

/** `OR ROLLBACK` saves SQLite a copy of every page, as in a claim. */
function form(set: string, unless = ''): Form {
  return {
    one: `UPDATE jobs SET ${set} WHERE ${FENCE}${unless}`,
    several: `UPDATE OR ROLLBACK jobs SET ${set} WHERE ${FENCES}${unless}`,
    held: `SELECT count(*) FROM jobs WHERE ${FENCES}${unless}`,
  }
}

const END = form(`state = ?, reason = ?, finished_at = ?, attempt = attempt - ?, counters = ?, result = ?, pass = NULL,
  fingerprint = ifnull(?, fingerprint), ${NO_LEASE}`)

/** Settles a plain success, the most frequent outcome: the row of the job then holds every fact about the run. */
const SUCCEED = form(`state = 'succeeded', finished_at = ?, counters = ?, result = ?, pass = NULL, ran_at = ?,
  ran_token = token, token = NULL, lease_until = NULL, lease_ms = NULL`)

const WAIT_AGAIN = form(
  `state = 'waiting', run_at = ?, dependency = ifnull(dependency, ?), pass = ?, attempt = attempt - ?, counters = ?,
  fingerprint = ifnull(?, fingerprint), ${NO_LEASE}`,
  ' AND cancel_requested = 0',
)

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

const INSERT_ATTEMPT = `
  INSERT INTO attempts (job, run, generation, attempt, status, started_at, finished_at, worker_id, token, error, note,
    delay_ms, next_run_at, decision, fingerprint)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

/** The end of one run; `place` is that of its answer. */
interface Ending {
  readonly place: number
  readonly pk: number
  readonly settlement: Settlement
  readonly end: Ended
  readonly change: Change
}

/** How a run that ends changes the row of its job. */
interface Change {
  readonly form: Form
  readonly values: readonly Value[]
  readonly become: Became
  /** The row of the job is the whole record of the run. */
  readonly isPlain: boolean
}

/** Neighbours that end in the same way share one statement, which is most of the work of a settlement. */
export function settleAll(
  { seenErrors }: Pick<Session, 'seenErrors'>,
  db: Connection,
  settlements: readonly Settlement[],
  now: number,
  delta: DeltaDraft,
): Settled[] {
  const errors = new ErrorTexts(db, seenErrors)
  const answers: Settled[] = new Array(settlements.length)
  let alike: Ending[] = []
  const write = () => {
    for (const [index, answer] of settleAlike(db, alike, now).entries()) {
      const ending = alike[index]!
      answers[ending.place] = answer
      if (answer.status === 'settled') recordEnd(db, errors, ending, answer, now, delta)
    }
    alike = []
  }
  for (const [place, settlement] of settlements.entries()) {
    const { lease, end } = settlement
    const pk = keyOf(db, lease)
    if (pk === undefined) answers[place] = { status: 'lost' }
    else if (end.kind === 'handed-back') {
      write()
      answers[place] = handBack(db, fenceOf(pk, settlement, now), settlement, end, now, delta)
    } else {
      const ending = { place, pk, settlement, end, change: changeBy(settlement, end, now) }
      if (alike.length > 0 && !endAlike(alike[0]!, ending)) write()
      alike.push(ending)
    }
  }
  write()
  errors.count()
  settleLanes(db, settlements, answers, now)
  return answers
}

/** Opens the lanes whose runs have ended. A job that was claimed before its queue had limits does not know its lane. */
function settleLanes(
  db: Connection,
  settlements: readonly Settlement[],
  answers: readonly Settled[],
  now: number,
): void {
  let lanes: LaneDraft | undefined
  for (const [place, settlement] of settlements.entries()) {
    const answer = answers[place]!
    const { queue, lease, spent, claimedAt: startedAt, lesson } = settlement
    if (answer.status !== 'settled' || (settlement.lane === undefined && !isLaned(db, queue))) continue
    const lane = settlement.lane ?? laneOf(db, lease.id)
    if (lane === undefined) continue
    lanes ??= new LaneDraft()
    if (answer.state === 'waiting') lanes.change(queue, lane)
    else lanes.free(queue, lane)
    if (spent || lesson) lanes.note({ queue, partition: lane, at: now, ...present({ spent, startedAt, lesson }) })
  }
  lanes?.write(db, now)
}

function laneOf(db: Connection, id: string): string | undefined {
  const lane = db.get<[string | null]>(`SELECT lane FROM jobs WHERE id = ${ID}`, id)?.[0] ?? null
  return lane === null ? undefined : fromText(lane)
}

function endAlike({ settlement, change }: Ending, other: Ending): boolean {
  const isSameClaim = settlement.lease.token === other.settlement.lease.token
  const isSwept = settlement.onlyIfExpired || other.settlement.onlyIfExpired
  const { form, values } = other.change
  return change.form === form && isSameClaim && !isSwept && change.values.every((value, i) => value === values[i])
}

type Fence = readonly [pk: number, token: string, expiredBefore: number, run: number | null, begun: number | null]
type Became = Extract<Settled, { status: 'settled' }>

function fenceOf(pk: number, { lease, run, onlyIfExpired, ifBegun }: Settlement, now: number): Fence {
  const begun = ifBegun === undefined ? null : Number(ifBegun)
  return onlyIfExpired ? [pk, toText(lease.token), now, run, begun] : [pk, toText(lease.token), ANY_TIME, null, begun]
}

/** Fewer jobs are settled faster one by one. */
const ALIKE_MIN = 3

function settleAlike(db: Connection, alike: readonly Ending[], now: number): readonly Settled[] {
  if (alike.length < ALIKE_MIN) return alike.map(ending => settleOne(db, ending, now))
  const { settlement, change } = alike[0]!
  const { form, values, become } = change
  const fences = [JSON.stringify(alike.map(({ pk }) => pk)), toText(settlement.lease.token)] as const
  // If a lease was lost or a cancellation was requested, each job gets its own answer.
  if (db.get<[number]>(form.held, ...fences)![0] !== alike.length) return alike.map(each => settleOne(db, each, now))
  db.do(form.several, ...values, ...fences)
  return alike.map(() => become)
}

function settleOne(db: Connection, ending: Ending, now: number): Settled {
  const { pk, settlement, end } = ending
  const { form, values, become } = ending.change
  const fence = fenceOf(pk, settlement, now)
  if (db.run(form.one, ...values, ...fence) === 1) return become
  if (form === WAIT_AGAIN) {
    const [, , , ...facts] = values
    if (db.run(CANCEL_INSTEAD, settlement.finishedAt, ...facts, ...fence) === 1) return CANCELLED
  }
  return wasSettled(db, pk, settlement, end) ? { status: 'already' } : { status: 'lost' }
}

const CANCELLED: Became = { status: 'settled', state: 'cancelled' }
const SUCCEEDED: Became = { status: 'settled', state: 'succeeded' }

function recordEnd(
  db: Connection,
  errors: ErrorTexts,
  ending: Ending,
  become: Became,
  now: number,
  delta: DeltaDraft,
): void {
  const { pk, settlement, end } = ending
  const { isPlain } = ending.change
  delta.settled(settlement, end, become.state, isPlain ? undefined : groupOf(db, pk, end, become.state))
  spawn(db, end, become.state, now, delta)
  if (!isPlain) insertAttempt(db, errors, ending, become)
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

function changeBy(settlement: Settlement, end: Ended, now: number): Change {
  if (isPlainSuccess(end, settlement.attempt)) {
    const { startedAt, finishedAt } = settlement
    const values = [finishedAt, toCounters(end.transition), toTextOrNull(end.result), startedAt]
    return { isPlain: true, form: SUCCEED, values, become: SUCCEEDED }
  }
  const { to } = end.transition
  return to === 'waiting' ? waiting(end, now) : finished(settlement, end, to)
}

function finished({ finishedAt }: Settlement, end: Ended, state: 'succeeded' | 'dead' | 'cancelled'): Change {
  const { transition } = end
  const values = [
    state,
    state === 'dead' ? (transition.reason ?? null) : null,
    finishedAt,
    transition.attemptBack ? 1 : 0,
    toCounters(transition),
    state === 'succeeded' ? toTextOrNull(end.result) : null,
    state === 'succeeded' ? null : toTextOrNull(end.group?.fingerprint),
  ]
  return { isPlain: false, form: END, values, become: { status: 'settled', state } }
}

function waiting({ transition, dependency, pass, group }: Ended, now: number): Change {
  const runAt = Math.ceil(now + transition.delayMs)
  // `CANCEL_INSTEAD` has the values after the third, too.
  const facts = [transition.attemptBack ? 1 : 0, toCounters(transition), toTextOrNull(group?.fingerprint)]
  const values = [runAt, toTextOrNull(dependency), pass ?? null, ...facts]
  return { isPlain: false, form: WAIT_AGAIN, values, become: { status: 'settled', state: 'waiting', runAt } }
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

function insertAttempt(db: Connection, errors: ErrorTexts, { pk, settlement, end }: Ending, become: Became): void {
  const { lease, generation, run, attempt, startedAt, finishedAt, workerId } = settlement
  const { status, decision, delayMs } = end.transition
  const isWaiting = become.state === 'waiting'
  db.do(
    INSERT_ATTEMPT,
    pk,
    run,
    generation,
    attempt,
    status,
    startedAt,
    finishedAt,
    toText(workerId),
    toText(lease.token),
    errors.refer(toErrorJson(end.error)),
    toTextOrNull(end.note),
    isWaiting ? delayMs : null,
    isWaiting ? become.runAt : null,
    toDecision(decision, attempt, { status, error: end.error }),
    toTextOrNull(end.group?.fingerprint),
  )
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
