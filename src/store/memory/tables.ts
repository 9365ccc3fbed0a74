import { type Job, PRIORITY_MAX } from '../../core/job/job.js'
import type { StoredRecord } from '../record.js'
import { isLive, keyOf } from '../scope.js'
import type { AttemptRecord, LogRecord, QueueRecord } from '../store.js'

/** A job and the data that belongs to it. `job` is replaced, never modified, so it can be returned without a copy. */
export interface Row {
  readonly seq: number
  job: Job
  lease: HeldLease | undefined
  readonly attempts: Attempt[]
  readonly logs: Map<string, NumberedLine>
  readonly effects: Map<string, Effect>
}

export interface HeldLease {
  readonly token: string
  readonly workerId: string
  readonly ms: number
  until: number
}

export interface Attempt {
  readonly token: string
  readonly record: AttemptRecord
}

export interface NumberedLine extends LogRecord {
  readonly line: number
}

export interface Effect {
  /** The lease that began the effect. Only this lease sees it as new. */
  readonly token: string
  result: string | undefined
}

export interface Key {
  readonly jobId: string
  readonly payloadHash: string
  /** Set when the job has been removed. */
  expiresAt: number | undefined
}

/** The content of all tables as plain data, which `v8.serialize` can write. */
export type SavedTables = Pick<MemoryTables, 'rows' | 'keys' | 'queues' | 'policies' | 'records' | 'deltas'>

/** All rows, and the indexes that the operations use. Nothing here depends on the iteration order of a hash. */
export class MemoryTables {
  readonly rows: Map<string, Row>
  readonly keys: Map<string, Key>
  readonly queues: Map<string, QueueRecord>
  readonly policies: Map<string, string>
  readonly records: Map<string, StoredRecord>
  /** Oldest first, stored as JSON text so that they can't be modified. */
  readonly deltas: string[]
  readonly running = new Set<Row>()
  /** The lines of a queue, by priority. */
  readonly #lines = new Map<string, Line[]>()
  changes = 0
  /** Waiting jobs with a deadline. */
  deadlines = 0
  /** Live jobs by the scope of their `unique` value, newest first. Only modes allow more than one. */
  readonly #unique = new Map<string, readonly Row[]>()
  /** Live jobs by schedule. */
  readonly #occurrences = new Map<string, number>()
  #seq = 0

  /** With the content of other tables, which then belongs to these. */
  constructor(saved?: SavedTables) {
    this.rows = saved?.rows ?? new Map()
    this.keys = saved?.keys ?? new Map()
    this.queues = saved?.queues ?? new Map()
    this.policies = saved?.policies ?? new Map()
    this.records = saved?.records ?? new Map()
    this.deltas = saved?.deltas ?? []
    for (const row of this.rows.values()) {
      this.#seq = Math.max(this.#seq, row.seq)
      this.#enter(row)
    }
  }

  save(): SavedTables {
    const { rows, keys, queues, policies, records, deltas } = this
    return { rows, keys, queues, policies, records, deltas }
  }

  add(job: Job): void {
    this.#seq += 1
    const row: Row = {
      seq: this.#seq,
      job,
      lease: undefined,
      attempts: [],
      logs: new Map(),
      effects: new Map(),
    }
    this.rows.set(job.id, row)
    this.#enter(row)
  }

  /** Every change of a job goes through this method. A job has a lease only while it runs. */
  change(row: Row, job: Job, lease?: HeldLease): void {
    this.#leave(row)
    row.job = job
    row.lease = lease
    this.#enter(row)
  }

  delete(row: Row, keyExpiresAt: number): void {
    this.#leave(row)
    this.rows.delete(row.job.id)
    const key = row.job.key === undefined ? undefined : this.keys.get(keyOf(row.job, row.job.key))
    if (key?.jobId === row.job.id) key.expiresAt = keyExpiresAt
  }

  /** Returns the row if the token holds its lease. Every write of a worker checks this fence. */
  held(lease: { readonly id: string; readonly token: string }): (Row & { lease: HeldLease }) | undefined {
    const row = this.rows.get(lease.id)
    return row?.lease?.token === lease.token ? (row as Row & { lease: HeldLease }) : undefined
  }

