import { createHash } from 'node:crypto'
import type { DeathReason, Job, JobState, StoredError } from '../../core/job/job.js'
import { fromCounters, fromTags, fromText } from '../columns.js'
import {
  columnNames,
  type JobDraft,
  HELD_COLUMNS as OPTIONAL_COLUMNS,
  readLease,
  readOptional,
  STARTED_AT_PLACE,
  UNHELD_COLUMNS,
} from '../job-columns.js'
import type { Claimed } from '../store.js'

/** Hashes names and the scopes of keys and `unique` values, because they may be too long for an index. */
export function hashOf(...parts: readonly (string | undefined)[]): string {
  const text = JSON.stringify(parts.map(part => part ?? null))
  return `\\x${createHash('sha256').update(text).digest('hex')}`
}

// ---------------------------------------------------------------- jobs

/**
 * A longer payload is stored in its own table. Every claim and every settlement rewrites the whole row of the job, so
 * this makes a claim cost the same for every payload.
 */
const OWN_PAYLOAD_MAX = 500
/** Marks a payload that is stored in its own table; JSON text is never empty. */
export const KEPT_APART = ''

export function isKeptApart(payload: string): boolean {
  return payload.length > OWN_PAYLOAD_MAX
}

/** The table must be called `jobs`. */
export const PAYLOAD = `CASE jobs.payload WHEN '${KEPT_APART}'
  THEN coalesce((SELECT p.body FROM @payloads p WHERE p.id = jobs.id), '') ELSE jobs.payload END`

/** First the columns that are never NULL, then those of the table in `job-columns.ts`. */
const factColumns = (
  payload: string,
) => `id, name, queue, priority, run_at, generation, run, attempt, at_most_once, begun,
  cancel_requested, created_at, counters, tags, ${payload}, ${columnNames(OPTIONAL_COLUMNS)}`

/** The columns of a job that a worker receives, for `readFacts`. The table must be called `jobs`. */
export const FACT_COLUMNS = factColumns(`${PAYLOAD} AS payload`)

const OPTIONAL_FROM = 15
export const FACT_COUNT = OPTIONAL_FROM + OPTIONAL_COLUMNS.length
/** The index of the claim time in a row. */
export const STARTED_AT = OPTIONAL_FROM + STARTED_AT_PLACE

export type FactRow = readonly [
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
  counters: string | null,
  tags: string | null,
  payload: string,
  ...others: unknown[],
]

/** An optional field is set only if its column is not NULL. */
export function readFacts(row: FactRow): Omit<JobDraft, 'state'> {
  const counters = fromCounters(row[12])
  const facts: Omit<JobDraft, 'state'> = {
    id: row[0],
    name: fromText(row[1]),
    queue: fromText(row[2]),
    priority: row[3],
    delivery: row[8] ? 'at-most-once' : 'at-least-once',
    payload: fromText(row[14]),
    tags: fromTags(row[13]),
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
  if (counters.backoffMs !== undefined) facts.backoffMs = counters.backoffMs
  if (counters.failedAt !== undefined) facts.failedAt = counters.failedAt
  readOptional(facts, row, OPTIONAL_COLUMNS, OPTIONAL_FROM)
  return facts
}

/** The columns of `FACT_COLUMNS`, followed by the lease. */
export const HELD_COLUMNS = `${FACT_COLUMNS}, token, worker_id, lease_until`
/** The names of these columns in the result of a query. */
export const HELD_NAMES = `${factColumns('payload')}, token, worker_id, lease_until`

export function readHeld(row: FactRow): Claimed {
  const [token, workerId, leaseUntil] = row.slice(FACT_COUNT) as [string, string, number]
  return { ...readFacts(row), token: fromText(token), workerId: fromText(workerId), leaseUntil }
}

/** The text of the error of an attempt `a`. Before version 7, it was in the row of the attempt. */
export const ERROR_BODY = 'coalesce(a.error, (SELECT e.body FROM @errors e WHERE e.hash = a.error_hash))'

/** The last error is not a column of the job: it is read from the attempts. */
export const ERROR = `(SELECT ${ERROR_BODY} FROM @attempts a WHERE a.job = jobs.pk AND a.generation = jobs.generation
  AND (a.error_hash IS NOT NULL OR a.error IS NOT NULL) ORDER BY a.run DESC LIMIT 1)`

/** The table must be called `jobs`. */
export const JOB_COLUMNS = `${FACT_COLUMNS}, ${columnNames(UNHELD_COLUMNS)}, state,
  CASE WHEN state <> 'succeeded' THEN ${ERROR} END AS error, worker_id, lease_until`

export const STATE_AT = FACT_COUNT + UNHELD_COLUMNS.length
/** The number of columns of a job; other columns of a query follow. */
export const JOB_COUNT = STATE_AT + 4

export function readJob(row: FactRow): Job {
  const job: JobDraft = { ...readFacts(row), state: row[STATE_AT] as JobState }
  readOptional(job, row, UNHELD_COLUMNS, FACT_COUNT)
  const error = row[STATE_AT + 1] as string | null
  readLease(job, row[STATE_AT + 2] as string | null, row[STATE_AT + 3] as number | null)
  if (error !== null) job.error = JSON.parse(error) as StoredError
  return job
}

/** The columns that the counters need. */
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
