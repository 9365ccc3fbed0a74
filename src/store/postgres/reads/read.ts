import { type Job, type JobState, TERMINAL } from '../../../core/job/job.js'
import { RESERVED } from '../../../core/queue/internal.js'
import { present } from '../../../core/values/present.js'
import { tagLine, toText } from '../../columns.js'
import { cursorOf, cut, type OrderedCursor, readCursor, writeCursor } from '../../cursor.js'
import {
  ATTEMPT_COLUMNS,
  type AttemptRow,
  type LogRow,
  OWN_ATTEMPT_COLUMNS,
  readAttempt,
  readLine,
} from '../../history.js'
import { folded, HTTP_JOB, mayBeOfId, withinJson } from '../../reads/text-search.js'
import type { AttemptRecord, Count, JobFilter, LogRecord, Page, PageRequest, Tally } from '../../store.js'
import { ids, isId, words } from '../arrays.js'
import type { Database } from '../connection/pool.js'
import { INDEXED_MAX } from '../migrations.js'
import { ERROR, ERROR_BODY, type FactRow, JOB_COLUMNS, PAYLOAD, readJob } from '../rows.js'
import { isLimited } from './both-indexes.js'

/** Collects conditions. Values become parameters, so that there are few different statements. */
class Where {
  readonly values: unknown[] = []
  readonly #conditions: string[] = []

  /** `?` stands for the value. */
  add(sql: string, value: unknown): void {
    this.#conditions.push(sql.replace('?', this.value(value)))
  }

  and(sql: string): void {
    this.#conditions.push(sql)
  }

  /** Adds a value and returns its parameter. */
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
  if (filter.key !== undefined) {
    // The keys also hold values of throttles, and keys of enqueues without a job of their own.
    add('id = ANY (ARRAY(SELECT job_id FROM @keys WHERE key = ?))', toText(filter.key))
    add('key = ?', toText(filter.key))
  }
  if (filter.state !== undefined) addStates(where, [filter.state].flat())
  if (filter.phase !== undefined) where.and(PHASES[filter.phase])
  if (filter.queue !== undefined) add('queue = ?', toText(filter.queue))
  if (filter.name !== undefined) add('name = ?', toText(filter.name))
  if (filter.tenantId !== undefined) add('tenant_id = ?', toText(filter.tenantId))
  if (filter.internal !== undefined) add(`starts_with(queue, ?) = ${filter.internal}`, RESERVED)
  if (filter.tag !== undefined) add('strpos(tags, ?) > 0', tagLine(filter.tag))
  if (filter.reason !== undefined) add('reason = ?', filter.reason)
  if (filter.fingerprint !== undefined) addIndexed(where, 'fingerprint', filter.fingerprint)
  if (filter.dependency !== undefined) addIndexed(where, 'dependency', filter.dependency)
  if (filter.redriveId !== undefined) add('redrive_id = ?', toText(filter.redriveId))
  if (filter.scheduleId !== undefined) add('schedule_id = ?', toText(filter.scheduleId))
  // An ended job keeps the worker of its last run.
  if (filter.workerId !== undefined) add(`state = 'running' AND worker_id = ?`, toText(filter.workerId))
  if (filter.acknowledged !== undefined) where.and(`acknowledged_at IS ${filter.acknowledged ? 'NOT NULL' : 'NULL'}`)
  if (filter.retried !== undefined) where.and(filter.retried ? 'attempt > 1' : 'attempt <= 1')
  addTimes(where, filter)
  if (filter.error !== undefined) where.and(errorHas(where, filter.error))
  if (filter.text !== undefined) where.and(jobHas(where, filter.text, filter.masksSecrets))
  return where
}

const ENDED = `state = ANY ('{${[...TERMINAL].join(',')}}') AND finished_at IS NOT NULL`

/** The columns are integers, and an index on them is of use only for integers. */
function addTimes(where: Where, filter: JobFilter): void {
  const add = (column: string, from: number | undefined, to: number | undefined): string[] => [
    ...(from === undefined ? [] : [`${column} >= ${where.value(Math.ceil(from))}::bigint`]),
    ...(to === undefined ? [] : [`${column} < ${where.value(Math.ceil(to))}::bigint`]),
  ]
  const ended = add('finished_at', filter.finishedAfter, filter.finishedBefore)
  const failed = add('failed.finished_at', filter.failedAfter, filter.failedBefore)
  const own = [
    ...add('created_at', filter.createdAfter, filter.createdBefore),
    ...add('started_at', filter.startedAfter, filter.startedBefore),
    ...ended,
  ]
  for (const condition of own) where.and(condition)
  // As in the definition of the index on ended jobs.
  if (ended.length > 0 && filter.state === undefined) where.and(ENDED)
  if (failed.length === 0) return
  where.and(`fingerprint IS NOT NULL AND EXISTS (SELECT 1 FROM @attempts AS failed WHERE failed.job = jobs.pk
    AND failed.status IN ('failed', 'timed-out', 'lost') AND ${failed.join(' AND ')})`)
}

