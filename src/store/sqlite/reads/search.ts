import type { JobState } from '../../../core/job/job.js'
import { RESERVED } from '../../../core/queue/internal.js'
import { tagLine, toText } from '../../columns.js'
import { HTTP_JOB, mayBeOfId, withinJson } from '../../reads/text-search.js'
import type { JobFilter } from '../../store.js'
import type { Connection } from '../file/connection.js'
import type { Value } from '../file/driver.js'
import { ERROR, isClosed, LANES, type Line, PLAIN } from '../rows.js'

// The many possible filters have no indexes, because each index would slow down every enqueue, claim and settle. Jobs
// are stored in the order of their creation and are scanned window by window, with a turn of the event loop in
// between. The states that are rare compared with succeeded jobs have their own indexes.

/** The number of keys scanned in one step; smaller for text searches, because a single text can have a megabyte. */
export const WINDOW = 4_000
const TEXT_WINDOW = 250
const FEW = 10_000
/** If an index answers every condition, no job row has to be read. */
const FEW_OF_INDEX = 100_000

/** Runs the steps of a long read without blocking the event loop in between. */
export type Steps = <T>(step: (db: Connection) => T) => Promise<T>

interface Fragment {
  readonly sql: string
  readonly values: readonly Value[]
}

const ENDED = `INDEXED BY jobs_ended WHERE finished_at IS NOT NULL AND state <> 'succeeded'`

/** The index of each state that has one, with the condition that SQLite needs to use it. */
export const INDEXES: Readonly<Partial<Record<JobState, string>>> = {
  running: `INDEXED BY jobs_running WHERE state = 'running'`,
  dead: `${ENDED} AND state = 'dead'`,
  cancelled: `${ENDED} AND state = 'cancelled'`,
}

/** Jobs are sorted by key; a list goes down from the newest, or up from the oldest. */
export const DOWN = {
  start: Number.MAX_SAFE_INTEGER,
  order: 'DESC',
  beyond: 'pk < ?',
  next: 'max(pk)',
  step: -1,
} as const
export const UP = { start: 0, order: 'ASC', beyond: 'pk > ?', next: 'min(pk)', step: 1 } as const
export type Way = typeof DOWN | typeof UP

/** One part of a search, as `table WHERE condition`. */
export interface Part extends Fragment {
  /** The first and last key of the window, if the part is a whole window. */
  readonly window?: readonly [first: number, last: number]
  /** The number of jobs in the part, if it comes from an index. */
  readonly size?: number
}

/** Yields consecutive parts of the search, starting after the key `last`. */
export async function* parts(
  steps: Steps,
  filter: JobFilter,
  now: number,
  way: Way,
  last: number,
): AsyncGenerator<Part> {
  const named = namedBy(filter)
  const where = whereOf(filter, now)
  if (named) {
    yield join('jobs WHERE', named, beyond(way, last), where)
    return
  }
  const indexes = await steps(db => indexesOf(db, filter, now))
  const size = isText(filter) ? TEXT_WINDOW : WINDOW
  const [low, high] = await steps(db => keysOf(db, filter))
  let end = way === DOWN ? Math.min(last, high) : Math.max(last, low - 1)
  for (let windows = 0; ; windows++) {
    if (windows === 1 && (await steps(db => areFew(db, indexes, filter)))) {
      const [only, another] = indexes
      if (another || isText(filter)) yield* chunks(steps, indexes, where, way, end)
      else yield join('jobs', only!, beyond(way, end), where)
      return
    }
    const next = `SELECT ${way.next} FROM jobs WHERE ${way.beyond}`
    const start = await steps(db => db.get<[number | null]>(next, end)![0])
    if (start === null || start < low || start >= high) return
    end = start + way.step * (size - 1)
    const keys = [Math.min(start, end), Math.max(start, end)]
    const part = join('jobs NOT INDEXED WHERE', { sql: 'pk BETWEEN ? AND ?', values: keys }, where)
    yield { ...part, window: [start, end] }
  }
}

