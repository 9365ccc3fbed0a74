import type { Verdict } from '../../core/dependency/dependency.js'
import { outcomeOf, thrownOutcome, toStoredError } from '../../core/failure/outcome.js'
import { decide, type Outcome, type Transition } from '../../core/job/lifecycle.js'
import { wait } from '../../core/values/clock.js'
import { parseWith } from '../../core/values/standard-schema.js'
import type { Claimed, LeaseStatus, Settled } from '../../store/store.js'
import { isRepeatable } from '../client/connection.js'
import type { Environment } from '../client/environment.js'
import type { Dependencies } from '../dependencies/dependencies.js'
import { Batcher } from '../time/batcher.js'
import { backOffMs } from '../time/loop.js'
import { announceEnd } from './announce.js'
import { type Attempt, type Interruption, interruptionError } from './attempt.js'
import type { Committer } from './committer.js'
import { type Completion, fateOf, rolledBack, warnOfLateEnd } from './completion.js'
import { type CustomBackoffs, customDelayMs } from './custom-backoff.js'
import { reconcileEnd } from './reconcile.js'
import { settlementOf } from './settlement.js'
import type { Counters } from './stats.js'

interface RunnerOptions {
  readonly env: Environment
  readonly workerId: string
  readonly committer: Committer
  readonly counters: Counters
  readonly leaseMs: number
  readonly backoffs: CustomBackoffs
  readonly dependencies: Dependencies
  /** A handler is done, or lost its slot: there is room for another. */
  readonly onRoom: () => void
  /** A stored end left the job waiting for so long. */
  readonly onWaiting: (delayMs: number) => void
}

/** A handler that ignores its abort signal for this long loses its slot. */
export const STUCK_MS = 5000
const BEGIN_BATCH_MAX = 500

/** Runs attempts: from the start of the handler to the stored end of the run. */
export class Runner {
  readonly #env: Environment
  readonly #options: RunnerOptions
  readonly #counters: Counters
  readonly #begins: Batcher<Attempt, LeaseStatus>
  readonly #running = new Set<Attempt>()
  /** Ended, and not stored yet: their leases are kept too. */
  readonly #settling = new Set<Attempt>()
  /** Their handlers are done, or given up; what became of their `job.complete` is being found out. */
  readonly #finishing = new Set<Attempt>()
  readonly #reconciling = new Set<Promise<void>>()
  #fresh: Attempt[] = []
  #whenIdle: (() => void)[] = []

