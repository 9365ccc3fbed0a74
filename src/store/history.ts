import type { RunStatus, StoredError } from '../core/job/job.js'
import { fromDecision, fromText, toDecision } from './columns.js'
import type { AttemptRecord, LogRecord, RunEnd } from './store.js'

// Reads attempts and log lines from the rows of SQL stores.

export const ATTEMPT_COLUMNS = `run, generation, attempt, status, started_at, finished_at, worker_id, error, note,
  delay_ms, next_run_at, decision, fingerprint`

/**
 * Nearly every job ends with a success that has no error or note. Such a run has no row among the
 * attempts: the row of its job, which can't be started again, holds every fact. `ran_token` is set only on such a job.
 */
export const OWN_ATTEMPT_COLUMNS = `run, generation, attempt, 'succeeded', ran_at, finished_at, worker_id, NULL, NULL,
  NULL, NULL, NULL, NULL`

/** Whether the run succeeded and has nothing else to record. */
export function isPlainSuccess(end: RunEnd, attempt: number): boolean {
  if (end.kind !== 'ended') return false
  const { transition, error, note, group } = end
  return (
    transition.to === 'succeeded' &&
    transition.status === 'succeeded' &&
    !transition.attemptBack &&
    error === undefined &&
    note === undefined &&
    group === undefined &&
    toDecision(transition.decision, attempt) === null
  )
}

export type AttemptRow = [
  run: number,
  generation: number,
  attempt: number,
  status: RunStatus,
  startedAt: number,
  finishedAt: number,
  workerId: string,
  error: string | null,
  note: string | null,
  delayMs: number | null,
  nextRunAt: number | null,
  decision: string | null,
  fingerprint: string | null,
]

export function readAttempt(jobId: string, row: AttemptRow): AttemptRecord {
  const [run, generation, attempt, status, startedAt, finishedAt, workerId, error, note, delayMs, nextRunAt] = row
  const parsed = error === null ? undefined : (JSON.parse(error) as StoredError)
  const decision = fromDecision(row[11], attempt, { status, error: parsed })
  const fingerprint = row[12]
  return {
    jobId,
    generation,
    run,
    attempt,
    status,
    startedAt,
    finishedAt,
    workerId: fromText(workerId),
    ...(parsed && { error: parsed }),
    ...(note !== null && { note: fromText(note) }),
    ...(delayMs !== null && { delayMs }),
    ...(nextRunAt !== null && { nextRunAt }),
    ...(fingerprint !== null && { fingerprint: fromText(fingerprint) }),
    decision,
  }
}

export type LogRow = [run: number, line: number, at: number, message: string, data: string | null]

export function readLine([run, , at, message, data]: LogRow): LogRecord {
  const line = { run, at, message: fromText(message) }
  return data === null ? line : { ...line, data: fromText(data) }
}