const beyond = (way: Way, last: number): Fragment => ({ sql: way.beyond, values: [last] })

/** Jobs are sorted by creation time, except where the clock was set back by up to this much. */
const CLOCK_SLACK_MS = 300_000

/**
 * The range of keys of the jobs that may be in the filter's time ranges; the upper bound is exclusive. A job is created
 * before it starts, fails or ends.
 */
function keysOf(db: Connection, filter: JobFilter): readonly [low: number, high: number] {
  const { createdAfter, createdBefore, startedBefore, finishedBefore, failedBefore } = filter
  const ends = [createdBefore, startedBefore, finishedBefore, failedBefore].flatMap(at => at ?? [])
  return [
    createdAfter === undefined ? 0 : keyAt(db, createdAfter - CLOCK_SLACK_MS),
    ends.length === 0 ? Number.MAX_SAFE_INTEGER : keyAt(db, Math.min(...ends) + CLOCK_SLACK_MS),
  ]
}

/** The first key of a job created at this time or later, found by binary search. */
function keyAt(db: Connection, at: number): number {
  let low = 0
  let high = (db.get<[number | null]>('SELECT max(pk) FROM jobs')![0] ?? 0) + 1
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const job = db.get<[pk: number, createdAt: number]>(
      'SELECT pk, created_at FROM jobs WHERE pk >= ? ORDER BY pk LIMIT 1',
      middle,
    )
    if (!job || job[1] >= at) high = middle
    else low = job[0] + 1
  }
  return low
}

/** Yields the entries of the indexes, in order and in chunks. */
async function* chunks(
  steps: Steps,
  indexes: readonly Index[],
  where: Fragment,
  way: Way,
  last: number,
): AsyncGenerator<Part> {
  const found = new Set<number>()
  for (const index of indexes) {
    const { sql, values } = join('jobs', index, beyond(way, last))
    for (const [pk] of await steps(db => db.all<[number]>(`SELECT pk FROM ${sql}`, ...values))) found.add(pk)
  }
  const keys = [...found].sort((a, b) => way.step * (a - b))
  for (let from = 0; from < keys.length; from += TEXT_WINDOW) {
    const some = keys.slice(from, from + TEXT_WINDOW)
    const named = { sql: 'pk IN (SELECT value FROM json_each(?))', values: [JSON.stringify(some)] }
    yield { ...join('jobs WHERE', named, where), size: some.length }
  }
}

const isText = ({ text, error }: JobFilter): boolean => text !== undefined || error !== undefined

/** Like `parts`, for counting: in any order, and from the index alone if it covers the conditions. */
export async function* countingParts(steps: Steps, filter: JobFilter, now: number): AsyncGenerator<Part> {
  const indexes = await steps(db => indexesOf(db, filter, now))
  if (indexes.every(({ answers }) => Object.keys(without(filter, answers)).length === 0) && indexes.length > 0)
    for (const index of indexes) yield join('jobs', index)
  else if (!isText(filter) && !namedBy(filter) && (await steps(db => areFew(db, indexes, filter))))
    for (const index of indexes) yield join('jobs', index, whereOf(filter, now))
  else yield* parts(steps, filter, now, DOWN, DOWN.start)
}

/** The conditions that remain after an index has answered some. */
function without(filter: JobFilter, answered: Index['answers']): JobFilter {
  const asked = Object.entries(filter).filter(([field, value]) => value !== undefined && !answered.includes(field))
  return Object.fromEntries(asked)
}

function join(start: string, ...fragments: readonly Fragment[]): Fragment {
  return { sql: `${start} ${fragments.map(({ sql }) => sql).join(' AND ')}`, values: fragments.flatMap(f => f.values) }
}

interface Index extends Fragment {
  /** The conditions that every entry of the index fulfils. */
  readonly answers: readonly string[]
  /** The rows of another table that lead to the jobs: there are at most as many jobs. */
  readonly rows?: string
}

const index = (sql: string, answers: readonly string[], ...values: readonly Value[]): Index => ({
  sql,
  values,
  answers,
})

