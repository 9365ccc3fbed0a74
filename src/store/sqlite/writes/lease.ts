import { fromText, toText, toTextOrNull } from '../../columns.js'
import { SIBLING_SIGN } from '../../run.js'
import type { BeginRequest, EffectStatus, Expired, ExpiredJob, Lease, LeaseStatus, Report } from '../../store.js'
import { LOG_LINES_DROPPED, LOG_LINES_MAX } from '../../store.js'
import type { Connection } from '../file/connection.js'
import { FACT_COLUMNS, FACT_COUNT, type FactRow, ID, readFacts } from '../rows.js'
import { keyOf } from './job.js'

/** Every write of a worker is a compare-and-set on id and token; only a running job has a token. */
const FENCE = `id = ${ID} AND token = ?`

function statusOf(row: [cancelRequested: number] | undefined): LeaseStatus {
  if (!row) return 'lost'
  return row[0] ? 'cancel-requested' : 'held'
}

// One statement for all jobs of a claim, by the row keys that the claim has found: the index of tokens would not be faster.
const WHERE_HELD = 'WHERE pk IN (SELECT value FROM json_each(?)) AND +token = ?'
const BEGIN = `UPDATE jobs SET begun = 1 ${WHERE_HELD} AND cancel_requested = 0`
const BEGIN_ONCE = `UPDATE jobs SET at_most_once = 1 ${WHERE_HELD}`

export function begin(db: Connection, requests: readonly BeginRequest[]): LeaseStatus[] {
  const byToken = new Map<string, { all: number[]; once: number[] }>()
  for (const request of requests) {
    const { token, delivery } = request
    const pk = keyOf(db, request)
    if (pk === undefined) continue
    const claim = byToken.get(token) ?? { all: [], once: [] }
    byToken.set(token, claim)
    claim.all.push(pk)
    if (delivery === 'at-most-once') claim.once.push(pk)
  }
  let begun = 0
  for (const [token, { all, once }] of byToken) {
    if (once.length > 0) db.run(BEGIN_ONCE, JSON.stringify(once), toText(token))
    begun += db.run(BEGIN, JSON.stringify(all), toText(token))
  }
  // Nearly always every job is held, and none was asked to stop.
  if (begun === requests.length) return requests.map(() => 'held')
  const sql = `SELECT cancel_requested FROM jobs WHERE ${FENCE}`
  return requests.map(({ id, token }) => statusOf(db.get<[number]>(sql, id, toText(token))))
}

export function extend(db: Connection, { id, token }: Lease, leaseMs: number, now: number): LeaseStatus {
  const sql = `UPDATE jobs SET lease_until = ?, lease_ms = ? WHERE ${FENCE} RETURNING cancel_requested`
  return statusOf(db.get<[number]>(sql, now + leaseMs, leaseMs, id, toText(token)))
}

export function report(db: Connection, { lease, logs, from, progress }: Report): LeaseStatus {
  const row = db.get<[pk: number, run: number, cancelRequested: number]>(
    `SELECT pk, run, cancel_requested FROM jobs WHERE ${FENCE}`,
    lease.id,
    toText(lease.token),
  )
  if (!row) return 'lost'
  const [pk, run, cancelRequested] = row
  if (logs.length > 0) addLines(db, pk, run, logs, from ?? countLines(db, pk, run))
  if (progress !== undefined) db.run('UPDATE jobs SET progress = ? WHERE pk = ?', toText(progress), pk)
  return statusOf([cancelRequested])
}

function countLines(db: Connection, pk: number, run: number): number {
  return db.get<[number]>('SELECT count(*) FROM job_logs WHERE job = ? AND run = ?', pk, run)![0]
}

function addLines(db: Connection, pk: number, run: number, logs: Report['logs'], first: number): void {
  for (const [index, { at, message, data }] of logs.entries()) {
    const line = Math.min(first + index, LOG_LINES_MAX)
    const text = line < LOG_LINES_MAX ? toText(message) : LOG_LINES_DROPPED
    db.run(
      'INSERT INTO job_logs (job, run, line, at, message, data) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
      pk,
      run,
      line,
      at,
      text,
      line < LOG_LINES_MAX ? toTextOrNull(data) : null,
    )
    if (line === LOG_LINES_MAX) break
  }
}

const PROCESS = `substr(worker_id, 1, instr(worker_id || '${SIBLING_SIGN}', '${SIBLING_SIGN}') - 1)`

/** Processes with an expired lease that hold no other job, or that have been silent for a full lease time since. */
const SILENT = `
  SELECT ${PROCESS}, count(*) FROM jobs INDEXED BY jobs_running WHERE state = 'running'
  GROUP BY 1
  HAVING max(lease_until) < ? OR min(lease_until + lease_ms) < ?
  ORDER BY min(lease_until), min(pk) LIMIT ?`

const EXPIRED = `
  SELECT ${FACT_COLUMNS}, token, lease_until, worker_id FROM jobs INDEXED BY jobs_running
  WHERE state = 'running' AND ${PROCESS} = ? AND lease_until < ? ORDER BY pk`

export function expired(db: Connection, workers: number, now: number): Expired {
  const silent = db.all<[process: string, running: number]>(SILENT, now, now, workers)
  const jobs = silent.flatMap(([process, running]) =>
    db.all<FactRow>(EXPIRED, process, now).map(
      (row): ExpiredJob => ({
        ...readFacts(row),
        token: fromText(row[FACT_COUNT] as string),
        leaseUntil: row[FACT_COUNT + 1] as number,
        workerId: fromText(row[FACT_COUNT + 2] as string),
        alone: running === 1,
      }),
    ),
  )
  return { now, jobs }
}

export function beginEffect(db: Connection, lease: Lease, name: string): EffectStatus {
  const job = db.get<[pk: number]>(`SELECT pk FROM jobs WHERE ${FENCE}`, lease.id, toText(lease.token))
  if (!job) return { status: 'lost' }
  const key = [job[0], toText(name)] as const
  db.run(
    'INSERT INTO effects (job, name, token) VALUES (?, ?, ?) ON CONFLICT (job, name) DO NOTHING',
    ...key,
    toText(lease.token),
  )
  const [token, result] = db.get<[token: string, result: string | null]>(
    'SELECT token, result FROM effects WHERE job = ? AND name = ?',
    ...key,
  )!
  if (result !== null) return { status: 'done', result: fromText(result) }
  return { status: fromText(token) === lease.token ? 'new' : 'begun' }
}

export function endEffect(db: Connection, lease: Lease, name: string, result: string): 'done' | 'lost' {
  const job = db.get<[pk: number]>(`SELECT pk FROM jobs WHERE ${FENCE}`, lease.id, toText(lease.token))
  if (!job) return 'lost'
  db.run(
    `INSERT INTO effects (job, name, token, result) VALUES (?, ?, ?, ?)
     ON CONFLICT (job, name) DO UPDATE SET result = ifnull(result, excluded.result)`,
    job[0],
    toText(name),
    toText(lease.token),
    toText(result),
  )
  return 'done'
}
