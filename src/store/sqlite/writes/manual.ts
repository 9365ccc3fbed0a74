import type { DeathReason, Job } from '../../../core/job/job.js'
import { present } from '../../../core/values/present.js'
import { fromText, timeOf, toJson, toTags, toText, toTextOrNull } from '../../columns.js'
import type { DeltaDraft } from '../../delta.js'
import { edited, isAsRead, type JobEdit } from '../../edit.js'
import type { Changed, Following, PruneReport, PruneRequest, RunTime } from '../../store.js'
import { REMOVED_KEY_MS } from '../../store.js'
import type { Connection } from '../file/connection.js'
import type { Ended } from '../reads/search.js'
import { fromHex, ID, JOB_COLUMNS, type JobRow, readJob } from '../rows.js'
import { enqueue, INLINE_PAYLOAD_MAX, LIVE_UNIQUE } from './enqueue.js'

export function find(db: Connection, id: string): Job | undefined {
  const row = db.get<JobRow>(`SELECT ${JOB_COLUMNS} FROM jobs WHERE id = ${ID}`, id)
  return row && readJob(row)
}

function answer(db: Connection, id: string, status: 'changed' | 'requested' | 'refused'): Changed {
  const job = find(db, id)
  return job ? { id, status, job } : { id, status: 'not-found' }
}

export function cancel(db: Connection, id: string, now: number, delta: DeltaDraft, following?: Following): Changed {
  const waiting = `UPDATE jobs SET state = 'cancelled', finished_at = ? WHERE id = ${ID} AND +state = 'waiting'`
  if (db.run(waiting, now, id) === 1) {
    const changed = answer(db, id, 'changed')
    if (changed.status !== 'changed') return changed
    delta.ended(changed.job)
    return followed(db, changed, following, now, delta)
  }
  const running = `UPDATE jobs SET cancel_requested = 1 WHERE id = ${ID} AND +state = 'running'`
  if (db.run(running, id) === 1) return answer(db, id, 'requested')
  return answer(db, id, 'refused')
}

export function reschedule(db: Connection, id: string, at: RunTime, now: number): Changed {
  const sql = `UPDATE jobs SET run_at = ? WHERE id = ${ID} AND +state = 'waiting'`
  return answer(db, id, db.run(sql, timeOf(at, now), id) === 1 ? 'changed' : 'refused')
}

const EDIT = `
  UPDATE jobs SET queue = ?, priority = ?, run_at = ?, tags = ?, timeout_ms = ?, deadline = ?, override = ?, payload = ?,
    dependency = ?, pass = ?
  WHERE pk = ?`

/** The write lock is held: what was read can't change before it is written. */
export function edit(db: Connection, id: string, asked: JobEdit, now: number, delta: DeltaDraft): Changed {
  const job = find(db, id)
  if (!job) return { id, status: 'not-found' }
  if (!isAsRead(job, asked.expect)) return { id, status: 'refused', job }
  const { queue, priority, runAt, tags, timeoutMs, deadline, override, ...next } = edited(job, asked, now)
  const [pk] = db.get<[number]>(`SELECT pk FROM jobs WHERE id = ${ID}`, id)!
  const payload = toText(next.payload)
  const isInline = payload.length <= INLINE_PAYLOAD_MAX
  const times = [timeoutMs ?? null, deadline ?? null] as const
  const texts = [toJson(override), isInline ? payload : null] as const
  const dependency = [toTextOrNull(next.dependency), next.pass ?? null] as const
  db.run(EDIT, toText(queue), priority, runAt, toTags(tags), ...times, ...texts, ...dependency, pk)
  db.run('DELETE FROM payloads WHERE job = ?', pk)
  if (!isInline) db.run('INSERT INTO payloads (job, payload) VALUES (?, ?)', pk, payload)
  if (queue !== job.queue) {
    db.run('INSERT INTO queues (name) VALUES (?) ON CONFLICT (name) DO NOTHING', toText(queue))
    delta.moved(job, queue)
  }
  return answer(db, id, 'changed')
}

/** A deadline that has passed would end the job again at once; whoever redrives it wants it to run. */
const NEXT_GENERATION = `
  UPDATE jobs SET state = 'waiting', generation = generation + 1, run_at = ?, attempt = 0, counters = NULL,
    begun = 0, cancel_requested = 0, reason = NULL, first_started_at = NULL, started_at = NULL, finished_at = NULL,
    deadline = iif(deadline > ?, deadline, NULL), progress = NULL, result = NULL, pass = NULL, acknowledged_at = NULL,
    redrive_id = ?
  WHERE id = ${ID} AND (+state = 'dead' OR +state = 'cancelled')`

export function redrive(
  db: Connection,
  id: string,
  { redriveId, delayMs }: { readonly redriveId: string | undefined; readonly delayMs: number },
  now: number,
  delta: DeltaDraft,
): Changed {
  const job = find(db, id)
  if (!job) return { id, status: 'not-found' }
  if (redriveId !== undefined && job.redriveId === redriveId) return { id, status: 'changed', job }
  const twin = job.unique === undefined ? undefined : liveUnique(db, job, job.unique)
  if (twin !== undefined && twin !== job.id) return { id, status: 'refused', job, conflictId: twin }
  const runAt = timeOf({ delayMs }, now)
  if (db.run(NEXT_GENERATION, runAt, now, toTextOrNull(redriveId), id) === 0) return { id, status: 'refused', job }
  delta.leftDead(job)
  return answer(db, id, 'changed')
}

export function acknowledge(db: Connection, id: string, now: number): Changed {
  const sql = `UPDATE jobs SET acknowledged_at = ifnull(acknowledged_at, ?) WHERE id = ${ID} AND +state = 'dead'`
  return answer(db, id, db.run(sql, now, id) === 1 ? 'changed' : 'refused')
}