/** JSON with these escapes can't be extracted by the database. */
const UNREADABLE = '\\\\u(0000|d[89a-f])'

/**
 * JSON is parsed only if the text occurs somewhere in it. The database can't extract strings with NUL or a lone
 * surrogate, so such an error is searched by its whole text.
 */
function errorHas(where: Where, text: string): string {
  const [whole, wanted] = [where.value(withinJson(text)), where.value(folded(text))]
  const has = (part: string) => `strpos(lower((error::json ->> '${part}') COLLATE "C"), ${wanted}) > 0`
  return `(state <> 'succeeded' AND run > 0 AND EXISTS (
    SELECT 1 FROM (SELECT ${ERROR} AS error OFFSET 0) AS last
    WHERE CASE WHEN strpos(lower(error), ${whole}) = 0 THEN false WHEN error ~ '${UNREADABLE}' THEN true
      ELSE ${has('name')} OR ${has('message')} OR coalesce(${has('code')}, false) END))`
}

/** A payload with NUL or a lone surrogate is not searched, because the database can't extract the URL. */
const MASKED = `CASE WHEN name <> '${HTTP_JOB}' THEN ${PAYLOAD} WHEN ${PAYLOAD} ~ '${UNREADABLE}' THEN NULL
  ELSE split_part((${PAYLOAD})::json ->> 'url', '?', 1) END`

function jobHas(where: Where, text: string, masksSecrets = false): string {
  const wanted = where.value(folded(text))
  const columns = [
    'name',
    'queue',
    'key',
    'tags',
    masksSecrets ? MASKED : PAYLOAD,
    ...(mayBeOfId(text) ? ['id::text'] : []),
  ]
  const parts = columns.map(column => `strpos(lower(${column}), ${wanted}) > 0`)
  return `(${[...parts, errorHas(where, text)].join(' OR ')})`
}

/**
 * A single state is written as in the index definitions; the index on ended jobs also needs its condition on
 * finished_at.
 */
function addStates(where: Where, states: readonly JobState[]): void {
  const [only] = states
  if (only === undefined || states.length > 1) where.add('state = ANY (?::text[])', words(states))
  else if (only === 'waiting') where.and(WAITING)
  else where.and(TERMINAL.has(only) ? `state = '${only}' AND finished_at IS NOT NULL` : `state = '${only}'`)
}

/** The index holds only the beginning of a long value. */
function addIndexed(where: Where, column: 'fingerprint' | 'dependency', value: string): void {
  const place = where.value(toText(value))
  where.and(`left(${column}, ${INDEXED_MAX}) = left(${place}::text, ${INDEXED_MAX}) AND ${column} = ${place}::text`)
}

/** As in `phaseOf`: the dependency holds a later job back, a paused queue or a limit a due one. */
const HELD_BACK = `(queue = ANY (ARRAY(SELECT name FROM @queues WHERE paused))
  OR ${isLimited('jobs.queue', 'jobs.lane', '(SELECT @now_ms())')})`
const IS_BLOCKED = `CASE WHEN run_at > (SELECT @now_ms()) THEN pass IS NOT NULL ELSE ${HELD_BACK} END`
/** Two indexes have the waiting jobs, and a scan can combine them. */
const WAITING = `state = 'waiting' AND (lane IS NULL OR lane IS NOT NULL)`
const PHASES: Readonly<Record<NonNullable<JobFilter['phase']>, string>> = {
  scheduled: `${WAITING} AND attempt = 0 AND pass IS NULL AND run_at > (SELECT @now_ms())`,
  queued: `${WAITING} AND attempt = 0 AND NOT ${HELD_BACK} AND run_at <= (SELECT @now_ms())`,
  retrying: `${WAITING} AND attempt > 0 AND NOT ${IS_BLOCKED}`,
  blocked: `${WAITING} AND ${IS_BLOCKED}`,
}

