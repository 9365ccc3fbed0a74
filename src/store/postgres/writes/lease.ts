import { toText } from '../../columns.js'
import { SIBLING_SIGN } from '../../run.js'
import type { BeginRequest, Expired, ExpiredJob, Extended, Lease, LeaseStatus, Report } from '../../store.js'
import { LOG_LINES_DROPPED, LOG_LINES_MAX } from '../../store.js'
import { booleans, ids, isId, numbers, texts } from '../arrays.js'
import { rounds } from '../connection/batch-rounds.js'
import { failure } from '../connection/failure.js'
import type { Database, Statement } from '../connection/pool.js'
import { askThrough, type Send, sendThrough } from '../connection/user-transaction.js'
import { FACT_COUNT, type FactRow, HELD_COLUMNS, HELD_NAMES, readHeld } from '../rows.js'

// Every write of a worker is a compare-and-set on id and token; only a running job has a token.

type StatusRow = [id: string, token: string, cancelRequested: boolean, locked?: boolean]

/** Answers NULL if every job has begun, as nearly always, and otherwise which jobs are held. */
const BEGIN = `
  WITH held AS (
    UPDATE @jobs j SET begun = j.begun OR NOT j.cancel_requested,
      at_most_once = j.at_most_once OR (given.at_most_once IS TRUE AND NOT j.cancel_requested)
    FROM unnest($1::uuid[], $2::text[], $3::boolean[]) AS given (id, token, at_most_once)
    WHERE j.id = ANY ($1::uuid[]) AND j.id = given.id AND j.token = given.token
    RETURNING j.id, j.token, j.cancel_requested
  )
  SELECT CASE WHEN (SELECT count(*) FROM held WHERE NOT cancel_requested) < cardinality($1::uuid[]) THEN (
    SELECT coalesce(json_agg(json_build_array(id, token, cancel_requested)), '[]')::text FROM held
  ) END`

/**
 * A handler that completes its job in its own transaction keeps the row locked until that transaction ends. The
 * renewal skips such rows, so that the other leases do not expire meanwhile.
 */
const EXTEND = `
  WITH clock AS MATERIALIZED (SELECT @now_ms() AS now),
  given AS MATERIALIZED (SELECT * FROM unnest($1::uuid[], $2::text[]) AS given (id, token)),
  free AS MATERIALIZED (
    SELECT j.pk, j.cancel_requested FROM @jobs j JOIN given ON j.id = given.id AND j.token = given.token
    WHERE j.id = ANY ($1::uuid[])
    FOR NO KEY UPDATE OF j SKIP LOCKED
  ),
  extended AS (
    UPDATE @jobs j SET lease_until = clock.now + $3::bigint, lease_ms = $3::bigint FROM free, clock
    WHERE j.id = ANY ($1::uuid[]) AND j.pk = free.pk
  )
  SELECT j.id, j.token, coalesce(free.cancel_requested, j.cancel_requested), free.pk IS NULL
  FROM @jobs j JOIN given ON j.id = given.id AND j.token = given.token LEFT JOIN free ON free.pk = j.pk
  WHERE j.id = ANY ($1::uuid[])`

export async function begin(db: Database, requests: readonly BeginRequest[]): Promise<LeaseStatus[]> {
  const rows = await changeLeases(db, requests, sorted => ({
    sql: BEGIN,
    values: [...fence(sorted), booleans(sorted.map(({ delivery }) => delivery === 'at-most-once'))],
    isKept: true,
  }))
  const held = rows[0]?.[0]
  if (held === null) return requests.map(({ id }) => (isId(id) ? 'held' : 'lost'))
  return statuses(requests, held === undefined ? [] : (JSON.parse(held) as StatusRow[]))
}

export async function extend(db: Database, leases: readonly Lease[], leaseMs: number): Promise<Extended[]> {
  const values = (sorted: readonly Lease[]) => [...fence(sorted), Math.ceil(leaseMs)]
  const rows = await changeLeases(db, leases, sorted => ({ sql: EXTEND, values: values(sorted) }))
  const locked = new Set(rows.filter(row => row[3]).map(([id]) => id))
  const answers = statuses(leases, rows)
  return answers.map((status, index) =>
    locked.has(leases[index]!.id.toLowerCase()) && status !== 'lost' ? 'locked' : status,
  )
}

function fence(leases: readonly Lease[]): [string, string] {
  return [ids(leases.map(({ id }) => id)), texts(leases.map(({ token }) => token))]
}

async function changeLeases<L extends Lease>(
  db: Database,
  leases: readonly L[],
  statement: (sorted: readonly L[]) => Statement,
): Promise<StatusRow[]> {
  const sorted = leases.filter(({ id }) => isId(id)).sort((a, b) => (a.id < b.id ? -1 : 1))
  if (sorted.length === 0) return []
  const [rows] = await db.write('control', [statement(sorted)])
  return rows as unknown as StatusRow[]
}

function statuses(leases: readonly Lease[], rows: readonly StatusRow[]): LeaseStatus[] {
  const found = new Map(rows.map(([id, token, cancelRequested]) => [`${id} ${token}`, cancelRequested]))
  return leases.map(({ id, token }) => {
    const cancelRequested = found.get(`${id.toLowerCase()} ${toText(token)}`)
    if (cancelRequested === undefined) return 'lost'
    return cancelRequested ? 'cancel-requested' : 'held'
  })
}

// ---------------------------------------------------------------- reports

