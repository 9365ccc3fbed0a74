import { outcomeOf, toLogText, toStoredError } from '../../core/failure/outcome.js'
import type { RunStatus } from '../../core/job/job.js'
import type { Outcome } from '../../core/job/lifecycle.js'
import { toPayload } from '../../core/job/payload.js'
import { timeText } from '../../core/job/view.js'
import {
  type CompleteOptions,
  completeOptions,
  type ExtendOptions,
  extendOptions,
  type FailOptions,
  failOptions,
  type ReleaseOptions,
  releaseOptions,
  type SnoozeOptions,
  snoozeOptions,
} from '../../core/lease/options.js'
import { lessonOfError } from '../../core/partition/lesson.js'
import { formatMs, toMs } from '../../core/values/duration.js'
import { ChronosError } from '../../core/values/error.js'
import { about, boolean, type Infer, named } from '../../core/values/schema.js'
import { view } from '../../core/values/shape.js'
import { timestamp } from '../../core/values/time.js'
import type { Lease, Report } from '../../store/store.js'
import type { Environment } from '../client/environment.js'
import type { Dependencies } from '../dependencies/dependencies.js'
import { type Attempt, interruptionError } from '../worker/attempt.js'
import { type CustomBackoffs, withCustomDelay } from '../worker/custom-backoff.js'
import { repeated } from '../worker/effects.js'
import { STUCK_MS } from '../worker/runner.js'
import { LeaseClaimer } from './lease-claimer.js'
import { LeaseEnds } from './lease-end.js'
import { LongPoll } from './long-poll.js'
import { type ClaimOptions, claimPlan, leaseMsOf, readLease } from './options.js'
import { asThrown, reportedOutcome } from './pull-attempt.js'
import { PullFleet } from './pull-fleet.js'
import type { LeaseEnd, LeaseView } from './view.js'

export type { ExtendOptions, LogEntry, ReportedError } from '../../core/lease/options.js'
export type { ClaimOptions } from './options.js'
export type { LeaseEnd, LeaseView } from './view.js'

export const leaseExtension = named(
  'ExtendedLease',
  view({
    expiresAt: timestamp,
    cancelRequested: about(boolean, 'The job was cancelled: the worker should stop and then call `release` or `fail`.'),
  }),
)
export type LeaseExtension = Infer<typeof leaseExtension>

interface ClaimedLeases {
  readonly data: readonly LeaseView[]
  /** An operator asked this worker to end the jobs that it runs, and to stop. */
  readonly draining?: true
}

interface LeasesOptions {
  readonly env: Environment
  readonly dependencies: Dependencies
  readonly backoffs: CustomBackoffs
  readonly wake: (delayMs: number) => void
  /** Called at every claim, because the worker loops have to run once there is a pull worker. */
  readonly onClaim: () => void
}

/** What shows that a caller holds a run: the token, and the run if the caller names it. */
interface Proof {
  readonly token: string
  readonly run?: number
}

const RELEASED = 'its worker handed it back'

/**
 * `chronos.leases`: jobs for workers in other processes, in any language. They claim, renew and end runs by these
 * calls.
 */
export class Leases {
  readonly #options: LeasesOptions
  readonly #env: Environment
  readonly #ends: LeaseEnds
  readonly #claimer: LeaseClaimer
  readonly #longPoll: LongPoll
  readonly #fleet: PullFleet
  readonly #claims = new Set<Promise<unknown>>()
  #queuesRead: Promise<void> | undefined

  constructor(options: LeasesOptions) {
    const { env, dependencies, wake } = options
    this.#options = options
    this.#env = env
    this.#ends = new LeaseEnds({ env, dependencies, wake })
    this.#claimer = new LeaseClaimer({ env, dependencies, ends: this.#ends })
    this.#longPoll = new LongPoll({ env, take: plan => this.#claimer.take(plan) })
    this.#fleet = new PullFleet(env)
  }

