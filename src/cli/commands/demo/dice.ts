import { AsyncLocalStorage } from 'node:async_hooks'
import type { Dice } from '../../../core/values/clock.js'
import { systemDice } from '../../../engine/time/system.js'
import { seededDice } from '../../../engine/time/virtual.js'

/**
 * Jitter that depends only on the seed, the job and the number of the retry.
 *
 * With one stream of random numbers for all jobs, the numbers would depend on the order in which jobs fail, which
 * differs between machines. So each job has its own stream, and a run carries its job's name (`drawFor`) to the place
 * where its outcome is decided. Outside of runs the sweeper decides, and only about the one job that loses its workers.
 */
export class DemoDice implements Dice {
  readonly #seed: number
  readonly #streams = new Map<string, Dice>()
  readonly #job = new AsyncLocalStorage<string>()

  constructor(seed: number) {
    this.#seed = seed
  }

  /** All code that runs after this call, across awaits, draws from the stream of this job. */
  drawFor(job: string): void {
    this.#job.enterWith(job)
  }

  /** While the storage is in use, Node tracks every promise of the process. */
  end(): void {
    this.#job.disable()
  }

  readonly random = (): number => this.#streamOf(this.#job.getStore() ?? '').random()

  // Ids must differ even if the seed is the same.
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
