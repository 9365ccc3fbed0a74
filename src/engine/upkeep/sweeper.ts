import { toStoredError } from '../../core/failure/outcome.js'
import { expire } from '../../core/job/changes.js'
import { eventJob } from '../../core/job/event.js'
import type { Job, StoredError } from '../../core/job/job.js'
import { neverBegan, type Outcome } from '../../core/job/lifecycle.js'
import type { Policy } from '../../core/policy/policy.js'
import { isInternal } from '../../core/queue/internal.js'
import { ChronosError } from '../../core/values/error.js'
import type { ExpiredJob, Store } from '../../store/store.js'
import type { JobDefinition } from '../client/definition.js'
import type { Environment } from '../client/environment.js'
import { factsOf } from '../client/job-facts.js'

import { decideEnd, type Ending } from '../worker/finish.js'
import { reconcile } from '../worker/reconcile.js'
import { isKnownPolicy } from '../worker/unknown.js'

const WORKERS_PER_STEP = 20
const DEADLINES_PER_STEP = 500
/** The number of `reconcile` calls at the same time. */
const ASKING_MAX = 10

export interface SweeperOptions {
  readonly env: Environment
  readonly leaseMs: number
  readonly everyMaxMs: number
  readonly onHandedOn: () => void
  readonly definitionOf: (name: string) => JobDefinition | undefined
}

/** A job whose worker seems dead, and its policy. */
interface Expired {
  readonly job: ExpiredJob
  readonly policy: Policy
}

/** Ends the runs of dead workers, by the same rules as any run, and jobs past their deadline. */
export class Sweeper {
  readonly #env: Environment
  readonly #leaseMs: number
  readonly #everyMs: number
  readonly #onHandedOn: () => void
  readonly #definitionOf: SweeperOptions['definitionOf']
  /** Jobs whose `reconcile` has not answered yet, by job and run. */
  readonly #asking = new Map<string, { readonly stop: AbortController; readonly done: Promise<void> }>()
  /** How many jobs waited for a free `reconcile` call at the last step. */
  #unasked = 0
  #stopped = false
  /** Since when every store call of the sweeper has been answered. */
  #contactSince: number | undefined
  #lastLookAt = 0

  constructor({ env, leaseMs, everyMaxMs, onHandedOn, definitionOf }: SweeperOptions) {
    this.#env = env
    this.#leaseMs = leaseMs
    this.#everyMs = Math.min(everyMaxMs, leaseMs / 3)
    this.#onHandedOn = onHandedOn
    this.#definitionOf = definitionOf
  }

