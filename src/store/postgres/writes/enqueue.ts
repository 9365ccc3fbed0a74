import { ChronosError } from '../../../core/values/error.js'
import { fromText, toTags } from '../../columns.js'
import { DeltaDraft } from '../../delta.js'
import { columnNames, GIVEN_COLUMNS, givenValue } from '../../job-columns.js'
import type { Enqueued, NewJob, RunTime } from '../../store.js'
import { booleans, ids, numbers, texts, words } from '../arrays.js'
import { chunks } from '../chunks.js'
import { rounds } from '../connection/batch-rounds.js'
import { failure } from '../connection/failure.js'
import type { Ask, Database, Statement } from '../connection/pool.js'
import type { SharedCommit } from '../connection/shared-commit.js'
import { askThrough } from '../connection/user-transaction.js'
import type { Notifier } from '../connection/wake.js'
import type { KnownLanes } from '../lanes/known.js'
import { noteLanes } from '../lanes/notes.js'
import { hashOf, isKeptApart, KEPT_APART } from '../rows.js'
import { appendEnqueued } from './deltas.js'
import {
  type Answers,
  type Candidate,
  candidateOf,
  forgetExpired,
  isReplacing,
  prepareModes,
  replace,
  splitByValue,
  takeThrottles,
} from './unique.js'

/** Optional columns of a new job. A deadline needs two parameters: a time or a delay. */
const PLAIN_COLUMNS = GIVEN_COLUMNS.filter(({ field }) => field !== 'deadline')
const GIVEN = columnNames(PLAIN_COLUMNS)

const INPUT_COLUMNS = [
  ['id', 'uuid'],
  ['name', 'text'],
  ['queue', 'text'],
  ['priority', 'smallint'],
  ['run_at', 'bigint'],
  ['delay_ms', 'float8'],
  ['at_most_once', 'boolean'],
  ['deadline', 'bigint'],
  ['deadline_ms', 'float8'],
  ['unique_hash', 'bytea'],
  ['unique_slot', 'integer'],
  ['tags', 'text'],
  ['payload', 'text'],
  ...PLAIN_COLUMNS.map(({ column, kind }) => [column, kind === 'number' ? 'float8' : 'text'] as const),
] as const
const ARRAYS = INPUT_COLUMNS.map(([, type], index) => `$${index + 1}::${type}[]`).join(', ')
/** The parameters after the columns: the delta, and the payloads that are stored in their own table. */
const DELTA = `$${INPUT_COLUMNS.length + 1}` as const
const [APART_IDS, APART_BODIES, LANES] = [2, 3, 4].map(place => `$${INPUT_COLUMNS.length + place}`)

/** Jobs of queues with limits also have a lane. */
type Kind = 'plain' | 'laned'
const LANED = {
  plain: { column: '', array: '', returned: '', notes: '' },
  laned: {
    column: ', lane',
    array: `, ${LANES}::text[]`,
    returned: ', lane',
    notes: `, noted AS (${noteLanes('made', '(SELECT now FROM clock)')})`,
  },
} as const

const insertText = (kind: Kind, more: string, where: string): string => `
  WITH clock AS MATERIALIZED (SELECT @now_ms() AS now),
  made AS (
    INSERT INTO @jobs (id, name, queue, priority, state, run_at, at_most_once, created_at, deadline, unique_hash,
      unique_slot, tags, payload, ${GIVEN}${LANED[kind].column})
    SELECT id, name, queue, priority, 'waiting', coalesce(run_at, ceil((SELECT now FROM clock) + delay_ms)::bigint),
      at_most_once IS TRUE, (SELECT now FROM clock),
      coalesce(deadline, ceil((SELECT now FROM clock) + deadline_ms)::bigint), unique_hash, unique_slot, tags, payload,
      ${GIVEN}${LANED[kind].column}
    FROM unnest(${ARRAYS}${LANED[kind].array})
      AS given (${INPUT_COLUMNS.map(([column]) => column).join(', ')}${LANED[kind].column})${where}
    ON CONFLICT DO NOTHING
    RETURNING id, queue, name${LANED[kind].returned}
  )${LANED[kind].notes}${more}`

const APART = `, apart AS (
    INSERT INTO @payloads (id, body)
    SELECT id, body FROM unnest(${APART_IDS}::uuid[], ${APART_BODIES}::text[]) AS given (id, body)
    WHERE id IN (SELECT id FROM made)
  )`

/** The unique index covers one slot. A job without a slot must not be inserted beside one in a later slot. */
const ONLY_WITHOUT_OTHERS = `
    WHERE unique_slot IS NOT NULL OR unique_hash IS NULL OR NOT EXISTS (
      SELECT 1 FROM @jobs other WHERE other.unique_hash = given.unique_hash AND other.unique_hash IS NOT NULL
        AND other.finished_at IS NULL AND other.unique_slot IS NOT NULL)`

