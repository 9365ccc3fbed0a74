import type { JobState } from '../../core/job.js'
import { tagLine, toText } from '../columns.js'
import type { JobFilter, PruneRequest } from '../store.js'
import type { Connection } from './connection.js'
import type { Value } from './driver.js'

// No index serves the many ways to look for jobs: each would cost every enqueue, claim and settle. Jobs lie in the
// order in which they were made, and are looked through window by window, between which the event loop turns; the
// states that are rare among millions of succeeded jobs have an index of their own.

/** Keys looked through in one go. */
const WINDOW = 4_000
const FEW = 10_000

/** How a long read meets the database: one step at a time, not blocking in between. */
export type Steps = <T>(step: (db: Connection) => T) => Promise<T>

interface Fragment {
  readonly sql: string
  readonly values: readonly Value[]
}

const ENDED = `INDEXED BY jobs_ended WHERE finished_at IS NOT NULL AND state <> 'succeeded'`

/** The index of each state that has one, with the words that SQLite needs to see to use it. */
const INDEXES: Readonly<Partial<Record<JobState, string>>> = {
  waiting: `INDEXED BY jobs_waiting WHERE state = 'waiting'`,
  running: `INDEXED BY jobs_running WHERE state = 'running'`,
  dead: `${ENDED} AND state = 'dead'`,
  cancelled: `${ENDED} AND state = 'cancelled'`,
}

/** Jobs lie by their keys; a list goes down from the newest, or up from the oldest. */
export const DOWN = {
  start: Number.MAX_SAFE_INTEGER,
  order: 'DESC',
  beyond: 'pk < ?',
  next: 'max(pk)',
  step: -1,
} as const
export const UP = { start: 0, order: 'ASC', beyond: 'pk > ?', next: 'min(pk)', step: 1 } as const
export type Way = typeof DOWN | typeof UP

/** Where to look and for what, as `table WHERE condition`: parts that follow each other, after the key that was the last. */
export async function* parts(
  steps: Steps,
  filter: JobFilter,
  now: number,
  way: Way,
  last: number,
): AsyncGenerator<Fragment> {
  const named = namedBy(filter)
  const where = whereOf(filter, now)
  if (named) {
    yield join('jobs WHERE', named, { sql: way.beyond, values: [last] }, where)
    return
  }
  const index = indexOf(filter)
  let end = last
  for (let windows = 0; ; windows++) {
    if (windows === 1 && index && (await steps(db => areFew(db, index)))) {
      yield join('jobs', index, { sql: way.beyond, values: [end] }, where)
      return
    }
    const next = `SELECT ${way.next} FROM jobs WHERE ${way.beyond}`
    const start = await steps(db => db.get<[number | null]>(next, end)![0])
    if (start === null) return
    end = start + way.step * (WINDOW - 1)
    const window = [Math.min(start, end), Math.max(start, end)]
    yield join('jobs NOT INDEXED WHERE', { sql: 'pk BETWEEN ? AND ?', values: window }, where)
  }
}

/** The same for who only counts: in any order, and from the index alone where it knows enough. */
export async function* countingParts(steps: Steps, filter: JobFilter, now: number): AsyncGenerator<Fragment> {
  const index = indexOf(filter)
  if (index) {
    const { queue, ...others } = without(filter, index.answers)
    const isAlone = Object.keys(others).length === 0
    if (isAlone && queue === undefined) return yield join('jobs', index)
    if (isAlone && index.sql === INDEXES.waiting)
      return yield join('jobs', index, { sql: 'queue = ?', values: [toText(queue!)] })
  }
  if (index && !namedBy(filter) && (await steps(db => areFew(db, index))))
    yield join('jobs', index, whereOf(filter, now))
  else yield* parts(steps, filter, now, DOWN, DOWN.start)
}

/** The conditions that are left when an index has answered some. */
function without(filter: JobFilter, answered: Index['answers']): JobFilter {
  const asked = Object.entries(filter).filter(([field, value]) => value !== undefined && !answered.includes(field))
  return Object.fromEntries(asked)
}

function join(start: string, ...fragments: readonly Fragment[]): Fragment {
  return { sql: `${start} ${fragments.map(({ sql }) => sql).join(' AND ')}`, values: fragments.flatMap(f => f.values) }
}

interface Index extends Fragment {
  /** The conditions that all it has fulfil. */
  readonly answers: readonly string[]
}

/** The index that has all that can match, and the least else. */
function indexOf({ state, phase, redriveId, scheduleId, fingerprint, gate }: JobFilter): Index | undefined {
  const sql = (text: string, answers: string[], ...values: Value[]): Index => ({ sql: text, values, answers })
  if (redriveId !== undefined)
    return sql('INDEXED BY jobs_redrive WHERE redrive_id = ?', ['redriveId'], toText(redriveId))
  if (scheduleId !== undefined)
    return sql('INDEXED BY jobs_schedule WHERE schedule_id = ?', ['scheduleId'], toText(scheduleId))
  const states = phase ? ['waiting' as const] : [state ?? []].flat()
  const only = states.length === 1 ? states[0]! : undefined
  const answers = phase ? [] : ['state']
  if (only === 'dead' && fingerprint !== undefined) {
    const group = `INDEXED BY jobs_group WHERE state = 'dead' AND fingerprint = ?`
    return sql(group, [...answers, 'fingerprint'], toText(fingerprint))
  }
  if (only === 'waiting' && gate !== undefined) {
    return sql(`INDEXED BY jobs_gate WHERE state = 'waiting' AND gate = ?`, [...answers, 'gate'], toText(gate))
  }
  const whole = only && INDEXES[only]
  return whole === undefined ? undefined : sql(whole, answers)
}

