import type { JobState } from '../../../core/job/job.js'
import { newestOf, type Standing } from '../../../core/job/unique.js'
import { fromText } from '../../columns.js'
import { REPLACED_SCOPE, throttleScope } from '../../scope.js'
import { type Enqueued, type NewJob, REMOVED_KEY_MS, REPLACED_ID_MS } from '../../store.js'
import { ids, numbers, texts, words } from '../arrays.js'
import type { Ask } from '../connection/pool.js'
import { noteLanes } from '../lanes/notes.js'
import { hashOf, isKeptApart, KEPT_APART } from '../rows.js'

// The modes of `unique`. A job that is enqueued with `replace` or `debounce` while one with its value runs waits beside
// it, in the next slot of the value. So the running job is not touched, and neither claims nor retries know of modes.

/** A job whose key, `unique` value or throttle may belong to another job. */
export interface Candidate {
  readonly index: number
  readonly job: NewJob
  readonly key: string | undefined
  readonly unique: string | undefined
  readonly throttle: string | undefined
  /** The slot of its `unique` value; undefined is the first, which a job without a mode also takes. */
  slot?: number
}

export type Answers = Map<Candidate, Enqueued>

export function candidateOf(job: NewJob, index: number): Candidate {
  const { tenantId, name, key, unique, throttle } = job
  const scope = throttleScope(job)
  return {
    index,
    job,
    key: key === undefined ? undefined : hashOf(tenantId, name, key),
    unique: unique === undefined ? undefined : hashOf(tenantId, name, unique),
    throttle: throttle && hashOf(scope.tenantId, scope.name, throttle.value),
  }
}

export const isReplacing = ({ job }: Candidate): boolean => job.unique !== undefined && job.replacement !== undefined

const replacedHash = ({ job }: Candidate): string =>
  hashOf(REPLACED_SCOPE.tenantId, REPLACED_SCOPE.name, job.id.toLowerCase())

/**
 * Splits a batch: of many payloads for one value, the first may create a job, and the others are added to it at once
 * instead of one after another.
 */
export function splitByValue(candidates: readonly Candidate[]): readonly [first: Candidate[], later: Candidate[]] {
  const seen = new Set<string>()
  const [first, later]: [Candidate[], Candidate[]] = [[], []]
  for (const candidate of candidates) {
    const isLater = isReplacing(candidate) && candidate.key === undefined && seen.has(candidate.unique!)
    if (isReplacing(candidate)) seen.add(candidate.unique!)
    const part = isLater ? later : first
    part.push(candidate)
  }
  return [first, later]
}

// ---------------------------------------------------------------- before the first insert

/** No value is empty. The number of the table keeps schemas apart, and is hashed because users may lock small numbers. */
const EVERY_VALUE = `hashtextextended('', '@keys'::regclass::oid::bigint)`

/** Values are locked in one fixed order, so that two batches with the same values wait for each other. */
const LOCK_VALUES = `
  WITH beside AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared(${EVERY_VALUE})::text)
  SELECT count(pg_advisory_xact_lock(hashtextextended(value, '@keys'::regclass::oid::bigint))::text)
  FROM beside, unnest($1::text[]) AS given (value)`

/** A server has room for some thousands of locks of all its sessions, so a batch with many values locks all at once. */
const LOCK_ALL = `SELECT pg_advisory_xact_lock(${EVERY_VALUE})::text`
export const LOCKED_VALUES_MAX = 200

const AGAIN = `
  SELECT id, NULL::text FROM @jobs WHERE id = ANY ($1::uuid[])
  UNION ALL SELECT job_id, encode(hash, 'hex') FROM @keys
    WHERE hash = ANY ($2::bytea[]) AND expires_at > (SELECT @now_ms())`

/**
 * Takes the values of a batch, until the transaction ends, and answers the calls that are repeated because their
 * response was lost: a payload is taken over once, and a throttled job is not created twice.
 */
