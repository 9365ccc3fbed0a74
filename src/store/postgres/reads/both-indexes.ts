/** Whether a limit keeps a due job waiting: the one of its partition, or that of its queue. */
export function isLimited(queue: string, lane: string, now: string): string {
  return `(${lane} IS NOT NULL AND EXISTS (
    SELECT 1 FROM @queues q WHERE q.name = ${queue} AND q.limits IS NOT NULL AND (q.open_at > ${now} OR EXISTS (
      SELECT 1 FROM @partitions p WHERE p.queue = ${queue} AND p.name = ${lane} AND p.open_at > ${now}))))`
}

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
