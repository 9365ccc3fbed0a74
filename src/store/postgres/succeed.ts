import { toCounters } from '../columns.js'
import { DeltaDraft } from '../delta.js'
import { isPlainSuccess } from '../history.js'
import type { Settlement } from '../store.js'
import { numbers, texts, words } from './arrays.js'
import { appendSettled } from './deltas.js'
import type { Row, Statement } from './pool.js'

/**
 * What nearly every run comes to: it succeeded, and there is nothing more to say, so that its job tells all of it. One
 * row answers for all of them: the due times that they had, in the order of the ids, and the ids of those that were
 * settled, where some were not.
 */
const SUCCEED = `
  WITH clock AS MATERIALIZED (SELECT @now_ms() AS now),
  told AS MATERIALIZED (
    SELECT id, token, started_at, finished_at, result, counters, 0 AS back, NULL::text AS reason
    FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::text[])
      AS told (id, token, started_at, finished_at, result, counters)
  ),
  ended AS (
    UPDATE @jobs j SET state = 'succeeded', finished_at = told.finished_at, result = told.result, token = NULL,
      counters = told.counters, reason = NULL, pass = NULL, ran_at = told.started_at, ran_token = told.token
    FROM told
    WHERE j.id = ANY ($1::uuid[]) AND j.id = told.id AND j.token = told.token
    RETURNING j.id, j.run_at, j.attempt, j.fingerprint, j.state, told.started_at, told.finished_at,
      'succeeded'::text AS told_state, 'succeeded'::text AS status, NULL::text AS group_name, NULL::text AS error
  ),
  counted AS (${appendSettled('$7')})
  SELECT string_agg(run_at::text, ',' ORDER BY id),
    CASE WHEN count(*) < cardinality($1::uuid[]) THEN string_agg(id::text, ',' ORDER BY id) END
  FROM ended`

/** In the order of their ids. */
export function successes(settlements: readonly Settlement[]): Statement {
  const delta = new DeltaDraft()
  for (const one of settlements) if (one.end.kind === 'ended') delta.settled(one, one.end, 'succeeded')
  const values = [
    `{${settlements.map(({ lease }) => lease.id).join(',')}}`,
    texts(settlements.map(({ lease }) => lease.token)),
    numbers(settlements.map(({ startedAt }) => startedAt)),
    numbers(settlements.map(({ finishedAt }) => finishedAt)),
    texts(settlements.map(({ end }) => (end.kind === 'ended' ? end.result : null))),
    words(settlements.map(({ end }) => (end.kind === 'ended' ? toCounters(end.transition) : null))),
    delta.toText(0),
  ]
  return { sql: SUCCEED, values, isKept: true }
}

export interface Succeeded {
  readonly runAts: readonly number[]
  /** Undefined where it was all of them. */
  readonly ids: readonly string[] | undefined
}

export function readSucceeded(rows: readonly Row[]): Succeeded {
  const [runAts, ids] = rows[0] as [string | null, string | null]
  // None at all: the sum over nothing is NULL.
  if (runAts === null) return { runAts: [], ids: [] }
  return { runAts: runAts.split(',').map(Number), ids: ids === null ? undefined : ids.split(',') }
}

/** Whether it has nothing to say but that, and nothing depends on it. */
export function isSuccess({ end, attempt, onlyIfExpired }: Settlement): boolean {
  return (
    isPlainSuccess(end, attempt) && onlyIfExpired !== true && ((end.kind === 'ended' && end.spawn) || []).length === 0
  )
}
