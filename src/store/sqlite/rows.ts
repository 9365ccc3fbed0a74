import type { Job, JobState, StoredError } from '../../core/job/job.js'
import { fromCounters, fromTags, fromText } from '../columns.js'
import { columnNames, HELD_COLUMNS, type JobDraft, readLease, readOptional, UNHELD_COLUMNS } from '../job-columns.js'

// ---------------------------------------------------------------- ids

/** The database stores an id as 16 bytes. A text that is not a UUID becomes NULL, which matches no row. */
export const ID = `unhex(?, '-')`

/** Turns `hex(id)` back into the public form of the id: one text, as a text of slices keeps all of them in memory. */
export function fromHex(hex: string): string {
  let place = 0
  for (let digit = 0; digit < hex.length; digit++) {
    if (publicId[place] === DASH) place++
    publicId[place++] = hex.charCodeAt(digit) | LOWER_CASE
  }
  return publicId.toString('latin1')
}

const publicId = Buffer.from('00000000-0000-0000-0000-000000000000')
const DASH = publicId[8]
/** The bit that makes a letter lower case; digits have it already. */
const LOWER_CASE = 0x20

// ---------------------------------------------------------------- indexes

/** Waiting jobs by queue, priority and time: those that wait in no lane, and those in the lanes of queues with limits. */
export const PLAIN = `INDEXED BY jobs_waiting WHERE state = 'waiting' AND lane IS NULL`
export const LANES = `INDEXED BY jobs_lane_waiting WHERE state = 'waiting' AND lane IS NOT NULL`
export type Line = typeof PLAIN | typeof LANES

/** Jobs of a partition by queue, state, lane and order of creation. */
export const LANE = `INDEXED BY jobs_lane WHERE lane IS NOT NULL AND state <> 'succeeded' AND reason IS NOT 'discarded'`

/** Whether a limit of its queue or its partition keeps a job in a lane waiting at this time, once its own has come. */
export const isClosed = (now: string): string => `(
  EXISTS (SELECT 1 FROM queues WHERE name = jobs.queue AND open_at > ${now})
  OR EXISTS (SELECT 1 FROM partitions WHERE queue = jobs.queue AND name = jobs.lane AND open_at > ${now}))`

// ---------------------------------------------------------------- jobs

/** Columns that most jobs use. The driver takes as long for a NULL as for a value, so the others share one column. */
const OFTEN: ReadonlySet<string> = new Set(['firstStartedAt', 'startedAt', 'tenantId', 'policyId'])
const OFTEN_COLUMNS = HELD_COLUMNS.filter(({ field }) => OFTEN.has(field))
const RARE_COLUMNS = HELD_COLUMNS.filter(({ field }) => !OFTEN.has(field))
const RARE = columnNames(RARE_COLUMNS)

/**
 * The columns of a job that a worker receives, for `readFacts`: first those that are never NULL, then those of the
 * table in `job-columns.ts`; the last one is a list of those that few jobs use, or NULL if this job uses none.
 */
export const FACT_COLUMNS = `pk, hex(id), name, queue, priority, run_at, generation, run, attempt, at_most_once, begun,
  cancel_requested, created_at, counters, tags, ifnull(payload, (SELECT payload FROM payloads WHERE job = pk)),
  ${columnNames(OFTEN_COLUMNS)}, iif(coalesce(${RARE}) IS NULL, NULL, json_array(${RARE}))`

const OFTEN_FROM = 16
const RARE_PLACE = OFTEN_FROM + OFTEN_COLUMNS.length
export const FACT_COUNT = RARE_PLACE + 1

export type FactRow = readonly [
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
  counters: string | null,
  tags: string | null,
  payload: string,
  ...optional: unknown[],
]

/** An optional field is set only if its column is not NULL. */
export function readFacts(row: FactRow): Omit<JobDraft, 'state'> {
  const counters = fromCounters(row[13])
  const facts: Omit<JobDraft, 'state'> = {
    id: fromHex(row[1]),
    name: fromText(row[2]),
    queue: fromText(row[3]),
    priority: row[4],
    delivery: row[9] ? 'at-most-once' : 'at-least-once',
    payload: fromText(row[15]),
    tags: fromTags(row[14]),
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
  if (counters.backoffMs !== undefined) facts.backoffMs = counters.backoffMs
  if (counters.failedAt !== undefined) facts.failedAt = counters.failedAt
  readOptional(facts, row, OFTEN_COLUMNS, OFTEN_FROM)
  const rare = row[RARE_PLACE] as string | null
  if (rare !== null) readOptional(facts, JSON.parse(rare) as unknown[], RARE_COLUMNS, 0)
  return facts
}

/** Attempts with the texts of their errors. Those that were written before version 6 have their remarks in a table. */
export const ATTEMPTS = `attempts a LEFT JOIN errors e ON e.pk = a.error LEFT JOIN remarks r ON r.pk = a.remarks`

/** The columns of `ATTEMPT_COLUMNS`. */
export const ATTEMPT_VALUES = `a.run, a.generation, a.attempt, a.status, a.started_at, a.finished_at, a.worker_id,
  ifnull(e.body, r.error), ifnull(a.note, r.note), ifnull(a.delay_ms, r.delay_ms), ifnull(a.next_run_at, r.next_run_at),
  ifnull(a.decision, r.decision), ifnull(a.fingerprint, r.fingerprint)`

/** The last error is not a column of the job: it is read from the attempts. */
export const ERROR = `(SELECT ifnull(e.body, r.error) FROM ${ATTEMPTS}
  WHERE a.job = jobs.pk AND a.generation = jobs.generation AND ifnull(e.body, r.error) IS NOT NULL
  ORDER BY a.run DESC LIMIT 1)`

export const JOB_COLUMNS = `${FACT_COLUMNS}, ${columnNames(UNHELD_COLUMNS)}, state,
  CASE WHEN state <> 'succeeded' THEN ${ERROR} END, worker_id, lease_until`

const STATE_AT = FACT_COUNT + UNHELD_COLUMNS.length

export function readJob(row: FactRow): Job {
  const job: JobDraft = { ...readFacts(row), state: row[STATE_AT] as JobState }
  readOptional(job, row, UNHELD_COLUMNS, FACT_COUNT)
  const error = row[STATE_AT + 1] as string | null
  readLease(job, row[STATE_AT + 2] as string | null, row[STATE_AT + 3] as number | null)
  if (error !== null) job.error = JSON.parse(error) as StoredError
  return job
}