/** Pages by id, which starts with the creation time, so that jobs with equal times are never skipped. */
export async function list(db: Database, filter: JobFilter, page: PageRequest): Promise<Page<Job>> {
  const kind = cursorOf('jobs', page)
  const way = kind === 'jobs' ? DOWN : UP
  const after = page.cursor === undefined ? undefined : idAt(kind, page.cursor)
  const window = await windowOf(db, filter, way, after, page.lookAt)
  const where = whereOf(filter)
  const looked = (last?: string) => lookedAt(db, filter, window, way, after, last)
  if (after !== undefined) where.add(`id ${way.beyond} ?::uuid`, after)
  if (window?.end !== undefined) where.add(`id ${way.until} ?::uuid`, window.end)
  const limit = where.value(page.limit + 1)
  const rows = await db.read<FactRow>(
    `SELECT ${JOB_COLUMNS} FROM @jobs AS jobs WHERE ${where} ORDER BY id ${way.order} LIMIT ${limit}`,
    ...where.values,
  )
  const shown = cut(rows, page.limit, readJob, row => cursorAt(kind, row[0]))
  if (page.lookAt === undefined) return shown
  if (shown.next !== undefined) return { ...shown, ...(await looked(rows[page.limit - 1]![0])) }
  if (window?.end !== undefined) return { ...shown, next: cursorAt(kind, window.end), looked: page.lookAt }
  return { ...shown, ...(await looked()) }
}

/** A list goes down from the newest, or up from the oldest. */
const DOWN = { order: 'DESC', beyond: '<', until: '>=' } as const
const UP = { order: 'ASC', beyond: '>', until: '<=' } as const
type Way = typeof DOWN | typeof UP

/** Which jobs a search reads. */
interface Window {
  /** Its last id; absent if no jobs follow, or an index leads to few. */
  readonly end?: string
  /** The condition of an index that leads to few jobs. */
  readonly few?: JobFilter
}

/** Reading all entries of an index takes no longer than a window with this many jobs. */
const FEW = 10_000

/** Where the search stops after `lookAt` jobs; undefined without such a limit. */
async function windowOf(
  db: Database,
  filter: JobFilter,
  way: Way,
  after: string | undefined,
  lookAt: number | undefined,
): Promise<Window | undefined> {
  if (lookAt === undefined) return undefined
  const few = await fewOf(db, filter)
  if (few) return { few }
  const from = after === undefined ? '' : `WHERE id ${way.beyond} $2::uuid`
  const sql = `SELECT id FROM @jobs ${from} ORDER BY id ${way.order} LIMIT 1 OFFSET $1`
  const [row] = await db.read<[end: string]>(sql, lookAt - 1, ...(after === undefined ? [] : [after]))
  return row ? { end: row[0] } : {}
}

/** The condition that has an index with few matching jobs; all conditions if none needs a search. */
async function fewOf(db: Database, filter: JobFilter): Promise<JobFilter | undefined> {
  const { ids, key } = filter
  if (ids !== undefined || key !== undefined) return present({ ids, key })
  if (Object.values(filter).every(value => value === undefined)) return filter
  const narrow = narrowed(filter)
  return narrow !== undefined && (await count(db, narrow, FEW)).relation === 'exact' ? narrow : undefined
}

function narrowed(filter: JobFilter): JobFilter | undefined {
  const { state, phase, redriveId, scheduleId, workerId, fingerprint, dependency } = filter
  const { finishedAfter, finishedBefore, failedAfter, failedBefore } = filter
  if (redriveId !== undefined) return { redriveId }
  if (scheduleId !== undefined) return { scheduleId }
  if (workerId !== undefined) return { state: 'running' }
  if (failedAfter !== undefined) return present({ failedAfter, failedBefore })
  if (finishedAfter !== undefined) return present({ state, finishedAfter, finishedBefore })
  const only = phase ? 'waiting' : typeof state === 'string' ? state : state?.length === 1 ? state[0] : undefined
  if (only === undefined || only === 'succeeded') return undefined
  if (only === 'dead' && fingerprint !== undefined) return { state: only, fingerprint }
  return only === 'waiting' && dependency !== undefined ? { state: only, dependency } : { state: only }
}

