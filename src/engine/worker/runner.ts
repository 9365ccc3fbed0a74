import type { Verdict } from '../../core/dependency/dependency.js'
import { outcomeOf } from '../../core/failure/outcome.js'
import type { Outcome } from '../../core/job/lifecycle.js'
import { wait } from '../../core/values/clock.js'
import { parseWith } from '../../core/values/standard-schema.js'
import type { Claimed, LeaseStatus, Settled } from '../../store/store.js'
import type { Gatherer } from '../batches/gatherer.js'
import { isRepeatable } from '../client/connection.js'
import type { Environment } from '../client/environment.js'
import { factsOf } from '../client/job-facts.js'
import type { Dependencies } from '../dependencies/dependencies.js'
import type { ThreadPool } from '../threads/pool.js'
import { Batcher } from '../time/batcher.js'
import { backOffMs } from '../time/loop.js'
import { type Attempt, Attempts, type Interruption, interruptionError, type Place } from './attempt.js'
import type { Committer } from './committer.js'
import { type Completion, completionFate, rolledBack, warnOfLateFailure } from './completion.js'
import type { CustomBackoffs } from './custom-backoff.js'
import { type Ending, finish } from './finish.js'
import { reconcileEnding } from './reconcile.js'
import { RunOutcomes } from './run-outcome.js'
import type { Counters } from './stats.js'

interface RunnerOptions {
  readonly env: Environment
  readonly workerId: string
  readonly committer: Committer
  readonly counters: Counters
  readonly leaseMs: number
  readonly backoffs: CustomBackoffs
  readonly dependencies: Dependencies
  readonly gatherer: Gatherer
  /** Present if a definition has its handler in a thread. */
  readonly threads?: ThreadPool | undefined
  /** A handler finished or lost its slot, so another may start. */
  readonly onRoom: () => void
  /** A stored outcome left the job waiting for this long. */
  readonly onWaiting: (delayMs: number) => void
}

/** A handler that ignores its abort signal for this long loses its slot. */
export const STUCK_MS = 5000
const BEGIN_BATCH_MAX = 500
const TOO_LATE: Outcome = { kind: 'released', note: 'it could not start in time' }

/** Runs attempts: start (dependency, begin) → run the handler → finish (decide and store the end). */
export class Runner {
  readonly #env: Environment
  readonly #options: RunnerOptions
  readonly #counters: Counters
  readonly #outcomes: RunOutcomes
  readonly #begins: Batcher<Attempt, LeaseStatus>
  readonly #running = new Attempts()
  /** Attempts that have ended and are not stored yet. Their leases are renewed too. */
  readonly #settling = new Attempts()
  /** Attempts whose handler has returned while the result of their `job.complete` transaction is read. */
  readonly #completing = new Set<Attempt>()
  readonly #reconciling = new Set<Promise<void>>()
  #fresh: Attempt[] = []
  #whenIdle: (() => void)[] = []

  constructor(options: RunnerOptions) {
    this.#options = options
    this.#env = options.env
    this.#counters = options.counters
    this.#outcomes = new RunOutcomes(options.env, options.backoffs)
    this.#begins = new Batcher(options.env.clock, BEGIN_BATCH_MAX, attempts => this.#begin(attempts))
  }

  get size(): number {
    return this.#running.size
  }

