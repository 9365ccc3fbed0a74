import { toStoredError } from '../../core/failure/outcome.js'
import type { Job, JobFacts, StoredError } from '../../core/job/job.js'
import { decide, type Transition } from '../../core/job/lifecycle.js'
import type { Policy } from '../../core/policy/policy.js'
import { ChronosError } from '../../core/values/error.js'
import type { ExpiredJob, Settled, Settlement, Store } from '../../store/store.js'
import type { JobDefinition } from '../client/definition.js'
import type { Environment } from '../client/environment.js'
import { announce } from '../worker/announce.js'
import { eventJob, runOf } from '../worker/attempt.js'
import { type Found, reconcile } from '../worker/reconcile.js'
import { groupOf } from '../worker/settlement.js'

const WORKERS_PER_STEP = 20
const DEADLINES_PER_STEP = 500
/** Hooks of users at the same time. */
const ASKING_MAX = 10

export interface SweeperOptions {
  readonly env: Environment
  readonly leaseMs: number
  readonly everyMaxMs: number
  readonly onHandedOn: () => void
  readonly definitionOf: (name: string) => JobDefinition | undefined
}

/** A job taken from a worker that seems dead, and its policy. */
interface Taken {
  readonly job: ExpiredJob
  readonly policy: Policy
}

/** Hands on what dead workers held, by the same rules as any end of a run, and ends jobs past their deadline. */
export class Sweeper {
  readonly #env: Environment
  readonly #leaseMs: number
  readonly #everyMs: number
  readonly #onHandedOn: () => void
  readonly #definitionOf: SweeperOptions['definitionOf']
  /** Whose `reconcile` has not answered yet, by job and run. */
  readonly #asking = new Map<string, { readonly stop: AbortController; readonly done: Promise<void> }>()
  /** How many waited at the last look until there was somebody free to ask about them. */
  #unasked = 0
  #stopped = false
  /** Since when every look at the store was answered. */
  #contactSince: number | undefined
  #lastLookAt = 0

  constructor({ env, leaseMs, everyMaxMs, onHandedOn, definitionOf }: SweeperOptions) {
    this.#env = env
    this.#leaseMs = leaseMs
    this.#everyMs = Math.min(everyMaxMs, leaseMs / 3)
    this.#onHandedOn = onHandedOn
    this.#definitionOf = definitionOf
  }

