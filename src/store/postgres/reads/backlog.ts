import { present } from '../../../core/values/present.js'
import { byBytes, fromText, tagLine } from '../../columns.js'
import { LINES_MAX } from '../../reads/census.js'
import { BACKLOG_DUE_MAX, type Backlog, type BacklogRequest } from '../../store.js'
import type { Database } from '../connection/pool.js'
import { isLimited, nextLevel, ofBoth } from './both-indexes.js'

const DUE_LINE = `j.queue = own.queue AND j.priority = own.priority AND j.run_at <= clock.now
  AND (j.deadline IS NULL OR j.deadline > clock.now)`

const CLOCK = 'clock AS MATERIALIZED (SELECT @now_ms() AS now)'
const TIMES = 'min(line.run_at), min(line.run_at) FILTER (WHERE line.attempt > 0)'

/**
 * Walks the index from one queue and priority with waiting jobs to the next, and reads only the due jobs of each. A job
 * that waits for a limit could not start, so it is not late. The row without a name has the number of queues and priorities.
 */
const walk = (limit: string): string => `
  WITH RECURSIVE ${CLOCK},
  level AS (
    (${nextLevel()})
    UNION ALL
    SELECT next.queue, next.priority FROM level, LATERAL (
      ${nextLevel('(queue, priority) > (level.queue, level.priority)')}
    ) AS next
  ),
  own AS MATERIALIZED (SELECT * FROM level ${limit})
  SELECT own.queue, ${TIMES}
  FROM clock, own, LATERAL (
    ${ofBoth('run_at, attempt, lane', DUE_LINE, 'run_at', String(BACKLOG_DUE_MAX))}
  ) AS line
  WHERE NOT ${isLimited('own.queue', 'line.lane', 'clock.now')}
  GROUP BY own.queue
  UNION ALL SELECT NULL, count(*), NULL FROM own`

/** The walk ends early where there are very many queues; then there is one line more than `LINES_MAX`. */
const WALK = walk(`LIMIT ${LINES_MAX + 1}`)
const WHOLE_WALK = walk('')

/** Very many queues have few jobs each: to read these costs less than a walk. The row without a name has their number. */
const JOBS_MAX = 500_000
const EACH = `
  WITH ${CLOCK},
  waiting AS MATERIALIZED (${ofBoth(
    'queue, priority, run_at, attempt, lane, deadline',
    'true',
    'queue, priority, run_at',
    String(JOBS_MAX + 1),
  )})
  SELECT line.queue, ${TIMES}
  FROM clock, waiting AS line
  WHERE line.run_at <= clock.now AND (line.deadline IS NULL OR line.deadline > clock.now)
    AND NOT ${isLimited('line.queue', 'line.lane', 'clock.now')}
  GROUP BY line.queue
  UNION ALL SELECT NULL, count(*), NULL FROM waiting`

type DueRow = [name: string | null, dueAt: number, retryDueAt: number | null]

async function dueJobs(db: Database): Promise<readonly DueRow[]> {
  const walked = await db.readShort<DueRow>(WALK)
  if (lookedAt(walked) <= LINES_MAX) return walked
  const each = await db.readShort<DueRow>(EACH)
  return lookedAt(each) <= JOBS_MAX ? each : db.read<DueRow>(WHOLE_WALK)
}

const lookedAt = (rows: readonly DueRow[]): number => rows.find(([name]) => name === null)![1]

const DEAD = `
  SELECT queue, count(*)::int, min(finished_at) FROM (
    SELECT queue, reason, tags, acknowledged_at, finished_at FROM @jobs
    WHERE state = 'dead' AND finished_at IS NOT NULL ORDER BY finished_at DESC LIMIT $1
  ) AS dead
  WHERE acknowledged_at IS NULL AND reason IS DISTINCT FROM 'discarded' AND coalesce(strpos(tags, $2), 0) = 0 GROUP BY queue`

export async function backlog(db: Database, { exceptTag, deadMax }: BacklogRequest): Promise<readonly Backlog[]> {
  const [due, dead] = await Promise.all([
    dueJobs(db),
    db.readShort<[name: string, dead: number, deadSince: number]>(DEAD, deadMax, tagLine(exceptTag)),
  ])
  const found = new Map<string, Backlog>()
  for (const [name, dueAt, retryDueAt] of due) {
    if (name === null) continue
    const queue = fromText(name)
    found.set(queue, present({ queue, dead: 0, dueAt, retryDueAt: retryDueAt ?? undefined }))
  }
  for (const [name, count, deadSince] of dead) {
    const queue = fromText(name)
    found.set(queue, { ...found.get(queue), queue, dead: count, deadSince })
  }
  return [...found.values()].sort((a, b) => byBytes(a.queue, b.queue))
}
