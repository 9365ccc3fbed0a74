import type { Job } from '../../core/job/job.js'
import type { PartialPolicy } from '../../core/policy/policy.js'
import { timeOf } from '../columns.js'
import type { DeltaDraft } from '../delta.js'
import { edited, isAsRead, type JobEdit } from '../edit.js'
import type {
  Changed,
  Enqueued,
  Fired,
  Firing,
  Following,
  NewJob,
  PruneReport,
  PruneRequest,
  RunTime,
} from '../store.js'
import { REMOVED_KEY_MS } from '../store.js'
import { putRecord } from './records.js'
import { type Draft, keyOf, type Row, type Shelf } from './shelf.js'

export function enqueue(shelf: Shelf, input: NewJob, now: number, delta: DeltaDraft): Enqueued {
  const created: Enqueued = { status: 'created', id: input.id }
  if (shelf.rows.has(input.id)) return created
  const known = input.key === undefined ? undefined : rememberedKey(shelf, input, input.key, now)
  if (known?.jobId === input.id) return created
  if (known && known.payloadHash !== (input.payloadHash ?? ''))
    return { status: 'conflict', id: known.jobId, payloadHash: known.payloadHash }
  const twin = input.unique === undefined ? undefined : shelf.liveUnique(input, input.unique)
  const existing = known?.jobId ?? twin?.job.id
  if (existing !== undefined) return { status: 'existing', id: existing }
  insert(shelf, input, now)
  delta.enqueued(input)
  return created
}

export function fire(shelf: Shelf, { record, jobs }: Firing, now: number, delta: DeltaDraft): Fired {
  const put = putRecord(shelf, record, now)
  if (put.status === 'conflict') return put
  return { ...put, enqueued: jobs.map(job => enqueue(shelf, job, now, delta)) }
}

function rememberedKey(shelf: Shelf, input: NewJob, key: string, now: number) {
  const known = shelf.keys.get(keyOf(input, key))
  return known?.expiresAt !== undefined && known.expiresAt <= now ? undefined : known
}

function insert(shelf: Shelf, input: NewJob, now: number): void {
  const { id, name, queue, priority, delivery, payload, payloadHash = '' } = input
  const runAt = timeOf(input.runAt, now)
  const tags = [...input.tags]
  const job: Draft = { id, name, queue, priority, delivery, payload, tags, runAt, createdAt: now, ...FIRST }
  if (input.tenantId !== undefined) job.tenantId = input.tenantId
  if (input.key !== undefined) job.key = input.key
  if (input.unique !== undefined) job.unique = input.unique
  if (input.policyId !== undefined) job.policyId = input.policyId
  if (input.timeoutMs !== undefined) job.timeoutMs = input.timeoutMs
  if (input.dependency !== undefined) job.dependency = input.dependency
  if (input.fingerprint !== undefined) job.fingerprint = input.fingerprint
  if (input.scheduleId !== undefined) job.scheduleId = input.scheduleId
  if (input.webhook !== undefined) job.webhook = input.webhook
  if (input.trace !== undefined) job.trace = input.trace
  if (input.deadline) job.deadline = timeOf(input.deadline, now)
  // What is stored is data: a later change of the caller's object must not reach it.
  if (input.override) job.override = JSON.parse(JSON.stringify(input.override)) as PartialPolicy
  if (input.key !== undefined) shelf.keys.set(keyOf(input, input.key), { jobId: id, payloadHash, expiresAt: undefined })
  if (!shelf.queues.has(queue)) shelf.queues.set(queue, { name: queue, paused: false })
  shelf.add(job)
}

/** How every generation starts. */
const FRESH = {
  state: 'waiting',
  attempt: 0,
  snoozes: 0,
  releases: 0,
  losses: 0,
  strikes: 0,
  suspect: false,
  begun: false,
  cancelRequested: false,
} as const

const FIRST = { ...FRESH, generation: 1, run: 0 } as const

export function cancel(
  shelf: Shelf,
  id: string,
  now: number,
  delta: DeltaDraft,
  following: Following | undefined,
): Changed {
  const row = shelf.rows.get(id)
  if (!row) return { id, status: 'not-found' }
  if (row.job.state === 'running') {
    shelf.change(row, { ...row.job, cancelRequested: true }, row.lease)
    return { id, status: 'requested', job: row.job }
  }
  if (row.job.state !== 'waiting') return { id, status: 'refused', job: row.job }
  const job: Job = { ...row.job, state: 'cancelled', finishedAt: now }
  const next = following?.(job) ?? []
  delta.ended(job)
  return followed(shelf, changed(shelf, row, job), next, now, delta)
}

export function reschedule(shelf: Shelf, id: string, at: RunTime, now: number): Changed {
  const row = shelf.rows.get(id)
  if (!row) return { id, status: 'not-found' }
  if (row.job.state !== 'waiting') return { id, status: 'refused', job: row.job }
  return changed(shelf, row, { ...row.job, runAt: timeOf(at, now) })
}

export function edit(shelf: Shelf, id: string, asked: JobEdit, now: number, delta: DeltaDraft): Changed {
  const row = shelf.rows.get(id)
  if (!row) return { id, status: 'not-found' }
  const { job } = row
  if (!isAsRead(job, asked.expect)) return { id, status: 'refused', job }
  const next = edited(job, asked, now)
  if (next.queue !== job.queue) delta.moved(job, next.queue)
  if (!shelf.queues.has(next.queue)) shelf.queues.set(next.queue, { name: next.queue, paused: false })
  return changed(shelf, row, next)
}

