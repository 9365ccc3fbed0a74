import { fromText, toTextOrNull } from '../../columns.js'
import {
  addLine,
  type CensusRequest,
  censusDraft,
  censusOf,
  countOf,
  LINES_MAX,
  lineCap,
  type QueueCensus,
  type Wave,
  type WaveRequest,
} from '../../reads/census.js'
import { texts } from '../arrays.js'
import type { Database } from '../connection/pool.js'
import { queues } from '../connection/settings.js'
import { isLimited, nextLevel, ofBoth } from './both-indexes.js'

/** Walks the index from one queue and priority with waiting jobs to the next; `$1` limits it to one queue. */
const levels = (limit: string): string => `
  WITH RECURSIVE clock AS MATERIALIZED (SELECT @now_ms() AS now),
  level AS (
    (${nextLevel(`queue >= coalesce($1::text, '')`)})
    UNION ALL
    SELECT next.queue, next.priority FROM level, LATERAL (
      ${nextLevel('(queue, priority) > (level.queue, level.priority)')}
    ) AS next
    WHERE $1::text IS NULL OR level.queue = $1::text
  ),
  own AS MATERIALIZED (SELECT * FROM level WHERE $1::text IS NULL OR queue = $1::text ${limit})`

const EVERY = levels('')
/** The walk ends early where there are very many queues; then there is one line more than `LINES_MAX`. */
export const LEVELS = levels(`LIMIT ${LINES_MAX + 1}`)

/** Every priority of the queues `$1`. */
const ASKED = `
  WITH clock AS MATERIALIZED (SELECT @now_ms() AS now),
  own AS (SELECT queue, priority FROM unnest($1::text[]) AS asked (queue), generate_series(0, 9) AS level (priority))`

const line = (range: string, limit: string): string => `
  LATERAL (
    ${ofBoth('run_at, attempt, pass, lane', `j.queue = own.queue AND j.priority = own.priority AND ${range}`, 'run_at', limit)}
  ) AS line`

/** The counts of a `CensusLine`: a dependency holds later jobs back, a limit due ones. */
const counted = (isDue: boolean, range: string): string => `
  SELECT queue, priority, ${isDue} AS due, count(*)::int, (count(*) FILTER (WHERE attempt > 0 AND NOT held))::int,
    (count(*) FILTER (WHERE held))::int
  FROM (
    SELECT own.queue, own.priority, line.attempt,
      ${isDue ? isLimited('own.queue', 'line.lane', 'clock.now') : 'line.pass IS NOT NULL'} AS held
    FROM clock, own, ${line(range, '$2')}
  ) AS read GROUP BY 1, 2`

const WAITING = `${counted(true, 'j.run_at <= clock.now')} UNION ALL ${counted(false, 'j.run_at > clock.now')}`

const RUNNING = `
  SELECT queue, count(*)::int FROM (SELECT queue FROM @jobs WHERE state = 'running' LIMIT $1) AS running GROUP BY queue`
const DEAD = `
  SELECT queue, count(*)::int FROM (
    SELECT queue FROM @jobs WHERE state = 'dead' AND finished_at IS NOT NULL ORDER BY finished_at DESC LIMIT $1
  ) AS dead GROUP BY queue`

type WaitingRow = [queue: string, priority: number, due: boolean, looked: number, again: number, held: number]

export async function census(db: Database, { queues: asked, cap }: CensusRequest): Promise<readonly QueueCensus[]> {
  const wanted = asked && new Set(asked)
  const known = (await queues(db)).filter(({ name }) => wanted?.has(name) ?? true)
  const drafts = new Map(known.map(queue => [queue.name, censusDraft(queue)]))
  const most = lineCap(cap, known.length)
  const sql = `${wanted ? ASKED : EVERY} ${WAITING}`
  const lines = await db.read<WaitingRow>(sql, wanted ? texts([...drafts.keys()]) : null, most + 1)
  for (const [name, , isDue, looked, again, held] of lines) {
    const draft = drafts.get(fromText(name))
    if (draft) addLine(draft, { isDue, looked, again, held }, most)
  }
  for (const [state, sql] of [['running', RUNNING] as const, ['dead', DEAD] as const]) {
    const rows = await db.read<[queue: string, count: number]>(sql, 2 * cap + 1)
    const isCut = rows.reduce((sum, [, count]) => sum + count, 0) > 2 * cap
    const counts = new Map(rows.map(([name, count]) => [fromText(name), count]))
    for (const draft of drafts.values()) draft[state] = { value: counts.get(draft.queue) ?? 0, isCut }
  }
  return [...drafts.values()].map(draft => censusOf(draft, cap))
}

/** An integer, because the index has integers. */
const WINDOW_END = 'ceil(clock.now + $3::float8)::bigint'

const COMING = `${LEVELS}
  SELECT (SELECT now FROM clock), bucket, phase, count(*)::int FROM (
    SELECT floor((line.run_at - clock.now) * $4::float8 / $3::float8)::int AS bucket,
      CASE WHEN line.pass IS NOT NULL THEN 'blocked' WHEN line.attempt > 0 THEN 'retrying' ELSE 'scheduled' END AS phase
    FROM clock, own, ${line(`j.run_at > clock.now AND j.run_at < ${WINDOW_END}`, '$2')} LIMIT $2
  ) AS coming GROUP BY bucket, phase
  UNION ALL SELECT now, NULL, NULL, 0 FROM clock`

const AROUND = `${LEVELS}
  SELECT due.looked, due.again, beyond.count, (SELECT count(*) FROM own) > ${LINES_MAX}
  FROM
    (SELECT count(*)::int AS looked, (count(*) FILTER (WHERE attempt > 0))::int AS again FROM (
      SELECT line.attempt FROM clock, own, ${line('j.run_at <= clock.now', '$2')} LIMIT $2) AS line) AS due,
    (SELECT count(*)::int AS count FROM (
      SELECT 1 FROM clock, own, ${line(`j.run_at >= ${WINDOW_END}`, '$2')} LIMIT $2) AS line) AS beyond`

export async function wave(db: Database, { queue, windowMs, buckets, lookAt }: WaveRequest): Promise<Wave> {
  const zeros = (): number[] => Array.from({ length: buckets }, () => 0)
  const coming = { retrying: zeros(), scheduled: zeros(), blocked: zeros() }
  const values = [toTextOrNull(queue), lookAt + 1, windowMs] as const
  type ComingRow = [now: number, bucket: number | null, phase: keyof typeof coming | null, count: number]
  const rows = await db.read<ComingRow>(COMING, ...values, buckets)
  let looked = 0
  for (const [, bucket, phase, count] of rows) {
    if (bucket === null || phase === null) continue
    coming[phase][bucket]! += count
    looked += count
  }
  type AroundRow = [looked: number, again: number, beyond: number, hasMore: boolean]
  const [around] = await db.read<AroundRow>(AROUND, ...values)
  const [dueLooked, due, beyond, hasMore] = around!
  return {
    from: rows[0]![0],
    ...coming,
    due,
    beyond: countOf({ value: beyond, isCut: false }, lookAt),
    complete: looked <= lookAt && dueLooked <= lookAt && !hasMore,
  }
}