  *held(): Iterable<Attempt> {
    for (const attempt of this.#running) if (!attempt.completion?.committed) yield attempt
    yield* this.#settling
  }

  *suspects(): Iterable<Claimed> {
    for (const { claimed } of this.#running) if (claimed.suspect) yield claimed
  }

  isRunning(attempt: Attempt): boolean {
    return this.#running.has(attempt)
  }

  /** Resolves when no `reconcile` is running any more. */
  async reconciled(): Promise<void> {
    await Promise.all(this.#reconciling)
  }

  /** Resolves to whether all handlers ended within this time. */
  idleWithin(ms: number): Promise<boolean> {
    if (this.#running.size === 0) return Promise.resolve(true)
    return new Promise(resolve => {
      const timer = this.#env.clock.timer(ms, () => resolve(false))
      this.#whenIdle.push(() => {
        timer.cancel()
        resolve(true)
      })
    })
  }

  // Start: a thread or a batch has a place if it needs one, the dependency admits the attempt, its `begin` is stored if it
  // needs one.

  start(attempt: Attempt): void {
    this.#running.add(attempt)
    const place = this.#place(attempt)
    if (place) void this.#startInPlace(attempt, place)
    else this.#ask(attempt)
  }

  /** The thread or the batch that its handler needs. */
  #place(attempt: Attempt): Promise<Place | undefined> | undefined {
    const { threads, gatherer } = this.#options
    const { thread, batch } = attempt.definition
    if (batch) return gatherer.gather(attempt, batch)
    return thread === undefined ? undefined : threads?.slot(attempt, thread)
  }

  /** Waiting for a place is not part of the run: its timeout has not begun. */
  async #startInPlace(attempt: Attempt, found: Promise<Place | undefined>): Promise<void> {
    attempt.place = await found
    if (!this.isRunning(attempt)) attempt.place?.free(attempt)
    else if (attempt.place && attempt.mayStart(this.#env.clock.now())) this.#ask(attempt)
    else this.#endUnstarted(attempt, TOO_LATE)
  }

  #ask(attempt: Attempt): void {
    const verdict = attempt.dependency && this.#options.dependencies.ask(attempt)
    if (verdict) void this.#startWhenAdmitted(attempt, verdict)
    else this.#startAdmitted(attempt)
  }

  async #startWhenAdmitted(attempt: Attempt, asked: Promise<Verdict>): Promise<void> {
    const verdict = await asked
    if (!this.isRunning(attempt)) return
    attempt.isProbe = verdict.kind === 'probe'
    if (verdict.kind === 'defer') this.#endUnstarted(attempt, { ...verdict, kind: 'deferred', note: verdict.why })
    else if (attempt.mayStart(this.#env.clock.now())) this.#startAdmitted(attempt)
    else this.#endUnstarted(attempt, TOO_LATE)
  }

  #startAdmitted(attempt: Attempt): void {
    if (attempt.claimed.begun) this.#startBegun(attempt)
    else if (attempt.needsBegin) void this.#startWhenBegun(attempt)
    else this.#start(attempt)
  }

  async #startWhenBegun(attempt: Attempt): Promise<void> {
    const status = await this.#begins.add(attempt)
    if (!this.isRunning(attempt)) return
    if (status === 'lost') this.#drop(attempt)
    else if (status === 'cancel-requested') {
      attempt.startedAt = this.#env.time.now()
      this.#end(attempt, { kind: 'cancelled' })
    } else this.#startBegun(attempt)
  }

  #startBegun(attempt: Attempt): void {
    if (attempt.mayStart(this.#env.clock.now())) {
      attempt.begun = true
      this.#start(attempt)
    } else this.#endUnstarted(attempt, TOO_LATE)
  }

