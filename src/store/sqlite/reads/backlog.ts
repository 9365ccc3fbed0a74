import { present } from '../../../core/values/present.js'
import { byBytes, fromText, tagLine } from '../../columns.js'
import { BACKLOG_DUE_MAX, type Backlog, type BacklogRequest } from '../../store.js'
import { type Line as Index, isClosed, LANES } from '../rows.js'
import { indexesOf, linesAfter, START } from './lines.js'
import type { Steps } from './search.js'

/** The due jobs of a line, through the index that claims use, so that jobs scheduled for later cost nothing. */
const dueJobs = (index: Index): string => `
  FROM jobs ${index} AND queue = line.queue AND priority = line.priority
  AND run_at <= ?3 AND (deadline IS NULL OR deadline > ?3) ORDER BY run_at LIMIT`
/** The number of lines that one statement reads, which blocks the process for a few milliseconds. */
const LINES_AT_ONCE = 1_000
/** A job that waits for a limit could not start, so it is not late. */
function firstOf(index: Index, condition: string): string {
  const held = index === LANES ? isClosed('?3') : 'false'
  return `(SELECT min(run_at) FROM (
      SELECT run_at, attempt, ${held} AS held ${dueJobs(index)} ${BACKLOG_DUE_MAX}) WHERE NOT held AND ${condition})`
}

const dueIn = (index: Index): string => {
  const first = index === LANES ? firstOf(index, 'true') : `(SELECT run_at ${dueJobs(index)} 1)`
  return `${linesAfter(index, LINES_AT_ONCE)}
  SELECT line.queue, line.priority, ${first}, ${firstOf(index, 'attempt > 0')} FROM line`
}
type DueRow = [queue: string, priority: number, dueAt: number | null, again: number | null]

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
  for (const index of await indexesOf(steps)) await addDue(steps, found, index, now)
  const dead = await steps(db => db.all<[string, number, number]>(DEAD, deadMax, tagLine(exceptTag)))
  for (const [name, count, deadSince] of dead) {
    const queue = fromText(name)
    found.set(queue, { ...found.get(queue), queue, dead: count, deadSince })
  }
  return [...found.values()].sort((a, b) => byBytes(a.queue, b.queue))
}

async function addDue(steps: Steps, found: Map<string, Backlog>, index: Index, now: number): Promise<void> {
  for (let after = START; ; ) {
    const rows = await steps(db => db.all<DueRow>(dueIn(index), ...after, now))
    for (const [name, , dueAt, again] of rows) {
      if (dueAt === null) continue
      const queue = fromText(name)
      const known = found.get(queue)
      const retryDueAt = earlier(known?.retryDueAt, again ?? undefined)
      found.set(queue, present({ queue, dead: 0, dueAt: earlier(known?.dueAt, dueAt)!, retryDueAt }))
    }
    const last = rows.at(-1)
    if (!last || rows.length < LINES_AT_ONCE) return
    after = [last[0], last[1]]
  }
}

function earlier(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b)
}
