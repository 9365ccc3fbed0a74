import { SeededStreams } from '../simulation/seed.js'
import { toMs } from '../values/duration.js'
import { delayWindow } from './backoff.js'
import { type DelayWindow, pick } from './jitter.js'
import type { Policy } from './policy.js'

/**
 * The course that jobs take under a policy when run after run fails: the windows and the draws of the engine itself, with
 * nothing around them; a test holds it against `decide`, step by step. Every job draws from a stream of its own, so its
 * course is the same whatever happens to the others.
 */
export class Course {
  readonly #policy: Policy
  readonly #maxElapsedMs: number
  readonly #streams: SeededStreams
  /** By retry. Only decorrelated jitter asks for more than its number: there each job has windows of its own. */
  readonly #windows: (DelayWindow | null)[] = []
  readonly #previousMs: Float64Array | undefined
  #isDrawn = false

  constructor(policy: Policy, jobs: number, seed: number) {
    const { maxElapsed, jitter } = policy
    this.#policy = policy
    this.#maxElapsedMs = maxElapsed === undefined ? Number.POSITIVE_INFINITY : toMs(maxElapsed, 'maxElapsed')
    this.#streams = new SeededStreams(jobs, job => Math.imul(seed ^ Math.imul(job + 1, 0x9e3779b1), 0x85ebca6b))
    if (jitter === 'decorrelated') this.#previousMs = new Float64Array(jobs)
  }

  /** False while nothing was left to chance: then every job takes the same course. */
  get isDrawn(): boolean {
    return this.#isDrawn
  }

  /** When retry n starts, after the run before it failed at `atMs`; null where that was the last. */
  next(job: number, retry: number, atMs: number, firstMs: number): number | null {
    if (retry > this.#policy.maxRetries) return null
    const window = this.#windowOf(job, retry)
    if (window === null) return null
    const delayMs = this.#draw(window, job)
    if (this.#previousMs !== undefined) this.#previousMs[job] = delayMs
    const nextMs = atMs + delayMs
    return nextMs > firstMs + this.#maxElapsedMs ? null : nextMs
  }

  #windowOf(job: number, retry: number): DelayWindow | null {
    if (this.#previousMs !== undefined) return delayWindow(this.#policy, retry, this.#previousMs[job])
    const known = this.#windows[retry]
    if (known !== undefined) return known
    const window = delayWindow(this.#policy, retry)
    this.#windows[retry] = window
    return window
  }

  #draw(window: DelayWindow, job: number): number {
    if (window.lo === window.hi) return window.lo
    this.#isDrawn = true
    return pick(window, this.#streams.draw(job))
  }
}
