import type { Job } from '../../../core/job/job.js'
import { present } from '../../../core/values/present.js'
import type { Settlement } from '../../store.js'
import { ids, jsons, texts } from '../arrays.js'
import type { Ask } from '../connection/pool.js'

// Notes say that something happened to a job in a lane. Every transaction that changes such a job appends them; they lock
// nothing. A claim that has locked a partition deletes and applies its notes.

/**
 * Appends one note for each lane of `jobs`, a table expression with the columns `queue` and `lane`. It is a statement
 * or the body of a CTE; `now` is an expression.
 */
export const noteLanes = (jobs: string, now = '@now_ms()'): string => `
  INSERT INTO @partition_notes (queue, name, at)
  SELECT DISTINCT queue, lane, ${now} FROM ${jobs} WHERE lane IS NOT NULL`

/**
 * Appends the notes of settled runs: one for each lane, and one for each run that says something about a rate. `ended`
 * is the CTE of the settled jobs, and `from` the number of the first parameter (`noteValues`).
 */
export const noteEnded = (ended: string, from: number): string => `
  INSERT INTO @partition_notes (queue, name, at, body)
  SELECT queue, name, (SELECT now FROM clock), body FROM (
    SELECT DISTINCT queue, name, body, CASE WHEN body IS NOT NULL THEN id END
    FROM unnest($${from}::uuid[], $${from + 1}::text[], $${from + 2}::text[], $${from + 3}::text[])
      AS said (id, queue, name, body)
    WHERE id IN (SELECT id FROM ${ended})
  ) AS note`

/** The parameters of `noteEnded`; undefined if no run was in a lane. */
export function noteValues(settlements: readonly Settlement[]): readonly string[] | undefined {
  const laned = settlements.filter(({ lane }) => lane !== undefined)
  if (laned.length === 0) return undefined
  return [
    ids(laned.map(({ lease }) => lease.id)),
    texts(laned.map(({ queue }) => queue)),
    texts(laned.map(({ lane }) => lane)),
    jsons(laned.map(bodyOf)),
  ]
}

function bodyOf({ spent, claimedAt: startedAt, lesson }: Settlement): string | null {
  return spent || lesson ? JSON.stringify(present({ spent, startedAt, lesson })) : null
}

type LaneOf = Pick<Job, 'queue' | 'lane'>

const NOTE = noteLanes('unnest($1::text[], $2::text[]) AS given (queue, lane)')

/** Appends notes about these jobs and returns whether there were any. */
export async function note(ask: Ask, jobs: readonly LaneOf[]): Promise<boolean> {
  const laned = jobs.filter(({ lane }) => lane !== undefined)
  if (laned.length === 0) return false
  await ask(NOTE, texts(laned.map(({ queue }) => queue)), texts(laned.map(({ lane }) => lane)))
  return true
}