/** The smallest set of indexes that together contain every match; empty if there is none. */
function indexesOf(db: Connection, filter: JobFilter, now: number): readonly Index[] {
  const { state, phase, redriveId, scheduleId, workerId } = filter
  if (redriveId !== undefined)
    return [index('INDEXED BY jobs_redrive WHERE redrive_id = ?', ['redriveId'], toText(redriveId))]
  if (scheduleId !== undefined)
    return [index('INDEXED BY jobs_schedule WHERE schedule_id = ?', ['scheduleId'], toText(scheduleId))]
  if (isFailedIn(filter)) return [failedIndex(filter)]
  if (phase !== undefined) return waitingIndexes(db, filter, now)
  const states = workerId === undefined ? [...new Set([state ?? []].flat())] : (['running'] as const)
  const found = states.map(one => (one === 'waiting' ? waitingIndexes(db, filter, now) : stateIndexes(one, filter)))
  return found.every(indexes => indexes.length > 0) ? found.flat() : []
}

const FAILED = `(status = 'failed' OR status = 'timed-out' OR status = 'lost')`

const isFailedIn = ({ failedAfter, failedBefore }: JobFilter): boolean =>
  failedAfter !== undefined || failedBefore !== undefined

/** The conditions on a column for a time that is at least `from` and less than `to`. */
function within(column: string, from: number | undefined, to: number | undefined): Fragment {
  const conditions = [from === undefined ? [] : `${column} >= ?`, to === undefined ? [] : `${column} < ?`].flat()
  return { sql: conditions.join(' AND '), values: [from ?? [], to ?? []].flat() }
}

function failedIndex({ failedAfter, failedBefore }: JobFilter): Index {
  const range = within('finished_at', failedAfter, failedBefore)
  const rows = `attempts INDEXED BY attempts_failed WHERE ${FAILED} AND ${range.sql}`
  const answers = ['failedAfter', 'failedBefore']
  return { sql: `WHERE pk IN (SELECT job FROM ${rows})`, values: range.values, answers, rows }
}

function stateIndexes(state: JobState, filter: JobFilter): readonly Index[] {
  const { fingerprint } = filter
  if (state === 'dead' && fingerprint !== undefined) {
    const group = `INDEXED BY jobs_group WHERE state = 'dead' AND fingerprint = ?`
    return [endedIn(index(group, ['state', 'fingerprint'], toText(fingerprint)), filter)]
  }
  const sql = INDEXES[state]
  if (sql === undefined) return []
  return [state === 'running' ? index(sql, ['state']) : endedIn(index(sql, ['state']), filter)]
}

/** The indexes on ended jobs are sorted by the time of the end. */
function endedIn({ sql, values, answers }: Index, { finishedAfter, finishedBefore }: JobFilter): Index {
  const range = within('finished_at', finishedAfter, finishedBefore)
  if (range.sql === '') return { sql, values, answers }
  return {
    sql: `${sql} AND ${range.sql}`,
    values: [...values, ...range.values],
    answers: [...answers, 'finishedAfter', 'finishedBefore'],
  }
}

const HAS_LANES = `SELECT EXISTS (SELECT 1 FROM jobs ${LANES})`

/** Jobs that wait in lanes have an index of their own; nearly always there are none. */
function waitingIndexes(db: Connection, filter: JobFilter, now: number): readonly Index[] {
  const { phase, dependency } = filter
  const state = phase ? [] : ['state']
  if (dependency !== undefined) {
    const sql = `INDEXED BY jobs_dependency WHERE state = 'waiting' AND dependency = ?`
    return [index(sql, [...state, 'dependency'], toText(dependency))]
  }
  const lines = db.get<[number]>(HAS_LANES)![0] === 1 ? ([PLAIN, LANES] as const) : ([PLAIN] as const)
  return lines.map(line => lineIndex(line, filter, now))
}

const LEVELS = 'priority IN (0, 1, 2, 3, 4, 5, 6, 7, 8, 9)'

