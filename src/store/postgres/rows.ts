import { createHash } from 'node:crypto'
import type { DeathReason, Job, JobState, StoredError } from '../../core/job/job.js'
import type { PartialPolicy } from '../../core/policy/policy.js'
import { fromCounters, fromTags, fromText } from '../columns.js'
import type { Claimed } from '../store.js'

/** For the scopes of keys and `unique` values, and for names, which may all be longer than an index takes. */
export function hashOf(...parts: readonly (string | undefined)[]): string {
  const text = JSON.stringify(parts.map(part => part ?? null))
  return `\\x${createHash('sha256').update(text).digest('hex')}`
}

// ---------------------------------------------------------------- jobs

/**
 * A longer payload is kept in a table of its own: a job is written again with every claim and every end, and PostgreSQL
 * writes all of a row. So is what a claim costs the same for all payloads.
 */
const OWN_PAYLOAD_MAX = 500
/** Stands in a job for a payload that is kept apart; no JSON is empty. */
export const KEPT_APART = ''

export function isKeptApart(payload: string): boolean {
  return payload.length > OWN_PAYLOAD_MAX
}

/** Of a table that is called `jobs`. */
export const PAYLOAD = `CASE jobs.payload WHEN '${KEPT_APART}'
  THEN coalesce((SELECT p.body FROM @payloads p WHERE p.id = jobs.id), '') ELSE jobs.payload END`

const factColumns = (
  payload: string,
) => `id, name, queue, priority, run_at, generation, run, attempt, at_most_once, begun,
  cancel_requested, created_at, first_started_at, started_at, deadline, timeout_ms, counters, tenant_id, key, tags,
  policy_id, override, ${payload}, dependency, pass, fingerprint, webhook, trace`

/** Facts that a running job shares with a waiting one, for `readFacts`. Of a table that is called `jobs`. */
export const FACT_COLUMNS = factColumns(`${PAYLOAD} AS payload`)

export const FACT_COUNT = 28

export type FactRow = [
  id: string,
  name: string,
  queue: string,
  priority: number,
  runAt: number,
  generation: number,
  run: number,
  attempt: number,
  atMostOnce: boolean,
  begun: boolean,
  cancelRequested: boolean,
  createdAt: number,
  firstStartedAt: number | null,
  startedAt: number | null,
  deadline: number | null,
  timeoutMs: number | null,
  counters: string | null,
  tenantId: string | null,
  key: string | null,
  tags: string | null,
  policyId: string | null,
  override: string | null,
  payload: string,
  dependency: string | null,
  pass: number | null,
  fingerprint: string | null,
  webhook: string | null,
  trace: string | null,
]

type Facts = { -readonly [Field in keyof Job]: Job[Field] }

/** Everything of a job but how it ended. Optional fields are set only where there is something. */
export function readFacts(row: FactRow): Omit<Facts, 'state'> {
  const counters = fromCounters(row[16])
  const facts: Omit<Facts, 'state'> = {
    id: row[0],
    name: fromText(row[1]),
    queue: fromText(row[2]),
    priority: row[3],
    delivery: row[8] ? 'at-most-once' : 'at-least-once',
    payload: fromText(row[22]),
    tags: fromTags(row[19]),
    runAt: row[4],
    createdAt: row[11],
    generation: row[5],
    run: row[6],
    attempt: row[7],
    snoozes: counters.snoozes,
    releases: counters.releases,
    losses: counters.losses,
    strikes: counters.strikes,
    suspect: counters.suspect,
    begun: row[9],
    cancelRequested: row[10],
  }
  if (row[12] !== null) facts.firstStartedAt = row[12]
  if (row[13] !== null) facts.startedAt = row[13]
  if (row[14] !== null) facts.deadline = row[14]
  if (row[15] !== null) facts.timeoutMs = row[15]
  if (counters.backoffMs !== undefined) facts.backoffMs = counters.backoffMs
  if (row[17] !== null) facts.tenantId = fromText(row[17])
  if (row[18] !== null) facts.key = fromText(row[18])
  if (row[20] !== null) facts.policyId = fromText(row[20])
  if (row[21] !== null) facts.override = JSON.parse(row[21]) as PartialPolicy
  if (row[23] !== null) facts.dependency = fromText(row[23])
  if (row[24] !== null) facts.pass = row[24]
  if (row[25] !== null) facts.fingerprint = fromText(row[25])
  if (row[26] !== null) facts.webhook = fromText(row[26])
  if (row[27] !== null) facts.trace = fromText(row[27])
  return facts
}

