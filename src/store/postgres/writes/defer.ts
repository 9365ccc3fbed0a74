import { toText } from '../../columns.js'
import type { DeferRequest, Deferred } from '../../store.js'
import { isId, numbers } from '../arrays.js'
import type { Database } from '../connection/pool.js'
import { noteLanes } from '../lanes/notes.js'
import { INDEXED_MAX } from '../migrations.js'

/** Jobs with a pass of the dependency may move to an earlier time; jobs that only wait for their due time may not. */
const FROM = {
  line: 'pass IS DISTINCT FROM -$3::bigint AND run_at <= ceil((SELECT now FROM clock) + $4::float8)::bigint',
  pass: 'pass = $4::bigint',
} as const

const AT = {
  line: 'greatest(j.run_at, ceil((SELECT now FROM clock) + place.delay_ms)::bigint)',
  pass: 'ceil((SELECT now FROM clock) + place.delay_ms)::bigint',
} as const

/**
 * Skips locked jobs: a job that is being claimed now asks its dependency itself. The earliest job gets the first
 * delay.
 */
const deferText = (from: 'line' | 'pass'): string => `
  WITH clock AS MATERIALIZED (SELECT @now_ms() AS now),
  line AS MATERIALIZED (
    SELECT id, run_at FROM @jobs
    WHERE dependency IS NOT NULL AND state = 'waiting' AND left(dependency, ${INDEXED_MAX}) = left($1::text, ${INDEXED_MAX})
      AND dependency = $1::text AND pass IS DISTINCT FROM $3::bigint AND ${FROM[from]}
      AND (deadline IS NULL OR deadline > (SELECT now FROM clock))
      AND (NOT $5::boolean OR attempt > 0) AND (NOT $6::boolean OR NOT at_most_once)
      AND ($7::uuid IS NULL OR id <> $7::uuid)
      AND ($8::boolean OR tenant_id IS NOT DISTINCT FROM $9::text)
    ORDER BY run_at, id LIMIT cardinality($2::float8[]) FOR UPDATE SKIP LOCKED
  ),
  place AS MATERIALIZED (
    SELECT numbered.id, delay.ms AS delay_ms
    FROM (SELECT id, row_number() OVER (ORDER BY run_at, id) AS number FROM line) AS numbered
    JOIN unnest($2::float8[]) WITH ORDINALITY AS delay (ms, number) USING (number)
  ),
  moved AS (
    UPDATE @jobs j SET pass = $3::bigint, run_at = ${AT[from]}
    FROM place
    WHERE j.id = ANY (ARRAY(SELECT id FROM line)) AND j.id = place.id
    RETURNING j.queue, j.lane
  ),
  noted AS (${noteLanes('moved', '(SELECT now FROM clock)')})
  SELECT count(*) FROM moved`

const DEFER = { line: deferText('line'), pass: deferText('pass') } as const

export async function defer(db: Database, request: DeferRequest): Promise<Deferred> {
  const { dependency, from, delaysMs, pass, retriesOnly = false, repeatableOnly = false, exceptId, tenantId } = request
  if (delaysMs.length === 0) return { moved: 0 }
  const [sql, bound] = 'pass' in from ? [DEFER.pass, from.pass] : [DEFER.line, from.dueWithinMs]
  const except = exceptId !== undefined && isId(exceptId) ? exceptId : null
  const tenant = tenantId === undefined || tenantId === null ? null : toText(tenantId)
  const only = [retriesOnly, repeatableOnly, except, tenantId === undefined, tenant]
  const values = [toText(dependency), numbers(delaysMs), pass, bound, ...only]
  const [rows] = await db.write('control', [{ sql, values }])
  return { moved: rows![0]![0] as number }
}
