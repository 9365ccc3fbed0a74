import { ChronosError } from '../../core/values/error.js'
import type { Migration } from '../store.js'
import type { Connection } from './file/connection.js'
import { seedLedger } from './writes/deltas.js'

/** `CHRN` in the header of the file identifies a file of Chronos. */
const APPLICATION_ID = 0x4348524e

/**
 * Each migration is one step from the version before it, and is never changed after a release.
 *
 * Measurements led to this design: an integer primary key with the public id beside it; no `IN (…)` in a CHECK or an
 * index, because it builds a table for every row (a quarter of the speed); NULL for values that most jobs do not have,
 * and a separate table for long payloads, because claim and settle rewrite the whole row; no index on succeeded jobs
 * except that of their id, because each index costs 3 % of the throughput.
 */
const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE jobs (
    pk INTEGER PRIMARY KEY,
    id BLOB NOT NULL CHECK (length(id) = 16),
    name TEXT NOT NULL,
    queue TEXT NOT NULL,
    priority INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 9),
    state TEXT NOT NULL,
    run_at INTEGER NOT NULL,
    generation INTEGER NOT NULL DEFAULT 1,
    run INTEGER NOT NULL DEFAULT 0,
    attempt INTEGER NOT NULL DEFAULT 0 CHECK (attempt BETWEEN 0 AND run),
    at_most_once INTEGER NOT NULL DEFAULT 0,
    begun INTEGER NOT NULL DEFAULT 0,
    cancel_requested INTEGER NOT NULL DEFAULT 0,
    token TEXT,
    worker_id TEXT,
    lease_until INTEGER,
    lease_ms INTEGER,
    created_at INTEGER NOT NULL,
    first_started_at INTEGER,
    started_at INTEGER,
    finished_at INTEGER,
    deadline INTEGER,
    timeout_ms INTEGER,
    -- JSON of snoozes, releases, losses, strikes, suspect, backoffMs and failedAt; NULL while all of them are zero
    counters TEXT,
    reason TEXT,
    tenant_id TEXT,
    key TEXT,
    "unique" TEXT,
    tags TEXT,
    policy_id TEXT,
    override TEXT,
    progress TEXT,
    result TEXT,
    -- NULL if the payload is long and stored in the table payloads
    payload TEXT,
    CHECK (
      CASE state
        WHEN 'running' THEN token IS NOT NULL AND finished_at IS NULL
        WHEN 'waiting' THEN token IS NULL AND finished_at IS NULL
        WHEN 'succeeded' THEN token IS NULL AND finished_at IS NOT NULL
        WHEN 'dead' THEN token IS NULL AND finished_at IS NOT NULL
        WHEN 'cancelled' THEN token IS NULL AND finished_at IS NOT NULL
        ELSE 0
      END
    )
  );
  CREATE UNIQUE INDEX jobs_id ON jobs (id);
  CREATE INDEX jobs_waiting ON jobs (queue, priority, run_at) WHERE state = 'waiting';
  CREATE INDEX jobs_running ON jobs (token) WHERE state = 'running';
  -- only dead and cancelled jobs, which are few; an index on succeeded jobs would slow down every settlement
  CREATE INDEX jobs_ended ON jobs (state, finished_at) WHERE finished_at IS NOT NULL AND state <> 'succeeded';
  CREATE INDEX jobs_deadline ON jobs (deadline) WHERE deadline IS NOT NULL AND state = 'waiting';
  CREATE UNIQUE INDEX jobs_unique ON jobs ("unique", name, ifnull(tenant_id, 0))
    WHERE "unique" IS NOT NULL AND finished_at IS NULL;

  -- a separate table, because claim and settle rewrite the whole row of a job
  CREATE TABLE payloads (job INTEGER PRIMARY KEY, payload TEXT NOT NULL);

  -- remarks is NULL if the run succeeded and has nothing else to record
  CREATE TABLE attempts (
    job INTEGER NOT NULL,
    run INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    status TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    finished_at INTEGER NOT NULL,
    worker_id TEXT NOT NULL,
    token TEXT NOT NULL,
    remarks INTEGER,
    PRIMARY KEY (job, run)
  ) WITHOUT ROWID;

  -- a separate table, because an error with its stack would fill a page and spread the attempts over more pages
  CREATE TABLE remarks (
    pk INTEGER PRIMARY KEY,
    error TEXT,
    note TEXT,
    delay_ms INTEGER,
    next_run_at INTEGER,
    decision TEXT
  );

  CREATE TABLE job_logs (
    job INTEGER NOT NULL,
    run INTEGER NOT NULL,
    line INTEGER NOT NULL,
    at INTEGER NOT NULL,
    message TEXT NOT NULL,
    data TEXT,
    PRIMARY KEY (job, run, line)
  ) WITHOUT ROWID;

  -- token: the lease that began the effect; result: NULL until the effect is done
  CREATE TABLE effects (
    job INTEGER NOT NULL,
    name TEXT NOT NULL,
    token TEXT NOT NULL,
    result TEXT,
    PRIMARY KEY (job, name)
  ) WITHOUT ROWID;

  -- tenant has no type: it is 0, which equals no text, for jobs without a tenant; expires_at is set when the job is
  -- removed
  CREATE TABLE keys (
    key TEXT NOT NULL,
    name TEXT NOT NULL,
    tenant NOT NULL,
    job_id BLOB NOT NULL,
    payload_hash TEXT NOT NULL,
    expires_at INTEGER,
    PRIMARY KEY (key, name, tenant)
  ) WITHOUT ROWID;
  CREATE INDEX keys_expires_at ON keys (expires_at) WHERE expires_at IS NOT NULL;

  CREATE TABLE policies (id TEXT PRIMARY KEY, policy TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE queues (name TEXT PRIMARY KEY, paused INTEGER NOT NULL DEFAULT 0, retry TEXT) WITHOUT ROWID;
  `,
  `
  ALTER TABLE jobs ADD COLUMN gate TEXT;
  ALTER TABLE jobs ADD COLUMN pass INTEGER;
  ALTER TABLE jobs ADD COLUMN fingerprint TEXT;
  ALTER TABLE jobs ADD COLUMN acknowledged_at INTEGER;
  ALTER TABLE jobs ADD COLUMN redrive_id TEXT;
  ALTER TABLE jobs ADD COLUMN schedule_id TEXT;
  ALTER TABLE jobs ADD COLUMN webhook TEXT;
  -- the id avoids a sort of jobs with the same time
  CREATE INDEX jobs_gate ON jobs (gate, run_at, id) WHERE gate IS NOT NULL AND state = 'waiting';
  CREATE INDEX jobs_group ON jobs (fingerprint, finished_at) WHERE fingerprint IS NOT NULL AND state = 'dead';
  CREATE INDEX jobs_redrive ON jobs (redrive_id, state) WHERE redrive_id IS NOT NULL;
  -- one index on all jobs of a schedule, one on its live jobs
  CREATE INDEX jobs_schedule ON jobs (schedule_id) WHERE schedule_id IS NOT NULL;
  CREATE INDEX jobs_schedule_live ON jobs (schedule_id) WHERE schedule_id IS NOT NULL AND finished_at IS NULL;

  ALTER TABLE remarks ADD COLUMN fingerprint TEXT;

  -- counter changes of batches of writes, until they are folded into records
  CREATE TABLE deltas (pk INTEGER PRIMARY KEY, body TEXT NOT NULL);

  CREATE TABLE records (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    body TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (kind, id)
  ) WITHOUT ROWID;
  `,
  `
  -- trace context headers of the enqueue; NULL without tracing
  ALTER TABLE jobs ADD COLUMN trace TEXT;
  -- set on jobs whose last run has no row among the attempts: see OWN_ATTEMPT_COLUMNS
  ALTER TABLE jobs ADD COLUMN ran_at INTEGER;
  ALTER TABLE jobs ADD COLUMN ran_token TEXT;
  `,
  `
  ALTER TABLE jobs RENAME COLUMN gate TO dependency;
  DROP INDEX jobs_gate;
  CREATE INDEX jobs_dependency ON jobs (dependency, run_at, id) WHERE dependency IS NOT NULL AND state = 'waiting';
  UPDATE records SET kind = 'dependency' WHERE kind = 'gate';
  `,
  `
  -- for the jobs that failed within a time range; a run that succeeds has no entry
  CREATE INDEX attempts_failed ON attempts (finished_at)
    WHERE status = 'failed' OR status = 'timed-out' OR status = 'lost';
  `,
  `
  -- The text of an error with its stack, once for all attempts that failed with it: in an outage, most of them fail with
  -- the same one. hash: set when a second attempt refers to the text; uses: how many do.
  CREATE TABLE errors (pk INTEGER PRIMARY KEY, hash TEXT, uses INTEGER NOT NULL, body TEXT NOT NULL);
  CREATE INDEX errors_hash ON errors (hash) WHERE hash IS NOT NULL;
  -- With the error elsewhere, an attempt is small enough for one row. Attempts of earlier versions keep their remarks.
  ALTER TABLE attempts ADD COLUMN error INTEGER;
  ALTER TABLE attempts ADD COLUMN note TEXT;
  ALTER TABLE attempts ADD COLUMN delay_ms INTEGER;
  ALTER TABLE attempts ADD COLUMN next_run_at INTEGER;
  ALTER TABLE attempts ADD COLUMN decision TEXT;
  ALTER TABLE attempts ADD COLUMN fingerprint TEXT;
  `,
  `
  ALTER TABLE jobs ADD COLUMN partition TEXT;
  ALTER TABLE jobs ADD COLUMN units TEXT;
  -- the partition in which a job of a queue with limits waits or runs; NULL in other queues
  ALTER TABLE jobs ADD COLUMN lane TEXT;
  -- Jobs in lanes are claimed partition by partition, so they have indexes of their own.
  DROP INDEX jobs_waiting;
  CREATE INDEX jobs_waiting ON jobs (queue, priority, run_at) WHERE state = 'waiting' AND lane IS NULL;
  CREATE INDEX jobs_lane_waiting ON jobs (queue, priority, run_at) WHERE state = 'waiting' AND lane IS NOT NULL;
  CREATE INDEX jobs_lane_due ON jobs (queue, lane, priority, run_at) WHERE state = 'waiting' AND lane IS NOT NULL;
  -- by state, for the order of creation, the number of running jobs, and the dead letters that stop a partition
  CREATE INDEX jobs_lane ON jobs (queue, state, lane)
    WHERE lane IS NOT NULL AND state <> 'succeeded' AND reason IS NOT 'discarded';

  ALTER TABLE queues ADD COLUMN limits TEXT;
  -- 1 from the first limits on, until no job waits or runs in a lane and there are no limits
  ALTER TABLE queues ADD COLUMN laned INTEGER NOT NULL DEFAULT 0;
  -- the state of the queue's own limit: see TurnState and PaceState
  ALTER TABLE queues ADD COLUMN open_at INTEGER;
  ALTER TABLE queues ADD COLUMN pace TEXT;
  CREATE INDEX queues_laned ON queues (name) WHERE laned = 1;

  -- open_at: NULL if no job waits; turns: of partitions open since the same time, those with fewer turns come first;
  -- idle_at: when there is nothing left to remember; notes: what a claim has to apply
  CREATE TABLE partitions (
    pk INTEGER PRIMARY KEY,
    queue TEXT NOT NULL,
    name TEXT NOT NULL,
    open_at INTEGER,
    turns INTEGER NOT NULL DEFAULT 0,
    idle_at INTEGER,
    pace TEXT,
    notes TEXT
  );
  CREATE UNIQUE INDEX partitions_name ON partitions (queue, name);
  CREATE INDEX partitions_open ON partitions (queue, open_at, turns) WHERE open_at IS NOT NULL;
  CREATE INDEX partitions_idle ON partitions (idle_at) WHERE open_at IS NULL;
  `,
  `
  -- 1, 2, … for a job beside a running one with the same "unique" value; see writes/unique.ts
  ALTER TABLE jobs ADD COLUMN unique_slot INTEGER;
  DROP INDEX jobs_unique;
  CREATE UNIQUE INDEX jobs_unique ON jobs ("unique", name, ifnull(tenant_id, 0), ifnull(unique_slot, 0))
    WHERE "unique" IS NOT NULL AND finished_at IS NULL;
  `,
  `
  -- With the columns that counts and forecasts need, so that they read the index alone: jobs are spread over many pages. The
  -- key keeps the order of jobs with the same time.
  DROP INDEX jobs_waiting;
  CREATE INDEX jobs_waiting ON jobs (queue, priority, run_at, pk, attempt, pass) WHERE state = 'waiting' AND lane IS NULL;
  DROP INDEX jobs_ended;
  CREATE INDEX jobs_ended ON jobs (state, finished_at, pk, queue) WHERE finished_at IS NOT NULL AND state <> 'succeeded';
  `,
]

/** What to do with existing rows after the migration to a version. */
const FILL: Readonly<Record<number, (db: Connection, now: number) => void>> = { 2: seedLedger }

export const SCHEMA_VERSION = MIGRATIONS.length

/** Rejects a file of another application before anything is written to it. */
export function checkOwner(db: Connection): void {
  // The order matters: another process may be creating the tables, and the application id comes with them.
  const [tables] = db.get<[number]>('SELECT count(*) FROM sqlite_schema')!
  const [applicationId] = db.get<[number]>('PRAGMA application_id')!
  if (applicationId === APPLICATION_ID || (applicationId === 0 && tables === 0)) return
  throw new ChronosError(
    'STORE_NOT_A_DATABASE',
    `${db.path} is an SQLite database of another application; choose another path for the store`,
    { details: { path: db.path, applicationId } },
  )
}

/** Runs in one write transaction, so that one of many processes migrates and the others find the result. */
export function migrate(db: Connection, now: number): Migration {
  // Check again under the write lock: another application may have written to the file meanwhile.
  checkOwner(db)
  db.exec(`
    PRAGMA application_id = ${APPLICATION_ID};
    CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL);
  `)
  const [from] = db.get<[number]>('SELECT ifnull(max(version), 0) FROM migrations')!
  if (from > SCHEMA_VERSION) throw newer(db.path, from)
  for (const [index, sql] of MIGRATIONS.slice(from).entries()) {
    const version = from + index + 1
    db.exec(sql)
    FILL[version]?.(db, now)
    db.run('INSERT INTO migrations (version, applied_at) VALUES (?, ?)', version, now)
  }
  return { from, to: SCHEMA_VERSION }
}

/** The schema version of the file, read without writing to it; undefined if the file must be migrated. */
export function currentVersion(db: Connection): number | undefined {
  const [known] = db.get<[number]>(`SELECT count(*) FROM sqlite_schema WHERE name = 'migrations'`)!
  if (known === 0) return undefined
  const [version] = db.get<[number]>('SELECT ifnull(max(version), 0) FROM migrations')!
  if (version > SCHEMA_VERSION) throw newer(db.path, version)
  return version === SCHEMA_VERSION ? version : undefined
}

function newer(path: string, version: number): ChronosError {
  return new ChronosError(
    'STORE_NEWER',
    `${path} was written by a newer Chronos (schema ${version}, this version supports ${SCHEMA_VERSION}); ` +
      'update chronos-jobs here, or restore an older copy of the file',
    { details: { path, version, known: SCHEMA_VERSION } },
  )
}
