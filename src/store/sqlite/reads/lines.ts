import { PRIORITY_MAX } from '../../../core/job/job.js'
import { lanedNames } from '../file/settings.js'
import { type Line as Index, LANES, PLAIN } from '../rows.js'
import type { Steps } from './search.js'

// Waiting jobs are a line for each queue and priority: a range of one index, or of the other one for jobs in lanes. A store
// may have very many queues, and most of them have no waiting jobs, or only of one priority.

/** A queue and a priority, as they are stored. */
export type Line = readonly [queue: string, priority: number]

export interface IndexedLine {
  readonly index: Index
  readonly line: Line
}

const PRIORITIES: readonly number[] = Array.from({ length: PRIORITY_MAX + 1 }, (_, priority) => priority)
/** Before every line. */
export const START: Line = ['', -1]

/** SQLite would compare a pair of columns by the first one alone, and read every job of the line. */
function next(index: Index, queue: string, priority: string): string {
  const from = `SELECT pk FROM jobs ${index} AND queue`
  return `coalesce(
    (${from} = ${queue} AND priority > ${priority} ORDER BY priority LIMIT 1),
    (${from} > ${queue} ORDER BY queue, priority LIMIT 1))`
}

/** The first lines with waiting jobs after the line `?1`, `?2`, as the table `line`, by queue and priority. */
export const linesAfter = (index: Index, limit: number): string => `
  WITH RECURSIVE line (queue, priority, place) AS (
    SELECT queue, priority, 1 FROM jobs WHERE pk = ${next(index, '?1', '?2')}
    UNION ALL
    SELECT jobs.queue, jobs.priority, place + 1 FROM line
      JOIN jobs ON jobs.pk = ${next(index, 'line.queue', 'line.priority')}
    WHERE place < ${limit}
  )`

/** Every priority of the queues in the JSON array `?1`, as the table `line`. */
export const LINES_OF = `
  WITH line (queue, priority) AS (
    SELECT asked.value, level.value FROM json_each(?1) AS asked, json_each('${JSON.stringify(PRIORITIES)}') AS level
  )`

/** The indexes with waiting jobs of a queue, or of all. */
export async function indexesOf(steps: Steps, queue?: string): Promise<readonly Index[]> {
  const laned = await steps(lanedNames)
  return (queue === undefined ? laned.size > 0 : laned.has(queue)) ? [PLAIN, LANES] : [PLAIN]
}

/** Every line of a queue; without one, the first lines with waiting jobs. */
export async function lines(steps: Steps, queue: string | undefined, limit: number): Promise<readonly IndexedLine[]> {
  const found: IndexedLine[] = []
  for (const index of await indexesOf(steps, queue)) {
    const own =
      queue === undefined
        ? await steps(db =>
            db.all<[string, number]>(`${linesAfter(index, limit)} SELECT queue, priority FROM line`, ...START),
          )
        : PRIORITIES.map(priority => [queue, priority] as const)
    found.push(...own.map(line => ({ index, line })))
  }
  return found
}
