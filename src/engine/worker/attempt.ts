import { Snooze, toLogText, withNote } from '../../core/failure/outcome.js'
import { type EventJob, eventJob } from '../../core/job/event.js'
import { type Delivery, type JobFacts, maxRetriesOf, needsBegin } from '../../core/job/job.js'
import type { Transaction } from '../../core/job/options.js'
import { toPayload } from '../../core/job/payload.js'
import { type Units, units } from '../../core/partition/limits.js'
import type { Lesson } from '../../core/partition/pace.js'
import type { Policy } from '../../core/policy/policy.js'
import type { RunningHandler, Timer } from '../../core/values/clock.js'
import { type Duration, formatMs, toMs } from '../../core/values/duration.js'
import { ChronosError, shown } from '../../core/values/error.js'
import { freeText } from '../../core/values/limits.js'
import { read } from '../../core/values/schema.js'
import { type Claimed, type Lease, LOG_LINES_MAX, type LogLine, type Report } from '../../store/store.js'
import type { JobClock, JobContext, JobDefinition, OnceOptions } from '../client/definition.js'
import { dependencyOf, type SharedDependency } from '../dependencies/answer.js'
import type { Completion } from './completion.js'
import type { Held } from './fetcher.js'

/** Why the signal of a running handler was aborted. */
export type Interruption = 'timed-out' | 'cancelled' | 'lost' | 'stopped' | 'lease-at-risk'

/** The worker as an attempt uses it. */
export interface AttemptPort {
  runOnce<T>(attempt: Attempt, name: string, effect: () => T | Promise<T>, whenUnknown: 'run' | 'fail'): Promise<T>
  complete(attempt: Attempt, tx: unknown, result: unknown): Promise<void>
  hasNews(attempt: Attempt): void
  now(): number
  wait(ms: number, signal: AbortSignal): Promise<void>
}

/** A thread, or a call that several jobs share. */
export interface Place {
  /** Runs the handler there. */
  run(attempt: Attempt, input: unknown): Promise<unknown>
  /** The run has ended, or will not start. May be repeated. */
  free(attempt: Attempt): void
  /** The jobs whose runs take too long when this one's does. */
  mates?(): Iterable<Attempt>
}

/** A claimed job from its claim until its outcome is stored. It is also the context that the handler sees. */
export class Attempt implements JobContext {
  readonly claimed: Claimed
  readonly definition: JobDefinition
  readonly policy: Policy
  /** Undefined if the job has neither a circuit nor a retry budget. */
  readonly dependency: SharedDependency | undefined
  /** It probes an open circuit. */
  isProbe = false
  /**
   * On this process's clock, counted from when the claim was sent. No other worker can get the job before this time.
   */
  leaseUntil: number
  readonly #startBefore: number
  startedAt = 0
  begun = false
  /** The policy changed since the claim, so a sweeper may see another limit and could not tell that the run started. */
  isPolicyNew = false
  interruption: Interruption | undefined
  /** Set once the handler has called `job.complete`. From then on, the outcome of that transaction decides. */
  completion: Completion | undefined
  /** What the handler said with `job.note`; stored with the outcome of the run. */
  noted: string | undefined
  hasStarted = false
  /** What the handler said with `job.spent`. */
  spentUnits: Units | undefined
  /** What its error or its response says about the rate of its partition. */
  lesson: Lesson | undefined
  /** The trace of the run, if tracing is on and the trace is sampled. */
  traceId: string | undefined
  /** Nothing may be written any more: the run has ended or its lease is lost. */
  over = false
  /** The handler as a virtual clock tracks it. */
  onClock: RunningHandler | undefined
  timeoutTimer: Timer | undefined
  /** Where its handler runs, if not by itself. */
  place: Place | undefined
  /** Its place in the `Attempts` that hold it. */
  seat = 0
  stuckTimer: Timer | undefined

  readonly #port: AttemptPort
  #controller: AbortController | undefined
  // Few handlers log or call `job.once`, so the lists are made when they are needed.
  #logs: LogLine[] | undefined
  #reported = 0
  #progress: string | undefined
  /** Effects of `job.once` in progress: a second call with the same name shares the first one's result. */
  #effects: Map<string, Promise<unknown>> | undefined

  constructor(held: Held, definition: JobDefinition, policy: Policy, port: AttemptPort) {
    // The job and its definition each set a delivery guarantee; the stricter one applies.
    const stricter = definition.delivery === 'at-most-once' && held.claimed.delivery !== 'at-most-once'
    this.claimed = stricter ? { ...held.claimed, delivery: 'at-most-once' } : held.claimed
    this.leaseUntil = held.leaseUntil
    this.#startBefore = held.startBefore
    this.definition = definition
    this.policy = policy
    this.dependency = dependencyOf(this.claimed, definition, policy)
    this.#port = port
  }

  get lease(): Lease {
    return this.claimed
  }