export function discard(db: Connection, id: string, now: number, delta: DeltaDraft, following?: Following): Changed {
  const job = find(db, id)
  if (!job) return { id, status: 'not-found' }
  const sql = `UPDATE jobs SET reason = 'discarded', acknowledged_at = ifnull(acknowledged_at, ?)
    WHERE id = ${ID} AND +state = 'dead'`
  if (db.run(sql, now, id) === 0) return { id, status: 'refused', job }
  delta.leftDead(job)
  return followed(db, answer(db, id, 'changed'), following, now, delta)
}

function followed(
  db: Connection,
  changed: Changed,
  following: Following | undefined,
  now: number,
  delta: DeltaDraft,
): Changed {
  if (changed.status === 'changed') follow(db, changed.job, following, now, delta)
  return changed
}

function follow(db: Connection, job: Job, following: Following | undefined, now: number, delta: DeltaDraft): void {
  const jobs = following?.(job) ?? []
  if (jobs.length > 0) enqueue(db, jobs, now, delta)
}

function liveUnique(db: Connection, job: Job, unique: string): string | undefined {
  const tenant = job.tenantId === undefined ? 0 : toText(job.tenantId)
  const row = db.get<[id: string]>(LIVE_UNIQUE, toText(unique), toText(job.name), tenant)
  return row && fromHex(row[0])
}

export function remove(db: Connection, id: string, now: number, delta: DeltaDraft): Changed {
  const job = find(db, id)
  if (!job) return { id, status: 'not-found' }
  if (job.state === 'running') return { id, status: 'refused', job }
  const [pk] = db.get<[number]>(`SELECT pk FROM jobs WHERE id = ${ID}`, id)!
  forget(db, [pk], now + REMOVED_KEY_MS)
  delta.removed(job)
  return { id, status: 'changed', job }
}

export function expireDeadlines(
  db: Connection,
  limit: number,
  now: number,
  delta: DeltaDraft,
  following?: Following,
): readonly Job[] {
  const rows = db.all<[number]>(
    `SELECT pk FROM jobs INDEXED BY jobs_deadline
     WHERE deadline IS NOT NULL AND state = 'waiting' AND deadline <= ? ORDER BY deadline, pk LIMIT ?`,
    now,
    limit,
  )
  return rows.map(([pk]) => {
    db.run(`UPDATE jobs SET state = 'dead', reason = 'expired', finished_at = ? WHERE pk = ?`, now, pk)
    const job = readJob(db.get<JobRow>(`SELECT ${JOB_COLUMNS} FROM jobs WHERE pk = ?`, pk)!)
    delta.ended(job)
    follow(db, job, following, now, delta)
    return job
  })
}

/** `candidates` were found by reading; whether they are still old and ended is asked here, in the write. */
export function prune(
  db: Connection,
  request: PruneRequest,
  candidates: Readonly<Record<Ended, readonly number[]>>,
  now: number,
  delta: DeltaDraft,
): PruneReport {
  const pruned = { succeeded: 0, dead: 0, cancelled: 0 }
  for (const state of ['succeeded', 'dead', 'cancelled'] as const) {
    const age = request.olderThanMs[state]
    if (age === undefined || candidates[state].length === 0) continue
    const rows = db.all<PrunedRow>(
      `SELECT pk, hex(id), queue, name, tenant_id, reason, fingerprint FROM jobs
       WHERE pk IN (SELECT value FROM json_each(?)) AND +state = ? AND finished_at <= ?`,
      JSON.stringify(candidates[state]),
      state,
      now - age,
    )
    for (const row of rows) delta.removed(prunedOf(row, state))
    const keys = rows.map(([pk]) => pk)
    forget(db, keys, now + request.keyMs)
    pruned[state] = keys.length
  }
  const keys = db.run(
    `DELETE FROM keys WHERE (key, name, tenant) IN
       (SELECT key, name, tenant FROM keys WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`,
    now,
    request.limit,
  )
  return { pruned, keys }
}

type PrunedRow = [
  pk: number,
  id: string,
  queue: string,
  name: string,
  tenantId: string | null,
  reason: DeathReason | null,
  fingerprint: string | null,
]

function prunedOf([, id, queue, name, tenantId, reason, fingerprint]: PrunedRow, state: Ended) {
  const facts = { id, state, queue: fromText(queue), name: fromText(name) }
  const textOf = (text: string | null) => (text === null ? undefined : fromText(text))
  const group = { tenantId: textOf(tenantId), fingerprint: textOf(fingerprint), reason: reason ?? undefined }
  return { ...facts, ...present(group) }
}

/** Removes jobs and all that belongs to them; their keys stay a while. */
function forget(db: Connection, pks: readonly number[], keysExpireAt: number): void {
  const list = JSON.stringify(pks)
  db.run(
    `UPDATE keys SET expires_at = ? WHERE (key, name, tenant) IN
       (SELECT key, name, ifnull(tenant_id, 0) FROM jobs
        WHERE pk IN (SELECT value FROM json_each(?)) AND key IS NOT NULL)
     AND job_id IN (SELECT id FROM jobs WHERE pk IN (SELECT value FROM json_each(?)))`,
    keysExpireAt,
    list,
    list,
  )
  db.run(
    `DELETE FROM remarks WHERE pk IN (
      SELECT remarks FROM attempts WHERE job IN (SELECT value FROM json_each(?)) AND remarks IS NOT NULL)`,
    list,
  )
  for (const table of ['payloads', 'attempts', 'job_logs', 'effects'])
    db.run(`DELETE FROM ${table} WHERE job IN (SELECT value FROM json_each(?))`, list)
  db.run('DELETE FROM jobs WHERE pk IN (SELECT value FROM json_each(?))', list)
}
