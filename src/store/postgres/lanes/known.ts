import { partitionOf } from '../../../core/partition/limits.js'
import type { NewJob } from '../../store.js'

/** The most jobs that a partition gets in one turn. */
const DEPTH_MAX = 16
/** A claim looks at this many partitions, if it has room for as many jobs. */
const PLACES_MIN = 8

/** A queue with limits, or one that had limits and may still have jobs in lanes. */
export interface LanedQueue {
  readonly name: string
  readonly isLimited: boolean
}

/**
 * The queues with limits, as far as this process knows. Claims and enqueues refresh it with answers that they read
 * anyway. It only saves time: a job that is enqueued without its lane gets it from the next claim, and the claims of
 * other jobs read in their own statement which queues to leave out.
 */
export class KnownLanes {
  readonly #limited = new Set<string>()
  readonly #laned = new Set<string>()
  readonly #depths = new Map<string, number>()

  /** Replaces what is known about the queues `asked`. */
  learn(asked: Iterable<string>, found: readonly LanedQueue[]): void {
    for (const name of asked) {
      this.#laned.delete(name)
      this.#limited.delete(name)
    }
    for (const { name, isLimited } of found) {
      this.#laned.add(name)
      if (isLimited) this.#limited.add(name)
    }
  }

  /** Those of these queues whose jobs may wait in lanes. */
  among(queues: readonly string[]): string[] {
    return this.#laned.size === 0 ? [] : [...new Set(queues)].filter(name => this.#laned.has(name))
  }

  isLimited(queue: string): boolean {
    return this.#limited.has(queue)
  }

  /** The lanes of new jobs; undefined if none of them has one. */
  lanesOf(jobs: readonly NewJob[]): readonly (string | null)[] | undefined {
    if (this.#limited.size === 0 || !jobs.some(({ queue }) => this.#limited.has(queue))) return undefined
    return jobs.map(job => (this.#limited.has(job.queue) ? partitionOf(job) : null))
  }

  /** How many partitions a claim with room for `limit` jobs looks at. */
  placesOf(queue: string, limit: number): number {
    return Math.max(Math.ceil(limit / (this.#depths.get(queue) ?? 1)), Math.min(limit, PLACES_MIN))
  }

  /**
   * Locking a partition costs about as much as starting a job. If the partitions of a queue have many jobs, a claim looks
   * at fewer of them and takes more jobs of each; the next claims look at the others.
   */
  tookTurns(queue: string, isDeep: boolean, jobsPerPartition: number): void {
    const depth = this.#depths.get(queue) ?? 1
    const next = isDeep ? Math.min(DEPTH_MAX, depth + Math.max(1, depth / 4)) : Math.min(depth, jobsPerPartition)
    this.#depths.set(queue, Math.max(1, next))
  }
}
