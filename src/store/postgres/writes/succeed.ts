import { toCounters } from '../../columns.js'
import { DeltaDraft } from '../../delta.js'
import { isPlainSuccess } from '../../history.js'
import type { Settlement } from '../../store.js'
import { numbers, texts, words } from '../arrays.js'
import type { Row, Statement } from '../connection/pool.js'
import { noteEnded, noteValues } from '../lanes/notes.js'
import { appendSettled } from './deltas.js'

/**
 * Settles plain successes, the most frequent outcome: the row of the job then holds every fact about the run. A batch
 * has few different tokens, so NULL stands for the first one. Times are relative to `$8`. The answer is one row with
 * the ids of the jobs that were not settled.
 */
const succeedText = (notes: string): string => `
  WITH clock AS MATERIALIZED (SELECT @now_ms() AS now),
  ended AS (
    UPDATE @jobs j SET state = 'succeeded', finished_at = $8::bigint + given.ended, result = given.result, token = NULL,
      counters = given.counters, reason = NULL, pass = NULL, ran_at = $8::bigint + given.begun, ran_token = j.token
    FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $9::bigint[])
      AS given (id, token, begun, ended, result, counters, failed_at)
    WHERE j.id = ANY ($1::uuid[]) AND j.id = given.id AND j.token = coalesce(given.token, ($2::text[])[1])
    RETURNING j.id, j.attempt, j.fingerprint, j.state, j.ran_at AS started_at, j.finished_at, 0 AS back,
      NULL::text AS reason, 'succeeded'::text AS given_state, 'succeeded'::text AS status, NULL::text AS group_name,
      given.failed_at, j.run_at AS due_at
  ),
  counted AS (${appendSettled('$7', 'NULL')})${notes}
  SELECT CASE WHEN (SELECT count(*) FROM ended) < cardinality($1::uuid[]) THEN (
    SELECT string_agg(id::text, ',') FROM unnest($1::uuid[]) AS given (id) WHERE id NOT IN (SELECT id FROM ended)
  ) END`

const SUCCEED = succeedText('')
const SUCCEED_IN_LANES = succeedText(`, noted AS (${noteEnded('ended', 10)})`)

/** The settlements must be in the order of their ids. */
export function successes(settlements: readonly Settlement[]): Statement {
  const [first] = settlements
  const { startedAt: since, lease } = first!
  const delta = new DeltaDraft()
  for (const one of settlements) if (one.end.kind === 'ended') delta.settled(one, one.end, 'succeeded')
  const others = settlements.map(({ lease: { token } }, index) => (index > 0 && token === lease.token ? null : token))
  const values = [
    `{${settlements.map(({ lease: { id } }) => id).join(',')}}`,
    texts(others.slice(0, 1 + others.findLastIndex(token => token !== null))),
    numbers(settlements.map(({ startedAt }) => startedAt - since)),
    numbers(settlements.map(({ finishedAt }) => finishedAt - since)),
    texts(settlements.map(({ end }) => (end.kind === 'ended' ? end.result : null))),
    words(settlements.map(({ end }) => (end.kind === 'ended' ? toCounters(end.transition) : null))),
    delta.toText(0),
    since,
    numbers(settlements.map(({ failedAt }) => failedAt)),
  ]
  const notes = noteValues(settlements)
  if (!notes) return { sql: SUCCEED, values, isKept: true }
  return { sql: SUCCEED_IN_LANES, values: [...values, ...notes], isKept: true }
}

/** The ids of the jobs that were not settled. */
export function notSucceeded([row]: readonly Row[]): ReadonlySet<string> {
  const missed = row![0] as string | null
  return new Set(missed?.split(','))
}

/** Whether it is a plain success that the short statement can settle. */
export function isSuccess({ end, attempt, onlyIfExpired }: Settlement): boolean {
  return (
    isPlainSuccess(end, attempt) && onlyIfExpired !== true && ((end.kind === 'ended' && end.spawn) || []).length === 0
  )
}
