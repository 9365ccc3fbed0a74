import type { JobState } from '../../../core/job/job.js'
import { fromText } from '../../columns.js'
import type { LedgerDelta } from '../../delta.js'
import { LEDGER } from '../../fold.js'
import { AUDIT_FINDINGS_MAX, AuditDraft, type AuditSnapshot } from '../../integrity.js'
import type { Ask, Database } from '../connection/pool.js'
import { ID_BITS } from '../migrations.js'
import { type DeltaRow, idSumOf, readDelta } from '../writes/deltas.js'
import { auditPartitions } from './turns.js'

/** Every row is read, which takes long with millions of rows. */
const TIMEOUT_MS = 600_000

/** Reads one snapshot of the database, without blocking other transactions. */
export function audit(db: Database): Promise<AuditSnapshot> {
  return db.transaction(
    'work',
    async ask => {
      await ask('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY')
      const [clock] = await ask<[now: number]>('SELECT @now_ms()')
      const draft = new AuditDraft(clock![0])
      await readLedger(ask, draft)
      await readRows(ask, draft)
      await readOdd(ask, draft, clock![0])
      await readOrphans(ask, draft)
      await auditPartitions(ask, draft, clock![0])
      return draft.toSnapshot()
    },
    TIMEOUT_MS,
  )
}

const DELTAS_AT_ONCE = 1_000

async function readLedger(ask: Ask, draft: AuditDraft): Promise<void> {
  const records = await ask<[queue: string, body: string]>(
    'SELECT coalesce(long_id, id), body FROM @records WHERE kind = $1',
    LEDGER,
  )
  for (const [queue, body] of records) draft.ledger(fromText(queue), JSON.parse(fromText(body)) as LedgerDelta)
  for (let after = 0; ; ) {
    const rows = await ask<DeltaRow>(
      'SELECT id, at, body FROM @deltas WHERE id > $1 ORDER BY id LIMIT $2',
      after,
      DELTAS_AT_ONCE,
    )
    for (const row of rows) {
      for (const [queue, change] of Object.entries(readDelta(row).ledger)) draft.ledger(queue, change)
    }
    if (rows.length < DELTAS_AT_ONCE) return
    after = rows.at(-1)![0]
  }
}

/** The sum is computed in the database, so that millions of ids need not be sent. */
const ROWS = `SELECT queue, state, count(*), @id_sum(${ID_BITS}) FROM @jobs GROUP BY queue, state`

async function readRows(ask: Ask, draft: AuditDraft): Promise<void> {
  const rows = await ask<[queue: string, state: JobState, count: number, idBits: string]>(ROWS)
  for (const [queue, state, count, idBits] of rows) draft.rows(fromText(queue), state, count, idSumOf(idBits))
}

/**
 * Reads only jobs with contradictory records, the first of each kind. `AuditDraft` derives the kind of the finding
 * again.
 */
const CONTRADICTIONS = `
  SELECT id, state, generation, run, lease_until, lease_ms, attempts, last_run, successes
  FROM (
    SELECT *, count(*) FILTER (WHERE is_gap) OVER so_far AS gaps,
      count(*) FILTER (WHERE is_wrong) OVER so_far AS wrongs, count(*) FILTER (WHERE is_late) OVER so_far AS lates
    FROM (
      SELECT *, (attempts, last_run) IS DISTINCT FROM (ended, ended) AS is_gap,
        state = 'succeeded' AND successes <> 1 AS is_wrong,
        state = 'running' AND lease_until + 2 * lease_ms < $1::bigint AS is_late
      FROM (
        SELECT j.*, CASE j.state WHEN 'running' THEN j.run - 1 ELSE j.run END AS ended, count(a.run) + own AS attempts,
          greatest(coalesce(max(a.run), 0), own * run_of_job) AS last_run,
          count(*) FILTER (WHERE a.status = 'succeeded' AND a.generation = j.generation) + own AS successes
        FROM (
          SELECT pk, id, state, generation, run, run AS run_of_job, lease_until, lease_ms,
            (ran_token IS NOT NULL)::integer AS own
          FROM @jobs
        ) AS j
        LEFT JOIN @attempts a ON a.job = j.pk
        GROUP BY j.pk, j.id, j.state, j.generation, j.run, j.run_of_job, j.lease_until, j.lease_ms, j.own
      ) AS given
    ) AS seen
    WHERE is_gap OR is_wrong OR is_late
    WINDOW so_far AS (ORDER BY id)
  ) AS odd
  WHERE (is_gap AND gaps <= $2) OR (is_wrong AND wrongs <= $2) OR (is_late AND lates <= $2)
  ORDER BY id`

type ContradictionRow = [
  id: string,
  state: JobState,
  generation: number,
  run: number,
  leaseUntil: number,
  leaseMs: number,
  attempts: number,
  lastRun: number,
  successes: number,
]

async function readOdd(ask: Ask, draft: AuditDraft, now: number): Promise<void> {
  const rows = await ask<ContradictionRow>(CONTRADICTIONS, now, AUDIT_FINDINGS_MAX)
  for (const [id, state, generation, run, until, ms, attempts, lastRun, successes] of rows) {
    const lease = state === 'running' ? { lease: { until, ms } } : {}
    draft.job({ id, state, generation, run, attempts, lastRun, successes, ...lease })
  }
}

const ORPHANS = `
  SELECT a.job, count(*) FROM @attempts a LEFT JOIN @jobs j ON j.pk = a.job
  WHERE j.pk IS NULL GROUP BY a.job ORDER BY a.job LIMIT $1`

async function readOrphans(ask: Ask, draft: AuditDraft): Promise<void> {
  const rows = await ask<[job: number, attempts: number]>(ORPHANS, AUDIT_FINDINGS_MAX)
  for (const [job, attempts] of rows) draft.orphans(String(job), attempts)
}