  /** Repeated until the store answers: such a handler starts only when it certainly may. */
  async #begin(attempts: readonly Attempt[]): Promise<readonly LeaseStatus[]> {
    const { connection, clock, dice } = this.#env
    const requests = attempts.map(({ claimed }) => claimed)
    for (let tries = 0; ; tries++) {
      try {
        const store = connection.opened ?? (await connection.store())
        return await store.begin(requests)
      } catch (error) {
        const pointless = attempts.every(attempt => !this.isRunning(attempt))
        if (pointless || !isRepeatable(error)) return attempts.map(() => 'lost')
        await wait(clock, backOffMs(tries, dice))
      }
    }
  }

  #start(attempt: Attempt): void {
    const { clock, time, events, telemetry } = this.#env
    attempt.startedAt = time.now()
    attempt.hasStarted = true
    this.#counters.started++
    telemetry.started(attempt)
    if (attempt.dependency) this.#options.dependencies.started(attempt)
    if (attempt.attempt > 1) this.#counters.totalRetries++
    if (this.#fresh.push(attempt) === 1) clock.soon(() => this.#armTimeouts())
    if (events.hears('job.started')) {
      events.emit('job.started', { job: attempt.eventJob, workerId: this.#options.workerId })
    }
    attempt.onClock = clock.outstanding?.handler()
    if (attempt.onClock) void attempt.onClock.run(() => this.#runHandlerOf(attempt))
    else void this.#runHandlerOf(attempt)
  }

  /** Armed a moment after the start, so that handlers that finish at once cost no timer. */
  #armTimeouts(): void {
    const fresh = this.#fresh
    this.#fresh = []
    const { clock, time } = this.#env
    for (const attempt of fresh) {
      if (!this.isRunning(attempt)) continue
      const leftMs = attempt.timeoutMs - (time.now() - attempt.startedAt)
      attempt.timeoutTimer = clock.timer(leftMs, () => this.interrupt(attempt, 'timed-out'))
    }
  }

  // Run.

  /** A stored stack ends before this frame or that of `#callHandlerOf`: see `OWN_FRAMES`. */
  async #runHandlerOf(attempt: Attempt): Promise<void> {
    // Starts with an empty stack, so that the stack of a handler's error shows the handler and not this package.
    await undefined
    let outcome: Outcome
    try {
      const { schema, handler } = attempt.definition
      const payload: unknown = JSON.parse(attempt.claimed.payload)
      const input = schema ? await parseWith(schema, payload, `payload of "${attempt.name}"`) : payload
      // Called from here if nothing is around it, because each frame takes time when an error is made and when it is stored.
      const isAlone = !attempt.place && !this.#env.telemetry.tracing
      outcome = outcomeOf(await (isAlone ? handler(input as never, attempt) : this.#within(attempt, input)))
    } catch (thrown) {
      outcome = this.#outcomes.thrown(attempt, thrown)
    }
    this.#done(attempt, outcome)
  }

  #within(attempt: Attempt, input: unknown): unknown {
    return this.#env.telemetry.within(attempt, () => this.#callHandlerOf(attempt, input))
  }

  #callHandlerOf(attempt: Attempt, input: unknown): unknown {
    const { place, definition } = attempt
    return place ? place.run(attempt, input) : definition.handler(input as never, attempt)
  }

  /** Aborts the handler's signal. A handler that ignores it loses its slot after a while. */
  interrupt(attempt: Attempt, why: Interruption): void {
    if (!this.isRunning(attempt) || attempt.interruption !== undefined) return
    attempt.interrupt(why, interruptionError(why, attempt))
    attempt.stuckTimer = this.#env.clock.timer(STUCK_MS, () => this.#abandon(attempt))
    if (why === 'timed-out') for (const mate of attempt.place?.mates?.() ?? []) this.interrupt(mate, why)
  }

  interruptAll(why: Interruption): void {
    for (const attempt of this.#running) this.interrupt(attempt, why)
  }

  cancel(jobId: string): void {
    for (const attempt of this.#running) if (attempt.id === jobId) this.interrupt(attempt, 'cancelled')
  }

  /** Ends all running attempts with the outcome of their interruption, whatever their handlers do. */
  abandonAll(): void {
    for (const attempt of this.#running) this.#abandon(attempt)
  }

  /** The handler ignored its signal: its slot is freed, and it can't write any more. */
  #abandon(attempt: Attempt): void {
    if (!this.isRunning(attempt)) return
    this.#counters.handlersStuck++
    const { claimed, interruption } = attempt
    this.#env.log.warn({ ...factsOf('handler.stuck', claimed), interruption }, 'handler ignored its abort signal')
    if (this.#completing.has(attempt)) this.#drop(attempt)
    else this.#done(attempt, { kind: 'released', note: 'the worker stopped' })
  }

  loseLease(attempt: Attempt): void {
    if (attempt.over) return
    if (attempt.completion && !attempt.completion.committed) void this.#loseOrComplete(attempt, attempt.completion)
    else this.#loseForGood(attempt)
  }

  /** A lease that ended with the handler's own commit is not lost, and the handler may go on. */
  async #loseOrComplete(attempt: Attempt, completion: Completion): Promise<void> {
    const fate = await completionFate(this.#env, attempt, this.#options.leaseMs)
    if (fate === 'committed') completion.committed = true
    else if (fate === 'lost' && !attempt.over) this.#loseForGood(attempt)
  }

  #loseForGood(attempt: Attempt): void {
    this.interrupt(attempt, 'lost')
    attempt.over = true
    this.#leaseWasLost(attempt)
  }

  // Finish.

  #done(attempt: Attempt, outcome: Outcome): void {
    if (!this.isRunning(attempt)) return
    if (attempt.completion) void this.#endCompletion(attempt, attempt.completion, outcome)
    else this.#end(attempt, this.#outcomes.interrupted(attempt, outcome))
  }

  /** The handler's transaction decides. If it did not commit, a handler that returned a result has failed. */
  async #endCompletion(attempt: Attempt, completion: Completion, outcome: Outcome): Promise<void> {
    if (this.#completing.has(attempt)) return
    this.#completing.add(attempt)
    const fate = await completionFate(this.#env, attempt, this.#options.leaseMs)
    this.#completing.delete(attempt)
    if (!this.isRunning(attempt)) return
    if (fate === 'rolled-back') {
      const ended = outcome.kind === 'succeeded' ? this.#outcomes.thrown(attempt, rolledBack(attempt)) : outcome
      this.#end(attempt, this.#outcomes.interrupted(attempt, ended))
    } else if (fate === 'committed') {
      if (outcome.kind !== 'succeeded') warnOfLateFailure(this.#env, attempt, outcome)
      this.#completed(attempt, completion)
    } else this.#drop(attempt)
  }

  #completed(attempt: Attempt, { ending }: Completion): void {
    this.#free(attempt)
    attempt.over = true
    if (attempt.dependency) this.#options.dependencies.ended(attempt, ending.outcome)
    this.#env.telemetry.tracing?.ended(attempt, ending.settlement)
    this.#stored(attempt, ending, { status: 'already' })
    this.#afterEnd()
  }

  #endUnstarted(attempt: Attempt, outcome: Outcome): void {
    attempt.startedAt = this.#env.time.now()
    this.#end(attempt, this.#outcomes.interrupted(attempt, outcome))
  }

  #end(attempt: Attempt, outcome: Outcome): void {
    this.#free(attempt)
    if (!attempt.over) this.#settle(attempt, outcome)
    this.#afterEnd()
  }

  /** Ends an attempt without storing anything, because another worker has the job or will get it. */
  #drop(attempt: Attempt): void {
    this.#free(attempt)
    if (!attempt.over) this.#leaseWasLost(attempt)
    attempt.over = true
    this.#afterEnd()
  }

  #free(attempt: Attempt): void {
    this.#running.delete(attempt)
    attempt.onClock?.end()
    attempt.timeoutTimer?.cancel()
    attempt.stuckTimer?.cancel()
    attempt.place?.free(attempt)
  }

  #afterEnd(): void {
    this.#options.onRoom()
    if (this.#running.size === 0) for (const resolve of this.#whenIdle.splice(0)) resolve()
  }

  #settle(attempt: Attempt, outcome: Outcome): void {
    const ending = finish(this.#env, this.#options.dependencies, attempt, outcome)
    attempt.over = true
    this.#settling.add(attempt)
    if (ending.canReconcile) {
      const asking = this.#reconcile(attempt, ending).finally(() => this.#reconciling.delete(asking))
      this.#reconciling.add(asking)
    } else this.#commit(attempt, ending)
  }

  /** The outcome is unknown and the job's definition can find it out. The lease is renewed meanwhile. */
  async #reconcile(attempt: Attempt, ending: Ending): Promise<void> {
    this.#commit(attempt, await reconcileEnding(this.#env, attempt, ending))
  }

  #commit(attempt: Attempt, ending: Ending): void {
    const { settlement } = ending
    this.#env.telemetry.tracing?.ended(attempt, settlement)
    this.#options.committer.add(settlement, attempt.report(), settled => {
      this.#settling.delete(attempt)
      this.#stored(attempt, ending, settled)
    })
  }

  #stored(attempt: Attempt, ending: Ending, settled: Settled): void {
    const state = ending.stored(settled)
    if (state === undefined) {
      this.#leaseWasLost(attempt)
      return
    }
    this.#counters.countEnd(attempt.attempt, ending.transition, state)
    if (state === 'waiting') this.#options.onWaiting(ending.transition.delayMs)
  }

  #leaseWasLost(attempt: Attempt): void {
    this.#counters.leasesLost++
    const { events, log, telemetry } = this.#env
    telemetry.lost(attempt)
    const { workerId } = this.#options
    log.warn({ ...factsOf('lease.lost', attempt.claimed), workerId }, 'lease lost')
    if (events.hears('lease.lost')) events.emit('lease.lost', { job: attempt.eventJob, workerId })
  }
}
