import { toText, toTextOrNull } from '../../columns.js'
import { LINES_MAX } from '../../reads/census.js'
import {
  WAITING_COLUMNS,
  WaitingDraft,
  type WaitingGroups,
  type WaitingRequest,
  type WaitingRow,
  waitingGroup,
  waitingLine,
  waitingSql,
} from '../../reads/waiting.js'
import type { Database } from '../connection/pool.js'
import { INDEXED_MAX } from '../migrations.js'
import { ofBoth } from './both-indexes.js'
import { LEVELS } from './census.js'

const LINE = 'j.queue = own.queue AND j.priority = own.priority'

/** The first jobs of every queue and priority; `$1` limits it to one queue. */
const LINES = `
  SELECT line.* FROM own, LATERAL (
    ${ofBoth(WAITING_COLUMNS, LINE, 'run_at', '$2')}
  ) AS line`
const KNOWN = `${LEVELS} SELECT count(DISTINCT queue)::int, count(*)::int FROM own`
/** How many queues and priorities have more jobs than are read. */
const CUT_LINES = `${LEVELS}
  SELECT (SELECT now FROM clock), count(*)::int FROM own WHERE EXISTS (
    SELECT 1 FROM (${ofBoth('run_at', LINE, 'run_at', '$2 + 1')}) AS line OFFSET $2)`

/** The jobs of the dependency `$1`, as in the definition of their index. */
const OF_ONE = `FROM @jobs WHERE state = 'waiting' AND dependency IS NOT NULL
  AND left(dependency, ${INDEXED_MAX}) = left($1::text, ${INDEXED_MAX}) AND dependency = $1::text ORDER BY run_at`
const DEPENDENCY = `SELECT ${WAITING_COLUMNS} ${OF_ONE} LIMIT $2`
const CLOCK = 'WITH clock AS MATERIALIZED (SELECT @now_ms() AS now)'
const CUT_DEPENDENCY = `${CLOCK}
  SELECT (SELECT now FROM clock), count(*)::int FROM (
    SELECT 1 ${OF_ONE} OFFSET $2 LIMIT 1) AS beyond`

const CONDITIONS = `($3::boolean IS NOT TRUE OR attempt > 0) AND ($4::text IS NULL OR queue = $4)
  AND ($5::text IS NULL OR queue <> $5) AND ($6::text IS NULL OR fingerprint = $6)
  AND ($7::boolean IS NOT TRUE OR tenant_id IS NOT DISTINCT FROM $8::text)`
const START = 'greatest(run_at, (SELECT now FROM clock)::bigint)'
const groupsOf = (jobs: string): string => waitingSql(jobs, CONDITIONS, START, 'min(id::text)')
const OF_LINES = `${LEVELS} ${groupsOf(LINES)}`
const OF_DEPENDENCY = `${CLOCK} ${groupsOf(DEPENDENCY)}`

export async function waiting(db: Database, request: WaitingRequest): Promise<WaitingGroups> {
  const { queue, dependency, exceptQueue, fingerprint, tenantId, retriesOnly, lookAt, limit } = request
  const [queues, lines] = dependency === undefined && queue === undefined ? await known(db) : [1, 1]
  const most = dependency === undefined ? waitingLine(lookAt, queues) : lookAt
  const range = [dependency === undefined ? toTextOrNull(queue) : toText(dependency), most] as const
  const only = [
    retriesOnly ?? false,
    toTextOrNull(queue),
    toTextOrNull(exceptQueue),
    toTextOrNull(fingerprint),
    tenantId !== undefined,
    toTextOrNull(tenantId ?? undefined),
  ] as const
  const rows = await db.read<WaitingRow>(dependency === undefined ? OF_LINES : OF_DEPENDENCY, ...range, ...only)
  const [cut] = await db.read<[now: number, cut: number]>(
    dependency === undefined ? CUT_LINES : CUT_DEPENDENCY,
    ...range,
  )
  const groups = new WaitingDraft()
  for (const row of rows) groups.add(waitingGroup(row))
  const [now, isCut] = cut!
  return { now, groups: groups.largest(limit), complete: isCut === 0 && lines <= LINES_MAX && groups.size <= limit }
}

/** The number of queues with waiting jobs, and of their queues and priorities. */
async function known(db: Database): Promise<readonly [queues: number, lines: number]> {
  const [row] = await db.read<[queues: number, lines: number]>(KNOWN, null)
  return row!
}
