import { type Job, PRIORITY_MAX } from '../../core/job/job.js'
import { partitionOf } from '../../core/partition/limits.js'
import type { PartitionNote, TurnState } from '../../core/partition/turn.js'
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
export type SavedTables = Pick<
  MemoryTables,
  'rows' | 'keys' | 'queues' | 'policies' | 'records' | 'deltas' | 'partitions' | 'notes'
>

/** All rows, and the indexes that the operations use. Nothing here depends on the iteration order of a hash. */
export class MemoryTables {
  readonly rows: Map<string, Row>
  readonly keys: Map<string, Key>
  readonly queues: Map<string, QueueRecord>
  readonly policies: Map<string, string>
  readonly records: Map<string, StoredRecord>
  /** Oldest first, stored as JSON text so that they can't be modified. */
  readonly deltas: string[]
  /** The states of partitions, by queue and name. */
  readonly partitions: Map<string, Map<string, TurnState>>
  /** What happened in partitions since a claim looked at them, by queue. */
  readonly notes: Map<string, PartitionNote[]>
  readonly running = new Set<Row>()
  readonly #lanes = new Map<string, Map<string, Lane>>()
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
    this.partitions = saved?.partitions ?? new Map()
    this.notes = saved?.notes ?? new Map()
    for (const row of this.rows.values()) {
      this.#seq = Math.max(this.#seq, row.seq)
      this.#enter(row)
    }
  }

  save(): SavedTables {
    const { rows, keys, queues, policies, records, deltas, partitions, notes } = this
    return { rows, keys, queues, policies, records, deltas, partitions, notes }
  }

  add(job: Job): void {
    this.#seq += 1
    const row: Row = {
      seq: this.#seq,
      job: this.#sorted(job),
      lease: undefined,
      attempts: [],
      logs: new Map(),
      effects: new Map(),
    }
    this.rows.set(job.id, row)
    this.#enter(row)
    this.#noteChange(row.job)
  }

  /** Every change of a job goes through this method. A job has a lease only while it runs. */
  change(row: Row, job: Job, lease?: HeldLease): void {
    const before = row.job
    this.#leave(row)
    row.job = this.#sorted(job)
    row.lease = lease
    this.#enter(row)
    // A claim knows its own changes.
    if (row.job.state === 'running') return
    this.#noteChange(before)
    if (row.job.lane !== before.lane || row.job.queue !== before.queue) this.#noteChange(row.job)
  }

  /** Adds a note, which the next claim of the queue applies. */
  note(note: PartitionNote): void {
    const notes = this.notes.get(note.queue)
    if (notes) notes.push(note)
    else this.notes.set(note.queue, [note])
  }

  /** The waiting jobs of a queue with limits are in the lanes of their partitions. */
  #sorted(job: Job): Job {
    const isSorted = job.state !== 'waiting' || job.lane !== undefined || !this.queues.get(job.queue)?.limits
    return isSorted ? job : { ...job, lane: partitionOf(job) }
  }

  #noteChange({ queue, lane }: Job): void {
    if (lane !== undefined) this.note({ queue, partition: lane, at: 0 })
  }

  delete(row: Row, keyExpiresAt: number): void {
    this.#leave(row)
    this.#noteChange(row.job)
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

  /** The waiting, running and dead jobs of one partition of a queue. */
  lane(queue: string, name: string): Lane {
    const lanes = this.#lanes.get(queue) ?? new Map<string, Lane>()
    const lane = lanes.get(name) ?? new Lane()
    this.#lanes.set(queue, lanes.set(name, lane))
    return lane
  }

  /** The names of the partitions of a queue with waiting, running or dead jobs. */
  laneNames(queue: string): readonly string[] {
    return [...(this.#lanes.get(queue)?.keys() ?? [])]
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
    if (job.lane !== undefined && job.state !== 'succeeded') this.lane(job.queue, job.lane).add(row)
    this.#hold(row, [row])
    this.#count(job, 1)
  }

  #leave(row: Row): void {
    const { job } = row
    this.changes++
    if (job.state === 'waiting') this.line(job.queue, job.priority).remove(row)
    if (job.state === 'waiting' && job.deadline !== undefined) this.deadlines--
    if (job.state === 'running') this.running.delete(row)
    if (job.lane !== undefined && job.state !== 'succeeded') this.#leaveLane(row, job.lane)
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

  #leaveLane(row: Row, name: string): void {
    const lane = this.lane(row.job.queue, name)
    lane.remove(row)
    if (lane.isEmpty) this.#lanes.get(row.job.queue)!.delete(name)
  }

  #count(job: Job, change: number): void {
    if (job.scheduleId === undefined || !isLive(job)) return
    this.#occurrences.set(job.scheduleId, this.occurrences(job.scheduleId) + change)
  }
}

/** The jobs of one partition. */
export class Lane {
  readonly lines = Array.from({ length: PRIORITY_MAX + 1 }, () => new Line())
  /** The waiting jobs in the order in which they were enqueued. */
  readonly order = new Line(() => 0)
  readonly running = new Set<Row>()
  readonly dead = new Set<Row>()

  add(row: Row): void {
    const { state, priority } = row.job
    if (state === 'running') this.running.add(row)
    else if (state === 'dead') this.dead.add(row)
    else if (state === 'waiting') {
      this.lines[priority]!.add(row)
      this.order.add(row)
    }
  }

  remove(row: Row): void {
    this.running.delete(row)
    this.dead.delete(row)
    if (row.job.state !== 'waiting') return
    this.lines[row.job.priority]!.remove(row)
    this.order.remove(row)
  }

  get isEmpty(): boolean {
    return this.running.size === 0 && this.dead.size === 0 && this.order.rows().length === 0
  }
}

/** Rows by due time, or another time; rows with the same time are in the order in which they were enqueued. */
export class Line {
  readonly #timeOf: (row: Row) => number
  #rows: Row[] = []
  /** Rows nearly always leave at the front: they are skipped first and removed in bulk later. */
  #front = 0

  constructor(timeOf: (row: Row) => number = ({ job }) => job.runAt) {
    this.#timeOf = timeOf
  }

  add(row: Row): void {
    const place = this.#place(this.#timeOf(row), row.seq)
    if (place === this.#rows.length) this.#rows.push(row)
    else this.#rows.splice(place, 0, row)
  }

  remove(row: Row): void {
    const place = this.#place(this.#timeOf(row), row.seq)
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
      const time = this.#timeOf(row)
      const before = time < runAt || (time === runAt && row.seq < seq)
      if (before) low = middle + 1
      else high = middle
    }
    return low
  }
}

export function byDueTime(a: Row, b: Row): number {
  return a.job.runAt - b.job.runAt || a.seq - b.seq
}