/** The number of jobs read up to the end of a page; reported only for text searches. */
async function lookedAt(
  db: Database,
  filter: JobFilter,
  window: Window | undefined,
  way: Way,
  after: string | undefined,
  last: string | undefined,
): Promise<Pick<Page<Job>, 'looked'>> {
  if (filter.text === undefined && filter.error === undefined) return {}
  const where = whereOf(window?.few ?? {})
  if (after !== undefined) where.add(`id ${way.beyond} ?::uuid`, after)
  if (last !== undefined) where.add(`id ${way.until} ?::uuid`, last)
  const [row] = await db.read<[number]>(`SELECT count(*)::int FROM @jobs AS jobs WHERE ${where}`, ...where.values)
  return { looked: row![0] }
}

/** Splits the UUID into four numbers of 32 bits. */
function cursorAt(kind: OrderedCursor<'jobs'>, id: string): string {
  const hex = id.replaceAll('-', '')
  return writeCursor(
    kind,
    hex.match(/.{8}/g)!.map(part => Number.parseInt(part, 16)),
  )
}

function idAt(kind: OrderedCursor<'jobs'>, cursor: string): string {
  const hex = readCursor(kind, cursor, 4).map(part => part.toString(16).padStart(8, '0'))
  return hex.join('').slice(0, 32)
}

export async function count(db: Database, filter: JobFilter, cap: number, lookAt?: number): Promise<Count> {
  const window = isCountedByIndex(filter) ? undefined : await windowOf(db, filter, DOWN, undefined, lookAt)
  const where = whereOf(filter)
  if (window?.end !== undefined) where.add('id >= ?::uuid', window.end)
  const limit = where.value(cap + 1)
  const [row] = await db.read<[number]>(
    `SELECT count(*) FROM (${foundBy(filter, where)} LIMIT ${limit}) AS found`,
    ...where.values,
  )
  const value = row![0]
  if (value > cap) return { value: cap, relation: 'at-least' }
  return { value, relation: window?.end === undefined ? 'exact' : 'at-least' }
}

/** Waiting jobs are read from one index after the other, so that the count can stop at its limit. */
function foundBy({ state, phase }: JobFilter, where: Where): string {
  const isWaiting = phase !== undefined || [state].flat().every(each => each === 'waiting')
  const parts = isWaiting ? [`${where} AND lane IS NULL`, `${where} AND lane IS NOT NULL`] : [where]
  return parts.map(part => `SELECT 1 FROM @jobs AS jobs WHERE ${part}`).join(' UNION ALL ')
}

/** Whether the index on states can answer the count alone. */
function isCountedByIndex({ state, ...others }: JobFilter): boolean {
  return typeof state === 'string' && Object.values(others).every(value => value === undefined)
}

const historyIn = ({ order, beyond }: Way): string => `
  SELECT ${ATTEMPT_COLUMNS.replace(' error,', ` ${ERROR_BODY} AS error,`)} FROM @attempts a
  WHERE job = (SELECT pk FROM @jobs WHERE id = $1) AND run ${beyond} $2
  UNION ALL
  SELECT ${OWN_ATTEMPT_COLUMNS} FROM @jobs WHERE id = $1 AND run ${beyond} $2 AND ran_token IS NOT NULL
  ORDER BY run ${order} LIMIT $3`

/** More runs than a job can have. */
const RUN_MAX = 2 ** 31 - 1

export async function history(db: Database, id: string, page: PageRequest): Promise<Page<AttemptRecord>> {
  const kind = cursorOf('history', page)
  const way = kind === 'history' ? DOWN : UP
  const [last = way === DOWN ? RUN_MAX : 0] = page.cursor === undefined ? [] : readCursor(kind, page.cursor, 1)
  if (!isId(id)) return { data: [] }
  const rows = await db.read<AttemptRow>(historyIn(way), id, Math.min(last, RUN_MAX), page.limit + 1)
  const jobId = id.toLowerCase()
  return cut(
    rows,
    page.limit,
    row => readAttempt(jobId, row),
    row => writeCursor(kind, [row[0]]),
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

const TALLY = `
  SELECT CASE state WHEN 'waiting' THEN CASE WHEN attempt > 0 THEN 'retrying' ELSE 'pending' END ELSE state END,
    count(*)
  FROM @jobs WHERE redrive_id = $1 GROUP BY 1`

const NOTHING: Tally = { pending: 0, running: 0, retrying: 0, succeeded: 0, dead: 0, cancelled: 0 }

export async function tally(db: Database, redriveId: string): Promise<Tally> {
  const rows = await db.read<[word: keyof Tally, count: number]>(TALLY, toText(redriveId))
  return { ...NOTHING, ...Object.fromEntries(rows) }
}
