import type { Job } from '../../core/job.js'
import { tagLine, toText } from '../columns.js'
import { cut, type JobsCursor, jobsCursorOf, readCursor, writeCursor } from '../cursor.js'
import { ATTEMPT_COLUMNS, type AttemptRow, type LogRow, readAttempt, readLine } from '../history.js'
import type { AttemptRecord, Count, JobFilter, LogRecord, Page, PageRequest } from '../store.js'
import { ids, isId, words } from './arrays.js'
import { INDEXED_MAX } from './migrations.js'
import type { Database } from './pool.js'
import { JOB_COLUMNS, type JobRow, readJob } from './rows.js'

/** Conditions in the making. Values never become part of the text, so that there are few different ones. */
class Where {
  readonly values: unknown[] = []
  readonly #conditions: string[] = []

  /** `?` is the value. */
  add(sql: string, value: unknown): void {
    this.#conditions.push(sql.replace('?', this.value(value)))
  }

  and(sql: string): void {
    this.#conditions.push(sql)
  }

  /** The place of a value in the statement. */
  value(value: unknown): string {
    return `$${this.values.push(value)}`
  }

  toString(): string {
    return ['true', ...this.#conditions].join(' AND ')
  }
}

function whereOf(filter: JobFilter): Where {
  const where = new Where()
  const add = (sql: string, value: unknown) => where.add(sql, value)
  if (filter.ids !== undefined) add('id = ANY (?::uuid[])', ids(filter.ids))
  if (filter.key !== undefined) add('id = ANY (ARRAY(SELECT job_id FROM @keys WHERE key = ?))', toText(filter.key))
  if (filter.state !== undefined) add('state = ANY (?::text[])', words([filter.state].flat()))
  if (filter.phase !== undefined) where.and(PHASES[filter.phase])
  if (filter.queue !== undefined) add('queue = ?', toText(filter.queue))
  if (filter.name !== undefined) add('name = ?', toText(filter.name))
  if (filter.tenantId !== undefined) add('tenant_id = ?', toText(filter.tenantId))
  if (filter.tag !== undefined) add('strpos(tags, ?) > 0', tagLine(filter.tag))
  if (filter.reason !== undefined) add('reason = ?', filter.reason)
  if (filter.fingerprint !== undefined) addIndexed(where, 'fingerprint', filter.fingerprint)
  if (filter.gate !== undefined) addIndexed(where, 'gate', filter.gate)
  if (filter.redriveId !== undefined) add('redrive_id = ?', toText(filter.redriveId))
  if (filter.scheduleId !== undefined) add('schedule_id = ?', toText(filter.scheduleId))
  if (filter.acknowledged !== undefined) where.and(`acknowledged_at IS ${filter.acknowledged ? 'NOT NULL' : 'NULL'}`)
  if (filter.finishedBefore !== undefined) add('finished_at < ?::float8', filter.finishedBefore)
  if (filter.createdAfter !== undefined) add('created_at >= ?::float8', filter.createdAfter)
  if (filter.createdBefore !== undefined) add('created_at < ?::float8', filter.createdBefore)
  return where
}

/** Its index holds only the beginning of a long one. */
function addIndexed(where: Where, column: 'fingerprint' | 'gate', value: string): void {
  const place = where.value(toText(value))
  where.and(`left(${column}, ${INDEXED_MAX}) = left(${place}::text, ${INDEXED_MAX}) AND ${column} = ${place}::text`)
}

const PHASES: Readonly<Record<NonNullable<JobFilter['phase']>, string>> = {
  scheduled: `state = 'waiting' AND attempt = 0 AND run_at > (SELECT @now_ms())`,
  queued: `state = 'waiting' AND attempt = 0 AND run_at <= (SELECT @now_ms())`,
  retrying: `state = 'waiting' AND attempt > 0`,
}

/** By id, which begins with the time of its making: equal times are never skipped. */
export async function list(db: Database, filter: JobFilter, page: PageRequest): Promise<Page<Job>> {
  const where = whereOf(filter)
  const kind = jobsCursorOf(page)
  const [direction, beyond] = kind === 'jobs' ? ['DESC', '<'] : ['ASC', '>']
  if (page.cursor !== undefined) where.add(`id ${beyond} ?::uuid`, idAt(kind, page.cursor))
  const limit = where.value(page.limit + 1)
  const rows = await db.read<JobRow>(
    `SELECT ${JOB_COLUMNS} FROM @jobs AS jobs WHERE ${where} ORDER BY id ${direction} LIMIT ${limit}`,
    ...where.values,
  )
  return cut(rows, page.limit, readJob, row => cursorAt(kind, row[0]))
}

/** A UUID is four numbers of 32 bits. */
function cursorAt(kind: JobsCursor, id: string): string {
  const hex = id.replaceAll('-', '')
  return writeCursor(
    kind,
    hex.match(/.{8}/g)!.map(part => Number.parseInt(part, 16)),
  )
}

function idAt(kind: JobsCursor, cursor: string): string {
  const hex = readCursor(kind, cursor, 4).map(part => part.toString(16).padStart(8, '0'))
  return hex.join('').slice(0, 32)
}

export async function count(db: Database, filter: JobFilter, cap: number): Promise<Count> {
  const where = whereOf(filter)
  const limit = where.value(cap + 1)
  const [row] = await db.read<[number]>(
    `SELECT count(*) FROM (SELECT 1 FROM @jobs WHERE ${where} LIMIT ${limit}) AS found`,
    ...where.values,
  )
  const value = row![0]
  return value > cap ? { value: cap, relation: 'at-least' } : { value, relation: 'exact' }
}

const HISTORY = `
  SELECT ${ATTEMPT_COLUMNS} FROM @attempts
  WHERE job = (SELECT pk FROM @jobs WHERE id = $1) AND run < $2 ORDER BY run DESC LIMIT $3`

/** More runs than any job has. */
const RUN_MAX = 2 ** 31 - 1

export async function history(db: Database, id: string, page: PageRequest): Promise<Page<AttemptRecord>> {
  const [before = RUN_MAX] = page.cursor === undefined ? [] : readCursor('history', page.cursor, 1)
  if (!isId(id)) return { data: [] }
  const rows = await db.read<AttemptRow>(HISTORY, id, Math.min(before, RUN_MAX), page.limit + 1)
  const jobId = id.toLowerCase()
  return cut(
    rows,
    page.limit,
    row => readAttempt(jobId, row),
    row => writeCursor('history', [row[0]]),
  )
}

const LOGS = `
  SELECT run, line, at, message, data FROM @job_logs
  WHERE job = (SELECT pk FROM @jobs WHERE id = $1) AND (run, line) > ($2::bigint, $3::bigint)
  ORDER BY run, line LIMIT $4`

export async function logs(db: Database, id: string, page: PageRequest): Promise<Page<LogRecord>> {
  const [run = 0, line = -1] = page.cursor === undefined ? [] : readCursor('logs', page.cursor, 2)
  if (!isId(id)) return { data: [] }
  const rows = await db.read<LogRow>(LOGS, id, run, line, page.limit + 1)
  return cut(rows, page.limit, readLine, row => writeCursor('logs', [row[0], row[1]]))
}
