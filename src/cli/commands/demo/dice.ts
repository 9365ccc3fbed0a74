import { AsyncLocalStorage } from 'node:async_hooks'
import type { Dice } from '../../../core/values/clock.js'
import { systemDice } from '../../../engine/time/system.js'
import { seededDice } from '../../../engine/time/virtual.js'

/**
 * Jitter that depends on the seed, the job and which of its retries it is, and on nothing else.
 *
 * One stream of numbers for all jobs would hand them out in the order in which jobs happen to fail, and that order is
 * up to the machine. So each job has a stream of its own, and a run carries its job's name along (`drawFor`) to where
 * its end is decided. What is decided outside any run, by the sweeper, concerns the one job that loses its workers.
 */
export class DemoDice implements Dice {
  readonly #seed: number
  readonly #streams = new Map<string, Dice>()
  readonly #job = new AsyncLocalStorage<string>()

  constructor(seed: number) {
    this.#seed = seed
  }

  /** Everything that follows from here on, over all awaits, draws for this job. */
  drawFor(job: string): void {
    this.#job.enterWith(job)
  }

  readonly random = (): number => this.#streamOf(this.#job.getStore() ?? '').random()

  // Two demos with one seed are two sets of jobs.
  readonly token = systemDice.token
  readonly id = systemDice.id

  #streamOf(job: string): Dice {
    const stream = this.#streams.get(job) ?? seededDice(hash(job, this.#seed))
    this.#streams.set(job, stream)
    return stream
  }
}

/** FNV-1a. */
function hash(text: string, seed: number): number {
  let value = 0x811c9dc5 ^ seed
  for (const char of text) value = Math.imul(value ^ char.charCodeAt(0), 0x01000193)
  return value >>> 0
}