  /** The start of the run is committed before its handler runs. */
  get needsBegin(): boolean {
    return this.isPolicyNew || needsBegin(this.claimed, this.policy)
  }

  /** Checked again after `begin` was stored, on this process's clock. */
  mayStart(now: number): boolean {
    return this.interruption === undefined && now < this.leaseUntil && now < this.#startBefore
  }

  get atMostOnce(): boolean {
    return this.claimed.delivery === 'at-most-once'
  }

  get timeoutMs(): number {
    return this.claimed.timeoutMs ?? this.definition.timeoutMs
  }

  get facts(): JobFacts {
    const { claimed, policy } = this
    // Filled field by field, because this runs for every job and a spread takes several times as long.
    const facts: { -readonly [Field in keyof JobFacts]: JobFacts[Field] } = {
      attempt: claimed.attempt,
      delivery: claimed.delivery,
      begun: this.begun,
      snoozes: claimed.snoozes,
      releases: claimed.releases,
      losses: claimed.losses,
      strikes: claimed.strikes,
      suspect: claimed.suspect,
      cancelRequested: this.interruption === 'cancelled',
      policy,
    }
    if (claimed.firstStartedAt !== undefined) facts.firstStartedAt = claimed.firstStartedAt
    if (claimed.backoffMs !== undefined) facts.backoffMs = claimed.backoffMs
    if (claimed.failedAt !== undefined) facts.failedAt = claimed.failedAt
    if (claimed.deadline !== undefined) facts.deadline = claimed.deadline
    if (this.definition.retryUnsent) facts.retryUnsent = true
    if (this.dependency) facts.dependency = this.dependency.key
    return facts
  }

  get eventJob(): EventJob {
    return eventJob(this.claimed, this.policy)
  }

  interrupt(why: Interruption, error: ChronosError): void {
    if (this.interruption !== undefined) return
    this.interruption = why
    if (why === 'lost') this.over = true
    this.#abort().abort(error)
  }