  /** Claims jobs, each with its lease. Empty if none is due in time, or if the worker is asked to drain. */
  async claim(options: ClaimOptions): Promise<ClaimedLeases> {
    const plan = claimPlan(options, this.#env.dice.token)
    this.#options.onClaim()
    await this.#readQueues()
    this.#fleet.claims(plan)
    if (this.#fleet.isDraining(plan.workerId)) return { data: [], draining: true }
    const first = this.#claimer.take(plan)
    this.#claims.add(first)
    const { leases, nextDueInMs } = await first.finally(() => this.#claims.delete(first))
    const data = leases.length > 0 || plan.waitMs === 0 ? leases : await this.#longPoll.wait(plan, nextDueInMs)
    for (const { job, expiresAt } of data) this.#fleet.holds(plan.workerId, job.id, Date.parse(expiresAt))
    this.#fleet.seen(plan.workerId)
    return { data }
  }

  /** Renews a lease from now on, but never past the run's timeout. It is also a heartbeat. */
  async extend(jobId: string, given: ExtendOptions): Promise<LeaseExtension> {
    const where = 'leases.extend'
    const options = readLease(extendOptions, jobId, given, where)
    const askedMs = leaseMsOf(options.lease)
    const attempt = await this.#find(jobId, options, where)
    const report = reportOf(attempt, options, this.#env.time.now(), where)
    if (report) await repeated(this.#env, store => store.report([report]))
    const now = this.#env.time.now()
    const endsAt = attempt.startedAt + attempt.timeoutMs
    if (now >= endsAt) throw await this.#timeOut(attempt)
    const leaseMs = Math.min(askedMs, endsAt + STUCK_MS - now)
    const [status] = await repeated(this.#env, store => store.extend([attempt.lease], leaseMs))
    if (status === 'lost') await this.#ends.lost(attempt.lease, where)
    this.#fleet.holds(attempt.claimed.workerId, attempt.id, now + leaseMs)
    return { expiresAt: timeText(now + leaseMs), cancelRequested: status === 'cancel-requested' }
  }

  /** Ends the run as succeeded. */
  async complete(jobId: string, options: CompleteOptions): Promise<LeaseEnd> {
    const where = 'leases.complete'
    const { result, note, spent, ...proof } = readLease(completeOptions, jobId, options, where)
    return this.#end(jobId, proof, ['succeeded'], where, attempt => {
      if (note !== undefined) attempt.note(note)
      if (spent) attempt.spent(spent)
      return outcomeOf(result)
    })
  }

  /** Ends the run as failed; the job's policy decides what happens next, as for any other run. */
  async fail(jobId: string, options: FailOptions): Promise<LeaseEnd> {
    const where = 'leases.fail'
    const { error, retryAfter, note, spent, ...proof } = readLease(failOptions, jobId, options, where)
    const retryAfterMs = retryAfter === undefined ? undefined : toMs(retryAfter, 'retryAfter')
    return this.#end(jobId, proof, ['failed', 'cancelled'], where, attempt => {
      if (note !== undefined) attempt.note(note)
      if (spent) attempt.spent(spent)
      const now = this.#env.time.now()
      const outcome = reportedOutcome(error, retryAfterMs, attempt.policy, now)
      attempt.lesson = lessonOfError(asThrown(error), retryAfterMs, now)
      return this.#withCustomDelay(attempt, asThrown(error), outcome)
    })
  }

  /** Runs the job again later without using an attempt. */
  async snooze(jobId: string, options: SnoozeOptions): Promise<LeaseEnd> {
    const where = 'leases.snooze'
    const { delay, note, ...proof } = readLease(snoozeOptions, jobId, options, where)
    const delayMs = toMs(delay, 'delay')
    return this.#end(jobId, proof, ['snoozed', 'cancelled'], where, attempt => outcomeOf(attempt.snooze(delayMs, note)))
  }

  /**
   * Releases the job at once without using an attempt, because the worker stops. `started: false` says that the handler
   * has not begun: then it is as if the job had not been claimed.
   */
  async release(jobId: string, options: ReleaseOptions): Promise<LeaseEnd> {
    const where = 'leases.release'
    const { started = true, ...proof } = readLease(releaseOptions, jobId, options, where)
    if (started) {
      return this.#end(jobId, proof, ['released', 'cancelled'], where, () => ({ kind: 'released', note: RELEASED }))
    }
    const attempt = await this.#find(jobId, proof, where)
    await this.#ends.handBack([attempt.claimed], 0)
    this.#fleet.ended(attempt.claimed.workerId, attempt.id)
    const { id, maxAttempts } = attempt
    return { id, state: 'waiting', status: 'released', attempt: attempt.attempt - 1, maxAttempts }
  }

  /** There may be jobs now, or in `delayMs`. */
  wake(delayMs: number): void {
    this.#longPoll.wake(delayMs)
  }

  /** Ends all waiting claims. Resolves when no claim is running. */
  async stop(): Promise<void> {
    await this.#longPoll.stop()
    await Promise.allSettled(this.#claims)
    await this.#fleet.stop()
  }

  async #end(
    jobId: string,
    { token, run }: Proof,
    statuses: readonly RunStatus[],
    where: string,
    outcomeFor: (attempt: Attempt) => Outcome,
  ): Promise<LeaseEnd> {
    const lease: Lease = { id: jobId, token }
    const attempt = await this.#ends.find(lease)
    // The claim was repeated after this run had ended, so the token holds a later run, which is not this worker's.
    if (attempt && run !== undefined && attempt.run !== run) return this.#ends.endOf(lease, run, statuses, where)
    if (attempt) {
      const ended = await this.#ends.end(attempt, outcomeFor(attempt))
      this.#fleet.ended(attempt.claimed.workerId, attempt.id)
      if (ended) return ended
    }
    return this.#ends.endBefore(lease, statuses, where)
  }

  async #find(jobId: string, { token, run }: Proof, where: string): Promise<Attempt> {
    const lease: Lease = { id: jobId, token }
    const attempt = await this.#ends.find(lease)
    return attempt && (run === undefined || attempt.run === run) ? attempt : this.#ends.lost(lease, where)
  }

  /** A run has to end at its timeout, however often its lease is renewed. */
  async #timeOut(attempt: Attempt): Promise<ChronosError> {
    const error = interruptionError('timed-out', attempt)
    // The stack would only show the code of this package.
    const { stack: _, ...stored } = toStoredError(error)
    const timedOut: Outcome = { kind: 'timed-out', error: { ...stored, name: 'TimeoutError' } }
    await this.#ends.end(attempt, this.#withCustomDelay(attempt, error, timedOut))
    this.#fleet.ended(attempt.claimed.workerId, attempt.id)
    const { id, run, timeoutMs } = attempt
    return new ChronosError(
      'LEASE_LOST',
      `leases.extend: run ${run} of job ${id} took longer than its timeout of ${formatMs(timeoutMs)} and was ended; stop it, and enqueue such jobs with a longer timeout`,
      { details: { jobId: id, run, timeoutMs, status: 'timed-out' } },
    )
  }

  #withCustomDelay(
    attempt: Attempt,
    error: unknown,
    outcome: Extract<Outcome, { kind: 'failed' | 'timed-out' }>,
  ): Outcome {
    return withCustomDelay(this.#options.backoffs, attempt, error, outcome, this.#env.log)
  }

  /** Queues may have got policies before this process read them. */
  async #readQueues(): Promise<void> {
    this.#queuesRead ??= this.#env.connection.store().then(async store => {
      this.#env.policies.setQueues(await store.queues())
    })
    await this.#queuesRead.catch((error: unknown) => {
      this.#queuesRead = undefined
      throw error
    })
  }
}

function reportOf(
  { lease: { id, token } }: Attempt,
  { progress, log }: ExtendOptions,
  now: number,
  where: string,
): Report | undefined {
  if (progress === undefined && (log === undefined || log.length === 0)) return undefined
  return {
    lease: { id, token },
    logs: (log ?? []).map(({ message, data }) => ({ at: now, ...toLogText(message, data) })),
    ...(progress !== undefined && { progress: toPayload(progress, `${where}: progress`) }),
  }
}