export async function prepareModes(ask: Ask, candidates: readonly Candidate[], answers: Answers): Promise<void> {
  const special = candidates.filter(one => isReplacing(one) || one.throttle !== undefined)
  if (special.length === 0) return
  const replacing = special.filter(isReplacing)
  const values = [...new Set(replacing.map(({ unique }) => `unique ${unique}`))].sort()
  if (values.length > LOCKED_VALUES_MAX) await ask(LOCK_ALL)
  else if (values.length > 0) await ask(LOCK_VALUES, words(values))
  const rows = await ask<[id: string, hash: string | null]>(
    AGAIN,
    ids(special.map(({ job }) => job.id)),
    words(replacing.map(replacedHash)),
  )
  const created = new Set(rows.flatMap(([id, hash]) => (hash === null ? id : [])))
  const replaced = new Map(rows.map(([id, hash]) => [`\\x${hash}`, id]))
  for (const candidate of special) {
    const { id } = candidate.job
    const jobId = isReplacing(candidate) ? replaced.get(replacedHash(candidate)) : undefined
    if (created.has(id.toLowerCase())) answers.set(candidate, { status: 'created', id })
    else if (jobId !== undefined) answers.set(candidate, { status: 'replaced', id: jobId, delayMs: 0 })
  }
}

// ---------------------------------------------------------------- throttle

/** An expired key may still exist. */
const FORGET_KEYS = `
  DELETE FROM @keys WHERE hash = ANY ($1::bytea[]) AND expires_at <= (SELECT @now_ms())`

export async function forgetExpired(ask: Ask, hashes: string): Promise<void> {
  await ask(FORGET_KEYS, hashes)
}

/** A refused one locks nothing, so that a transaction of the caller does not hold up others. */
const TAKE_THROTTLES = `
  INSERT INTO @keys (hash, job_id, key, payload_hash, expires_at)
  SELECT hash, id, key, '', ceil(@now_ms() + for_ms)::bigint
  FROM unnest($1::bytea[], $2::uuid[], $3::text[], $4::float8[]) AS given (hash, id, key, for_ms)
  ORDER BY hash
  ON CONFLICT (hash) DO NOTHING
  RETURNING encode(hash, 'hex')`

const FIND_THROTTLES = `SELECT encode(hash, 'hex'), job_id FROM @keys WHERE hash = ANY ($1::bytea[])`

/** Takes the throttles that are free. A throttled candidate is answered, or left for the next try if the row is gone. */
export async function takeThrottles(
  ask: Ask,
  candidates: readonly Candidate[],
  answers: Answers,
): Promise<Candidate[]> {
  const throttled = candidates.filter(({ throttle }) => throttle !== undefined)
  if (throttled.length === 0) return []
  const hashes = words(throttled.map(({ throttle }) => throttle))
  await forgetExpired(ask, hashes)
  const rows = await ask<[string]>(
    TAKE_THROTTLES,
    hashes,
    ids(throttled.map(({ job }) => job.id)),
    texts(throttled.map(({ job }) => job.throttle!.value)),
    numbers(throttled.map(({ job }) => job.throttle!.forMs)),
  )
  const taken = new Set(rows.map(([hash]) => `\\x${hash}`))
  const refused = throttled.filter(({ throttle }) => !taken.has(throttle!))
  if (refused.length === 0) return []
  const found = await ask<[hash: string, id: string]>(FIND_THROTTLES, hashes)
  const owners = new Map(found.map(([hash, id]) => [`\\x${hash}`, id]))
  for (const candidate of refused) {
    const id = owners.get(candidate.throttle!)
    if (id === undefined) continue
    const isOwn = id === candidate.job.id.toLowerCase()
    answers.set(candidate, { status: isOwn ? 'created' : 'existing', id })
  }
  return refused
}

// ---------------------------------------------------------------- replace and debounce

interface Live {
  readonly id: string
  readonly slot: number
  readonly isWaiting: boolean
}

const FIND_LIVE = `
  SELECT encode(unique_hash, 'hex'), id, coalesce(unique_slot, 0), state = 'waiting' FROM @jobs
  WHERE unique_hash = ANY ($1::bytea[]) AND unique_hash IS NOT NULL AND finished_at IS NULL
  ORDER BY coalesce(unique_slot, 0) DESC`