/**
 * Statements with and without the ids of the created jobs as the answer, each with and without separately stored
 * payloads and lanes.
 */
const insertTexts = (answer: string, where = '') => ({
  short: insertText('plain', answer, where),
  long: insertText('plain', APART + answer, where),
  laned: insertText('laned', APART + answer, where),
})
const INSERT = insertTexts(appendEnqueued(DELTA))
const INSERT_RETURNING = insertTexts(`, counted AS (${appendEnqueued(DELTA)}) SELECT id FROM made`, ONLY_WITHOUT_OTHERS)

function insertion(
  jobs: readonly NewJob[],
  known: KnownLanes,
  sql = INSERT,
  slots: readonly (number | undefined)[] = [],
): Statement {
  const of = <T>(value: (job: NewJob) => T): T[] => jobs.map(value)
  const at = (time: RunTime | undefined) => (time && 'at' in time ? Math.ceil(time.at) : null)
  const delay = (time: RunTime | undefined) => (time && 'delayMs' in time ? time.delayMs : null)
  const apart = jobs.filter(({ payload }) => isKeptApart(payload))
  const delta = new DeltaDraft()
  for (const job of jobs) delta.enqueued(job)
  const values = [
    `{${jobs.map(({ id }) => id).join(',')}}`,
    texts(of(({ name }) => name)),
    texts(of(({ queue }) => queue)),
    numbers(of(({ priority }) => priority)),
    numbers(of(({ runAt }) => at(runAt))),
    numbers(of(({ runAt }) => delay(runAt))),
    booleans(of(({ delivery }) => delivery === 'at-most-once')),
    numbers(of(({ deadline }) => at(deadline))),
    numbers(of(({ deadline }) => delay(deadline))),
    words(of(uniqueHash)),
    numbers(slots),
    words(of(({ tags }) => toTags(tags))),
    texts(of(({ payload }) => (isKeptApart(payload) ? KEPT_APART : payload))),
    ...PLAIN_COLUMNS.map(column => givenArray(column, jobs)),
    delta.toText(0),
  ]
  const lanes = known.lanesOf(jobs)
  if (apart.length === 0 && !lanes) return { sql: sql.short, values, isKept: true }
  values.push(`{${apart.map(({ id }) => id).join(',')}}`, texts(apart.map(({ payload }) => payload)))
  if (!lanes) return { sql: sql.long, values, isKept: true }
  return { sql: sql.laned, values: [...values, texts(lanes)], isKept: true }
}

/** Text is already encoded by `givenValue`. */
function givenArray(column: (typeof PLAIN_COLUMNS)[number], jobs: readonly NewJob[]): string {
  const values = jobs.map(job => givenValue(column, job, 0))
  return column.kind === 'number' ? numbers(values as (number | null)[]) : words(values as (string | null)[])
}

const uniqueHash = ({ tenantId, name, unique }: NewJob) =>
  unique === undefined ? undefined : hashOf(tenantId, name, unique)

const created = (id: string): Enqueued => ({ status: 'created', id })
const isPlain = (job: NewJob) => job.key === undefined && job.unique === undefined && job.throttle === undefined

/** Inserts jobs that have neither a key nor a `unique` value or throttle. If a job with the same id exists, the insert skips it. */
function insertPlain(jobs: readonly NewJob[], lanes: KnownLanes): Statement[] {
  return chunks(jobs, ({ payload }) => payload.length).map(chunk => insertion(chunk, lanes))
}

export async function enqueue(
  db: Database,
  jobs: readonly NewJob[],
  lanes: KnownLanes,
  notifier: Notifier,
  sharedCommit: SharedCommit,
): Promise<Enqueued[]> {
  const times = jobs.map(({ runAt }) => runAt)
  if (!jobs.every(isPlain)) {
    sharedCommit.abandon()
    const answers = await db.transaction('work', ask => insertWithKeys(ask, jobs, lanes))
    notifier.notify(times.map((time, index) => dueOf(answers[index]!) ?? time))
    return answers
  }
  const notification = notifier.statementFor(times)
  await sharedCommit.send(insertPlain(jobs, lanes), statements => db.write('work', statements, notification))
  if (!notification) notifier.notify(times)
  return jobs.map(({ id }) => created(id))
}

/** When the job that took a payload is due. */
function dueOf(answer: Enqueued): RunTime | undefined {
  return answer.status === 'replaced' ? { delayMs: answer.delayMs } : undefined
}

/**
 * Enqueues in the caller's transaction. It locks no row that another transaction needs; with `replace` and `debounce`, it
 * locks the waiting job, which no worker claims until the commit.
 */