  /** Runs whose `reconcile` is stopped are left to the next sweep, here or in another process. */
  async stop(): Promise<void> {
    this.#stopped = true
    const asking = [...this.#asking.values()]
    for (const { stop } of asking) stop.abort(new ChronosError('STOPPED', 'the process stops'))
    await Promise.all(asking.map(({ done }) => done))
  }

  /** Without a running job and a deadline there is nothing to end. Looking is contact with the store all the same. */
  idleMs(): number | undefined {
    const pulse = this.#env.connection.opened?.pulse?.()
    if (this.#contactSince === undefined || !pulse || pulse.runs || pulse.hasDeadlines) return undefined
    this.#lastLookAt = this.#env.clock.now()
    return this.#everyMs
  }

  /** A step of a loop: returns when to come back. */
  async step(): Promise<number> {
    const { connection, clock, outbox } = this.#env
    const now = clock.now()
    // A process that was suspended knows as little about the others as one that had no store.
    if (now - this.#lastLookAt > this.#leaseMs) this.#contactSince = undefined
    try {
      const store = connection.opened ?? (await connection.store())
      const [swept, found] = await Promise.all([this.#sweep(store), store.overdue(DEADLINES_PER_STEP)])
      await outbox.ready()
      // A job that has just been handed on may be past its deadline.
      const overdue = swept > 0 ? await store.overdue(DEADLINES_PER_STEP) : found
      if (overdue.length > 0) {
        const changed = await store.change(overdue, expire, job => outbox.following(job))
        outbox.wake()
        for (const one of changed) if (one.status === 'changed') await this.#announceOverdue(one.job)
      }
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
   * After an outage every lease has expired and every worker looks dead. They get one lease time with a reachable store
   * to renew their leases before any job is taken from them.
   */
  #mayTake(): boolean {
    return this.#contactSince !== undefined && this.#env.clock.now() - this.#contactSince >= this.#leaseMs
  }

  async #sweep(store: Store): Promise<number> {
    const sentAt = this.#env.clock.now()
    // Jobs that wait for an answer must not block others.
    const workers = WORKERS_PER_STEP + this.#asking.size + this.#unasked
    const { now, jobs } = await store.expired({ workers })
    this.#env.time.observe(now, sentAt)
    this.#unasked = 0
    if (jobs.length === 0 || !this.#mayTake()) return 0
    const policies = await Promise.all(jobs.map(job => this.#env.policies.of(job)))
    const certain: Ending[] = []
    for (const [index, job] of jobs.entries()) {
      const policy = policies[index]!
      // A process of a newer version sweeps a job whose policy only it understands.
      if (!isKnownPolicy(policy)) continue
      const expired = { job, policy }
      const ending = this.#ending(expired, now)
      if (!this.#mustAsk(expired, ending)) certain.push(ending)
    }
    await this.#settle(store, certain)
    return new Set(certain.map(({ run }) => run.claimed.workerId)).size
  }

  async #settle(store: Store, endings: readonly Ending[]): Promise<void> {
    if (endings.length === 0) return
    await this.#env.outbox.ready()
    const settlements = endings.map(({ settlement, run: { claimed } }) => ({
      ...settlement,
      onlyIfExpired: true,
      ifBegun: claimed.begun,
    }))
    const settled = await store.settle(settlements)
    let isWaiting = false
    for (const [index, ending] of endings.entries()) {
      const answer = settled[index]!
      // The worker itself or another sweeper was faster and has announced the outcome, or the run has begun in between and
      // the next step decides its end again.
      if (answer.status !== 'settled') continue
      this.#env.telemetry.meter?.leaseLost(ending.run.claimed, 'sweeper')
      if (ending.stored(answer) === 'waiting') isWaiting = true
    }
    if (isWaiting) this.#onHandedOn()
  }

  /**
   * The outcome is unknown and this process has the job's `reconcile`, so its answer is awaited before the outcome is
   * decided.
   */
  #mustAsk(expired: Expired, ending: Ending): boolean {
    const { job } = expired
    const key = `${job.id} ${job.run}`
    if (this.#asking.has(key)) return true
    const { definition } = ending.run
    if (!definition || !ending.canReconcile) return false
    if (this.#asking.size >= ASKING_MAX) this.#unasked++
    else if (!this.#stopped) {
      const stop = new AbortController()
      const done = this.#ask(expired, definition, stop).finally(() => this.#asking.delete(key))
      this.#asking.set(key, { stop, done })
    }
    return true
  }

  /** The lease stays expired meanwhile, so a worker that wakes up or another sweeper may end the run first. */
  async #ask(expired: Expired, definition: JobDefinition, stop: AbortController): Promise<void> {
    const { connection, time, log } = this.#env
    const { job } = expired
    const startedAt = new Date(job.startedAt ?? job.createdAt)
    const found = await reconcile(this.#env, definition, job, { startedAt, status: 'lost', error: vanished(job) }, stop)
    if (this.#stopped) return
    try {
      const store = await connection.store()
      await this.#settle(store, [this.#ending(expired, time.now()).reconciled(found)])
    } catch (error) {
      log.warn({ ...factsOf('reconcile.failed', job), err: error }, 'failed to store the answer of reconcile, retrying')
    }
  }

  #ending({ job, policy }: Expired, now: number): Ending {
    // A worker stores the policy of every job that it has a handler for when it claims the job.
    const hadHandler = job.policyId !== undefined
    const facts = { ...job, policy }
    const run = {
      claimed: job,
      policy,
      facts,
      hasStarted: !neverBegan(facts, hadHandler),
      startedAt: job.startedAt ?? now,
      definition: this.#definitionOf(job.name),
    }
    // What Chronos runs itself, such as a delivery, crashes no worker, and must not end as poison.
    const alone = job.alone && !isInternal(job.queue)
    const outcome: LostOutcome = { kind: 'lost', alone, hadHandler, error: vanished(job) }
    return decideEnd(this.#env, run, outcome, now)
  }

  async #announceOverdue(job: Job): Promise<void> {
    const { log, events, policies, telemetry } = this.#env
    telemetry.meter?.finished(job, { result: 'dead', reason: 'expired' })
    const why = 'its deadline passed before it could start'
    log.error({ ...factsOf('job.dead', job), reason: 'expired', why }, 'job expired, moved to dead letters')
    if (!events.hears('job.dead')) return
    events.emit('job.dead', { job: eventJob(job, await policies.of(job)), reason: 'expired' })
  }
}

type LostOutcome = Extract<Outcome, { kind: 'lost' }> & { readonly error: StoredError }

function vanished({ workerId }: ExpiredJob): StoredError {
  return { ...toStoredError(new ChronosError('LEASE_LOST', `its worker ${workerId} vanished`)), name: 'WorkerLost' }
}