/** What a lease adds, behind the facts. */
export const HELD_COLUMNS = `${FACT_COLUMNS}, token, worker_id, lease_until`
/** The same, of a query that has selected them. */
export const HELD_NAMES = `${factColumns('payload')}, token, worker_id, lease_until`

export type HeldRow = [...FactRow, token: string, workerId: string, leaseUntil: number]

export function readHeld(row: HeldRow): Claimed {
  const [token, workerId, leaseUntil] = row.slice(FACT_COUNT) as [string, string, number]
  return { ...readFacts(row as unknown as FactRow), token: fromText(token), workerId: fromText(workerId), leaseUntil }
}

/** The last error is not a column of the job: its attempts know it. */
export const ERROR = `(SELECT a.error FROM @attempts a WHERE a.job = jobs.pk AND a.generation = jobs.generation
  AND a.error IS NOT NULL ORDER BY a.run DESC LIMIT 1)`

/** Of a table that is called `jobs`. */
export const JOB_COLUMNS = `${FACT_COLUMNS}, state, reason, finished_at, "unique", progress, result, acknowledged_at, redrive_id,
  schedule_id, CASE WHEN state <> 'succeeded' THEN ${ERROR} END AS error`

export type JobRow = [
  ...FactRow,
  state: JobState,
  reason: DeathReason | null,
  finishedAt: number | null,
  unique: string | null,
  progress: string | null,
  result: string | null,
  acknowledgedAt: number | null,
  redriveId: string | null,
  scheduleId: string | null,
  error: string | null,
]

type EndRow = JobRow extends [...FactRow, ...infer Rest] ? Rest : never

export function readJob(row: JobRow): Job {
  const [state, reason, finishedAt, unique, progress, result, acknowledgedAt, redriveId, scheduleId, error] = row.slice(
    FACT_COUNT,
  ) as EndRow
  const job: Facts = { ...readFacts(row as unknown as FactRow), state }
  if (reason !== null) job.reason = reason
  if (finishedAt !== null) job.finishedAt = finishedAt
  if (unique !== null) job.unique = fromText(unique)
  if (progress !== null) job.progress = fromText(progress)
  if (result !== null) job.result = fromText(result)
  if (acknowledgedAt !== null) job.acknowledgedAt = acknowledgedAt
  if (redriveId !== null) job.redriveId = fromText(redriveId)
  if (scheduleId !== null) job.scheduleId = fromText(scheduleId)
  if (error !== null) job.error = JSON.parse(error) as StoredError
  return job
}

/** What is counted of a job. */
export const KNOWN_COLUMNS = 'id, state, queue, name, tenant_id, reason, fingerprint'

export type KnownRow = [
  id: string,
  state: JobState,
  queue: string,
  name: string,
  tenantId: string | null,
  reason: DeathReason | null,
  fingerprint: string | null,
]

type Known = Pick<Job, 'id' | 'state' | 'queue' | 'name' | 'tenantId' | 'reason' | 'fingerprint'>

export function readKnown(row: readonly [...KnownRow, ...unknown[]]): Known {
  const [id, state, queue, name, tenantId, reason, fingerprint] = row
  return {
    id,
    state,
    queue: fromText(queue),
    name: fromText(name),
    ...(tenantId !== null && { tenantId: fromText(tenantId) }),
    ...(reason !== null && { reason }),
    ...(fingerprint !== null && { fingerprint: fromText(fingerprint) }),
  }
}
