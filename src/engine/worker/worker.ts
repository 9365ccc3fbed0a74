import { hostname } from 'node:os'
import { isLastPermitted } from '../../core/job/job.js'
import type { Policy } from '../../core/policy/policy.js'
import { wait } from '../../core/values/clock.js'
import type { Claimed } from '../../store/store.js'
import { Gatherer } from '../batches/gatherer.js'
import { KnownTerms } from '../client/claim-terms.js'
import type { JobDefinition } from '../client/definition.js'
import type { Environment } from '../client/environment.js'
import { factsOf } from '../client/job-facts.js'
import type { Dependencies } from '../dependencies/dependencies.js'
import type { Crew, Member } from '../fleet/crew.js'
import { type ThreadPool, threadsFor } from '../threads/pool.js'
import { backOffMs } from '../time/loop.js'
import { admitUntil } from '../time/until.js'
import { within } from '../time/within.js'
import type { RetentionLimits } from '../upkeep/retention.js'
import { Attempt, type AttemptPort } from './attempt.js'
import { Committer } from './committer.js'
import type { CustomBackoffs } from './custom-backoff.js'
import { Fetcher, type Held } from './fetcher.js'
import type { WorkerRecord } from './fleet.js'
import { ForeignJobs } from './foreign.js'
import { LeaseRenewer } from './lease-renewer.js'
import { Quarantine } from './quarantine.js'
import { portOf, Reporter } from './reporter.js'
import { Runner, STUCK_MS } from './runner.js'
import { Counters, type WorkerStats } from './stats.js'
import { NewerJobs, unknownPartOf } from './unknown.js'

export interface WorkerSettings {
  readonly concurrency: number
  readonly queues: readonly string[]
  readonly leaseMs: number
  readonly pollMs?: number
  /** How long running handlers may go on after `stop()`. */
  readonly graceMs: number
  /** Jobs whose timeout ends after this time are not begun. */
  readonly until?: number
  /** How many handlers may run in threads at the same time. */
  readonly threads?: number
  /** The version of the program. */
  readonly build?: string
}

interface WorkerOptions {
  /** The workers of this process. */
  readonly crew: Crew
  readonly env: Environment
  readonly definitions: readonly JobDefinition[]
  /** Jobs that every worker knows. */
  readonly builtIns: Iterable<JobDefinition>
  readonly settings: WorkerSettings
  readonly backoffs: CustomBackoffs
  readonly dependencies: Dependencies
  readonly onStopped: (worker: Worker) => void
  /** Jobs were started or have ended. */
  readonly onLoad?: () => void
  /** Jobs are available again that other workers of this process may have handlers for. */
  readonly onForeign?: (worker: Worker) => void
}

/** After the grace period, handlers have this long to react to their abort signal before their jobs are released. */
const LAST_MOMENT_MS = 1000

