import { FRESH, type JobChange } from '../../core/job/changes.js'
import type { Job } from '../../core/job/job.js'
import { timeOf } from '../../core/job/run-time.js'
import { planChanges } from '../change.js'
import type { DeltaDraft } from '../delta.js'
import { GIVEN_COLUMNS, type JobDraft } from '../job-columns.js'
import { keyOf } from '../scope.js'
import type {
  Changed,
  Enqueued,
  Fired,
  Firing,
  Following,
  NewJob,
  PruneReport,
  PruneRequest,
  Removable,
} from '../store.js'
import { isRemovable, REMOVED_KEY_MS } from '../store.js'
import { forgetPartitions } from './partitions.js'
import { shownJob } from './read.js'
import { putRecord } from './records.js'
import type { MemoryTables, Row } from './tables.js'
import { rememberedKey, rememberThrottle, replace, replacedBefore, replacedBy, throttledBy } from './unique.js'

export function enqueue(tables: MemoryTables, input: NewJob, now: number, delta: DeltaDraft): Enqueued {
  const answer = known(tables, input, now)
  if (answer.status === 'replaced' && !replacedBefore(tables, input, now))
    replace(tables, input, replacedBy(tables, input, now)!, now, delta)
  if (answer.status !== 'created' || isStored(tables, input, now)) return answer
  insert(tables, input, now)
  rememberThrottle(tables, input, now)
  delta.enqueued(input)
  return answer
}

/** The answer to an enqueue of this job, which is not stored. */
export function known(tables: MemoryTables, input: NewJob, now: number): Enqueued {
  if (isStored(tables, input, now)) return { status: 'created', id: input.id }
  const before = replacedBefore(tables, input, now)
  if (before) return before
  const key = input.key === undefined ? undefined : rememberedKey(tables, input, input.key, now)
  if (key && key.payloadHash !== (input.payloadHash ?? ''))
    return { status: 'conflict', id: key.jobId, payloadHash: key.payloadHash }
  const existing = key?.jobId ?? throttledBy(tables, input, now)
  if (existing !== undefined) return { status: 'existing', id: existing }
  return input.unique === undefined ? { status: 'created', id: input.id } : ofValue(tables, input, input.unique, now)
}

function ofValue(tables: MemoryTables, input: NewJob, unique: string, now: number): Enqueued {
  if (input.replacement) {
    const replaced = replacedBy(tables, input, now)?.next
    if (replaced) return { status: 'replaced', id: replaced.id, delayMs: Math.max(0, replaced.runAt - now) }
    return { status: 'created', id: input.id }
  }
  const twin = tables.liveUnique(input, unique)
  return twin ? { status: 'existing', id: twin.job.id } : { status: 'created', id: input.id }
}

/** The same enqueue was answered before, and the answer was lost. */
function isStored(tables: MemoryTables, input: NewJob, now: number): boolean {
  if (tables.rows.has(input.id) || throttledBy(tables, input, now) === input.id) return true
  return input.key !== undefined && rememberedKey(tables, input, input.key, now)?.jobId === input.id
}

export function fire(tables: MemoryTables, { record, jobs }: Firing, now: number, delta: DeltaDraft): Fired {
  const put = putRecord(tables, record, now)
  if (put.status === 'conflict') return put
  return { ...put, enqueued: jobs.map(job => enqueue(tables, job, now, delta)) }
}

function insert(tables: MemoryTables, input: NewJob, now: number): void {
  const { id, name, queue, priority, delivery, payload, payloadHash = '' } = input
  const runAt = timeOf(input.runAt, now)
  const tags = [...input.tags]
  const job: JobDraft = { id, name, queue, priority, delivery, payload, tags, runAt, createdAt: now, ...FIRST }
  const fields = job as unknown as Record<string, unknown>
  for (const { field, kind } of GIVEN_COLUMNS) {
    const value = input[field]
    // Copy objects, so that the caller can't modify stored data later.
    if (value !== undefined) fields[field] = kind === 'json' ? JSON.parse(JSON.stringify(value)) : value
  }
  if (input.deadline) job.deadline = timeOf(input.deadline, now)
  if (input.key !== undefined)
    tables.keys.set(keyOf(input, input.key), { jobId: id, payloadHash, expiresAt: undefined })
  if (!tables.queues.has(queue)) tables.queues.set(queue, { name: queue, paused: false })
  tables.add(job)
}

const FIRST = { ...FRESH, generation: 1, run: 0 } as const

/** The plan is complete before the first write, so a failure changes nothing. */
export function change(
  tables: MemoryTables,
  ids: readonly string[],
  decide: JobChange,
  following: Following | undefined,
  now: number,
  delta: DeltaDraft,
): readonly Changed[] {
  const find = (id: string): Job | undefined => shownJob(tables.rows.get(id))
  const liveUnique = (job: Job): string | undefined => tables.liveUnique(job, job.unique!)?.job.id
  const plan = planChanges(ids, decide, following, { now, find, liveUnique }, delta)
  for (const { workerId: _, leaseUntil: _until, ...next } of plan.writes.map(write => write.next)) {
    const row = tables.rows.get(next.id)!
    tables.change(row, next, row.lease)
    if (!tables.queues.has(next.queue)) tables.queues.set(next.queue, { name: next.queue, paused: false })
  }
  for (const job of plan.following) enqueue(tables, job, now, delta)
  return plan.answers
}

export function overdue(tables: MemoryTables, limit: number, now: number): readonly string[] {
  const isOverdue = ({ job }: Row) => job.state === 'waiting' && job.deadline !== undefined && job.deadline <= now
  const rows = [...tables.rows.values()].filter(isOverdue)
  rows.sort((a, b) => a.job.deadline! - b.job.deadline! || a.seq - b.seq)
  return rows.slice(0, limit).map(({ job }) => job.id)
}

export function remove(tables: MemoryTables, id: string, now: number, delta: DeltaDraft, which?: Removable): Changed {
  const row = tables.rows.get(id)
  if (!row) return { id, status: 'not-found' }
  if (!isRemovable(row.job, which)) return { id, status: 'refused', job: shownJob(row) }
  tables.delete(row, now + REMOVED_KEY_MS)
  delta.removed(row.job)
  return { id, status: 'changed', job: row.job }
}

export function prune(tables: MemoryTables, request: PruneRequest, now: number, delta: DeltaDraft): PruneReport {
  const pruned = { succeeded: 0, dead: 0, cancelled: 0 }
  const isOld = ({ job }: Row) => {
    const age = job.state === 'waiting' || job.state === 'running' ? undefined : request.olderThanMs[job.state]
    return age !== undefined && job.finishedAt! <= now - age
  }
  const old = [...tables.rows.values()].filter(isOld)
  old.sort((a, b) => a.job.finishedAt! - b.job.finishedAt! || a.seq - b.seq)
  for (const row of old.slice(0, request.limit)) {
    tables.delete(row, now + request.keyMs)
    delta.removed(row.job)
    pruned[row.job.state as keyof typeof pruned] += 1
  }
  forgetPartitions(tables, now)
  return { pruned, keys: forgetKeys(tables, request.limit, now) }
}

function forgetKeys(tables: MemoryTables, limit: number, now: number): number {
  let count = 0
  for (const [name, key] of tables.keys) {
    if (count === limit) break
    if (key.expiresAt === undefined || key.expiresAt > now) continue
    tables.keys.delete(name)
    count += 1
  }
  return count
}