/** Then looking at all of them takes no longer than a few windows. */
function areFew(db: Connection, { sql, values }: Index): boolean {
  const counted = `SELECT count(*) FROM (SELECT 1 FROM jobs ${sql} LIMIT ${FEW + 1})`
  return db.get<[number]>(counted, ...values)![0] <= FEW
}

/** Ids and keys lead straight to their jobs; the other conditions still apply. */
function namedBy({ ids, key }: JobFilter): Fragment | undefined {
  if (ids !== undefined)
    return { sql: `id IN (SELECT unhex(value, '-') FROM json_each(?))`, values: [JSON.stringify(ids)] }
  if (key !== undefined) return { sql: 'id IN (SELECT job_id FROM keys WHERE key = ?)', values: [toText(key)] }
  return undefined
}

/** The filter as SQL. A unary plus keeps the planner from choosing an index of its own. */
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
    add(`+state = 'waiting'`)
    add(filter.phase === 'retrying' ? 'attempt > 0' : 'attempt = 0')
    if (filter.phase !== 'retrying') add(filter.phase === 'scheduled' ? '+run_at > ?' : '+run_at <= ?', now)
  }
  if (filter.queue !== undefined) add('+queue = ?', toText(filter.queue))
  if (filter.name !== undefined) add('name = ?', toText(filter.name))
  if (filter.tenantId !== undefined) add('tenant_id = ?', toText(filter.tenantId))
  if (filter.key !== undefined) add('key = ?', toText(filter.key))
  if (filter.tag !== undefined) add('instr(tags, ?) > 0', tagLine(filter.tag))
  if (filter.reason !== undefined) add('reason = ?', filter.reason)
  if (filter.fingerprint !== undefined) add('+fingerprint = ?', toText(filter.fingerprint))
  if (filter.gate !== undefined) add('+gate = ?', toText(filter.gate))
  if (filter.redriveId !== undefined) add('+redrive_id = ?', toText(filter.redriveId))
  if (filter.scheduleId !== undefined) add('+schedule_id = ?', toText(filter.scheduleId))
  if (filter.acknowledged !== undefined) add(`acknowledged_at IS ${filter.acknowledged ? 'NOT NULL' : 'NULL'}`)
  if (filter.finishedBefore !== undefined) add('+finished_at < ?', filter.finishedBefore)
  if (filter.createdAfter !== undefined) add('created_at >= ?', filter.createdAfter)
  if (filter.createdBefore !== undefined) add('created_at < ?', filter.createdBefore)
  return { sql: conditions.length === 0 ? 'true' : conditions.join(' AND '), values }
}

export type Ended = keyof PruneRequest['olderThanMs']

type Old = [pk: number, finishedAt: number]

/** Ended jobs whose time is over, oldest first, for a prune that asks again when it writes. */
export async function findOld(steps: Steps, request: PruneRequest, now: number): Promise<Record<Ended, number[]>> {
  const found: { state: Ended; pk: number; finishedAt: number }[] = []
  for (const state of ['succeeded', 'dead', 'cancelled'] as const) {
    const age = request.olderThanMs[state]
    if (age === undefined) continue
    const rows = await (state === 'succeeded' ? oldSucceeded : oldOthers)(steps, now - age, request.limit, state)
    found.push(...rows.map(([pk, finishedAt]) => ({ state, pk, finishedAt })))
  }
  found.sort((a, b) => a.finishedAt - b.finishedAt || a.pk - b.pk)
  const old: Record<Ended, number[]> = { succeeded: [], dead: [], cancelled: [] }
  for (const { state, pk } of found.slice(0, request.limit)) old[state].push(pk)
  return old
}

function oldOthers(steps: Steps, before: number, limit: number, state: Ended): Promise<Old[]> {
  const sql = `SELECT pk, finished_at FROM jobs ${INDEXES[state]} AND finished_at <= ? ORDER BY finished_at, pk LIMIT ?`
  return steps(db => db.all<Old>(sql, before, limit))
}

/** From the oldest job on, until they are too young to have ended long ago. */
async function oldSucceeded(steps: Steps, before: number, limit: number): Promise<Old[]> {
  const found: Old[] = []
  for (let low = 0; found.length < limit; ) {
    const first = await steps(db =>
      db.get<[pk: number, createdAt: number]>('SELECT pk, created_at FROM jobs WHERE pk > ? ORDER BY pk LIMIT 1', low),
    )
    if (!first || first[1] > before) break
    low = first[0] + WINDOW
    const rows = await steps(db =>
      db.all<Old>(
        `SELECT pk, finished_at FROM jobs NOT INDEXED
         WHERE pk >= ? AND pk <= ? AND +state = 'succeeded' AND finished_at <= ? ORDER BY pk LIMIT ?`,
        first[0],
        low,
        before,
        limit - found.length,
      ),
    )
    found.push(...rows)
  }
  return found
}
