-- A file of schema version 1, with jobs in every state, as Chronos wrote it before dependencies, error groups and the ledger existed.
PRAGMA application_id = 1128813134;
CREATE TABLE migrations (version INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL);
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
    -- JSON of snoozes, releases, losses, strikes, suspect and backoffMs; NULL while all of them are zero
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
CREATE INDEX jobs_ended ON jobs (state, finished_at) WHERE finished_at IS NOT NULL AND state <> 'succeeded';
CREATE INDEX jobs_deadline ON jobs (deadline) WHERE deadline IS NOT NULL AND state = 'waiting';
CREATE UNIQUE INDEX jobs_unique ON jobs ("unique", name, ifnull(tenant_id, 0))
    WHERE "unique" IS NOT NULL AND finished_at IS NULL;
CREATE TABLE payloads (job INTEGER PRIMARY KEY, payload TEXT NOT NULL);
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
CREATE TABLE effects (
    job INTEGER NOT NULL,
    name TEXT NOT NULL,
    token TEXT NOT NULL,
    result TEXT,
    PRIMARY KEY (job, name)
  ) WITHOUT ROWID;
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
INSERT INTO migrations VALUES (1, 1767225600000);
INSERT INTO jobs VALUES (1, x'01890000000070008000000000000001', 'send-mail', 'default', 5, 'succeeded', 1767225600000, 1, 1, 1, 0, 0, 0, NULL, NULL, NULL, NULL, 1767225600000, 1767225600000, 1767225600000, 1767225600007, NULL, NULL, NULL, NULL, 't1', 'k1', NULL, '
"a"
"b"
', 'p1', NULL, NULL, '{"ok":true}', '{}');
INSERT INTO jobs VALUES (2, x'01890000000070008000000000000002', 'send-mail', 'default', 5, 'dead', 1767225600007, 1, 1, 1, 0, 0, 0, NULL, NULL, NULL, NULL, 1767225600007, 1767225600007, 1767225600007, 1767225600014, NULL, NULL, NULL, 'exhausted', NULL, NULL, NULL, NULL, 'p1', NULL, NULL, NULL, NULL);
INSERT INTO jobs VALUES (3, x'01890000000070008000000000000003', 'send-mail', cast(x'0122737472616e67655c7530303030717565756522' AS TEXT), 5, 'cancelled', 1767225600014, 1, 1, 1, 0, 0, 0, NULL, NULL, NULL, NULL, 1767225600014, 1767225600014, 1767225600014, 1767225600021, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{}');
INSERT INTO jobs VALUES (4, x'01890000000070008000000000000004', 'send-mail', 'default', 5, 'waiting', 1767225660028, 1, 1, 1, 0, 0, 0, NULL, NULL, NULL, NULL, 1767225600021, 1767225600021, 1767225600021, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'p1', NULL, NULL, NULL, '{}');
INSERT INTO jobs VALUES (5, x'01890000000070008000000000000005', 'send-mail', 'default', 5, 'waiting', 1767229200035, 2, 1, 0, 0, 0, 0, NULL, NULL, NULL, NULL, 1767225600028, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'u1', NULL, 'p1', NULL, NULL, NULL, '{}');
INSERT INTO jobs VALUES (6, x'01890000000070008000000000000006', 'send-mail', 'default', 9, 'running', 1767225600035, 1, 1, 1, 1, 1, 0, '00000000000000000000000000000006', 'worker-1', 1767225630035, 30000, 1767225600035, 1767225600035, 1767225600035, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'p1', NULL, '50', NULL, '{}');
INSERT INTO jobs VALUES (7, x'01890000000070008000000000000007', 'send-mail', 'mail', 5, 'waiting', 1767312000042, 1, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, 1767225600042, NULL, NULL, NULL, 1767398400042, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{}');
INSERT INTO payloads VALUES (2, '"long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long "');
INSERT INTO attempts VALUES (1, 1, 1, 1, 'succeeded', 1767225600000, 1767225600007, 'worker-1', '00000000000000000000000000000001', NULL);
INSERT INTO attempts VALUES (2, 1, 1, 1, 'failed', 1767225600007, 1767225600014, 'worker-1', '00000000000000000000000000000002', 1);
INSERT INTO attempts VALUES (3, 1, 1, 1, 'cancelled', 1767225600014, 1767225600021, 'worker-1', '00000000000000000000000000000003', 2);
INSERT INTO attempts VALUES (4, 1, 1, 1, 'failed', 1767225600021, 1767225600028, 'worker-1', '00000000000000000000000000000004', 3);
INSERT INTO attempts VALUES (5, 1, 1, 1, 'failed', 1767225600028, 1767225600035, 'worker-1', '00000000000000000000000000000005', 4);
INSERT INTO remarks VALUES (1, '{"name":"Error","message":"boom","code":"ECONNRESET","stack":"Error: boom"}', NULL, NULL, NULL, '{"action":"die","why":"no retry was left"}');
INSERT INTO remarks VALUES (2, NULL, NULL, NULL, NULL, '{"action":"cancel","why":"was asked to stop"}');
INSERT INTO remarks VALUES (3, '{"name":"Error","message":"boom","code":"ECONNRESET","stack":"Error: boom"}', NULL, 60000, 1767225660028, '{"action":"retry","why":"retry 1 of 3","retry":1,"maxRetries":3,"delayMs":60000}');
INSERT INTO remarks VALUES (4, '{"name":"Error","message":"boom","code":"ECONNRESET","stack":"Error: boom"}', NULL, NULL, NULL, '{"action":"die","why":"no retry was left"}');
INSERT INTO job_logs VALUES (6, 1, 0, 1767225600042, 'half way', NULL);
INSERT INTO keys VALUES ('k1', 'send-mail', 't1', x'01890000000070008000000000000001', 'h1', NULL);
INSERT INTO keys VALUES ('k2', 'send-mail', 0, x'01890000000070008000000000000008', 'h2', 1767312000049);
INSERT INTO policies VALUES ('p1', '{}');
INSERT INTO queues VALUES (cast(x'0122737472616e67655c7530303030717565756522' AS TEXT), 0, NULL);
INSERT INTO queues VALUES ('default', 0, NULL);
INSERT INTO queues VALUES ('mail', 1, NULL);