/** The live jobs of each value, newest first. */
async function findLive(ask: Ask, candidates: readonly Candidate[]): Promise<Map<string, Live[]>> {
  const hashes = words(candidates.map(({ unique }) => unique))
  const rows = await ask<[hash: string, id: string, slot: number, isWaiting: boolean]>(FIND_LIVE, hashes)
  const live = new Map<string, Live[]>()
  for (const [hash, id, slot, isWaiting] of rows) {
    const value = `\\x${hash}`
    live.set(value, [...(live.get(value) ?? []), { id, slot: Number(slot), isWaiting }])
  }
  return live
}

/** A job that waits, and what it takes over. */
interface Waiting {
  readonly id: string
  job: Standing
  /** The enqueues of this batch whose payload it took. */
  readonly from: Candidate[]
}

/**
 * Gives payloads to waiting jobs. A candidate without an answer needs a job of its own and has its slot, unless the
 * result is `changed`: then a job was claimed meanwhile, and the caller tries again.
 */
export async function replace(
  ask: Ask,
  candidates: readonly Candidate[],
  answers: Answers,
  isCallers: boolean,
): Promise<'done' | 'changed'> {
  const replacing = candidates.filter(isReplacing)
  if (replacing.length === 0) return 'done'
  const live = await findLive(ask, replacing)
  const ofWaiting = [...live.values()].flat().flatMap(({ id, isWaiting }) => (isWaiting ? id : []))
  const locked = ofWaiting.length === 0 ? NONE : await lockWaiting(ask, ids(ofWaiting), isCallers)
  if (locked === undefined) return 'changed'
  for (const candidate of replacing) {
    const others = live.get(candidate.unique!) ?? []
    const answer = takeOver(candidate, others, locked)
    if (answer) answers.set(candidate, answer)
    else if (others.length > 0) candidate.slot = Math.max(...others.map(({ slot }) => slot)) + 1
  }
  await write(
    ask,
    [...locked.waiting.values()].filter(({ from }) => from.length > 0),
  )
  return 'done'
}

function takeOver(candidate: Candidate, others: readonly Live[], { now, waiting }: Locked): Enqueued | undefined {
  const { job } = candidate
  // The same job twice in one batch.
  if (others.some(({ id }) => id === job.id.toLowerCase())) return { status: 'created', id: job.id }
  for (const { id } of others) {
    const one = waiting.get(id)
    const taken = one && newestOf(one.job, job, now)
    if (!taken) continue
    const { state, delivery, run, generation, createdAt } = one.job
    one.job = { state, delivery, run, generation, createdAt, ...taken }
    one.from.push(candidate)
    return { status: 'replaced', id, delayMs: Math.max(0, taken.runAt - now) }
  }
  return undefined
}

interface Locked {
  readonly now: number
  readonly waiting: ReadonlyMap<string, Waiting>
}

const NONE: Locked = { now: 0, waiting: new Map() }

/** As one text, which every library reads in the same way: in the caller's transaction, a number may arrive as text. */
const LOCK = `
  SELECT id, json_build_array(state, at_most_once, run, generation, created_at, run_at, pass, deadline, dependency,
    @now_ms())::text
  FROM @jobs WHERE id = ANY ($1::uuid[]) ORDER BY id FOR UPDATE`

type LockedRow = [
  state: JobState,
  atMostOnce: boolean,
  run: number,
  generation: number,
  createdAt: number,
  runAt: number,
  pass: number | null,
  deadline: number | null,
  dependency: string | null,
  now: number,
]

/**
 * A job that was claimed meanwhile is locked too. In a transaction of the caller, which may stay open for long, this
 * lock would stop its worker, so it is released again, and the result is undefined.
 */
