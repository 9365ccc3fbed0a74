import { FAILED, type Job, phaseOf } from '../../core/job/job.js'
import { isInternal } from '../../core/queue/internal.js'
import { cursorOf, readCursor, writeCursor } from '../cursor.js'
import { errorHas, jobHas } from '../reads/text-search.js'
import type { AttemptRecord, Count, JobFilter, LiveSchedule, LogRecord, Page, PageRequest, Tally } from '../store.js'
import { isHeldBack } from './partitions.js'
import type { MemoryTables, Row } from './tables.js'

/** The job with its lease while it runs. */
export function shownJob(row: Row): Job
export function shownJob(row: Row | undefined): Job | undefined
export function shownJob(row: Row | undefined): Job | undefined {
  return row?.lease ? { ...row.job, workerId: row.lease.workerId, leaseUntil: row.lease.until } : row?.job
}

export function list(tables: MemoryTables, filter: JobFilter, page: PageRequest, now: number): Page<Job> {
  const kind = cursorOf('jobs', page)
  const [after] = page.cursor === undefined ? [] : readCursor(kind, page.cursor, 1)
  const { ids, ...others } = filter
  const rows = ids ? rowsOf(tables, ids) : [...tables.rows.values()]
  if (kind === 'jobs') rows.reverse()
  const rest = rows.filter(({ seq }) => after === undefined || (kind === 'jobs' ? seq < after : seq > after))
  const looked = rest.slice(0, page.lookAt)
  const found = looked.filter(row => matches(tables, row, others, now))
  const cursor = (row: Row): string => writeCursor(kind, [row.seq])
  const shown = cut(found, page.limit, row => shownJob(row), cursor)
  if (page.lookAt === undefined) return shown
  if (shown.next !== undefined) return { ...shown, looked: looked.indexOf(found[page.limit - 1]!) + 1 }
  return { ...shown, looked: looked.length, ...(looked.length < rest.length && { next: cursor(looked.at(-1)!) }) }
}

/** The rows with these ids, in the order in which they were added. */
function rowsOf(tables: MemoryTables, ids: readonly string[]): Row[] {
  const rows = [...new Set(ids)].flatMap(id => tables.rows.get(id) ?? [])
  return rows.sort((a, b) => a.seq - b.seq)
}

export function tally(tables: MemoryTables, redriveId: string): Tally {
  const counts = { pending: 0, running: 0, retrying: 0, succeeded: 0, dead: 0, cancelled: 0 }
  for (const { job } of tables.rows.values()) {
    if (job.redriveId !== redriveId) continue
    counts[job.state !== 'waiting' ? job.state : job.attempt > 0 ? 'retrying' : 'pending'] += 1
  }
  return counts
}

export function liveSchedules(tables: MemoryTables, ids: readonly string[]): readonly LiveSchedule[] {
  const live = new Map<string, number>()
  for (const id of new Set(ids)) {
    const count = tables.occurrences(id)
    if (count > 0) live.set(id, count)
  }
  return [...live].map(([id, count]) => ({ id, live: count }))
}

export function count(
  tables: MemoryTables,
  filter: JobFilter,
  cap: number,
  most: number | undefined,
  now: number,
): Count {
  const { phase, state, text, error } = filter
  // Live and dead jobs are few compared with succeeded ones, so all of them are counted, as with an index.
  const isNarrow = phase !== undefined || (state !== undefined && ![state].flat().includes('succeeded'))
  const lookAt = isNarrow && text === undefined && error === undefined ? undefined : most
  const { ids, ...others } = filter
  const rows = ids ? rowsOf(tables, ids) : [...tables.rows.values()]
  let value = 0
  for (const [index, row] of rows.reverse().entries()) {
    if (index === lookAt) return { value, relation: 'at-least' }
    if (!matches(tables, row, others, now)) continue
    if (value === cap) return { value, relation: 'at-least' }
    value += 1
  }
  return { value, relation: 'exact' }
}

