import type { DeathReason, Job, JobState, StoredError } from '../../core/job/job.js'
import type { PartialPolicy } from '../../core/policy/policy.js'
import { fromCounters, fromTags, fromText } from '../columns.js'

// ---------------------------------------------------------------- ids

/** An id is 16 bytes inside. What is no UUID becomes NULL, and is found nowhere. */
export const ID = `unhex(?, '-')`

/** `hex(id)` back to the text that people see. */
export function fromHex(hex: string): string {
  const text = hex.toLowerCase()
  return `${text.slice(0, 8)}-${text.slice(8, 12)}-${text.slice(12, 16)}-${text.slice(16, 20)}-${text.slice(20)}`
}

// ---------------------------------------------------------------- jobs

/**
 * Facts that a running job shares with a waiting one, for `readFacts`. The last error is not a column of the job:
 * its attempts know it.
 */
export const FACT_COLUMNS = `pk, hex(id), name, queue, priority, run_at, generation, run, attempt, at_most_once, begun,
  cancel_requested, created_at, first_started_at, started_at, deadline, timeout_ms, counters, tenant_id, key, tags,
  policy_id, override, ifnull(payload, (SELECT payload FROM payloads WHERE job = pk)), dependency, pass, fingerprint,
  webhook, trace`

export const FACT_COUNT = 29

export type FactRow = [
  pk: number,
  id: string,
  name: string,
  queue: string,
  priority: number,
  runAt: number,
  generation: number,
  run: number,
  attempt: number,
  atMostOnce: number,
  begun: number,
  cancelRequested: number,
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
  const counters = fromCounters(row[17])
  const facts: Omit<Facts, 'state'> = {
    id: fromHex(row[1]),
    name: fromText(row[2]),
    queue: fromText(row[3]),
    priority: row[4],
    delivery: row[9] ? 'at-most-once' : 'at-least-once',
    payload: fromText(row[23]),
    tags: fromTags(row[20]),
    runAt: row[5],
    createdAt: row[12],
    generation: row[6],
    run: row[7],
    attempt: row[8],
    snoozes: counters.snoozes,
    releases: counters.releases,
    losses: counters.losses,
    strikes: counters.strikes,
    suspect: counters.suspect,
    begun: row[10] === 1,
    cancelRequested: row[11] === 1,
  }
  if (row[13] !== null) facts.firstStartedAt = row[13]
  if (row[14] !== null) facts.startedAt = row[14]
  if (row[15] !== null) facts.deadline = row[15]
  if (row[16] !== null) facts.timeoutMs = row[16]
  if (counters.backoffMs !== undefined) facts.backoffMs = counters.backoffMs
  if (row[18] !== null) facts.tenantId = fromText(row[18])
  if (row[19] !== null) facts.key = fromText(row[19])
  if (row[21] !== null) facts.policyId = fromText(row[21])
  if (row[22] !== null) facts.override = JSON.parse(row[22]) as PartialPolicy
  if (row[24] !== null) facts.dependency = fromText(row[24])
  if (row[25] !== null) facts.pass = row[25]
  if (row[26] !== null) facts.fingerprint = fromText(row[26])
  if (row[27] !== null) facts.webhook = fromText(row[27])
  if (row[28] !== null) facts.trace = fromText(row[28])
  return facts
}

export const ERROR = `(SELECT r.error FROM attempts a JOIN remarks r ON r.pk = a.remarks
  WHERE a.job = jobs.pk AND a.generation = jobs.generation AND r.error IS NOT NULL ORDER BY a.run DESC LIMIT 1)`

export const JOB_COLUMNS = `${FACT_COLUMNS}, state, reason, finished_at, "unique", progress, result, acknowledged_at, redrive_id,
  schedule_id, CASE WHEN state <> 'succeeded' THEN ${ERROR} END`

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

export function readJob(row: JobRow): Job {
  const [state, reason, finishedAt, unique, progress, result, acknowledgedAt, redriveId, scheduleId, error] = row.slice(
    FACT_COUNT,
  ) as JobRow extends [...FactRow, ...infer Rest] ? Rest : never
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
