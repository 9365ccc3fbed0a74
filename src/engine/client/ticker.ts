import { type Clock, wait } from '../../core/values/clock.js'
import { type Duration, formatMs, HOUR_MS, toMs } from '../../core/values/duration.js'
import { ChronosError } from '../../core/values/error.js'
import { checkKeys } from '../../core/values/limits.js'
import { present } from '../../core/values/present.js'
import type { Worker } from '../worker/worker.js'
import type { Chronos } from './chronos.js'
import type { JobDefinition } from './definition.js'
import type { WorkOptions } from './options.js'

export interface TickOptions extends Pick<WorkOptions, 'concurrency' | 'queues' | 'threads' | 'lease'> {
  /** How long one run may take, from 5s to 1h: a little less than the platform allows. */
  readonly within: Duration
  /** What a request must send as `Authorization: Bearer …`, at least 16 characters. */
  readonly secret?: string
}

/** What one run did. */
export interface TickReport {
  /** Runs of jobs, and how they ended. */
  readonly started: number
  readonly succeeded: number
  readonly failed: number
  readonly dead: number
  /** Jobs that were handed back because the time was over. They are due again at once. */
  readonly released: number
  readonly durationMs: number
}

const OPTIONS: readonly (keyof TickOptions)[] = ['within', 'secret', 'concurrency', 'queues', 'threads', 'lease']
const WITHIN_MIN_MS = 5_000
/** The share of the time in which jobs are claimed; the rest is for those that run. */
const CLAIMING = 0.8
/** A stop gives handlers a second to react to their signal, and then stores the outcomes. */
const STOPPING_MS = 1_500
const LEASE_MIN_MS = 1_000
const LEASE_MAX_MS = 30_000
/** Without a job for so long, a run is over before its time. Schedules have made their jobs by then. */
const IDLE_MS = 1_000
const LOOK_MS = 100

/**
 * Works for a limited time: for platforms that call a function now and then and end it. Everything that it does not
 * finish stays in the store for the next run.
 */
export class Ticker {
  readonly #chronos: Chronos
  readonly #jobs: readonly JobDefinition<never>[]
  readonly #clock: Clock
  readonly #withinMs: number
  readonly #graceMs: number
  readonly #leaseMs: number
  readonly #work: WorkOptions

  constructor(chronos: Chronos, jobs: readonly JobDefinition<never>[], options: TickOptions, clock: Clock) {
    checkKeys(options, OPTIONS, 'tick')
    const { within, secret: _, lease, ...work } = options
    this.#chronos = chronos
    this.#jobs = jobs
    this.#clock = clock
    this.#withinMs = toMs(within, 'tick: within', { min: WITHIN_MIN_MS, max: HOUR_MS })
    this.#graceMs = Math.max(0, this.#withinMs * (1 - CLAIMING) - STOPPING_MS)
    // A lost job is recovered after a lease, which must fit into a run.
    const leaseMs = Math.min(LEASE_MAX_MS, Math.max(LEASE_MIN_MS, this.#withinMs / 4))
    this.#leaseMs = lease === undefined ? leaseMs : toMs(lease, 'tick: lease')
    this.#work = { ...work, lease: this.#leaseMs, grace: this.#graceMs, signals: false }
    for (const job of jobs) this.#checkTimeout(job)
  }

  async run(): Promise<TickReport> {
    const startedAt = this.#clock.now()
    const claimUntil = startedAt + this.#claimingMs
    const until = new Date(claimUntil + this.#graceMs)
    const worker = this.#chronos.work(this.#jobs, { ...this.#work, until })
    await this.#untilIdle(worker, claimUntil)
    await worker.stop()
    const { started, succeeded, failed, timedOut, dead, released } = worker.getStats()
    const durationMs = this.#clock.now() - startedAt
    return { started, succeeded, failed: failed + timedOut, dead, released, durationMs }
  }

  get #claimingMs(): number {
    return Math.floor(this.#withinMs * CLAIMING)
  }

  /** Resolves when there has been nothing to do for a while, and at this time at the latest. */
  async #untilIdle(worker: Worker, until: number): Promise<void> {
    let idleSince: number | undefined
    while (this.#clock.now() < until) {
      await wait(this.#clock, Math.min(LOOK_MS, until - this.#clock.now()))
      const now = this.#clock.now()
      idleSince = worker.isIdle ? (idleSince ?? now) : undefined
      if (idleSince === undefined || now - idleSince < IDLE_MS) continue
      if (!(await this.#isLost())) return
      idleSince = undefined
    }
  }

  /** Whether the worker of a running job is gone: the sweeper of this run recovers it, one lease after it began. */
  async #isLost(): Promise<boolean> {
    const { data } = await this.#chronos.jobs.list(present({ state: 'running' as const }), { limit: 100 })
    const { now } = await this.#chronos.info()
    return data.some(({ lockedUntil }) => lockedUntil !== undefined && Date.parse(lockedUntil) < now)
  }

  /** A job that could never begin would wait for ever. */
  #checkTimeout({ name, timeoutMs }: JobDefinition<never>): void {
    const maxMs = this.#claimingMs + this.#graceMs
    if (timeoutMs <= maxMs) return
    throw new ChronosError(
      'INVALID_OPTION',
      `tick: job "${name}" has a timeout of ${formatMs(timeoutMs)}, so it can't begin within ${formatMs(this.#withinMs)}; ` +
        `give it a timeout of at most ${formatMs(maxMs)}`,
    )
  }
}