export function redrive(
  shelf: Shelf,
  id: string,
  { redriveId, delayMs }: { readonly redriveId: string | undefined; readonly delayMs: number },
  now: number,
  delta: DeltaDraft,
): Changed {
  const row = shelf.rows.get(id)
  if (!row) return { id, status: 'not-found' }
  const { job } = row
  if (redriveId !== undefined && job.redriveId === redriveId) return { id, status: 'changed', job }
  if (job.state !== 'dead' && job.state !== 'cancelled') return { id, status: 'refused', job }
  const conflict = job.unique === undefined ? undefined : shelf.liveUnique(job, job.unique)
  if (conflict) return { id, status: 'refused', job, conflictId: conflict.job.id }
  delta.leftDead(job)
  const next = nextGeneration(job, timeOf({ delayMs }, now), now)
  return changed(shelf, row, redriveId === undefined ? next : { ...next, redriveId })
}

function nextGeneration(job: Job, runAt: number, now: number): Job {
  const { reason, startedAt, firstStartedAt, finishedAt, backoffMs, result, error, progress, ...others } = job
  const { deadline, pass, acknowledgedAt, redriveId, ...kept } = others
  return {
    ...kept,
    ...FRESH,
    generation: job.generation + 1,
    runAt,
    // One that has passed would end the job again at once; whoever redrives it wants it to run.
    ...(deadline !== undefined && deadline > now ? { deadline } : {}),
  }
}

export function acknowledge(shelf: Shelf, id: string, now: number): Changed {
  const row = shelf.rows.get(id)
  if (!row) return { id, status: 'not-found' }
  const { job } = row
  if (job.state !== 'dead') return { id, status: 'refused', job }
  return changed(shelf, row, { ...job, acknowledgedAt: job.acknowledgedAt ?? now })
}

export function discard(
  shelf: Shelf,
  id: string,
  now: number,
  delta: DeltaDraft,
  following: Following | undefined,
): Changed {
  const row = shelf.rows.get(id)
  if (!row) return { id, status: 'not-found' }
  const { job } = row
  if (job.state !== 'dead') return { id, status: 'refused', job }
  const given: Job = { ...job, reason: 'discarded', acknowledgedAt: job.acknowledgedAt ?? now }
  const next = following?.(given) ?? []
  delta.leftDead(job)
  return followed(shelf, changed(shelf, row, given), next, now, delta)
}

export function remove(shelf: Shelf, id: string, now: number, delta: DeltaDraft): Changed {
  const row = shelf.rows.get(id)
  if (!row) return { id, status: 'not-found' }
  if (row.job.state === 'running') return { id, status: 'refused', job: row.job }
  shelf.delete(row, now + REMOVED_KEY_MS)
  delta.removed(row.job)
  return { id, status: 'changed', job: row.job }
}

export function expireDeadlines(
  shelf: Shelf,
  limit: number,
  now: number,
  delta: DeltaDraft,
  following: Following | undefined,
): readonly Job[] {
  const passed = (row: Row) => row.job.state === 'waiting' && (row.job.deadline ?? Number.POSITIVE_INFINITY) <= now
  const rows = [...shelf.rows.values()].filter(passed)
  rows.sort((a, b) => a.job.deadline! - b.job.deadline! || a.seq - b.seq)
  return rows.slice(0, limit).map(row => {
    const job: Job = { ...row.job, state: 'dead', reason: 'expired', finishedAt: now }
    const next = following?.(job) ?? []
    shelf.change(row, job)
    delta.ended(job)
    return followed(shelf, job, next, now, delta)
  })
}

/** What follows is asked for before anything is changed: where that fails, nothing has. */
function followed<T>(shelf: Shelf, answer: T, next: readonly NewJob[], now: number, delta: DeltaDraft): T {
  for (const job of next) enqueue(shelf, job, now, delta)
  return answer
}

export function prune(shelf: Shelf, request: PruneRequest, now: number, delta: DeltaDraft): PruneReport {
  const pruned = { succeeded: 0, dead: 0, cancelled: 0 }
  const isOld = ({ job }: Row) => {
    const age = job.state === 'waiting' || job.state === 'running' ? undefined : request.olderThanMs[job.state]
    return age !== undefined && job.finishedAt! <= now - age
  }
  const old = [...shelf.rows.values()].filter(isOld)
  old.sort((a, b) => a.job.finishedAt! - b.job.finishedAt! || a.seq - b.seq)
  for (const row of old.slice(0, request.limit)) {
    shelf.delete(row, now + request.keyMs)
    delta.removed(row.job)
    pruned[row.job.state as keyof typeof pruned] += 1
  }
  return { pruned, keys: forgetKeys(shelf, request.limit, now) }
}

function forgetKeys(shelf: Shelf, limit: number, now: number): number {
  let count = 0
  for (const [name, key] of shelf.keys) {
    if (count === limit) break
    if (key.expiresAt === undefined || key.expiresAt > now) continue
    shelf.keys.delete(name)
    count += 1
  }
  return count
}

function changed(shelf: Shelf, row: Row, job: Job): Changed {
  shelf.change(row, job)
  return { id: job.id, status: 'changed', job }
}
