import { PRIORITY_MAX } from '../../../core/job/job.js'
import type { Connection } from '../file/connection.js'
import type { Steps } from './search.js'

// Waiting jobs are a line for each queue and priority: a range of one index. A store may have very many queues, and most
// of them have no waiting jobs, or only of one priority.

/** A queue and a priority, as they are stored. */
export type Line = readonly [queue: string, priority: number]

const PRIORITIES: readonly number[] = Array.from({ length: PRIORITY_MAX + 1 }, (_, priority) => priority)
/** Before every line. */
export const START: Line = ['', -1]

const NEXT = `SELECT pk FROM jobs INDEXED BY jobs_waiting WHERE state = 'waiting' AND queue`
/** SQLite would compare a pair of columns by the first one alone, and read every job of the line. */
const next = (queue: string, priority: string): string => `coalesce(
  (${NEXT} = ${queue} AND priority > ${priority} ORDER BY priority LIMIT 1),
  (${NEXT} > ${queue} ORDER BY queue, priority LIMIT 1))`

/** The first lines with waiting jobs after the line `?1`, `?2`, as the table `line`, by queue and priority. */
export const linesAfter = (limit: number): string => `
  WITH RECURSIVE line (queue, priority, place) AS (
    SELECT queue, priority, 1 FROM jobs WHERE pk = ${next('?1', '?2')}
    UNION ALL
    SELECT jobs.queue, jobs.priority, place + 1 FROM line JOIN jobs ON jobs.pk = ${next('line.queue', 'line.priority')}
    WHERE place < ${limit}
  )`

/** Every priority of the queues in the JSON array `?1`, as the table `line`. */
export const LINES_OF = `
  WITH line (queue, priority) AS (
    SELECT asked.value, level.value FROM json_each(?1) AS asked, json_each('${JSON.stringify(PRIORITIES)}') AS level
  )`

/** Every line of a queue; without one, the first lines with waiting jobs. */
export async function lines(steps: Steps, queue: string | undefined, limit: number): Promise<readonly Line[]> {
  if (queue !== undefined) return PRIORITIES.map(priority => [queue, priority])
  return steps(db => walk(db, limit))
}

function walk(db: Connection, limit: number): readonly Line[] {
  return db.all<[queue: string, priority: number]>(`${linesAfter(limit)} SELECT queue, priority FROM line`, ...START)
}