export async function enqueueWithin(
  db: Database,
  tx: unknown,
  jobs: readonly NewJob[],
  lanes: KnownLanes,
  notification: readonly [channel: string, payload: string] | undefined,
): Promise<Enqueued[]> {
  const ask = askThrough(db, tx, 'enqueue')
  try {
    const answers = await enqueueAsking(ask, jobs, lanes, true)
    // The database sends one notification per transaction, and only after the commit. `SELECT 1` is used because some
    // libraries can't read a void result.
    if (notification) await ask('SELECT 1 FROM pg_notify($1, $2)', ...notification)
    return answers
  } catch (error) {
    throw failure(error, db)
  }
}

/** Enqueues inside a larger transaction. */
export async function enqueueAsking(
  ask: Ask,
  jobs: readonly NewJob[],
  lanes: KnownLanes,
  isCallers = false,
): Promise<Enqueued[]> {
  if (!jobs.every(isPlain)) return insertWithKeys(ask, jobs, lanes, isCallers)
  for (const { sql, values = [] } of insertPlain(jobs, lanes)) await ask(sql, ...values)
  return jobs.map(({ id }) => created(id))
}

// ---------------------------------------------------------------- keys and unique values

const TRIES_MAX = 5

/**
 * Repeats until every job has an answer, because other transactions may enqueue, claim or end jobs with the same values
 * concurrently. `isCallers`: in a transaction of the caller.
 */
async function insertWithKeys(
  ask: Ask,
  jobs: readonly NewJob[],
  lanes: KnownLanes,
  isCallers = false,
): Promise<Enqueued[]> {
  const answers: Answers = new Map()
  const candidates = jobs.map(candidateOf)
  await prepareModes(ask, candidates, answers)
  const isOpen = (candidate: Candidate): boolean => !answers.has(candidate)
  const [first, later] = splitByValue(candidates.filter(isOpen))
  const place = { lanes, isCallers }
  await decideAll(ask, first, answers, place)
  await replace(ask, later, answers, isCallers)
  await decideAll(ask, later.filter(isOpen), answers, place)
  return candidates.map(candidate => answers.get(candidate)!)
}

/** Which queues have lanes, and whether the transaction is the caller's. */
interface Place {
  readonly lanes: KnownLanes
  readonly isCallers: boolean
}

/** If a value occurs twice in a batch, the second job sees the effect of the first. */
async function decideAll(ask: Ask, candidates: readonly Candidate[], answers: Answers, place: Place): Promise<void> {
  for (const round of rounds(candidates, namesOf)) {
    let open: readonly Candidate[] = round
    for (let tries = 1; open.length > 0; tries++) {
      if (tries > TRIES_MAX) throw undecided(open[0]!.job)
      open = await decide(ask, open, answers, place)
    }
  }
}

function namesOf({ job, key, unique, throttle }: Candidate): string[] {
  const names = [job.id.toLowerCase()]
  if (key !== undefined) names.push(`key ${key}`)
  if (unique !== undefined) names.push(`unique ${unique}`)
  if (throttle !== undefined) names.push(`throttle ${throttle}`)
  return names
}

function undecided({ key, unique, throttle, name }: NewJob): ChronosError {
  const what =
    key === undefined ? `unique value ${JSON.stringify(unique ?? throttle?.value)}` : `key ${JSON.stringify(key)}`
  return new ChronosError('STORE_UNAVAILABLE', `the ${what} of job "${name}" was modified concurrently; retry`)
}

/** Returns the candidates that are still undecided. */
async function decide(
  ask: Ask,
  candidates: readonly Candidate[],
  answers: Answers,
  { lanes, isCallers }: Place,
): Promise<Candidate[]> {
  const taken = await takeKeys(ask, candidates)
  const owners = await findOwners(ask, candidates)
  const free = candidates.filter(candidate => {
    const { key, job } = candidate
    if (key === undefined || taken.has(key)) return true
    const owner = owners.get(key)
    if (owner) answers.set(candidate, ownedBy(owner, job))
    return false
  })
  const throttled = new Set(await takeThrottles(ask, free, answers))
  const isChanged = (await replace(ask, free, answers, isCallers)) === 'changed'
  const own = free.filter(one => !answers.has(one) && !throttled.has(one) && !(isChanged && isReplacing(one)))
  await insert(ask, own, answers, lanes)
  const refused = free.filter(one => !answers.has(one))
  if (refused.length > 0) await findTwins(ask, refused, answers)
  const unwanted = [...refused, ...throttled].filter(({ key }) => key !== undefined && taken.has(key))
  if (unwanted.length > 0) await giveBackKeys(ask, unwanted)
  return candidates.filter(candidate => !answers.has(candidate))
}

