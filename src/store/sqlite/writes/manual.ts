import type { JobChange } from '../../../core/job/changes.js'
import type { DeathReason, Job } from '../../../core/job/job.js'
import { partitionOf } from '../../../core/partition/limits.js'
import { present } from '../../../core/values/present.js'
import { planChanges } from '../../change.js'
import { fromText, toText } from '../../columns.js'
import type { DeltaDraft } from '../../delta.js'
import type { Changed, Following, PruneReport, PruneRequest, Removable } from '../../store.js'
import { isRemovable, REMOVED_KEY_MS } from '../../store.js'
import type { Connection } from '../file/connection.js'
import type { Ended } from '../reads/old-jobs.js'
import { fromHex, ID, readJob } from '../rows.js'
import { enqueue } from './enqueue.js'
import { releaseErrors } from './errors.js'
import { find, findRow, LIVE_UNIQUE, writeJob } from './job.js'
import { isLimited, LaneDraft } from './lanes.js'

export { find } from './job.js'

/** The transaction holds the write lock, so a job can't change between the read and the write. */
export function change(
  db: Connection,
  ids: readonly string[],
  decide: JobChange,
  following: Following | undefined,
  now: number,
  delta: DeltaDraft,
): readonly Changed[] {
  const keys = new Map<string, number>()
  const findLocked = (id: string): Job | undefined => {
    const row = findRow(db, id)
    if (!row) return undefined
    const job = readJob(row)
    keys.set(job.id, row[0])
    return job
  }
  const locked = { now, find: findLocked, liveUnique: (job: Job) => liveUnique(db, job, job.unique!) }
  const plan = planChanges(ids, decide, following, locked, delta)
  const lanes = new LaneDraft()
  for (const write of plan.writes) {
    const sorted = { ...write, next: inLane(db, write.next) }
    writeJob(db, keys.get(write.next.id)!, sorted)
    for (const { queue, lane } of [sorted.before, sorted.next]) if (lane !== undefined) lanes.change(queue, lane)
  }
  lanes.write(db, now)
  if (plan.following.length > 0) enqueue(db, plan.following, now, delta)
  return plan.answers
}

/** A job that waits again, or in another queue, waits in the lane of its partition. */
function inLane(db: Connection, job: Job): Job {
  const isSorted = job.state !== 'waiting' || job.lane !== undefined || !isLimited(db, job.queue)
  return isSorted ? job : { ...job, lane: partitionOf(job) }
}

function liveUnique(db: Connection, job: Job, unique: string): string | undefined {
  const tenant = job.tenantId === undefined ? 0 : toText(job.tenantId)
  const row = db.get<[id: string]>(LIVE_UNIQUE, toText(unique), toText(job.name), tenant)
  return row && fromHex(row[0])
}

const OVERDUE = `
  SELECT hex(id) FROM jobs INDEXED BY jobs_deadline
  WHERE deadline IS NOT NULL AND state = 'waiting' AND deadline <= ? ORDER BY deadline, pk LIMIT ?`

export function overdue(db: Connection, limit: number, now: number): readonly string[] {
  return db.all<[id: string]>(OVERDUE, now, limit).map(([id]) => fromHex(id))
}

export function remove(db: Connection, id: string, now: number, delta: DeltaDraft, which?: Removable): Changed {
  const job = find(db, id)
  if (!job) return { id, status: 'not-found' }
  if (!isRemovable(job, which)) return { id, status: 'refused', job }
  const [pk] = db.get<[number]>(`SELECT pk FROM jobs WHERE id = ${ID}`, id)!
  forget(db, [pk], now + REMOVED_KEY_MS)
  if (job.lane !== undefined) openLanes(db, [[job.queue, job.lane]], now)
  delta.removed(job)
  return { id, status: 'changed', job }
}

function openLanes(db: Connection, lanes: readonly (readonly [queue: string, lane: string])[], now: number): void {
  const draft = new LaneDraft()
  for (const [queue, lane] of lanes) draft.change(queue, lane)
  draft.write(db, now)
}

/** A partition without waiting jobs is only kept for its rates. */
const FORGET_PARTITIONS = `
  DELETE FROM partitions WHERE (queue, name) IN (
    SELECT queue, name FROM partitions INDEXED BY partitions_idle WHERE open_at IS NULL AND idle_at <= ?
    ORDER BY idle_at LIMIT ?)`

/** `candidates` come from an earlier read, so the write checks again whether they are still old and ended. */
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
      `SELECT pk, hex(id), queue, name, tenant_id, reason, fingerprint, lane FROM jobs
       WHERE pk IN (SELECT value FROM json_each(?)) AND +state = ? AND finished_at <= ?`,
      JSON.stringify(candidates[state]),
      state,
      now - age,
    )
    for (const row of rows) delta.removed(prunedOf(row, state))
    const keys = rows.map(([pk]) => pk)
    forget(db, keys, now + request.keyMs)
    // A dead letter may have stopped its partition.
    const lanes = state === 'dead' ? rows.flatMap(row => (row[7] === null ? [] : [[row[2], row[7]] as const])) : []
    openLanes(
      db,
      lanes.map(([queue, lane]) => [fromText(queue), fromText(lane)]),
      now,
    )
    pruned[state] = keys.length
  }
  db.run(FORGET_PARTITIONS, now, request.limit)
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
  lane: string | null,
]

function prunedOf([, id, queue, name, tenantId, reason, fingerprint]: PrunedRow, state: Ended) {
  const facts = { id, state, queue: fromText(queue), name: fromText(name) }
  const textOf = (text: string | null) => (text === null ? undefined : fromText(text))
  const group = { tenantId: textOf(tenantId), fingerprint: textOf(fingerprint), reason: reason ?? undefined }
  return { ...facts, ...present(group) }
}

/** Removes jobs and the data that belongs to them; their keys are kept until `keysExpireAt`. */
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
  releaseErrors(db, list)
  db.run(
    `DELETE FROM remarks WHERE pk IN (
      SELECT remarks FROM attempts WHERE job IN (SELECT value FROM json_each(?)) AND remarks IS NOT NULL)`,
    list,
  )
  for (const table of ['payloads', 'attempts', 'job_logs', 'effects'])
    db.run(`DELETE FROM ${table} WHERE job IN (SELECT value FROM json_each(?))`, list)
  db.run('DELETE FROM jobs WHERE pk IN (SELECT value FROM json_each(?))', list)
}
