import type { Job, JobState } from '../../../core/job/job.js'
import { toText } from '../../columns.js'
import { cursorOf, cut, readCursor, writeCursor } from '../../cursor.js'
import { type AttemptRow, type LogRow, OWN_ATTEMPT_COLUMNS, readAttempt, readLine } from '../../history.js'
import type { AttemptRecord, Count, JobFilter, LogRecord, Page, PageRequest, Tally } from '../../store.js'
import type { Connection } from '../file/connection.js'
import { ATTEMPT_VALUES, ATTEMPTS, type FactRow, ID, JOB_COLUMNS, readJob } from '../rows.js'
import { countingParts, DOWN, type Part, parts, type Steps, UP } from './search.js'

/** Pages by the internal key, so that jobs with equal times are never skipped. */
export async function list(steps: Steps, filter: JobFilter, page: PageRequest, now: number): Promise<Page<Job>> {
  const kind = cursorOf('jobs', page)
  const way = kind === 'jobs' ? DOWN : UP
  const last = page.cursor === undefined ? way.start : readCursor(kind, page.cursor, 1)[0]!
  const limit = new ReadLimit(page.lookAt)
  const found: number[] = []
  for await (const part of parts(steps, filter, now, way, last)) {
    const room = page.limit + 1 - found.length
    const select = `SELECT pk FROM ${part.sql} ORDER BY pk ${way.order} LIMIT ?`
    const rows = await steps(db => db.all<[number]>(select, ...part.values, room))
    found.push(...rows.map(([pk]) => pk))
    if (found.length > page.limit) {
      limit.count(part, found[page.limit - 1])
      break
    }
    limit.count(part)
    if (limit.isReached) break
  }
  const sql = `SELECT ${JOB_COLUMNS} FROM jobs WHERE pk IN (SELECT value FROM json_each(?)) ORDER BY pk ${way.order}`
  const shown = found.slice(0, page.limit)
  const data = (await steps(db => db.all<FactRow>(sql, JSON.stringify(shown)))).map(readJob)
  const end = found.length > page.limit ? shown.at(-1) : limit.end
  const next = end === undefined ? {} : { next: writeCursor(kind, [end]) }
  return { data, ...next, ...(page.lookAt !== undefined && { looked: limit.looked }) }
}

/** Counts the jobs read and stops at the limit. Unused keys count like jobs. */
class ReadLimit {
  readonly #max: number
  looked = 0
  /** The key at which the limit was reached. */
  end: number | undefined

  constructor(max = Number.POSITIVE_INFINITY) {
    this.#max = max
  }

  get isReached(): boolean {
    return this.end !== undefined
  }

  count({ window, size = 0 }: Part, until = window?.[1]): void {
    this.looked += size
    if (!window || until === undefined) return
    const end = Math.max(1, until)
    this.looked += Math.abs(end - window[0]) + 1
    // There is nothing to continue with below the first key.
    const isLast = end === 1 && window[0] > 1
    if (this.looked >= this.#max && !isLast) this.end = end
  }
}

export function tally(db: Connection, redriveId: string): Tally {
  const counts = { pending: 0, running: 0, retrying: 0, succeeded: 0, dead: 0, cancelled: 0 }
  const rows = db.all<[JobState, again: number, count: number]>(
    `SELECT state, state = 'waiting' AND attempt > 0, count(*) FROM jobs INDEXED BY jobs_redrive WHERE redrive_id = ?
     GROUP BY 1, 2`,
    toText(redriveId),
  )
  for (const [state, again, count] of rows) {
    counts[state !== 'waiting' ? state : again ? 'retrying' : 'pending'] += count
  }
  return counts
}

export async function count(
  steps: Steps,
  filter: JobFilter,
  cap: number,
  lookAt: number | undefined,
  now: number,
): Promise<Count> {
  const limit = new ReadLimit(lookAt)
  let value = 0
  for await (const part of countingParts(steps, filter, now)) {
    if (limit.isReached) return { value, relation: 'at-least' }
    const room = cap + 1 - value
    const counted = `SELECT count(*) FROM (SELECT 1 FROM ${part.sql} LIMIT ?)`
    value += (await steps(db => db.get<[number]>(counted, ...part.values, room)))![0]
    if (value > cap) return { value: cap, relation: 'at-least' }
    limit.count(part)
  }
  return { value, relation: 'exact' }
}

export function history(db: Connection, id: string, page: PageRequest): Page<AttemptRecord> {
  const kind = cursorOf('history', page)
  const { order, start } = kind === 'history' ? DOWN : UP
  const beyond = kind === 'history' ? '<' : '>'
  const last = page.cursor === undefined ? start : readCursor(kind, page.cursor, 1)[0]!
  const rows = db.all<AttemptRow>(
    `SELECT ${ATTEMPT_VALUES} FROM ${ATTEMPTS}
     WHERE a.job = (SELECT pk FROM jobs WHERE id = ${ID}) AND a.run ${beyond} ?
     UNION ALL
     SELECT ${OWN_ATTEMPT_COLUMNS} FROM jobs WHERE id = ${ID} AND run ${beyond} ? AND ran_token IS NOT NULL
     ORDER BY 1 ${order} LIMIT ?`,
    id,
    last,
    id,
    last,
    page.limit + 1,
  )
  const jobId = id.toLowerCase()
  return cut(
    rows,
    page.limit,
    row => readAttempt(jobId, row),
    row => writeCursor(kind, [row[0]]),
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
