import { present } from '../../../core/values/present.js'
import { byBytes, fromText, tagLine } from '../../columns.js'
import { BACKLOG_DUE_MAX, type Backlog, type BacklogRequest } from '../../store.js'
import { LANES, type Line, PLAIN } from '../rows.js'
import type { Steps } from './search.js'

/**
 * Finds the due jobs of each queue and priority through the index that claims use, so that neither jobs scheduled for
 * later nor queues without waiting jobs cost anything.
 */
const inLine = (line: Line): string => `
  FROM jobs ${line} AND queue = waiting.name AND priority = level.value
  AND run_at <= ?1 AND (deadline IS NULL OR deadline > ?1) ORDER BY run_at LIMIT`
const next = (line: Line): string => `SELECT min(queue) FROM jobs ${line} AND queue`
/** The number of queues that one statement reads, which blocks the process for a few milliseconds. */
const QUEUES_AT_ONCE = 1_000
const dueIn = (line: Line): string => `
  WITH RECURSIVE waiting (name, place) AS (
    SELECT (${next(line)} > ?2), 1
    UNION ALL
    SELECT (${next(line)} > waiting.name), place + 1 FROM waiting WHERE name IS NOT NULL AND place < ${QUEUES_AT_ONCE}
  )
  SELECT name, min(due), min(again) FROM (
    SELECT waiting.name, (SELECT run_at ${inLine(line)} 1) AS due,
      (SELECT min(run_at) FROM (SELECT run_at, attempt ${inLine(line)} ${BACKLOG_DUE_MAX}) WHERE attempt > 0) AS again
    FROM waiting, json_each('[0,1,2,3,4,5,6,7,8,9]') AS level WHERE name IS NOT NULL
  ) GROUP BY name ORDER BY name`
type DueRow = [name: string, dueAt: number | null, again: number | null]

const DEAD = `
  SELECT queue, count(*), min(finished_at) FROM (
    SELECT queue, reason, tags, acknowledged_at, finished_at FROM jobs INDEXED BY jobs_ended
    WHERE finished_at IS NOT NULL AND state <> 'succeeded' AND state = 'dead' ORDER BY finished_at DESC LIMIT ?
  ) WHERE acknowledged_at IS NULL AND reason IS NOT 'discarded' AND (tags IS NULL OR instr(tags, ?) = 0) GROUP BY queue`

export async function backlog(
  steps: Steps,
  { exceptTag, deadMax }: BacklogRequest,
  now: number,
): Promise<readonly Backlog[]> {
  const found = new Map<string, Backlog>()
  for (const line of [PLAIN, LANES] as const) await addDue(steps, found, line, now)
  const dead = await steps(db => db.all<[string, number, number]>(DEAD, deadMax, tagLine(exceptTag)))
  for (const [name, count, deadSince] of dead) {
    const queue = fromText(name)
    found.set(queue, { ...found.get(queue), queue, dead: count, deadSince })
  }
  return [...found.values()].sort((a, b) => byBytes(a.queue, b.queue))
}

async function addDue(steps: Steps, found: Map<string, Backlog>, line: Line, now: number): Promise<void> {
  for (let after = ''; ; ) {
    const rows = await steps(db => db.all<DueRow>(dueIn(line), now, after))
    for (const [name, dueAt, again] of rows) {
      if (dueAt === null) continue
      const queue = fromText(name)
      const known = found.get(queue)
      const due = earliest(known?.dueAt, dueAt)
      found.set(queue, present({ queue, dead: 0, dueAt: due, retryDueAt: earliest(known?.retryDueAt, again) }))
    }
    if (rows.length < QUEUES_AT_ONCE) return
    after = rows.at(-1)![0]
  }
}

function earliest(one: number | undefined, another: number | null): number | undefined {
  return one === undefined || another === null ? (one ?? another ?? undefined) : Math.min(one, another)
}