export function history(row: Row | undefined, page: PageRequest): Page<AttemptRecord> {
  const kind = cursorOf('history', page)
  const [last] = page.cursor === undefined ? [] : readCursor(kind, page.cursor, 1)
  const records = (row?.attempts ?? []).map(attempt => attempt.record)
  if (kind === 'history') records.reverse()
  const isBeyond = (run: number) => last === undefined || (kind === 'history' ? run < last : run > last)
  return cut(
    records.filter(({ run }) => isBeyond(run)),
    page.limit,
    record => record,
    record => writeCursor(kind, [record.run]),
  )
}

export function logs(row: Row | undefined, page: PageRequest): Page<LogRecord> {
  const [run, line] = page.cursor === undefined ? [0, -1] : readCursor('logs', page.cursor, 2)
  const lines = [...(row?.logs.values() ?? [])].filter(
    each => each.run > run! || (each.run === run && each.line > line!),
  )
  lines.sort((a, b) => a.run - b.run || a.line - b.line)
  return cut(
    lines,
    page.limit,
    ({ line: _line, ...record }) => record,
    each => writeCursor('logs', [each.run, each.line]),
  )
}

function cut<R, T>(rows: readonly R[], limit: number, show: (row: R) => T, cursor: (row: R) => string): Page<T> {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const data = shown.map(show)
  return rows.length > limit && last !== undefined ? { data, next: cursor(last) } : { data }
}

/** Whether a time is in a range that starts with one time and ends before another; an absent time is in no range. */
function isWithin(at: number | undefined, from: number | undefined, to: number | undefined): boolean {
  if (from === undefined && to === undefined) return true
  return at !== undefined && at >= (from ?? at) && at < (to ?? Number.POSITIVE_INFINITY)
}

function hasFailedWithin({ attempts }: Row, from: number | undefined, to: number | undefined): boolean {
  if (from === undefined && to === undefined) return true
  return attempts.some(({ record }) => FAILED.has(record.status) && isWithin(record.finishedAt, from, to))
}

function matches(tables: MemoryTables, row: Row, filter: Omit<JobFilter, 'ids'>, now: number): boolean {
  const { job } = row
  const states = filter.state === undefined ? undefined : [filter.state].flat()
  return (
    (states === undefined || states.includes(job.state)) &&
    (filter.phase === undefined || phaseOf(job, now, isHeldBack(tables, job, now)) === filter.phase) &&
    (filter.queue === undefined || job.queue === filter.queue) &&
    (filter.name === undefined || job.name === filter.name) &&
    (filter.tenantId === undefined || job.tenantId === filter.tenantId) &&
    (filter.internal === undefined || isInternal(job.queue) === filter.internal) &&
    (filter.key === undefined || job.key === filter.key) &&
    (filter.tag === undefined || job.tags.includes(filter.tag)) &&
    (filter.reason === undefined || job.reason === filter.reason) &&
    (filter.fingerprint === undefined || job.fingerprint === filter.fingerprint) &&
    (filter.dependency === undefined || job.dependency === filter.dependency) &&
    (filter.redriveId === undefined || job.redriveId === filter.redriveId) &&
    (filter.scheduleId === undefined || job.scheduleId === filter.scheduleId) &&
    (filter.workerId === undefined || row.lease?.workerId === filter.workerId) &&
    (filter.acknowledged === undefined || (job.acknowledgedAt !== undefined) === filter.acknowledged) &&
    (filter.retried === undefined || job.attempt > 1 === filter.retried) &&
    isWithin(job.createdAt, filter.createdAfter, filter.createdBefore) &&
    isWithin(job.startedAt, filter.startedAfter, filter.startedBefore) &&
    isWithin(job.finishedAt, filter.finishedAfter, filter.finishedBefore) &&
    hasFailedWithin(row, filter.failedAfter, filter.failedBefore) &&
    (filter.error === undefined || errorHas(job.error, filter.error)) &&
    (filter.text === undefined || jobHas(job, filter.text, filter.masksSecrets))
  )
}
