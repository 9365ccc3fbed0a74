/** The length of a text prefix in an index; an index row has room for about 2,700 bytes. */
export const INDEXED_MAX = 500
/** An id as bits, for the aggregate `id_sum`. */
export const ID_BITS = `('x' || translate(id::text, '-', ''))::bit(128)`
const TABLE_LOCK_MS = 1_000

/** Columns that no query filters by. */
const UNPLANNED = `pk first_started_at started_at lease_ms timeout_ms generation run at_most_once begun cancel_requested
  policy_id counters "unique" override progress result payload pass webhook trace ran_at ran_token`.split(/\s+/)

/**
 * Each migration is one step from the version before it, and is never changed after a release.
 *
 * Times are epoch milliseconds, as everywhere in Chronos: no rounding, no time zone, and the same arithmetic as in the
 * other stores. `pk` is the order of arrival and has no index: the public id is time-ordered and serves all lookups,
 * and one index less saves a seventh of the work of every claim and settle. Names compare byte by byte ("C"), so that
 * neither the locale of the database nor an update of its operating system changes an index.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE FUNCTION @now_ms() RETURNS bigint LANGUAGE sql VOLATILE PARALLEL SAFE
    AS 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

  CREATE TABLE @jobs (
    pk bigint GENERATED ALWAYS AS IDENTITY,
    run_at bigint NOT NULL,
    created_at bigint NOT NULL,
    first_started_at bigint,
    started_at bigint,
    finished_at bigint,
    lease_until bigint,
    lease_ms bigint,
    deadline bigint,
    timeout_ms double precision,
    id uuid PRIMARY KEY,
    generation integer NOT NULL DEFAULT 1,
    run integer NOT NULL DEFAULT 0,
    attempt integer NOT NULL DEFAULT 0,
    priority smallint NOT NULL CHECK (priority BETWEEN 0 AND 9),
    at_most_once boolean NOT NULL DEFAULT false,
    begun boolean NOT NULL DEFAULT false,
    cancel_requested boolean NOT NULL DEFAULT false,
    state text COLLATE "C" NOT NULL,
    queue text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    token text COLLATE "C",
    worker_id text COLLATE "C",
    policy_id text COLLATE "C",
    -- JSON of snoozes, releases, losses, strikes, suspect, backoffMs and failedAt; NULL while all of them are zero
    counters text COLLATE "C",
    reason text COLLATE "C",
    tenant_id text COLLATE "C",
    key text COLLATE "C",
    "unique" text COLLATE "C",
    -- hash of tenant, name and value, which may be too long for an index
    unique_hash bytea,
    tags text COLLATE "C",
    override text COLLATE "C",
    progress text COLLATE "C",
    result text COLLATE "C",
    payload text COLLATE "C" NOT NULL,
    CHECK (attempt BETWEEN 0 AND run),
    CHECK (
      CASE state
        WHEN 'waiting' THEN token IS NULL AND finished_at IS NULL
        WHEN 'running' THEN token IS NOT NULL AND finished_at IS NULL
        WHEN 'succeeded' THEN token IS NULL AND finished_at IS NOT NULL
        WHEN 'dead' THEN token IS NULL AND finished_at IS NOT NULL
        WHEN 'cancelled' THEN token IS NULL AND finished_at IS NOT NULL
        ELSE false
      END
    )
  ) WITH (
    -- every job is rewritten twice: vacuum after 20,000 dead rows, without pauses
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_scale_factor = 0.05
  );
  CREATE INDEX jobs_waiting ON @jobs (queue, priority, run_at, pk) WHERE state = 'waiting';
  CREATE INDEX jobs_running ON @jobs (token) WHERE state = 'running';
  CREATE INDEX jobs_ended ON @jobs (state, finished_at) WHERE finished_at IS NOT NULL;
  CREATE INDEX jobs_deadline ON @jobs (deadline) WHERE deadline IS NOT NULL AND state = 'waiting';
  CREATE UNIQUE INDEX jobs_unique ON @jobs (unique_hash) WHERE unique_hash IS NOT NULL AND finished_at IS NULL;

  -- decision is NULL if it only says that the run succeeded
  CREATE TABLE @attempts (
    job bigint NOT NULL,
    started_at bigint NOT NULL,
    finished_at bigint NOT NULL,
    next_run_at bigint,
    delay_ms double precision,
    run integer NOT NULL,
    generation integer NOT NULL,
    attempt integer NOT NULL,
    status text COLLATE "C" NOT NULL,
    worker_id text COLLATE "C" NOT NULL,
    token text COLLATE "C" NOT NULL,
    error text COLLATE "C",
    note text COLLATE "C",
    decision text COLLATE "C",
    PRIMARY KEY (job, run)
  );
  -- not compressed: for a long stack, compression took longer than the rest of a settle
  ALTER TABLE @attempts ALTER COLUMN error SET STORAGE EXTERNAL;

  CREATE TABLE @job_logs (
    job bigint NOT NULL,
    at double precision NOT NULL,
    run integer NOT NULL,
    line integer NOT NULL,
    message text COLLATE "C" NOT NULL,
    data text COLLATE "C",
    PRIMARY KEY (job, run, line)
  );

  -- token: the lease that began the effect; result: NULL until the effect is done; name_hash: a name may be too long
  -- for an index
  CREATE TABLE @effects (
    job bigint NOT NULL,
    name_hash bytea NOT NULL,
    name text COLLATE "C" NOT NULL,
    token text COLLATE "C" NOT NULL,
    result text COLLATE "C",
    PRIMARY KEY (job, name_hash)
  );

  -- hash: of tenant, name and key; expires_at is set when the job is removed
  CREATE TABLE @keys (
    hash bytea PRIMARY KEY,
    expires_at bigint,
    job_id uuid NOT NULL,
    key text COLLATE "C" NOT NULL,
    payload_hash text COLLATE "C" NOT NULL
  );
  CREATE INDEX keys_key ON @keys USING hash (key);
  CREATE INDEX keys_job ON @keys (job_id);
  CREATE INDEX keys_expires_at ON @keys (expires_at) WHERE expires_at IS NOT NULL;

  CREATE TABLE @policies (id text COLLATE "C" PRIMARY KEY, policy text COLLATE "C" NOT NULL);
  CREATE TABLE @queues (
    name text COLLATE "C" PRIMARY KEY, paused boolean NOT NULL DEFAULT false, retry text COLLATE "C"
  );
  `,
  // The new columns are NULL, so no row is rewritten and their indexes are empty. But the table is read four times
  // under an exclusive lock, and every query that arrives meanwhile waits, so the lock timeout is short.
  `
  SET LOCAL lock_timeout = ${TABLE_LOCK_MS};
  ALTER TABLE @jobs ADD COLUMN pass bigint, ADD COLUMN acknowledged_at bigint, ADD COLUMN gate text COLLATE "C",
    ADD COLUMN fingerprint text COLLATE "C", ADD COLUMN redrive_id text COLLATE "C",
    ADD COLUMN schedule_id text COLLATE "C", ADD COLUMN webhook text COLLATE "C";
  ALTER TABLE @attempts ADD COLUMN fingerprint text COLLATE "C";
  CREATE INDEX jobs_gate ON @jobs (left(gate, ${INDEXED_MAX}), run_at, id)
    WHERE gate IS NOT NULL AND state = 'waiting';
  -- by id, because lists are sorted by id
  CREATE INDEX jobs_group ON @jobs (left(fingerprint, ${INDEXED_MAX}), id)
    WHERE fingerprint IS NOT NULL AND state = 'dead';
  CREATE INDEX jobs_redrive ON @jobs (redrive_id, state) WHERE redrive_id IS NOT NULL;
  -- one index on all jobs of a schedule, by id, and one on its live jobs
  CREATE INDEX jobs_schedule ON @jobs (schedule_id, id) WHERE schedule_id IS NOT NULL;
  CREATE INDEX jobs_schedule_live ON @jobs (schedule_id) WHERE schedule_id IS NOT NULL AND finished_at IS NULL;

  -- counter changes of batches of writes, until they are folded into records
  CREATE TABLE @deltas (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at bigint NOT NULL,
    body text COLLATE "C" NOT NULL
  ) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0
  );

  -- long_id: the full id if the column id holds only its beginning and a hash; fillfactor: the same few rows are
  -- updated again and again
  CREATE TABLE @records (
    version bigint NOT NULL,
    updated_at bigint NOT NULL,
    kind text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    long_id text COLLATE "C",
    body text COLLATE "C" NOT NULL,
    PRIMARY KEY (kind, id)
  ) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0
  );

  -- exclusive or, which only newer servers have as an aggregate
  CREATE AGGREGATE @id_sum(bit) (SFUNC = bitxor, STYPE = bit, COMBINEFUNC = bitxor, PARALLEL = SAFE);
  INSERT INTO @deltas (at, body)
  SELECT @now_ms(), json_build_object('found', json_build_array(queue, count(*), @id_sum(${ID_BITS})))::text
  FROM @jobs GROUP BY queue;
  `,
  `
  SET LOCAL lock_timeout = ${TABLE_LOCK_MS};
  -- trace context headers of the enqueue; NULL without tracing
  ALTER TABLE @jobs ADD COLUMN trace text COLLATE "C";
  -- set on jobs whose last run has no row among the attempts: see OWN_ATTEMPT_COLUMNS
  ALTER TABLE @jobs ADD COLUMN ran_at bigint, ADD COLUMN ran_token text COLLATE "C";
  `,
  `
  SET LOCAL lock_timeout = ${TABLE_LOCK_MS};
  -- long payloads; those of existing jobs stay in the table jobs
  CREATE TABLE @payloads (id uuid PRIMARY KEY, body text COLLATE "C" NOT NULL);
  -- checking five words on every write cost more than it found: the token and the end of a job exclude each other
  ALTER TABLE @jobs DROP CONSTRAINT IF EXISTS jobs_check1,
    ADD CONSTRAINT jobs_held_or_ended CHECK (token IS NULL OR finished_at IS NULL) NOT VALID;
  -- columns that no query is planned by need no statistics, and gathering them took far longer than the vacuum
  ALTER TABLE @jobs ${UNPLANNED.map(column => `ALTER COLUMN ${column} SET STATISTICS 0`).join(', ')},
    SET (autovacuum_analyze_scale_factor = 0.2);
  `,
  `
  SET LOCAL lock_timeout = ${TABLE_LOCK_MS};
  ALTER TABLE @jobs RENAME COLUMN gate TO dependency;
  ALTER INDEX @jobs_gate RENAME TO jobs_dependency;
  UPDATE @records SET kind = 'dependency' WHERE kind = 'gate';
  `,
  `
  SET LOCAL lock_timeout = ${TABLE_LOCK_MS};
  -- for the jobs that failed within a time range: every job with a failed run has a fingerprint
  CREATE INDEX attempts_failed ON @attempts (finished_at, job) WHERE status IN ('failed', 'timed-out', 'lost');
  CREATE UNIQUE INDEX jobs_failed ON @jobs (pk) WHERE fingerprint IS NOT NULL;
  `,
  // Existing attempts keep the text of their error.
  `
  SET LOCAL lock_timeout = ${TABLE_LOCK_MS};
  -- the text of an error, once for all attempts that failed with it
  CREATE TABLE @errors (hash uuid PRIMARY KEY, body text COLLATE "C" NOT NULL);
  -- not compressed: for a long stack, compression took longer than the rest of a settle
  ALTER TABLE @errors ALTER COLUMN body SET STORAGE EXTERNAL;
  ALTER TABLE @attempts ADD COLUMN error_hash uuid;
  CREATE INDEX attempts_error ON @attempts (error_hash) WHERE error_hash IS NOT NULL;
  `,
  // The new columns are NULL: only the index on waiting jobs is built anew, and the other indexes are empty.
  `
  SET LOCAL lock_timeout = ${TABLE_LOCK_MS};
  -- lane: the partition in which a job of a queue with limits waits and runs; NULL in all other queues
  ALTER TABLE @jobs ADD COLUMN partition text COLLATE "C", ADD COLUMN units text COLLATE "C",
    ADD COLUMN lane text COLLATE "C";
  ALTER TABLE @jobs ALTER COLUMN partition SET STATISTICS 0, ALTER COLUMN units SET STATISTICS 0;
  -- jobs in lanes are not among those that claims of other jobs look at; the condition on the lane is the first, because
  -- it excludes all other jobs in the shortest time
  DROP INDEX @jobs_waiting;
  CREATE INDEX jobs_waiting ON @jobs (queue, priority, run_at, pk) WHERE state = 'waiting' AND lane IS NULL;
  CREATE INDEX jobs_waiting_laned ON @jobs (queue, priority, run_at, pk) WHERE lane IS NOT NULL AND state = 'waiting';
  CREATE INDEX jobs_lane ON @jobs (queue, lane, priority DESC, run_at, pk)
    WHERE lane IS NOT NULL AND state = 'waiting';
  CREATE INDEX jobs_lane_order ON @jobs (queue, lane, pk) WHERE lane IS NOT NULL AND state = 'waiting';
  CREATE INDEX jobs_lane_running ON @jobs (queue, lane) WHERE lane IS NOT NULL AND state = 'running';
  CREATE INDEX jobs_lane_dead ON @jobs (queue, lane, pk)
    WHERE lane IS NOT NULL AND state = 'dead' AND reason IS DISTINCT FROM 'discarded';

  -- limits: JSON; open_at and turn: the state of the queue's own limit; laned: there may be jobs in lanes;
  -- bound, ordered, stops: what statements need to know of the limits
  ALTER TABLE @queues ADD COLUMN limits text COLLATE "C", ADD COLUMN open_at bigint, ADD COLUMN turn text COLLATE "C",
    ADD COLUMN laned boolean NOT NULL DEFAULT false, ADD COLUMN bound boolean NOT NULL DEFAULT false,
    ADD COLUMN ordered boolean NOT NULL DEFAULT false, ADD COLUMN stops boolean NOT NULL DEFAULT false;

  -- a claim locks the rows of the partitions that it looks at; fillfactor: they are updated again and again
  -- idle_at: when a partition in which nothing waits has nothing left to remember
  CREATE TABLE @partitions (
    open_at bigint,
    idle_at bigint,
    queue text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    body text COLLATE "C",
    PRIMARY KEY (queue, name)
  ) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0
  );
  CREATE INDEX partitions_open ON @partitions (queue, open_at, name) WHERE open_at IS NOT NULL;
  CREATE INDEX partitions_idle ON @partitions (idle_at) WHERE open_at IS NULL;

  -- what happened to jobs in lanes since a claim looked at their partition
  CREATE TABLE @partition_notes (
    pk bigint GENERATED ALWAYS AS IDENTITY,
    at bigint NOT NULL,
    queue text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    body text COLLATE "C",
    PRIMARY KEY (queue, pk)
  ) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0
  );
  CREATE INDEX partition_notes_name ON @partition_notes (queue, name);
  `,
  `
  SET LOCAL lock_timeout = ${TABLE_LOCK_MS};
  -- 1, 2, … for a job beside a running one with the same "unique" value; see writes/unique.ts
  ALTER TABLE @jobs ADD COLUMN unique_slot integer, ALTER COLUMN unique_slot SET STATISTICS 0;
  DROP INDEX @jobs_unique;
  CREATE UNIQUE INDEX jobs_unique ON @jobs (unique_hash, coalesce(unique_slot, 0))
    WHERE unique_hash IS NOT NULL AND finished_at IS NULL;
  `,
  // It changes no page: pages that are written from now on leave the space.
  `
  SET LOCAL lock_timeout = ${TABLE_LOCK_MS};
  -- the begin of a run, a renewed lease and progress change no indexed column: with space in its page, such a new version
  -- of a row needs no index entries, and no vacuum removes the old one
  ALTER TABLE @jobs SET (fillfactor = 60);
  `,
]

export const SCHEMA_VERSION = MIGRATIONS.length
