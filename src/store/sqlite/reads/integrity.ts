import type { JobState } from '../../../core/job/job.js'
import { fromText } from '../../columns.js'
import type { Delta, LedgerDelta } from '../../delta.js'
import { LEDGER } from '../../fold.js'
import { AuditDraft, type AuditSnapshot } from '../../integrity.js'
import type { Connection } from '../file/connection.js'
import { fromHex } from '../rows.js'
import { auditPartitions } from './turns.js'

/** The number of keys read in one step, which blocks the process for a few milliseconds. */
const WINDOW = 1_000
const DELTAS_AT_ONCE = 1_000

/** Runs in steps; the caller runs all of them in one transaction. */
export function* audit(db: Connection, now: number): Generator<void, AuditSnapshot> {
  const draft = new AuditDraft(now)
  const folded = db.all<[id: string, body: string]>('SELECT id, body FROM records WHERE kind = ?', LEDGER)
  for (const [queue, body] of folded) draft.ledger(fromText(queue), JSON.parse(body) as LedgerDelta)
  yield* readDeltas(db, draft)
  yield* readJobs(db, draft)
  yield* readOrphans(db, draft)
  yield* auditPartitions(db, draft, now)
  return draft.toSnapshot()
}

function* readDeltas(db: Connection, draft: AuditDraft): Generator<void> {
  for (let last = 0; ; ) {
    const sql = 'SELECT pk, body FROM deltas WHERE pk > ? ORDER BY pk LIMIT ?'
    const rows = db.all<[pk: number, body: string]>(sql, last, DELTAS_AT_ONCE)
    if (rows.length === 0) return
    for (const [, body] of rows) {
      const { ledger } = JSON.parse(body) as Delta
      for (const [queue, change] of Object.entries(ledger)) draft.ledger(queue, change)
    }
    last = rows.at(-1)![0]
    yield
  }
}

type JobRecordsRow = [
  id: string,
  queue: string,
  state: JobState,
  generation: number,
  run: number,
  leaseUntil: number | null,
  leaseMs: number | null,
  attempts: number,
  lastRun: number,
  successes: number,
]

const JOBS = `
  SELECT hex(j.id), j.queue, j.state, j.generation, j.run, j.lease_until, j.lease_ms,
    count(a.run) + (j.ran_token IS NOT NULL), max(ifnull(max(a.run), 0), (j.ran_token IS NOT NULL) * j.run),
    count(CASE WHEN a.status = 'succeeded' AND a.generation = j.generation THEN 1 END) + (j.ran_token IS NOT NULL)
  FROM jobs j NOT INDEXED LEFT JOIN attempts a ON a.job = j.pk WHERE j.pk BETWEEN ? AND ? GROUP BY j.pk`

function* readJobs(db: Connection, draft: AuditDraft): Generator<void> {
  for (const [from, to] of windows(db, 'SELECT min(pk) FROM jobs WHERE pk > ?')) {
    for (const row of db.all<JobRecordsRow>(JOBS, from, to)) {
      const [hex, queue, state, generation, run, until, ms, attempts, lastRun, successes] = row
      const id = fromHex(hex)
      const lease = until !== null && ms !== null ? { lease: { until, ms } } : {}
      draft.rows(fromText(queue), state, 1, id)
      draft.job({ id, state, generation, run, attempts, lastRun, successes, ...lease })
    }
    yield
  }
}

const ORPHANS = `
  SELECT job, count(*) FROM attempts a WHERE job BETWEEN ? AND ? AND NOT EXISTS (SELECT 1 FROM jobs WHERE pk = a.job)
  GROUP BY job`

function* readOrphans(db: Connection, draft: AuditDraft): Generator<void> {
  for (const [from, to] of windows(db, 'SELECT min(job) FROM attempts WHERE job > ?')) {
    for (const [job, attempts] of db.all<[number, number]>(ORPHANS, from, to)) draft.orphans(String(job), attempts)
    yield
  }
}

/** Pruned jobs leave long gaps, so each window starts at an existing key. */
function* windows(db: Connection, next: string): Generator<readonly [from: number, to: number]> {
  for (let last = 0; ; ) {
    const [from] = db.get<[number | null]>(next, last)!
    if (from === null) return
    last = from + WINDOW - 1
    yield [from, last]
  }
}
