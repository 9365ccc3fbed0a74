import type { Bounds, Limit } from '../partition/limits.js'
import { allowedAt, type PaceState, spend, startCost } from '../partition/pace.js'
import { DueJobs } from './due-heap.js'

/** The limits that the simulated jobs share. Times in milliseconds. */
export interface StormLimits {
  /** How long each attempt holds its slot. */
  readonly takesMs: number
  readonly queue: Bounds
  /** Each partition has these. The jobs are spread evenly over the partitions. */
  readonly partition: Bounds
  readonly partitions: number
  /** As they were given. */
  readonly given: GivenLimits
}

export interface GivenLimits {
  readonly takesMs?: number
  readonly limit?: StartLimit
  readonly partitions?: StartLimit & { readonly count: number }
}

type StartLimit = Pick<Limit, 'concurrency' | 'rate' | 'burst'>

const NONE = -1

/**
 * Due jobs that wait for limits, and the order in which claims start them: partitions take turns, each with its own
 * jobs one after another. Times must not decrease.
 */
export class WaitingLine {
  readonly #limits: StormLimits
  readonly #cost = startCost()
  #queueState: PaceState = {}
  readonly #states: PaceState[]
  readonly #running: Uint32Array
  #allRunning = 0
  /** The waiting jobs of each partition as a linked list. */
  readonly #first: Int32Array
  readonly #last: Int32Array
  readonly #next: Int32Array
  #size = 0
  /** Partitions whose first job may start now, in turn. */
  readonly #turns = new Line()
  /** Partitions whose rate allows the next start later. */
  readonly #closed: DueJobs
  /** The partitions of the runs that have not ended. All attempts take the same time, so they end in order. */
  readonly #ends = new Line()
  readonly #endTimes = new Line()

  constructor(limits: StormLimits, jobs: number) {
    const { partitions } = limits
    this.#limits = limits
    this.#states = Array.from({ length: partitions }, () => ({}))
    this.#running = new Uint32Array(partitions)
    this.#first = new Int32Array(partitions).fill(NONE)
    this.#last = new Int32Array(partitions)
    this.#next = new Int32Array(jobs).fill(NONE)
    this.#closed = new DueJobs(partitions)
  }

  /** How many jobs wait. */
  get size(): number {
    return this.#size
  }

  /** When `take` may have a job, or may find a slot that has become free; Infinity if no job waits. */
  get nextMs(): number {
    if (this.#size === 0) return Number.POSITIVE_INFINITY
    const { queue } = this.#limits
    const isFree = this.#turns.size > 0 && this.#allRunning < queue.concurrency
    return Math.min(
      this.#endTimes.first ?? Number.POSITIVE_INFINITY,
      this.#closed.size > 0 ? this.#closed.nextMs : Number.POSITIVE_INFINITY,
      isFree ? allowedAt(queue, this.#queueState, this.#cost, 0) : Number.POSITIVE_INFINITY,
    )
  }

  /** The job has become due. */
  put(job: number, atMs: number): void {
    const partition = job % this.#limits.partitions
    const isAlone = this.#first[partition] === NONE
    if (isAlone) this.#first[partition] = job
    else this.#next[this.#last[partition]!] = job
    this.#last[partition] = job
    this.#size++
    if (isAlone) this.#lineUp(partition, atMs)
  }

  /** Starts the job whose turn it is, if the limits allow it. */
  take(atMs: number): number | undefined {
    this.#catchUp(atMs)
    const { queue, partition: bounds, takesMs } = this.#limits
    if (this.#turns.size === 0 || this.#allRunning >= queue.concurrency) return undefined
    if (allowedAt(queue, this.#queueState, this.#cost, atMs) > atMs) return undefined
    const partition = this.#turns.take()
    const job = this.#first[partition]!
    this.#first[partition] = this.#next[job]!
    this.#next[job] = NONE
    this.#size--
    this.#queueState = spend(queue, this.#queueState, this.#cost, atMs)
    this.#states[partition] = spend(bounds, this.#states[partition]!, this.#cost, atMs)
    this.#running[partition]!++
    this.#allRunning++
    this.#ends.put(partition)
    this.#endTimes.put(atMs + takesMs)
    if (this.#first[partition] !== NONE) this.#lineUp(partition, atMs)
    return job
  }

  /** Frees the slots of the runs that have ended, and opens partitions whose time has come. */
  #catchUp(atMs: number): void {
    while (this.#ends.size > 0 && this.#endTimes.first! <= atMs) {
      this.#endTimes.take()
      const partition = this.#ends.take()
      const wasFull = this.#running[partition]!-- >= this.#limits.partition.concurrency
      this.#allRunning--
      if (wasFull && this.#first[partition] !== NONE) this.#lineUp(partition, atMs)
    }
    while (this.#closed.size > 0 && this.#closed.nextMs <= atMs) this.#turns.put(this.#closed.take())
  }

  /** A partition with waiting jobs is in one place: among the turns, closed for a time, or full until a run ends. */
  #lineUp(partition: number, atMs: number): void {
    const { partition: bounds } = this.#limits
    if (this.#running[partition]! >= bounds.concurrency) return
    const openAt = allowedAt(bounds, this.#states[partition]!, this.#cost, atMs)
    if (openAt > atMs) this.#closed.put(partition, openAt)
    else this.#turns.put(partition)
  }
}

/** First in, first out. */
class Line {
  #values: number[] = []
  #taken = 0

  get size(): number {
    return this.#values.length - this.#taken
  }

  get first(): number | undefined {
    return this.#values[this.#taken]
  }

  put(value: number): void {
    this.#values.push(value)
  }

  /** There must be one. */
  take(): number {
    const value = this.#values[this.#taken++]!
    if (this.#taken > 1_000 && this.#taken * 2 > this.#values.length) {
      this.#values = this.#values.slice(this.#taken)
      this.#taken = 0
    }
    return value
  }
}
