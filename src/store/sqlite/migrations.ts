import { ChronosError } from '../../core/values/error.js'
import type { Migration } from '../store.js'
import type { Connection } from './file/connection.js'
import { seedLedger } from './writes/deltas.js'

/** `CHRN` in the header of the file: it is ours. */
const APPLICATION_ID = 0x4348524e

/**
 * Each is one step from the version before it, and is never changed once released.
 *
 * What measuring taught: an integer key inside and the public id beside it; no `IN (…)` in a CHECK or an index, since
 * it builds a table for every row (a quarter of the speed); what most jobs do not have in a column that stays NULL, and
 * long payloads beside, because claim and settle rewrite the whole row; no index that a succeeded job is in but that of
 * its id, since each costs 3 % of everything.
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
    -- JSON of snoozes, releases, losses, strikes, suspect and backoffMs; NULL while all of them are nothing
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
    -- NULL when it is long: then it is in payloads
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
  -- dead and cancelled ones, which are few; every index that succeeded jobs are in would slow them down
  CREATE INDEX jobs_ended ON jobs (state, finished_at) WHERE finished_at IS NOT NULL AND state <> 'succeeded';
  CREATE INDEX jobs_deadline ON jobs (deadline) WHERE deadline IS NOT NULL AND state = 'waiting';
  CREATE UNIQUE INDEX jobs_unique ON jobs ("unique", name, ifnull(tenant_id, 0))
    WHERE "unique" IS NOT NULL AND finished_at IS NULL;

  -- Beside the job because claim and settle rewrite its whole row.
  CREATE TABLE payloads (job INTEGER PRIMARY KEY, payload TEXT NOT NULL);

  -- remarks: NULL where there is nothing to say but that the run succeeded
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

  -- Beside the attempts: an error with its stack would take a page of its own there, and pull the others apart.
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

  -- token: the lease that began it; result: NULL until it is done
  CREATE TABLE effects (
    job INTEGER NOT NULL,
    name TEXT NOT NULL,
    token TEXT NOT NULL,
    result TEXT,
    PRIMARY KEY (job, name)
  ) WITHOUT ROWID;

  -- tenant has no type: it is 0, which no text equals, where there is none; expires_at is set when the job is gone
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
  -- with the id, so that a line of jobs with one time need not be sorted
  CREATE INDEX jobs_gate ON jobs (gate, run_at, id) WHERE gate IS NOT NULL AND state = 'waiting';
  CREATE INDEX jobs_group ON jobs (fingerprint, finished_at) WHERE fingerprint IS NOT NULL AND state = 'dead';
  CREATE INDEX jobs_redrive ON jobs (redrive_id, state) WHERE redrive_id IS NOT NULL;
  -- of one schedule all jobs, and the few that are not over
  CREATE INDEX jobs_schedule ON jobs (schedule_id) WHERE schedule_id IS NOT NULL;
  CREATE INDEX jobs_schedule_live ON jobs (schedule_id) WHERE schedule_id IS NOT NULL AND finished_at IS NULL;

  ALTER TABLE remarks ADD COLUMN fingerprint TEXT;

  -- what batches of writes changed, until it is added to the records
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
  -- headers that carry the trace in which a job was made; NULL where nobody traces
  ALTER TABLE jobs ADD COLUMN trace TEXT;
  -- of a job whose last run has no row among the attempts: see OWN_ATTEMPT_COLUMNS
  ALTER TABLE jobs ADD COLUMN ran_at INTEGER;
  ALTER TABLE jobs ADD COLUMN ran_token TEXT;
  `,
  `
  ALTER TABLE jobs RENAME COLUMN gate TO dependency;
  DROP INDEX jobs_gate;
  CREATE INDEX jobs_dependency ON jobs (dependency, run_at, id) WHERE dependency IS NOT NULL AND state = 'waiting';
  UPDATE records SET kind = 'dependency' WHERE kind = 'gate';
  `,
]

/** What the rows of a file that has some need after the step to a version. */
const FILL: Readonly<Record<number, (db: Connection, now: number) => void>> = { 2: seedLedger }

export const SCHEMA_VERSION = MIGRATIONS.length

/** Refuses a file of another application, before anything is written to it. */
export function checkOwner(db: Connection): void {
  // In this order: another process may be making the tables, and the mark comes with them.
  const [tables] = db.get<[number]>('SELECT count(*) FROM sqlite_schema')!
  const [applicationId] = db.get<[number]>('PRAGMA application_id')!
  if (applicationId === APPLICATION_ID || (applicationId === 0 && tables === 0)) return
  throw new ChronosError(
    'STORE_NOT_A_DATABASE',
    `${db.path} is an SQLite database of another application, and is left alone; choose another path for the store`,
    { details: { path: db.path, applicationId } },
  )
}

/** Runs in one write transaction, so that of many processes one does it and the others find it done. */
export function migrate(db: Connection, now: number): Migration {
  // Once more, now that nobody else can write: another application may have come first.
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

/** The version of a file that has one, without writing to it; undefined where it must be migrated. */
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
    `${path} was written by a newer Chronos (schema ${version}, this one knows ${SCHEMA_VERSION}); ` +
      'update chronos-jobs here, or use a copy of the file from before',
    { details: { path, version, known: SCHEMA_VERSION } },
  )
}