  /** Log lines and progress that the store may not have yet. Lines are numbered, so sending them again does no harm. */
  report(): Report | undefined {
    if (!this.#logs?.length && this.#progress === undefined) return undefined
    return {
      lease: this.lease,
      logs: [...(this.#logs ?? [])],
      from: this.#reported,
      ...(this.#progress !== undefined && { progress: this.#progress }),
    }
  }

  /** The store has accepted this report. */
  reported({ logs, from = 0, progress }: Report): void {
    const news = Math.max(0, from + logs.length - this.#reported)
    this.#logs?.splice(0, news)
    this.#reported += news
    if (this.#progress === progress) this.#progress = undefined
  }

  #abort(): AbortController {
    this.#controller ??= new AbortController()
    return this.#controller
  }

  #mustBeHeld(what: string): void {
    if (!this.over) return
    throw new ChronosError(
      'LEASE_LOST',
      `${what}: run ${this.run} of job ${this.id} is over for this worker (${this.interruption ?? 'ended'}); stop when job.signal aborts`,
      { details: { jobId: this.id, run: this.run } },
    )
  }

  /** These calls would block on the transaction that has locked the job's row. */
  #mustBeOpen(what: string): void {
    if (this.completion === undefined) return
    throw new ChronosError('NOT_ALLOWED', `${what}: job ${this.id} was completed in a transaction; do it before that`, {
      details: { jobId: this.id, run: this.run },
    })
  }

  // The context that the handler sees.

  get id(): string {
    return this.claimed.id
  }
  get name(): string {
    return this.claimed.name
  }
  get queue(): string {
    return this.claimed.queue
  }
  get tenantId(): string | undefined {
    return this.claimed.tenantId
  }
  get partition(): string | undefined {
    return this.claimed.partition ?? this.claimed.tenantId
  }
  get units(): Units {
    return this.claimed.units ?? NO_UNITS
  }
  get tags(): readonly string[] {
    return this.claimed.tags
  }
  get key(): string {
    return this.claimed.key ?? this.claimed.id
  }
  get attempt(): number {
    return this.claimed.attempt
  }
  get maxAttempts(): number {
    return maxRetriesOf(this.claimed, this.policy) + 1
  }
  get isLastAttempt(): boolean {
    return this.attempt >= this.maxAttempts
  }
  get run(): number {
    return this.claimed.run
  }
  get generation(): number {
    return this.claimed.generation
  }
  get delivery(): Delivery {
    return this.claimed.delivery
  }
  get createdAt(): Date {
    return new Date(this.claimed.createdAt)
  }
  get runAt(): Date {
    return new Date(this.claimed.runAt)
  }
  get deadline(): Date | undefined {
    return this.claimed.deadline === undefined ? undefined : new Date(this.claimed.deadline)
  }
  get signal(): AbortSignal {
    return this.#abort().signal
  }

  snooze(delay: Duration, note?: string): Snooze {
    if (this.atMostOnce) {
      throw new ChronosError(
        'NOT_ALLOWED',
        `job.snooze: job "${this.name}" is at-most-once and has begun; it can't start again later`,
      )
    }
    return new Snooze(toMs(delay, 'job.snooze'), note)
  }

  once<T>(name: string, effect: () => T | Promise<T>, options: OnceOptions = {}): Promise<T> {
    read(freeText, name, 'job.once: name')
    this.#mustBeHeld('job.once')
    this.#mustBeOpen('job.once')
    this.#effects ??= new Map()
    const effects = this.#effects
    const running = effects.get(name)
    if (running) return running as Promise<T>
    const whenUnknown = options.whenUnknown ?? (this.atMostOnce ? 'fail' : 'run')
    const started = this.#port.runOnce(this, name, effect, whenUnknown).finally(() => effects.delete(name))
    effects.set(name, started)
    return started
  }

  get clock(): JobClock {
    const { now, wait } = this.#port
    return {
      now: () => new Date(now()),
      wait: async duration => wait(toMs(duration, 'job.clock.wait'), this.signal),
    }
  }

  async complete(tx: Transaction, result?: unknown): Promise<void> {
    this.#mustBeHeld('job.complete')
    if (this.interruption === 'timed-out') throw interruptionError('timed-out', this)
    if (tx === undefined || tx === null) {
      throw new ChronosError(
        'INVALID_OPTION',
        `job.complete: expected your open transaction, got ${shown(tx)}; without one, return the result instead`,
      )
    }
    await this.#port.complete(this, tx, result)
  }

  log(message: string, data?: unknown): void {
    this.#mustBeHeld('job.log')
    // One line above the limit is sent, so that the store records that lines were dropped.
    this.#logs ??= []
    if (this.#reported + this.#logs.length > LOG_LINES_MAX) return
    this.#logs.push({ at: this.#port.now(), ...toLogText(message, data) })
    this.#port.hasNews(this)
  }

  note(text: string): void {
    this.#mustBeHeld('job.note')
    this.#mustBeOpen('job.note')
    this.noted = withNote(this.noted, text)
  }

  progress(value: unknown): void {
    this.#mustBeHeld('job.progress')
    this.#progress = toPayload(value, 'job.progress')
    this.#port.hasNews(this)
  }

  spent(given: Units): void {
    this.#mustBeHeld('job.spent')
    this.#mustBeOpen('job.spent')
    const total = { ...this.spentUnits }
    for (const [unit, amount] of Object.entries(read(units, given, 'job.spent:'))) {
      total[unit] = (total[unit] ?? 0) + amount
    }
    this.spentUnits = total
  }
}

const NO_UNITS: Units = {}

/** The list is closed up when it has this many empty seats more than attempts. */
const EMPTY_MAX = 1_000

/**
 * Attempts in the order in which they were added; each is in one such list at a time. A `Set` makes a new table after every few
 * hundred changes, and the tables before it keep the jobs of attempts that have ended in memory for long.
 */
export class Attempts implements Iterable<Attempt> {
  readonly #seats: (Attempt | undefined)[] = []
  #end = 0
  size = 0

  has(attempt: Attempt): boolean {
    return this.#seats[attempt.seat] === attempt
  }

  add(attempt: Attempt): void {
    if (this.#end > 2 * this.size + EMPTY_MAX) this.#closeUp()
    attempt.seat = this.#end
    this.#seats[this.#end++] = attempt
    this.size++
  }

  delete(attempt: Attempt): void {
    if (!this.has(attempt)) return
    this.#seats[attempt.seat] = undefined
    this.size--
    if (this.size === 0) this.#end = 0
  }

  /** Those of this moment, so that any of them may be deleted meanwhile. */
  [Symbol.iterator](): Iterator<Attempt> {
    return this.#seats.filter(attempt => attempt !== undefined).values()
  }

  #closeUp(): void {
    const all = [...this]
    this.#seats.fill(undefined)
    this.#end = 0
    this.size = 0
    for (const attempt of all) this.add(attempt)
  }
}

export function interruptionError(why: Interruption, attempt: Attempt): ChronosError {
  const { id, run, timeoutMs } = attempt
  const details = { jobId: id, run }
  switch (why) {
    case 'timed-out':
      return new ChronosError('TIMED_OUT', `run ${run} of job ${id} took longer than ${formatMs(timeoutMs)}`, {
        details,
      })
    case 'cancelled':
      return new ChronosError('CANCELLED', `job ${id} was cancelled`, { details })
    case 'lost':
      return new ChronosError('LEASE_LOST', `job ${id} lost its lease; another worker has it`, { details })
    case 'stopped':
      return new ChronosError('STOPPED', `the worker is stopping; run ${run} of job ${id} is released`, { details })
    case 'lease-at-risk':
      return new ChronosError('STOPPED', `failed to renew the lease of job ${id} in time`, { details })
  }
}
