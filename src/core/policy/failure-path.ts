import { SeededStreams } from '../simulation/seed.js'
import { toMs } from '../values/duration.js'
import { capMs, delayWindow } from './backoff.js'
import { type DelayWindow, pick } from './jitter.js'
import type { Policy } from './policy.js'

/**
 * The retries of jobs under a policy when every run fails, with the windows and draws of the engine and nothing
 * else; a test compares it with `decide`, step by step. Every job has its own random stream, so its path does not
 * depend on other jobs.
 */
export class Course {
  readonly #policy: Policy
  readonly #maxElapsedMs: number
  readonly #streams: SeededStreams
  /** Windows by retry number. Only decorrelated jitter of an exponential backoff has windows per job. */
  readonly #windows: (DelayWindow | null)[] = []
  readonly #previousMs: Float64Array | undefined
  #isDrawn = false

  constructor(policy: Policy, jobs: number, seed: number) {
    const { maxElapsed, jitter, backoff } = policy
    this.#policy = policy
    this.#maxElapsedMs = maxElapsed === undefined ? Number.POSITIVE_INFINITY : toMs(maxElapsed, 'maxElapsed')
    this.#streams = new SeededStreams(jobs, job => Math.imul(seed ^ Math.imul(job + 1, 0x9e3779b1), 0x85ebca6b))
    if (jitter !== 'decorrelated' || backoff.type !== 'exponential') return
    this.#previousMs = new Float64Array(jobs)
    // A window per job and run: reading the durations each time would take most of the time.
    this.#policy = { ...policy, cap: capMs(policy), backoff: { ...backoff, base: toMs(backoff.base, 'backoff.base') } }
  }

  /** False if nothing was random: then every job has the same path. */
  get isDrawn(): boolean {
    return this.#isDrawn
  }

  /** When retry n starts after the previous run failed at `atMs`; null if that was the last run. */
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
