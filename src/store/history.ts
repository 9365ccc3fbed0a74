import type { RunStatus, StoredError } from '../core/job.js'
import { fromDecision, fromText } from './columns.js'
import type { AttemptRecord, LogRecord } from './store.js'

// What the SQL stores tell about a run, row by row.

export const ATTEMPT_COLUMNS = `run, generation, attempt, status, started_at, finished_at, worker_id, error, note,
  delay_ms, next_run_at, decision, fingerprint`

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
  const decision = fromDecision(row[11], attempt)
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
    ...(error !== null && { error: JSON.parse(error) as StoredError }),
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