/** The lock keeps other processes from ending the run before the report is written. */
const REPORT = `
  WITH given AS MATERIALIZED (
    SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::integer[]) AS given (id, token, progress, first)
  ),
  held AS MATERIALIZED (
    SELECT j.id, j.pk, j.run, j.token, j.cancel_requested, given.progress, given.first
    FROM @jobs j JOIN given ON j.id = given.id AND j.token = given.token
    WHERE j.id = ANY ($1::uuid[])
    FOR NO KEY UPDATE OF j
  ),
  lines AS MATERIALIZED (
    SELECT held.pk, held.run, line.at, line.message, line.data, least(line.number + coalesce(held.first,
      (SELECT count(*) FROM @job_logs l WHERE l.job = held.pk AND l.run = held.run)), ${LOG_LINES_MAX}) AS line
    FROM unnest($5::uuid[], $6::integer[], $7::float8[], $8::text[], $9::text[]) AS line (id, number, at, message, data)
    JOIN held ON held.id = line.id
  ),
  written AS (
    INSERT INTO @job_logs (job, run, line, at, message, data)
    SELECT pk, run, line, at, CASE WHEN line < ${LOG_LINES_MAX} THEN message ELSE '${LOG_LINES_DROPPED}' END,
      CASE WHEN line < ${LOG_LINES_MAX} THEN data END
    FROM lines
    ON CONFLICT DO NOTHING
  ),
  moved AS (
    UPDATE @jobs j SET progress = held.progress FROM held
    WHERE j.id = ANY ($1::uuid[]) AND j.id = held.id AND held.progress IS NOT NULL
  )
  SELECT id, token, cancel_requested FROM held`

export function report(db: Database, reports: readonly Report[]): Promise<LeaseStatus[]> {
  return reportBy(statements => db.write('control', statements), reports)
}

/** Reports in the caller's transaction. */
export async function reportWithin(db: Database, tx: unknown, reports: readonly Report[]): Promise<LeaseStatus[]> {
  try {
    return await reportBy(sendThrough(askThrough(db, tx, 'job.complete')), reports)
  } catch (error) {
    throw failure(error, db)
  }
}

async function reportBy(send: Send, reports: readonly Report[]): Promise<LeaseStatus[]> {
  const entries = reports.map((one, index) => ({ index, one }))
  const known = entries.filter(({ one }) => isId(one.lease.id))
  const parts = rounds(known, ({ one }) => [one.lease.id.toLowerCase()])
  const answers: LeaseStatus[] = reports.map(() => 'lost')
  if (parts.length === 0) return answers
  const statements = parts.map(part => reportStatement(part.map(({ one }) => one)))
  const results = await send(statements)
  for (const [part, entriesOfPart] of parts.entries()) {
    const leases = entriesOfPart.map(({ one }) => one.lease)
    const found = statuses(leases, results[part] as unknown as StatusRow[])
    for (const [place, { index }] of entriesOfPart.entries()) answers[index] = found[place]!
  }
  return answers
}

function reportStatement(reports: readonly Report[]): Statement {
  // One line beyond the limit says that later lines were dropped; the rest need not be sent.
  const lines = reports.flatMap(({ lease, logs }) =>
    logs.slice(0, LOG_LINES_MAX + 1).map((line, number) => ({ id: lease.id, number, ...line })),
  )
  const values = [
    ...fence(reports.map(({ lease }) => lease)),
    texts(reports.map(({ progress }) => progress)),
    numbers(reports.map(({ from }) => from)),
    ids(lines.map(({ id }) => id)),
    numbers(lines.map(({ number }) => number)),
    numbers(lines.map(({ at }) => at)),
    texts(lines.map(({ message }) => message)),
    texts(lines.map(({ data }) => data)),
  ]
  return { sql: REPORT, values }
}

// ---------------------------------------------------------------- silent workers

const processOfJob = (job: string): string => `split_part(${job}.worker_id, '${SIBLING_SIGN}', 1)`

/**
 * Processes with an expired lease that hold no other job, or that have been silent for a full lease time since. Jobs that a
 * transaction is changing are skipped, for example one that its handler completes. Sweepers that look at the same moment
 * share their locks: if one of them skipped a job, it would find it alone the next time.
 */
const EXPIRED = `
  WITH clock AS MATERIALIZED (SELECT @now_ms() AS now),
  silent AS MATERIALIZED (
    SELECT ${processOfJob('j')} AS process, count(*) AS running, min(lease_until) AS oldest, min(pk) AS first
    FROM @jobs j WHERE state = 'running'
    GROUP BY 1
    HAVING max(lease_until) < (SELECT now FROM clock) OR min(lease_until + lease_ms) < (SELECT now FROM clock)
    ORDER BY min(lease_until), min(pk) LIMIT $1
  ),
  late AS MATERIALIZED (
    SELECT ${HELD_COLUMNS}, silent.running = 1 AS alone, silent.oldest, silent.first, jobs.pk
    FROM silent JOIN @jobs AS jobs ON ${processOfJob('jobs')} = silent.process
    WHERE jobs.state = 'running' AND jobs.lease_until < (SELECT now FROM clock)
    FOR SHARE OF jobs SKIP LOCKED
  )
  SELECT ${HELD_NAMES}, alone, (SELECT now FROM clock) FROM clock LEFT JOIN late ON true
  ORDER BY oldest, first, pk`

export async function expired(db: Database, workers: number): Promise<Expired> {
  const rows = await db.readShort<FactRow>(EXPIRED, workers)
  const now = rows[0]![FACT_COUNT + 4] as number
  const found = rows[0]![0] === null ? [] : rows
  const jobs = found.map((row): ExpiredJob => {
    const alone = row[FACT_COUNT + 3] as boolean
    return { ...readHeld(row), alone }
  })
  return { now, jobs }
}
