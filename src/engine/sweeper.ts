import { ChronosError } from '../core/error.js'
import type { Job, JobFacts } from '../core/job.js'
import { decide } from '../core/lifecycle.js'
import { toStoredError } from '../core/outcome.js'
import type { Policy } from '../core/policy.js'
import type { ExpiredJob, Settlement, Store } from '../store/store.js'
import { announce } from './announce.js'
import { eventJob } from './attempt.js'
import type { Environment } from './environment.js'

const WORKERS_PER_STEP = 20
const DEADLINES_PER_STEP = 500

/** Hands on what dead workers held, by the same rules as any end of a run, and ends jobs past their deadline. */
export class Sweeper {
  readonly #env: Environment
  readonly #leaseMs: number
  readonly #everyMs: number
  readonly #onHandedOn: () => void
  /** Since when every look at the store was answered. */
  #contactSince: number | undefined
  #lastLookAt = 0

  constructor(env: Environment, leaseMs: number, everyMaxMs: number, onHandedOn: () => void) {
    this.#env = env
    this.#leaseMs = leaseMs
    this.#everyMs = Math.min(everyMaxMs, leaseMs / 3)
    this.#onHandedOn = onHandedOn
  }

  /** A step of a loop: says when to come back. */
  async step(): Promise<number> {
    const { connection, clock } = this.#env
    const now = clock.now()
    // A process that was stopped for a while knows as little as one that had no store.
    if (now - this.#lastLookAt > this.#leaseMs) this.#contactSince = undefined
    try {
      const store = connection.opened ?? (await connection.store())
      const swept = await this.#sweep(store)
      const overdue = await store.expireDeadlines(DEADLINES_PER_STEP)
      for (const job of overdue) await this.#announceOverdue(job)
      this.#contactSince ??= now
      return swept >= WORKERS_PER_STEP || overdue.length === DEADLINES_PER_STEP ? 0 : this.#everyMs
    } catch (error) {
      this.#contactSince = undefined
      throw error
    } finally {
      this.#lastLookAt = clock.now()
    }
  }

  /**
   * After an outage every lease has run out and every worker looks dead. They get one lease time of the store's
   * company to extend theirs before anything is taken from them.
   */
  #mayTake(): boolean {
    return this.#contactSince !== undefined && this.#env.clock.now() - this.#contactSince >= this.#leaseMs
  }

  async #sweep(store: Store): Promise<number> {
    const sentAt = this.#env.clock.now()
    const { now, jobs } = await store.expired({ workers: WORKERS_PER_STEP })
    this.#env.time.observe(now, sentAt)
    if (jobs.length === 0 || !this.#mayTake()) return 0
    const policies = await Promise.all(jobs.map(job => this.#env.policies.of(job)))
    const settlements = jobs.map((job, index) => this.#lost(job, policies[index]!, now))
    const settled = await store.settle(settlements)
    for (const [index, job] of jobs.entries())
      this.#announce(job, policies[index]!, settlements[index]!, settled[index]!)
    if (settled.some(one => one.status === 'settled' && one.state === 'waiting')) this.#onHandedOn()
    return new Set(jobs.map(job => job.workerId)).size
  }

  #lost(job: ExpiredJob, policy: Policy, now: number): Settlement {
    const facts: JobFacts = { ...job, policy }
    const transition = decide(facts, { kind: 'lost', alone: job.alone }, now, this.#env.dice.random)
    const error = new ChronosError('LEASE_LOST', `its worker ${job.workerId} vanished`)
    const { id, token, generation, run, attempt, workerId } = job
    return {
      lease: { id, token },
      generation,
      run,
      attempt,
      workerId,
      startedAt: job.startedAt ?? now,
      finishedAt: now,
      end: { kind: 'ended', transition, error: { ...toStoredError(error), name: 'WorkerLost' } },
      onlyIfExpired: true,
    }
  }

  #announce(
    job: ExpiredJob,
    policy: Policy,
    { end, startedAt, finishedAt }: Settlement,
    settled: Awaited<ReturnType<Store['settle']>>[number],
  ): void {
    if (settled.status !== 'settled' || end.kind !== 'ended') return
    const { transition, error } = end
    announce(this.#env, { claimed: job, policy, transition, settled, startedAt, finishedAt, ...(error && { error }) })
  }

  async #announceOverdue(job: Job): Promise<void> {
    const { log, events, policies } = this.#env
    const { id: jobId, name, queue, tenantId, attempt } = job
    const why = 'its deadline passed before it could start'
    log.error({ event: 'job.dead', jobId, tenantId, name, queue, attempt, reason: 'expired', why }, 'job died')
    if (!events.hears('job.dead')) return
    events.emit('job.dead', { job: eventJob(job, await policies.of(job)), reason: 'expired' })
  }
}
