import { CLOSED } from '../../../core/partition/turn.js'

/**
 * Whether a limit keeps a due job waiting: the one of its partition, or that of its queue. A partition that was full has
 * a note when a run has ended since; the next claim starts one of its jobs, if it runs fewer than its limit and no dead
 * letter stops it.
 */
export function isLimited(queue: string, lane: string, now: string): string {
  return `(${lane} IS NOT NULL AND EXISTS (
    SELECT 1 FROM @queues q WHERE q.name = ${queue} AND q.limits IS NOT NULL AND (q.open_at > ${now} OR EXISTS (
      SELECT 1 FROM @partitions p WHERE p.queue = ${queue} AND p.name = ${lane} AND p.open_at > ${now}
        AND NOT (p.open_at = ${CLOSED} AND ${IS_FREED})))))`
}

const OWN_LIMITS = `q.limits::json -> 'partitions'`
const CONCURRENCY = `CASE WHEN q.ordered THEN 1 ELSE coalesce(
  (${OWN_LIMITS} -> 'override' -> p.name ->> 'concurrency')::bigint, (${OWN_LIMITS} ->> 'concurrency')::bigint, ${CLOSED}) END`
const inLane = (state: string): string =>
  `FROM @jobs held WHERE held.state = '${state}' AND held.lane IS NOT NULL AND held.queue = p.queue AND held.lane = p.name`
const IS_FREED = `
  EXISTS (SELECT 1 FROM @partition_notes n WHERE n.queue = p.queue AND n.name = p.name)
  AND (SELECT count(*) ${inLane('running')}) < ${CONCURRENCY}
  AND NOT (q.stops AND EXISTS (SELECT 1 ${inLane('dead')} AND held.reason IS DISTINCT FROM 'discarded'))`

/** Jobs in lanes have an index of their own, so that claims of other jobs don't look at them. */
const INDEXES = ['lane IS NULL', 'lane IS NOT NULL'] as const

/** The next queue and priority with waiting jobs, in the order of both indexes. */
export function nextLevel(condition = 'true'): string {
  return ofBoth('queue, priority', condition, 'queue, priority', '1')
}

/** The first waiting jobs with this condition. The order must be that of the indexes, and its columns be selected. */
export function ofBoth(columns: string, condition: string, order: string, limit: string): string {
  const parts = INDEXES.map(
    lane => `
    (SELECT ${columns} FROM @jobs j WHERE j.state = 'waiting' AND j.${lane} AND ${condition}
      ORDER BY ${order} LIMIT ${limit})`,
  )
  return `SELECT * FROM (${parts.join(' UNION ALL ')}) AS either ORDER BY ${order} LIMIT ${limit}`
}