  constructor(options: RunnerOptions) {
    this.#options = options
    this.#env = options.env
    this.#counters = options.counters
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

  *claimed(): Iterable<Claimed> {
    for (const { claimed } of this.#running) yield claimed
  }

  isRunning(attempt: Attempt): boolean {
    return this.#running.has(attempt)
  }

  start(attempt: Attempt): void {
    this.#running.add(attempt)
    const asked = attempt.dependency && this.#options.dependencies.ask(attempt)
    if (asked) void this.#startBehindDependency(attempt, asked)
    else this.#pass(attempt)
  }

  #pass(attempt: Attempt): void {
    if (attempt.needsBegin) void this.#startBehindBegin(attempt)
    else this.#start(attempt)
  }

  async #startBehindDependency(attempt: Attempt, asked: Promise<Verdict>): Promise<void> {
    const verdict = await asked
    if (!this.isRunning(attempt)) return
    attempt.isProbe = verdict.kind === 'probe'
    if (verdict.kind !== 'defer' && attempt.mayStart(this.#env.clock.now())) {
      this.#pass(attempt)
      return
    }
    attempt.startedAt = this.#env.time.now()
    const nothing: Outcome =
      verdict.kind === 'defer'
        ? { ...verdict, kind: 'deferred', note: verdict.why }
        : { kind: 'released', note: 'it could not start in time' }
    this.#end(attempt, this.#interrupted(attempt, nothing) ?? nothing)
  }

  /** Tells the handler to stop; one that does not hear loses its slot after a while. */
  interrupt(attempt: Attempt, why: Interruption): void {
    if (!this.isRunning(attempt) || attempt.interruption !== undefined) return
    attempt.interrupt(why, interruptionError(why, attempt))
    attempt.stuckTimer = this.#env.clock.timer(STUCK_MS, () => this.#abandon(attempt))
  }

  interruptAll(why: Interruption): void {
    for (const attempt of [...this.#running]) this.interrupt(attempt, why)
  }

  /** Ends what still runs as its interruption says, whatever the handlers do. */
  abandonAll(): void {
    for (const attempt of [...this.#running]) this.#abandon(attempt)
  }

  cancel(jobId: string): void {
    for (const attempt of this.#running) if (attempt.id === jobId) this.interrupt(attempt, 'cancelled')
  }

  loseLease(attempt: Attempt): void {
    if (attempt.over) return
    if (attempt.completion && !attempt.completion.committed) void this.#loseOrComplete(attempt, attempt.completion)
    else this.#loseForGood(attempt)
  }

  /** A lease that ended by the handler's own commit is not lost: the handler may go on. */
  async #loseOrComplete(attempt: Attempt, completion: Completion): Promise<void> {
    const fate = await fateOf(this.#env, attempt, this.#options.leaseMs)
    if (fate === 'committed') completion.committed = true
    else if (fate === 'lost' && !attempt.over) this.#loseForGood(attempt)
  }

  #loseForGood(attempt: Attempt): void {
    this.interrupt(attempt, 'lost')
    attempt.over = true
    this.#leaseWasLost(attempt)
  }

  /** Nothing is being asked about any more. */
  async reconciled(): Promise<void> {
    await Promise.all(this.#reconciling)
  }

  /** Whether nothing runs any more within so many milliseconds. */
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

  async #startBehindBegin(attempt: Attempt): Promise<void> {
    const status = await this.#begins.add(attempt)
    if (!this.isRunning(attempt)) return
    if (status === 'held' && attempt.mayStart(this.#env.clock.now())) {
      attempt.begun = true
      this.#start(attempt)
    } else if (status === 'held') {
      attempt.startedAt = this.#env.time.now()
      const nothing: Outcome = { kind: 'released', note: 'it could not start in time' }
      this.#end(attempt, this.#interrupted(attempt, nothing) ?? nothing)
    } else if (status === 'cancel-requested') {
      attempt.startedAt = this.#env.time.now()
      this.#end(attempt, { kind: 'cancelled' })
    } else this.#drop(attempt)
  }

  /** Nothing is written of it: it is somebody else's now, or will be. */
  #drop(attempt: Attempt): void {
    this.#free(attempt)
    // Where its lease was seen to be lost before, that was told then.
    if (!attempt.over) this.#leaseWasLost(attempt)
    attempt.over = true
    this.#afterEnd()
  }

  /** Asked until answered: an at-most-once handler starts only when it is known that it may. */
  async #begin(attempts: readonly Attempt[]): Promise<readonly LeaseStatus[]> {
    const { connection, clock, dice } = this.#env
    const requests = attempts.map(({ lease: { id, token }, atMostOnce }) => ({
      id,
      token,
      ...(atMostOnce && { delivery: 'at-most-once' as const }),
    }))
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
    this.#counters.started++
    telemetry.started(attempt)
    if (attempt.dependency) this.#options.dependencies.started(attempt)
    if (attempt.attempt > 1) this.#counters.totalRetries++
    if (this.#fresh.push(attempt) === 1) clock.soon(() => this.#armTimeouts())
    if (events.hears('job.started')) {
      events.emit('job.started', { job: attempt.eventJob, workerId: this.#options.workerId })
    }
    attempt.onClock = clock.outstanding?.handler()
    if (attempt.onClock) void attempt.onClock.run(() => this.#run(attempt))
    else void this.#run(attempt)
  }

  /** Handlers that are done within the moment of their start never cost a timer. */
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

  async #run(attempt: Attempt): Promise<void> {
    // From a stack of its own: an error that the handler makes then remembers the handler, and not how we came here.
    await undefined
    let outcome: Outcome
    try {
      const { schema, handler } = attempt.definition
      const payload: unknown = JSON.parse(attempt.claimed.payload)
      const input = schema ? await parseWith(schema, payload, `payload of "${attempt.name}"`) : payload
      outcome = outcomeOf(await this.#env.telemetry.within(attempt, () => handler(input as never, attempt)))
    } catch (thrown) {
      outcome = this.#thrown(attempt, thrown)
    }
    this.#done(attempt, outcome)
  }

  #done(attempt: Attempt, outcome: Outcome): void {
    if (!this.isRunning(attempt)) return
    if (attempt.completion) void this.#finish(attempt, attempt.completion, outcome)
    else this.#end(attempt, this.#interrupted(attempt, outcome) ?? outcome)
  }

  /** Its transaction decides; where that did not commit, a handler that returned all the same has failed. */
  async #finish(attempt: Attempt, completion: Completion, outcome: Outcome): Promise<void> {
    if (this.#finishing.has(attempt)) return
    this.#finishing.add(attempt)
    const fate = await fateOf(this.#env, attempt, this.#options.leaseMs)
    this.#finishing.delete(attempt)
    if (!this.isRunning(attempt)) return
    if (fate === 'rolled-back') {
      const ended = outcome.kind === 'succeeded' ? this.#thrown(attempt, rolledBack(attempt)) : outcome
      this.#end(attempt, this.#interrupted(attempt, ended) ?? ended)
    } else if (fate === 'committed') {
      if (outcome.kind !== 'succeeded') warnOfLateEnd(this.#env, attempt, outcome)
      this.#completed(attempt, completion)
    } else this.#drop(attempt)
  }

  #completed(attempt: Attempt, { outcome, transition, finishedAt }: Completion): void {
    this.#free(attempt)
    attempt.over = true
    const { outbox, telemetry } = this.#env
    if (attempt.dependency) this.#options.dependencies.ended(attempt, outcome)
    telemetry.tracing?.ended(attempt, settlementOf(attempt, outcome, transition, finishedAt))
    this.#settled(attempt, outcome, transition, { status: 'already' }, finishedAt)
    outbox.wake()
    this.#afterEnd()
  }

  #thrown(attempt: Attempt, thrown: unknown): Outcome {
    const outcome = thrownOutcome(thrown, attempt.policy.rules ?? [], this.#env.time.now())
    return this.#withCustomDelay(attempt, thrown, outcome)
  }

  /** What a run that was told to stop ended with. Work that was done all the same counts as done, unless time was up. */
  #interrupted(attempt: Attempt, outcome: Outcome): Outcome | undefined {
    const { interruption } = attempt
    if (interruption === undefined) return undefined
    if (interruption === 'timed-out') return this.#timedOut(attempt)
    if (outcome.kind === 'succeeded') return outcome
    if (interruption === 'cancelled') return { kind: 'cancelled' }
    return { kind: 'released', note: interruption === 'stopped' ? 'the worker stopped' : 'its lease was at risk' }
  }

  #timedOut(attempt: Attempt): Outcome {
    const error = interruptionError('timed-out', attempt)
    const outcome: Outcome = { kind: 'timed-out', error: { ...toStoredError(error), name: 'TimeoutError' } }
    return this.#withCustomDelay(attempt, error, outcome)
  }

  #withCustomDelay(attempt: Attempt, error: unknown, outcome: Outcome & { kind: 'failed' | 'timed-out' }): Outcome {
    const delayMs = customDelayMs(this.#options.backoffs, attempt, error, this.#env.log)
    return delayMs === undefined ? outcome : { ...outcome, customDelayMs: delayMs }
  }

  /** The handler went on regardless: its slot is freed, and it can't write any more. */
  #abandon(attempt: Attempt): void {
    if (!this.isRunning(attempt)) return
    this.#counters.handlersStuck++
    const { id: jobId, name, run, interruption } = attempt
    this.#env.log.warn({ event: 'handler.stuck', jobId, name, run, interruption }, 'a handler ignored its abort signal')
    if (this.#finishing.has(attempt)) this.#drop(attempt)
    else this.#done(attempt, { kind: 'released', note: 'the worker stopped' })
  }

  #free(attempt: Attempt): void {
    this.#running.delete(attempt)
    attempt.onClock?.end()
    attempt.timeoutTimer?.cancel()
    attempt.stuckTimer?.cancel()
  }

  #end(attempt: Attempt, outcome: Outcome): void {
    this.#free(attempt)
    if (!attempt.over) this.#settle(attempt, outcome)
    this.#afterEnd()
  }

  #afterEnd(): void {
    this.#options.onRoom()
    if (this.#running.size === 0) for (const resolve of this.#whenIdle.splice(0)) resolve()
  }

  #settle(attempt: Attempt, ended: Outcome): void {
    const outcome = attempt.dependency ? this.#options.dependencies.ended(attempt, ended) : ended
    // What is known of the store's time may have been corrected since.
    const finishedAt = Math.max(attempt.startedAt, this.#env.time.now())
    const transition = decide(attempt.facts, outcome, finishedAt, this.#env.dice.random)
    attempt.over = true
    this.#settling.add(attempt)
    if (transition.reason === 'unknown-outcome' && attempt.definition.reconcile) {
      const asking = this.#reconcile(attempt, outcome, finishedAt).finally(() => this.#reconciling.delete(asking))
      this.#reconciling.add(asking)
    } else this.#commit(attempt, outcome, transition, finishedAt)
  }

  /** Nobody saw how it ended; the definition knows whom to ask. Its lease is kept meanwhile. */
  async #reconcile(attempt: Attempt, outcome: Outcome, finishedAt: number): Promise<void> {
    const { known, transition } = await reconcileEnd(this.#env, attempt, outcome, finishedAt)
    this.#commit(attempt, known, transition, finishedAt)
  }

  #commit(attempt: Attempt, outcome: Outcome, transition: Transition, finishedAt: number): void {
    const { outbox, telemetry } = this.#env
    const plain = settlementOf(attempt, outcome, transition, finishedAt)
    telemetry.tracing?.ended(attempt, plain)
    const settlement = outbox.attach(plain, attempt.claimed)
    this.#options.committer.add(settlement, attempt.report(), settled => {
      this.#settling.delete(attempt)
      this.#settled(attempt, outcome, transition, settled, finishedAt)
      if (settlement !== plain) outbox.wake()
    })
  }

  #settled(attempt: Attempt, outcome: Outcome, transition: Transition, settled: Settled, finishedAt: number): void {
    if (settled.status === 'lost') {
      this.#leaseWasLost(attempt)
      return
    }
    const counters = this.#counters
    const state = settled.status === 'settled' ? settled.state : transition.to
    counters.ended[transition.status]++
    if (transition.status === 'succeeded' && attempt.attempt > 1) counters.successfulRetries++
    if (state === 'dead') counters.dead++
    if (state === 'waiting' && !transition.attemptBack) counters.retried++
    this.#env.telemetry.ended(attempt, transition, settled, finishedAt)
    announceEnd(this.#env, attempt, outcome, transition, settled, finishedAt)
    if (state === 'waiting') this.#options.onWaiting(transition.delayMs)
  }

  #leaseWasLost(attempt: Attempt): void {
    this.#counters.leasesLost++
    const { events, log, telemetry } = this.#env
    telemetry.lost(attempt)
    const { workerId } = this.#options
    const { id: jobId, name, queue, run, tenantId } = attempt
    log.warn({ event: 'lease.lost', jobId, name, queue, run, tenantId, workerId }, 'a lease was lost')
    if (events.hears('lease.lost')) events.emit('lease.lost', { job: attempt.eventJob, workerId })
  }
}