function lineIndex(line: Line, { phase, queue }: JobFilter, now: number): Index {
  const state = phase ? [] : ['state']
  if (phase === 'queued') {
    const queues = queue === undefined ? 'IN (SELECT name FROM queues)' : '= ?'
    const values = queue === undefined ? [now] : [toText(queue), now]
    return index(`${line} AND queue ${queues} AND ${LEVELS} AND run_at <= ?`, [], ...values)
  }
  if (queue === undefined) return index(line, state)
  return index(`${line} AND queue = ?`, [...state, 'queue'], toText(queue))
}

/** Whether the indexes have so few entries that reading all of them takes no longer than a few windows. */
function areFew(db: Connection, indexes: readonly Index[], filter: JobFilter): boolean {
  return (
    indexes.length > 0 &&
    indexes.every(({ sql, values, answers, rows = `jobs ${sql}` }) => {
      const few = Object.keys(without(filter, answers)).length === 0 ? FEW_OF_INDEX : FEW
      const counted = `SELECT count(*) FROM (SELECT 1 FROM ${rows} LIMIT ${few + 1})`
      return db.get<[number]>(counted, ...values)![0] <= few
    })
  )
}

/** Ids and keys identify jobs directly; the other conditions still apply. */
function namedBy({ ids, key }: JobFilter): Fragment | undefined {
  if (ids !== undefined)
    return { sql: `id IN (SELECT unhex(value, '-') FROM json_each(?))`, values: [JSON.stringify(ids)] }
  // The keys also hold values of throttles, and keys of enqueues without a job of their own.
  if (key !== undefined)
    return { sql: 'id IN (SELECT job_id FROM keys WHERE key = ?) AND key = ?', values: [toText(key), toText(key)] }
  return undefined
}

const IS_HELD_BACK = `(EXISTS (SELECT 1 FROM queues WHERE name = jobs.queue AND paused = 1)
  OR (lane IS NOT NULL AND ${isClosed('?')}))`
/** Every term is the time, as in `phaseOf`: the dependency holds a later job back, a paused queue or a limit a due one. */
const IS_BLOCKED = `CASE WHEN run_at > ? THEN pass IS NOT NULL ELSE ${IS_HELD_BACK} END`
const PHASES: Readonly<Record<NonNullable<JobFilter['phase']>, string>> = {
  scheduled: 'attempt = 0 AND pass IS NULL AND +run_at > ?',
  queued: `attempt = 0 AND +run_at <= ? AND NOT ${IS_HELD_BACK}`,
  retrying: `attempt > 0 AND NOT ${IS_BLOCKED}`,
  blocked: IS_BLOCKED,
}
const termsOf = (sql: string, now: number): number[] => Array.from({ length: sql.split('?').length - 1 }, () => now)