  /** What was being asked about is left to the next sweep, here or elsewhere. */
  async stop(): Promise<void> {
    this.#stopped = true
    const asking = [...this.#asking.values()]
    for (const { stop } of asking) stop.abort(new ChronosError('STOPPED', 'the process stops'))
    await Promise.all(asking.map(({ done }) => done))
  }

  /** A step of a loop: says when to come back. */
  async step(): Promise<number> {
    const { connection, clock, outbox } = this.#env
    const now = clock.now()
    // A process that was stopped for a while knows as little as one that had no store.
    if (now - this.#lastLookAt > this.#leaseMs) this.#contactSince = undefined
    try {
      const store = connection.opened ?? (await connection.store())
      const swept = await this.#sweep(store)
      await outbox.ready()
      const overdue = await store.expireDeadlines(DEADLINES_PER_STEP, job => outbox.following(job))
      if (overdue.length > 0) outbox.wake()
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
    // Those that wait for an answer must not stand in the way of others.
    const workers = WORKERS_PER_STEP + this.#asking.size + this.#unasked
    const { now, jobs } = await store.expired({ workers })
    this.#env.time.observe(now, sentAt)
    this.#unasked = 0
    if (jobs.length === 0 || !this.#mayTake()) return 0
    const policies = await Promise.all(jobs.map(job => this.#env.policies.of(job)))
    const taken = jobs.map((job, index): Taken => ({ job, policy: policies[index]! }))
    const certain = taken.filter(one => !this.#mustAsk(one, now))
    await this.#settle(store, certain, now)
    return new Set(certain.map(({ job }) => job.workerId)).size
  }

  async #settle(store: Store, taken: readonly Taken[], now: number, found?: Found): Promise<void> {
    if (taken.length === 0) return
    const { outbox } = this.#env
    await outbox.ready()
    const settlements = taken.map(one => outbox.attach(this.#lost(one, now, found), one.job))
    const settled = await store.settle(settlements)
    outbox.wake()
    for (const [index, one] of taken.entries()) this.#announce(one, settlements[index]!, settled[index]!)
    if (settled.some(one => one.status === 'settled' && one.state === 'waiting')) this.#onHandedOn()
  }

  /** Nobody saw how it ended, and this process has its definition, which knows whom to ask: that comes first. */
  #mustAsk({ job, policy }: Taken, now: number): boolean {
    const key = `${job.id} ${job.run}`
    if (this.#asking.has(key)) return true
    const definition = this.#definitionOf(job.name)
    if (!definition?.reconcile || this.#decide({ job, policy }, now).reason !== 'unknown-outcome') return false
    if (this.#asking.size >= ASKING_MAX) this.#unasked++
    else if (!this.#stopped) {
      const stop = new AbortController()
      const done = this.#ask({ job, policy }, definition, stop).finally(() => this.#asking.delete(key))
      this.#asking.set(key, { stop, done })
    }
    return true
  }

  /** Its lease stays run out meanwhile: a worker that wakes up, or another sweeper, may be faster, and is then right. */
  async #ask(taken: Taken, definition: JobDefinition, stop: AbortController): Promise<void> {
    const { connection, time, log } = this.#env
    const { job } = taken
    const startedAt = new Date(job.startedAt ?? job.createdAt)
    const found = await reconcile(this.#env, definition, job, { startedAt, status: 'lost', error: vanished(job) }, stop)
    if (this.#stopped) return
    try {
      await this.#settle(await connection.store(), [taken], time.now(), found)
    } catch (error) {
      log.warn(
        { event: 'reconcile.failed', jobId: job.id, err: error },
        'an answer was not stored; it is asked for again',
      )
    }
  }

  #decide({ job, policy }: Taken, now: number, found?: Found): Transition {
    const facts: JobFacts = { ...job, policy }
    return decide(facts, { kind: 'lost', alone: job.alone }, now, this.#env.dice.random, found?.found)
  }

  #lost(taken: Taken, now: number, found: Found | undefined): Settlement {
    const { job } = taken
    const { id, token } = job
    const { note, result } = found ?? {}
    const transition = this.#decide(taken, now, found)
    const error = vanished(job)
    const group = groupOf(job, error, transition.decision.kind, this.#definitionOf(job.name))
    return {
      lease: { id, token },
      ...runOf(job),
      startedAt: job.startedAt ?? now,
      finishedAt: now,
      end: {
        kind: 'ended',
        transition,
        ...(found?.found !== 'done' && { error, group }),
        ...(note !== undefined && { note }),
        ...(result !== undefined && { result }),
      },
      onlyIfExpired: true,
    }
  }

  #announce({ job, policy }: Taken, { end, startedAt, finishedAt }: Settlement, settled: Settled): void {
    if (settled.status !== 'settled' || end.kind !== 'ended') return
    const { transition, error, result } = end
    const { telemetry } = this.#env
    telemetry.meter?.leaseLost(job, 'sweeper')
    telemetry.ended({ claimed: job, startedAt }, transition, settled, finishedAt)
    const more = { ...(error && { error }), ...(result !== undefined && { result }) }
    announce(this.#env, { claimed: job, policy, transition, settled, startedAt, finishedAt, ...more })
  }

  async #announceOverdue(job: Job): Promise<void> {
    const { log, events, policies, telemetry } = this.#env
    telemetry.meter?.finished(job, { result: 'dead', reason: 'expired' })
    const { id: jobId, name, queue, tenantId, attempt } = job
    const why = 'its deadline passed before it could start'
    log.error({ event: 'job.dead', jobId, tenantId, name, queue, attempt, reason: 'expired', why }, 'job died')
    if (!events.hears('job.dead')) return
    events.emit('job.dead', { job: eventJob(job, await policies.of(job)), reason: 'expired' })
  }
}

function vanished({ workerId }: ExpiredJob): StoredError {
  return { ...toStoredError(new ChronosError('LEASE_LOST', `its worker ${workerId} vanished`)), name: 'WorkerLost' }
}