async function lockWaiting(ask: Ask, wanted: string, isCallers: boolean): Promise<Locked | undefined> {
  if (isCallers) await ask('SAVEPOINT chronos_unique')
  const rows = await ask<[id: string, json: string]>(LOCK, wanted)
  const read = rows.map(([id, json]) => [id, JSON.parse(json) as LockedRow] as const)
  const waiting = new Map(read.map(([id, row]) => [id, { id, job: readStanding(row), from: [] }]))
  const now = read.reduce((latest, [, row]) => Math.max(latest, row[9]), 0)
  if (!isCallers) return { now, waiting }
  const isUnchanged = [...waiting.values()].every(({ job }) => job.state === 'waiting')
  await ask(isUnchanged ? 'RELEASE SAVEPOINT chronos_unique' : 'ROLLBACK TO SAVEPOINT chronos_unique')
  return isUnchanged ? { now, waiting } : undefined
}

function readStanding(row: LockedRow): Standing {
  const [state, atMostOnce, run, generation, createdAt, runAt, pass, deadline, dependency] = row
  return {
    ...{ state, run, generation, createdAt, runAt, payload: '' },
    delivery: atMostOnce ? 'at-most-once' : 'at-least-once',
    ...(pass !== null && { pass }),
    ...(deadline !== null && { deadline }),
    ...(dependency !== null && { dependency: fromText(dependency) }),
  }
}

// ---------------------------------------------------------------- writing

/** $7, $8: payloads that are stored in their own table; $9 to $11: the ids of the enqueues. */
const WRITE = `
  WITH forgotten AS (DELETE FROM @payloads WHERE id = ANY ($1::uuid[]) AND id <> ALL ($7::uuid[])),
  apart AS (
    INSERT INTO @payloads (id, body) SELECT id, body FROM unnest($7::uuid[], $8::text[]) AS given (id, body)
    ON CONFLICT (id) DO UPDATE SET body = excluded.body
  ),
  remembered AS (
    INSERT INTO @keys (hash, job_id, key, payload_hash, expires_at)
    SELECT hash, job_id, key, '', @now_ms() + ${REPLACED_ID_MS}
    FROM unnest($9::bytea[], $10::uuid[], $11::text[]) AS given (hash, job_id, key)
    ON CONFLICT (hash) DO NOTHING
  ),
  changed AS (
    UPDATE @jobs j SET payload = given.payload, run_at = given.run_at, pass = given.pass, deadline = given.deadline,
      dependency = given.dependency
    FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[])
      AS given (id, payload, run_at, pass, deadline, dependency)
    WHERE j.id = ANY ($1::uuid[]) AND j.id = given.id
    RETURNING j.queue, j.lane
  )
  ${noteLanes('changed')}`

async function write(ask: Ask, taken: readonly Waiting[]): Promise<void> {
  if (taken.length === 0) return
  const jobs = taken.map(({ job }) => job)
  const apart = taken.filter(({ job }) => isKeptApart(job.payload))
  const from = taken.flatMap(one => one.from.map(candidate => ({ candidate, id: one.id })))
  await ask(
    WRITE,
    ids(taken.map(({ id }) => id)),
    texts(jobs.map(({ payload }) => (isKeptApart(payload) ? KEPT_APART : payload))),
    numbers(jobs.map(({ runAt }) => runAt)),
    numbers(jobs.map(({ pass }) => pass)),
    numbers(jobs.map(({ deadline }) => deadline)),
    texts(jobs.map(({ dependency }) => dependency)),
    ids(apart.map(({ id }) => id)),
    texts(apart.map(({ job }) => job.payload)),
    words(from.map(({ candidate }) => replacedHash(candidate))),
    ids(from.map(({ id }) => id)),
    texts(from.map(({ candidate }) => candidate.job.id)),
  )
  const keyed = from.filter(({ candidate }) => candidate.key !== undefined)
  if (keyed.length === 0) return
  await ask(PASS_KEYS_ON, words(keyed.map(({ candidate }) => candidate.key)), ids(keyed.map(({ id }) => id)))
}

/** The key of an enqueue without a job of its own stands for the job that took its payload. */
const PASS_KEYS_ON = `
  UPDATE @keys k SET job_id = given.job_id, expires_at = @now_ms() + ${REMOVED_KEY_MS}
  FROM unnest($1::bytea[], $2::uuid[]) AS given (hash, job_id)
  WHERE k.hash = ANY ($1::bytea[]) AND k.hash = given.hash`
