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
 * Appends the notes of settled runs: one for each lane, and one for each run that says something about a rate. Only the
 * latter depend on whether the run was settled: it must not count twice. `ended` is the CTE of the settled jobs, and
 * `from` the number of the first parameter (`noteValues`).
 */
export const noteEnded = (ended: string, from: number): string => `
  INSERT INTO @partition_notes (queue, name, at, body)
  SELECT queue, name, (SELECT now FROM clock), body
  FROM unnest($${from}::text[], $${from + 1}::text[], $${from + 2}::text[], $${from + 3}::uuid[])
    AS note (queue, name, body, id)
  WHERE id IS NULL OR id IN (SELECT id FROM ${ended})`

/** The parameters of `noteEnded`; undefined if no run was in a lane. */
export function noteValues(settlements: readonly Settlement[]): readonly string[] | undefined {
  const laned = settlements.filter(({ lane }) => lane !== undefined)
  if (laned.length === 0) return undefined
  const said = laned.filter(({ spent, lesson }) => spent || lesson)
  const lanes = [...said, ...oneOfEach(laned)]
  return [
    texts(lanes.map(({ queue }) => queue)),
    texts(lanes.map(({ lane }) => lane)),
    jsons(said.map(bodyOf)),
    ids(said.map(({ lease }) => lease.id)),
  ]
}

function bodyOf({ spent, claimedAt: startedAt, lesson }: Settlement): string {
  return JSON.stringify(present({ spent, startedAt, lesson }))
}

function oneOfEach<L extends LaneOf>(jobs: readonly L[]): readonly L[] {
  const lanes = new Map<string, Map<string, L>>()
  for (const job of jobs) {
    const known = lanes.get(job.queue)
    if (known) known.set(job.lane!, job)
    else lanes.set(job.queue, new Map([[job.lane!, job]]))
  }
  return [...lanes.values()].flatMap(known => [...known.values()])
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
