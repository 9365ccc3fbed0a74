import type { Job } from '../../core/job.js'
import { cut, readCursor, writeCursor } from '../cursor.js'
import { ATTEMPT_COLUMNS, type AttemptRow, type LogRow, readAttempt, readLine } from '../history.js'
import type { AttemptRecord, Count, JobFilter, LogRecord, Page, PageRequest } from '../store.js'
import type { Connection } from './connection.js'
import { ID, JOB_COLUMNS, type JobRow, readJob } from './rows.js'
import { countingParts, parts, type Steps } from './search.js'

/** Newest first, by the internal key: equal times are never skipped. */
export async function list(steps: Steps, filter: JobFilter, page: PageRequest, now: number): Promise<Page<Job>> {
  const before = page.cursor === undefined ? Number.MAX_SAFE_INTEGER : readCursor('jobs', page.cursor, 1)[0]!
  const found: number[] = []
  for await (const { sql, values } of parts(steps, filter, now, before)) {
    const room = page.limit + 1 - found.length
    const rows = await steps(db => db.all<[number]>(`SELECT pk FROM ${sql} ORDER BY pk DESC LIMIT ?`, ...values, room))
    found.push(...rows.map(([pk]) => pk))
    if (found.length > page.limit) break
  }
  const sql = `SELECT ${JOB_COLUMNS} FROM jobs WHERE pk IN (SELECT value FROM json_each(?)) ORDER BY pk DESC`
  const shown = found.slice(0, page.limit)
  const data = (await steps(db => db.all<JobRow>(sql, JSON.stringify(shown)))).map(readJob)
  const last = shown.at(-1)
  return found.length > page.limit && last !== undefined ? { data, next: writeCursor('jobs', [last]) } : { data }
}

export async function count(steps: Steps, filter: JobFilter, cap: number, now: number): Promise<Count> {
  let value = 0
  for await (const { sql, values } of countingParts(steps, filter, now)) {
    const room = cap + 1 - value
    const counted = `SELECT count(*) FROM (SELECT 1 FROM ${sql} LIMIT ?)`
    value += (await steps(db => db.get<[number]>(counted, ...values, room)))![0]
    if (value > cap) return { value: cap, relation: 'at-least' }
  }
  return { value, relation: 'exact' }
}

export function history(db: Connection, id: string, page: PageRequest): Page<AttemptRecord> {
  const before = page.cursor === undefined ? Number.MAX_SAFE_INTEGER : readCursor('history', page.cursor, 1)[0]!
  const rows = db.all<AttemptRow>(
    `SELECT ${ATTEMPT_COLUMNS} FROM attempts LEFT JOIN remarks ON remarks.pk = attempts.remarks
     WHERE job = (SELECT pk FROM jobs WHERE id = ${ID}) AND run < ? ORDER BY run DESC LIMIT ?`,
    id,
    before,
    page.limit + 1,
  )
  const jobId = id.toLowerCase()
  return cut(
    rows,
    page.limit,
    row => readAttempt(jobId, row),
    row => writeCursor('history', [row[0]]),
  )
}

export function logs(db: Connection, id: string, page: PageRequest): Page<LogRecord> {
  const [run = 0, line = -1] = page.cursor === undefined ? [] : readCursor('logs', page.cursor, 2)
  const rows = db.all<LogRow>(
    `SELECT run, line, at, message, data FROM job_logs
     WHERE job = (SELECT pk FROM jobs WHERE id = ${ID}) AND (run, line) > (?, ?) ORDER BY run, line LIMIT ?`,
    id,
    run,
    line,
    page.limit + 1,
  )
  return cut(rows, page.limit, readLine, row => writeCursor('logs', [row[0], row[1]]))
}