/** fetcher → runner → committer: claims jobs, runs their handlers, stores the outcomes. */
export class Worker {
  readonly id: string
  readonly host = hostname()
  readonly pid = process.pid
  readonly #crew: Crew
  readonly #env: Environment
  readonly #settings: WorkerSettings
  readonly #definitions: ReadonlyMap<string, JobDefinition>
  readonly #own: readonly JobDefinition[]
  readonly #hooks: Pick<WorkerOptions, 'onStopped' | 'onLoad' | 'onForeign'>
  /** Returns how long to defer a job that may not start in this worker's time. */
  readonly #admit: ((claimed: Claimed) => number | undefined) | undefined
  readonly #startedAt: number
  readonly #counters = new Counters()
  readonly #fetcher: Fetcher
  readonly #runner: Runner
  readonly #committer: Committer
  readonly #renewer: LeaseRenewer
  readonly #reporter: Reporter
  readonly #quarantine: Quarantine
  readonly #port: AttemptPort
  readonly #threads: ThreadPool | undefined
  readonly #newer = new NewerJobs()
  #stopping: Promise<void> | undefined
  isDraining = false
  #unwatch: (() => void) | undefined
  readonly #member: Member = {
    isIdle: () => this.isIdle,
    isClosed: () => this.#quarantine.isClosed,
    suspects: () => this.#runner.suspects(),
    waiting: () => this.#quarantine.held(),
    giveBack: which => {
      this.#fetcher.giveBack()
      if (which === 'all') this.#quarantine.giveBack()
    },
    pump: () => this.#pump(),
  }

  constructor({ crew, env, definitions, builtIns, settings, backoffs, dependencies, ...hooks }: WorkerOptions) {
    this.#crew = crew
    this.id = crew.nextId(env.clock, env.dice)
    this.#env = env
    this.#settings = settings
    this.#own = definitions
    this.#definitions = new Map([...definitions, ...builtIns].map(definition => [definition.name, definition]))
    const timeoutOf = ({ name, timeoutMs }: Claimed): number => timeoutMs ?? this.#definitions.get(name)!.timeoutMs
    this.#admit = admitUntil(settings.until, env.clock, timeoutOf)
    this.#hooks = hooks
    this.#startedAt = env.time.now()
    const terms = new KnownTerms(env.policies, settings.queues, definitions, this.#admit !== undefined)
    this.#threads = threadsFor(definitions, { ...env, threadsMax: settings.threads ?? 1 })
    this.#committer = new Committer(env, settings.leaseMs, () => this.#onRoom())
    this.#runner = new Runner({
      env,
      workerId: this.id,
      committer: this.#committer,
      counters: this.#counters,
      leaseMs: settings.leaseMs,
      backoffs,
      dependencies,
      gatherer: new Gatherer(env.clock, settings.concurrency),
      threads: this.#threads,
      onRoom: () => {
        this.#fetcher.countFinished()
        this.#onRoom()
      },
      onWaiting: delayMs => this.wake(delayMs),
    })
    this.#fetcher = new Fetcher({
      env,
      workerId: this.id,
      queues: settings.queues,
      leaseMs: settings.leaseMs,
      ...(settings.pollMs !== undefined && { pollMs: settings.pollMs }),
      terms: () => terms.get(),
      freeSlots: () => settings.concurrency - this.#runner.size,
      // No run may end before the webhook endpoints are known, because its deliveries are stored with its outcome.
      mayFetch: () => env.outbox.isReady && !this.#committer.isFull && !this.#isClosed,
      foreign: this.#foreignJobs(),
      onFetched: () => this.#onFetched(),
      onBegun: begun => this.#onBegun(begun),
      handBack: (held, delayMs) => this.#handBack(held, delayMs),
    })
    this.#quarantine = new Quarantine({
      clock: env.clock,
      dice: env.dice,
      crew,
      member: this.#member,
      isLast: claimed => this.#isLast(claimed),
      handBack: (held, delayMs) => this.#handBack(held, delayMs),
    })
    this.#renewer = new LeaseRenewer({
      env,
      workerId: this.id,
      leaseMs: settings.leaseMs,
      // Handlers of the application may block this thread; built-in ones do not.
      stuckAfterMs: Math.max(0, ...definitions.map(definition => definition.timeoutMs)) + STUCK_MS,
      held: () => this.#held(),
      onLost: attempt => this.#runner.loseLease(attempt),
      onCancel: attempt => this.#runner.interrupt(attempt, 'cancelled'),
      onAtRisk: attempt => this.#runner.interrupt(attempt, 'lease-at-risk'),
    })
    this.#reporter = new Reporter(env, this.#runner)
    this.#port = portOf(env, this.#reporter)
    crew.join(this.#member)
    void this.#open()
  }

  #foreignJobs(): ForeignJobs {
    const names = [...this.#definitions.keys()]
    const onReleased = (): void => this.#hooks.onForeign?.(this)
    return new ForeignJobs({ env: this.#env, committer: this.#committer, names, onReleased })
  }

  /** Every job whose lease this worker has. */
  #held(): (Attempt | Held)[] {
    const unstarted = [...this.#fetcher.held(), ...this.#quarantine.held(), ...this.#committer.held()]
    return [...this.#runner.held(), ...unstarted]
  }

  /** A suspect runs alone in this process, or is about to. */
  get #isClosed(): boolean {
    return this.#quarantine.isClosed || this.#crew.isClosedBeside(this.#member)
  }

  #onFetched(): void {
    if (this.#fetcher.size > 0 || this.#committer.isReturning) this.#renewer.watch()
    this.#onRoom()
  }

  #onRoom(): void {
    this.#pump()
    this.#crew.pumpSuspects(this.#member)
  }

  #onBegun(begun: readonly Held[]): void {
    this.#renewer.watch()
    for (const held of begun) this.#take(held)
  }

  getStats(): WorkerStats {
    return this.#counters.report(this.id, this.#startedAt, this.#runner.size, this.#fetcher.size)
  }

  /** Nothing runs, is held or is being claimed. */
  get isIdle(): boolean {
    return this.#runner.size === 0 && this.#fetcher.isEmpty
  }

  get isBusy(): boolean {
    return this.#runner.size > 0
  }

  definitionOf(name: string): JobDefinition | undefined {
    return this.#definitions.get(name)
  }

  /** The retention of its own definitions. */
  get retained(): readonly (readonly [name: string, given: RetentionLimits])[] {
    return this.#own.flatMap(({ name, retention }) => (retention ? [[name, retention] as const] : []))
  }

  /** The record of this worker's heartbeat. */
  describe(now: number, beatMs: number): WorkerRecord {
    const { queues, concurrency, build } = this.#settings
    const { id, host, pid } = this
    const own = { id, host, pid, queues, names: [...this.#definitions.keys()], concurrency }
    const beat = { running: this.#runner.size, startedAt: this.#startedAt, seenAt: now, beatMs }
    const { succeeded, failed, leasesLost } = this.getStats()
    return { ...own, ...beat, done: { succeeded, failed, leasesLost }, ...(build !== undefined && { build }) }
  }

  /** There may be jobs now, or in `delayMs`. */
  wake(delayMs = 0): void {
    this.#fetcher.wake(delayMs)
  }

  serves(queue: string): boolean {
    return this.#settings.queues.includes(queue)
  }

  /**
   * Lets an idle worker's claim share the enqueue's transaction. Resolves to whether it did; undefined if the worker is
   * busy.
   */
  claimAlong(): Promise<boolean> | undefined {
    return this.#fetcher.claimAlong()
  }

  /** Releases the held jobs of a paused queue at once. */
  pauseQueue(queue: string): void {
    this.#fetcher.giveBack(queue)
  }

  /** A cancel requested in this process does not wait for the next lease renewal. */
  cancel(jobId: string): void {
    this.#runner.cancel(jobId)
  }

  /**
   * Claims no further jobs and gives running handlers the grace period; the rest is released without using an attempt.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  /** Claims no further jobs and stops after the running handlers; a `stop` meanwhile has its own grace period. */
  async drain(): Promise<void> {
    if (this.#stopping || this.isDraining) return
    this.isDraining = true
    this.#quarantine.giveBack()
    await this.#fetcher.stop()
    while (!this.#stopping && !(await this.#runner.idleWithin(LAST_MOMENT_MS)));
    await this.stop()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async #open(): Promise<void> {
    const { connection, clock, dice, log, outbox } = this.#env
    for (let failures = 0; !this.#stopping; failures++) {
      try {
        const store = await connection.store()
        await outbox.ready()
        if (this.#stopping) return
        this.#unwatch = store.watch(() => this.wake())
        if (store.guard) this.#renewer.guardWith(options => store.guard!(options))
        this.#fetcher.wake()
        return
      } catch (error) {
        const retryInMs = backOffMs(failures, dice)
        log.error(
          { event: 'store.unavailable', workerId: this.id, retryInMs, err: error },
          'failed to open the store, retrying',
        )
        await wait(clock, retryInMs)
      }
    }
  }

  async #stop(): Promise<void> {
    const { graceMs, leaseMs } = this.#settings
    this.#unwatch?.()
    this.#quarantine.giveBack()
    this.#threads?.close()
    const fetcherStopped = this.#fetcher.stop()
    if (!(await this.#runner.idleWithin(graceMs))) {
      this.#runner.interruptAll('stopped')
      if (!(await this.#runner.idleWithin(LAST_MOMENT_MS))) this.#runner.abandonAll()
    }
    const ended = Promise.all([fetcherStopped, this.#threads?.stop(), this.#runner.reconciled()])
    const stored = ended.then(() => this.#committer.drained())
    // An unavailable store must not keep the process running: the leases expire by themselves.
    await within(leaseMs, stored, this.#env.clock)
    await this.#renewer.stop()
    this.#reporter.stop()
    this.#crew.leave(this.#member)
    this.#hooks.onStopped(this)
  }

  #pump(): void {
    if (this.#stopping) return
    while (this.#runner.size + this.#fetcher.reserved < this.#settings.concurrency && !this.#committer.isFull) {
      const held = this.#quarantine.take() ?? this.#takeFetched()
      if (!held) break
      this.#take(held)
    }
    this.#hooks.onLoad?.()
    this.#fetcher.fetch()
  }

  /** The next job that may start. Suspects go to the quarantine first. */
  #takeFetched(): Held | undefined {
    if (this.#isClosed) return undefined
    for (;;) {
      const held = this.#fetcher.take()
      if (!held?.claimed.suspect) return held
      this.#quarantine.add(held)
      const suspect = this.#quarantine.take()
      if (suspect || this.#quarantine.isClosed) return suspect
    }
  }

  #take(held: Held): void {
    const { claimed } = held
    const definition = this.#definitions.get(claimed.name)!
    const unknown = unknownPartOf(claimed)
    if (unknown !== undefined) {
      this.#handBackNewer(held, unknown)
      return
    }
    const deferMs = this.#admit?.(claimed)
    if (deferMs !== undefined) {
      this.#handBack(held, Math.max(1, deferMs))
      this.wake(deferMs)
      return
    }
    const { id, policy } = this.#policyOf(claimed, definition)
    const attempt = new Attempt(held, definition, policy, this.#port)
    attempt.isPolicyNew = id !== claimed.policyId
    this.#runner.start(attempt)
  }

  #policyOf({ queue, override }: Claimed, definition: JobDefinition): { readonly id: string; readonly policy: Policy } {
    const { policies } = this.#env
    const base = policies.base(definition, queue)
    return override ? { id: base.id, policy: policies.overridden(override, base.policy) } : base
  }

  #isLast(claimed: Claimed): boolean {
    const definition = this.#definitions.get(claimed.name)
    return definition !== undefined && isLastPermitted(claimed, this.#policyOf(claimed, definition).policy)
  }

  #handBack(held: Held, delayMs: number): void {
    this.#committer.handBack(held, delayMs, () => {
      // The job may come back to this worker. A job of a newer version is left to the other workers first.
      if (delayMs === 0) this.wake()
    })
  }

  /** During a rolling deploy another worker may understand the job, so it is released without using an attempt. */
  #handBackNewer(held: Held, unknown: string): void {
    const { claimed } = held
    const delayMs = this.#newer.releaseMs(claimed.name)
    this.#env.log.warn({ ...factsOf('job.unknown', claimed), delayMs, unknown }, 'job of a newer version, releasing it')
    this.#handBack(held, delayMs)
  }
}