/** The filter as SQL. A unary plus keeps the planner from choosing another index. */
function whereOf(filter: JobFilter, now: number): Fragment {
  const conditions: string[] = []
  const values: Value[] = []
  const add = (sql: string, ...more: readonly Value[]) => {
    conditions.push(sql)
    values.push(...more)
  }
  if (filter.state !== undefined)
    add('+state IN (SELECT value FROM json_each(?))', JSON.stringify([filter.state].flat()))
  if (filter.phase !== undefined) {
    const phase = PHASES[filter.phase]
    add(`(+state = 'waiting' AND ${phase})`, ...termsOf(phase, now))
  }
  if (filter.queue !== undefined) add('+queue = ?', toText(filter.queue))
  if (filter.name !== undefined) add('name = ?', toText(filter.name))
  if (filter.tenantId !== undefined) add('tenant_id = ?', toText(filter.tenantId))
  if (filter.internal !== undefined)
    add(`substr(queue, 1, ${RESERVED.length}) ${filter.internal ? '=' : '<>'} ?`, RESERVED)
  if (filter.key !== undefined) add('key = ?', toText(filter.key))
  if (filter.tag !== undefined) add('instr(tags, ?) > 0', tagLine(filter.tag))
  if (filter.reason !== undefined) add('reason = ?', filter.reason)
  if (filter.fingerprint !== undefined) add('+fingerprint = ?', toText(filter.fingerprint))
  if (filter.dependency !== undefined) add('+dependency = ?', toText(filter.dependency))
  if (filter.redriveId !== undefined) add('+redrive_id = ?', toText(filter.redriveId))
  if (filter.scheduleId !== undefined) add('+schedule_id = ?', toText(filter.scheduleId))
  // An ended job keeps the worker of its last run.
  if (filter.workerId !== undefined) add(`(+state = 'running' AND worker_id = ?)`, toText(filter.workerId))
  if (filter.acknowledged !== undefined) add(`acknowledged_at IS ${filter.acknowledged ? 'NOT NULL' : 'NULL'}`)
  if (filter.retried !== undefined) add(filter.retried ? 'attempt > 1' : 'attempt <= 1')
  for (const [column, from, to] of [
    ['created_at', filter.createdAfter, filter.createdBefore],
    ['started_at', filter.startedAfter, filter.startedBefore],
    ['+finished_at', filter.finishedAfter, filter.finishedBefore],
  ] as const) {
    const range = within(column, from, to)
    if (range.sql !== '') add(range.sql, ...range.values)
  }
  if (isFailedIn(filter)) {
    const range = within('finished_at', filter.failedAfter, filter.failedBefore)
    add(`EXISTS (SELECT 1 FROM attempts WHERE job = jobs.pk AND ${FAILED} AND ${range.sql})`, ...range.values)
  }
  // These conditions come last because they are the slowest.
  if (filter.error !== undefined) add(...errorHas(filter.error))
  if (filter.text !== undefined) add(...jobHas(filter.text, filter.masksSecrets))
  return { sql: conditions.length === 0 ? 'true' : conditions.join(' AND '), values }
}

// LIKE takes half as long as `instr` on the result of `lower`.
const has = (column: string): string => `${column} LIKE ? ESCAPE '\\'`
const pattern = (text: string): string => `%${text.replace(/[\\%_]/g, '\\$&')}%`

/** A long error is parsed only if the text occurs somewhere in it. */
const ERROR_HAS = `(+state <> 'succeeded' AND run > 0 AND EXISTS (
  SELECT 1 FROM (SELECT ${ERROR} AS error) WHERE ${has('error')} AND (
    ${has(`json_extract(error, '$.name')`)} OR ${has(`json_extract(error, '$.code')`)}
    OR ${has(`json_extract(error, '$.message')`)})))`
const PAYLOAD = 'ifnull(payload, (SELECT payload FROM payloads WHERE job = pk))'
const HTTP_URL = `json_extract(${PAYLOAD}, '$.url')`
const MASKED = `CASE name WHEN '${HTTP_JOB}' THEN substr(${HTTP_URL}, 1, instr(${HTTP_URL} || '?', '?') - 1) ELSE ${PAYLOAD} END`
const columns = (payload: string): string => ['name', 'queue', 'key', 'tags', `(${payload})`].map(has).join(' OR ')
const HEX = ['1, 8', '9, 4', '13, 4', '17, 4', '21'].map(piece => `substr(hex(id), ${piece})`).join(` || '-' || `)
const ID_HAS = `(${has('hex(id)')} AND ${has(HEX)})`

function errorHas(text: string): [sql: string, ...values: string[]] {
  const wanted = pattern(text)
  return [ERROR_HAS, pattern(withinJson(text)), wanted, wanted, wanted]
}

function jobHas(text: string, masksSecrets = false): [sql: string, ...values: string[]] {
  const wanted = pattern(text)
  const own = [wanted, wanted, wanted, wanted, wanted]
  const [error, ...values] = errorHas(text)
  const within = columns(masksSecrets ? MASKED : PAYLOAD)
  if (!mayBeOfId(text)) return [`(${within} OR ${error})`, ...own, ...values]
  return [`(${within} OR ${ID_HAS} OR ${error})`, ...own, pattern(text.replaceAll('-', '')), wanted, ...values]
}