/**
 * Keys are inserted in one fixed order, so that two batches with the same new keys wait for each other instead of
 * deadlocking.
 */
const TAKE_KEYS = `
  INSERT INTO @keys (hash, job_id, key, payload_hash)
  SELECT hash, id, key, payload_hash
  FROM unnest($1::bytea[], $2::uuid[], $3::text[], $4::text[]) AS given (hash, id, key, payload_hash)
  WHERE NOT EXISTS (SELECT 1 FROM @jobs j WHERE j.id = given.id)
  ORDER BY hash
  ON CONFLICT (hash) DO NOTHING
  RETURNING encode(hash, 'hex')`

async function takeKeys(ask: Ask, candidates: readonly Candidate[]): Promise<Set<string>> {
  const keyed = candidates.filter(({ key }) => key !== undefined)
  if (keyed.length === 0) return new Set()
  const hashes = words(keyed.map(({ key }) => key))
  await forgetExpired(ask, hashes)
  const rows = await ask<[string]>(
    TAKE_KEYS,
    hashes,
    ids(keyed.map(({ job }) => job.id)),
    texts(keyed.map(({ job }) => job.key)),
    texts(keyed.map(({ job }) => job.payloadHash ?? '')),
  )
  return new Set(rows.map(([hash]) => `\\x${hash}`))
}

interface Owner {
  readonly id: string
  readonly payloadHash: string
}

const FIND_OWNERS = `SELECT encode(hash, 'hex'), job_id, payload_hash FROM @keys WHERE hash = ANY ($1::bytea[])`

/** A separate statement has a newer snapshot: it sees the transaction that took the key while this one waited. */
async function findOwners(ask: Ask, candidates: readonly Candidate[]): Promise<Map<string, Owner>> {
  const hashes = candidates.flatMap(({ key }) => key ?? [])
  if (hashes.length === 0) return new Map()
  const rows = await ask<[hash: string, id: string, payloadHash: string]>(FIND_OWNERS, words(hashes))
  return new Map(rows.map(([hash, id, payloadHash]) => [`\\x${hash}`, { id, payloadHash: fromText(payloadHash) }]))
}

function ownedBy({ id, payloadHash }: Owner, job: NewJob): Enqueued {
  if (id === job.id.toLowerCase()) return created(job.id)
  if (payloadHash !== (job.payloadHash ?? '')) return { status: 'conflict', id, payloadHash }
  return { status: 'existing', id }
}

/** A candidate that conflicted has no answer. */
async function insert(ask: Ask, candidates: readonly Candidate[], answers: Answers, lanes: KnownLanes): Promise<void> {
  const inserted = new Set<string>()
  for (const chunk of chunks(candidates, ({ job }) => job.payload.length)) {
    const { sql, values = [] } = insertion(
      chunk.map(({ job }) => job),
      lanes,
      INSERT_RETURNING,
      chunk.map(({ slot }) => slot),
    )
    for (const [id] of await ask<[string]>(sql, ...values)) inserted.add(id)
  }
  for (const candidate of candidates) {
    const { id } = candidate.job
    if (inserted.has(id.toLowerCase())) answers.set(candidate, created(id))
  }
}

/** The job that an insert conflicted with: the job itself, or the live job with its `unique` value. */
const FIND_TWINS = `
  SELECT id, encode(unique_hash, 'hex') FROM @jobs
  WHERE id = ANY ($1::uuid[]) OR (unique_hash = ANY ($2::bytea[]) AND unique_hash IS NOT NULL AND finished_at IS NULL)
  ORDER BY coalesce(unique_slot, 0)`

async function findTwins(ask: Ask, refused: readonly Candidate[], answers: Answers): Promise<void> {
  const rows = await ask<[id: string, hash: string | null]>(
    FIND_TWINS,
    ids(refused.map(({ job }) => job.id)),
    words(refused.flatMap(({ unique }) => unique ?? [])),
  )
  const known = new Set(rows.map(([id]) => id))
  const twins = new Map(rows.map(([id, hash]) => [`\\x${hash}`, id]))
  for (const candidate of refused) {
    const { job, unique } = candidate
    const twin = unique === undefined ? undefined : twins.get(unique)
    if (known.has(job.id.toLowerCase())) answers.set(candidate, created(job.id))
    else if (twin !== undefined && !isReplacing(candidate)) answers.set(candidate, { status: 'existing', id: twin })
  }
}

/** A job that was not created must not keep its key. */
async function giveBackKeys(ask: Ask, candidates: readonly Candidate[]): Promise<void> {
  await ask(
    'DELETE FROM @keys WHERE hash = ANY ($1::bytea[]) AND job_id = ANY ($2::uuid[])',
    words(candidates.map(({ key }) => key)),
    ids(candidates.map(({ job }) => job.id)),
  )
}
