import { present } from '../../../core/values/present.js'
import { nextLevel, ofBoth } from '../reads/both-indexes.js'
import type { Database } from './pool.js'

/**
 * Facts that help to diagnose a slow PostgreSQL store. Ages are in milliseconds, and absent if there is no such thing.
 */
export interface PostgresHealth {
  readonly settings: Readonly<Record<'fsync' | 'full_page_writes' | 'synchronous_commit', string>>
  /** Standbys that a commit waits for. If it is empty, a failover may lose the most recent writes. */
  readonly synchronousStandbys: string
  /** The age of the oldest snapshot in use: rows that died after it can't be vacuumed. */
  readonly oldestSnapshotMs?: number
  readonly deadRows: number
  readonly oldestDueMs?: number
  readonly expiredLeases: number
  /** Deltas that are not folded yet. Many or old ones mean that no worker folds them. */
  readonly deltas: number
  readonly oldestDeltaMs?: number
}

const HEALTH = `
  WITH clock AS MATERIALIZED (SELECT @now_ms() AS now),
  levels AS (
    WITH RECURSIVE level AS (
      (${nextLevel()})
      UNION ALL
      SELECT next.queue, next.priority FROM level, LATERAL (
        ${nextLevel('(queue, priority) > (level.queue, level.priority)')}
      ) AS next
    )
    SELECT * FROM level
  )
  SELECT current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit'),
    current_setting('synchronous_standby_names'),
    (SELECT floor(extract(epoch FROM max(clock_timestamp() - xact_start)) * 1000)::bigint FROM pg_stat_activity
      WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid()),
    (SELECT coalesce(max(n_dead_tup), 0) FROM pg_stat_user_tables WHERE schemaname = $1 AND relname = 'jobs'),
    (SELECT max(clock.now - first.run_at) FROM clock, levels, LATERAL (
      ${ofBoth('run_at', 'j.queue = levels.queue AND j.priority = levels.priority AND j.run_at <= clock.now', 'run_at', '1')}
    ) AS first),
    (SELECT count(*) FROM @jobs WHERE state = 'running' AND lease_until < (SELECT now FROM clock)),
    (SELECT count(*) FROM @deltas), (SELECT (SELECT now FROM clock) - min(at) FROM @deltas)`

type HealthRow = [
  fsync: string,
  fullPages: string,
  commit: string,
  standbys: string,
  oldestSnapshotMs: number | null,
  deadRows: number,
  oldestDueMs: number | null,
  expiredLeases: number,
  deltas: number,
  oldestDeltaMs: number | null,
]

export async function health(db: Database): Promise<PostgresHealth> {
  const [row] = await db.read<HealthRow>(HEALTH, db.schema)
  const [fsync, fullPages, commit, synchronousStandbys, ...facts] = row!
  const [oldestSnapshotMs, deadRows, oldestDueMs, expiredLeases, deltas, oldestDeltaMs] = facts
  return present({
    settings: { fsync, full_page_writes: fullPages, synchronous_commit: commit },
    synchronousStandbys,
    oldestSnapshotMs: oldestSnapshotMs ?? undefined,
    deadRows,
    oldestDueMs: oldestDueMs ?? undefined,
    expiredLeases,
    deltas,
    oldestDeltaMs: oldestDeltaMs ?? undefined,
  })
}