  /** Waiting jobs of one queue and priority, by due time. */
  line(queue: string, priority: number): Line {
    const lines = this.#lines.get(queue) ?? Array.from({ length: PRIORITY_MAX + 1 }, () => new Line())
    this.#lines.set(queue, lines)
    return lines[priority]!
  }

  /** The waiting or running job with this `unique` value; the newest one of several. */
  liveUnique(job: Pick<Job, 'tenantId' | 'name'>, unique: string): Row | undefined {
    return this.liveUniques(job, unique)[0]
  }

  liveUniques(job: Pick<Job, 'tenantId' | 'name'>, unique: string): readonly Row[] {
    return this.#unique.get(keyOf(job, unique)) ?? []
  }

  /** The number of waiting or running jobs of a schedule. */
  occurrences(scheduleId: string): number {
    return this.#occurrences.get(scheduleId) ?? 0
  }

  #enter(row: Row): void {
    const { job } = row
    this.changes++
    if (job.state === 'waiting') this.line(job.queue, job.priority).add(row)
    if (job.state === 'waiting' && job.deadline !== undefined) this.deadlines++
    if (job.state === 'running') this.running.add(row)
    this.#hold(row, [row])
    this.#count(job, 1)
  }

  #leave(row: Row): void {
    const { job } = row
    this.changes++
    if (job.state === 'waiting') this.line(job.queue, job.priority).remove(row)
    if (job.state === 'waiting' && job.deadline !== undefined) this.deadlines--
    if (job.state === 'running') this.running.delete(row)
    this.#hold(row, [])
    this.#count(job, -1)
  }

  #hold(row: Row, held: readonly Row[]): void {
    const { job } = row
    if (job.unique === undefined || !isLive(job)) return
    const rows = [...this.liveUniques(job, job.unique).filter(other => other !== row), ...held]
    if (rows.length === 0) this.#unique.delete(keyOf(job, job.unique))
    else
      this.#unique.set(
        keyOf(job, job.unique),
        rows.sort((a, b) => b.seq - a.seq),
      )
  }

  #count(job: Job, change: number): void {
    if (job.scheduleId === undefined || !isLive(job)) return
    this.#occurrences.set(job.scheduleId, this.occurrences(job.scheduleId) + change)
  }
}

/** Rows by due time; rows with the same time are in the order in which they were enqueued. */
export class Line {
  #rows: Row[] = []
  /** Rows nearly always leave at the front: they are skipped first and removed in bulk later. */
  #front = 0

  add(row: Row): void {
    const last = this.#rows.at(-1)
    if (!last || byDueTime(last, row) < 0) this.#rows.push(row)
    else this.#rows.splice(this.#place(row.job.runAt, row.seq), 0, row)
  }

  remove(row: Row): void {
    const place = this.#place(row.job.runAt, row.seq)
    if (place > this.#front) this.#rows.splice(place, 1)
    else this.#front += 1
    if (this.#front * 2 <= this.#rows.length) return
    this.#rows = this.#rows.slice(this.#front)
    this.#front = 0
  }

  /** All rows, the earliest due time first. */
  rows(): readonly Row[] {
    return this.#rows.slice(this.#front)
  }

  /** The rows that may run now. A row whose deadline has passed is never due. */
  due(now: number, limit: number): Row[] {
    const due: Row[] = []
    for (let place = this.#front; place < this.#rows.length && due.length < limit; place++) {
      const row = this.#rows[place]!
      if (row.job.runAt > now) break
      if (row.job.deadline === undefined || row.job.deadline > now) due.push(row)
    }
    return due
  }

  /** The due time of the first job after `now`. */
  nextAfter(now: number): number | undefined {
    return this.#rows[this.#place(now, Number.POSITIVE_INFINITY)]?.job.runAt
  }

  #place(runAt: number, seq: number): number {
    let low = this.#front
    let high = this.#rows.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const row = this.#rows[middle]!
      const before = row.job.runAt < runAt || (row.job.runAt === runAt && row.seq < seq)
      if (before) low = middle + 1
      else high = middle
    }
    return low
  }
}

export function byDueTime(a: Row, b: Row): number {
  return a.job.runAt - b.job.runAt || a.seq - b.seq
}
