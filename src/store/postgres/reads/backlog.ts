import { present } from '../../../core/values/present.js'
import { byBytes, fromText, tagLine } from '../../columns.js'
import { BACKLOG_DUE_MAX, type Backlog, type BacklogRequest } from '../../store.js'
import type { Database } from '../connection/pool.js'
import { isLimited, nextLevel, ofBoth } from './both-indexes.js'

const DUE_LINE = `j.queue = level.queue AND j.priority = level.priority AND j.run_at <= clock.now
  AND (j.deadline IS NULL OR j.deadline > clock.now)`

/**
 * Walks the index from one queue and priority with waiting jobs to the next, and reads only the due jobs of each. A job
 * that waits for a limit could not start, so it is not late.
 */
const DUE = `
  WITH RECURSIVE clock AS MATERIALIZED (SELECT @now_ms() AS now),
  level AS (
    (${nextLevel()})
    UNION ALL
    SELECT next.queue, next.priority FROM level, LATERAL (
      ${nextLevel('(queue, priority) > (level.queue, level.priority)')}
    ) AS next
  )
  SELECT level.queue, min(line.run_at), min(line.run_at) FILTER (WHERE line.attempt > 0)
  FROM clock, level, LATERAL (
    ${ofBoth('run_at, attempt, lane', DUE_LINE, 'run_at', String(BACKLOG_DUE_MAX))}
  ) AS line
  WHERE NOT ${isLimited('level.queue', 'line.lane', 'clock.now')}
  GROUP BY level.queue`

const DEAD = `
  SELECT queue, count(*)::int, min(finished_at) FROM (
    SELECT queue, reason, tags, acknowledged_at, finished_at FROM @jobs
    WHERE state = 'dead' AND finished_at IS NOT NULL ORDER BY finished_at DESC LIMIT $1
  ) AS dead
  WHERE acknowledged_at IS NULL AND reason IS DISTINCT FROM 'discarded' AND coalesce(strpos(tags, $2), 0) = 0 GROUP BY queue`

export async function backlog(db: Database, { exceptTag, deadMax }: BacklogRequest): Promise<readonly Backlog[]> {
  const [due, dead] = await Promise.all([
    db.readShort<[name: string, dueAt: number, retryDueAt: number | null]>(DUE),
    db.readShort<[name: string, dead: number, deadSince: number]>(DEAD, deadMax, tagLine(exceptTag)),
  ])
  const found = new Map<string, Backlog>()
  for (const [name, dueAt, retryDueAt] of due) {
    const queue = fromText(name)
    found.set(queue, present({ queue, dead: 0, dueAt, retryDueAt: retryDueAt ?? undefined }))
  }
  for (const [name, count, deadSince] of dead) {
    const queue = fromText(name)
    found.set(queue, { ...found.get(queue), queue, dead: count, deadSince })
  }
  return [...found.values()].sort((a, b) => byBytes(a.queue, b.queue))
}
