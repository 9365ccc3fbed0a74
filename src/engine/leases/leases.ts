import { outcomeOf, toLogText, toStoredError } from '../../core/failure/outcome.js'
import type { RunStatus } from '../../core/job/job.js'
import type { Outcome } from '../../core/job/lifecycle.js'
import { toPayload } from '../../core/job/payload.js'
import { timeText } from '../../core/job/view.js'
import { type Duration, formatMs, toMs } from '../../core/values/duration.js'
import { ChronosError } from '../../core/values/error.js'
import type { Lease, Report } from '../../store/store.js'
import type { Environment } from '../client/environment.js'
import type { Dependencies } from '../dependencies/dependencies.js'
import { type Attempt, interruptionError } from '../worker/attempt.js'
import { type CustomBackoffs, withCustomDelay } from '../worker/custom-backoff.js'
import { repeated } from '../worker/effects.js'
import { STUCK_MS } from '../worker/runner.js'
import { Handout } from './handout.js'
import { LeaseEnds } from './lease-end.js'
import { LongPoll } from './long-poll.js'
import {
  type ClaimOptions,
  checkError,
  checkLease,
  checkLog,
  claimPlan,
  type LogEntry,
  leaseMsOf,
  type ReportedError,
} from './options.js'
import { asThrown, reportedOutcome } from './pull-attempt.js'
import { PullFleet } from './pull-fleet.js'
import type { LeaseEnd, LeaseView } from './view.js'

export type { ClaimOptions, LogEntry, ReportedError } from './options.js'
export type { LeaseEnd, LeaseView } from './view.js'

export interface ExtendOptions {
  readonly token: string
  /** From now: 1 s … 1 h. Default 30 s. */
  readonly lease?: Duration
  /** What people see of a run that goes on. */
  readonly progress?: unknown
  readonly log?: readonly LogEntry[]
}

export interface LeaseExtension {
  readonly expiresAt: string
  /** Somebody wants the job to stop: the worker should, and then call `release` or `fail`. */
  readonly cancelRequested: boolean
}

interface LeasesOptions {
  readonly env: Environment
  readonly dependencies: Dependencies
  readonly backoffs: CustomBackoffs
  readonly wake: (delayMs: number) => void
  /** Somebody is served here: what runs beside workers has to run. */
  readonly onClaim: () => void
}

const RELEASED = 'its worker handed it back'

/** `chronos.leases`: work for workers outside this process, in any language. They claim, extend and end runs themselves. */
export class Leases {
  readonly #options: LeasesOptions
  readonly #env: Environment
  readonly #ends: LeaseEnds
  readonly #handout: Handout
  readonly #longPoll: LongPoll
  readonly #fleet: PullFleet
  readonly #claims = new Set<Promise<unknown>>()
  #queuesRead: Promise<void> | undefined

  constructor(options: LeasesOptions) {
    const { env, dependencies, wake } = options
    this.#options = options
    this.#env = env
    this.#ends = new LeaseEnds({ env, dependencies, wake })
    this.#handout = new Handout({ env, dependencies, ends: this.#ends })
    this.#longPoll = new LongPoll({ env, take: plan => this.#handout.take(plan) })
    this.#fleet = new PullFleet(env)
  }

  /** Jobs to run, each with the lease on it; none where there are none in time. */
  async claim(options: ClaimOptions): Promise<{ readonly data: readonly LeaseView[] }> {
    const plan = claimPlan(options, this.#env.dice.token)
    this.#options.onClaim()
    await this.#readQueues()
    this.#fleet.claims(plan)
    const first = this.#handout.take(plan)
    this.#claims.add(first)
    const { leases, nextDueInMs } = await first.finally(() => this.#claims.delete(first))
    const data = leases.length > 0 || plan.waitMs === 0 ? leases : await this.#longPoll.wait(plan, nextDueInMs)
    for (const { job, expiresAt } of data) this.#fleet.holds(plan.workerId, job.id, Date.parse(expiresAt))
    this.#fleet.seen(plan.workerId)
    return { data }
  }

  /** A sign of life: the lease holds from now on for so long, but never past the time that the run may take. */
  async extend(jobId: string, options: ExtendOptions): Promise<LeaseExtension> {
    const where = 'leases.extend'
    checkLease(jobId, options, ['lease', 'progress', 'log'], where)
    const askedMs = leaseMsOf(options.lease, where)
    const attempt = await this.#find(jobId, options.token, where)
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

  /** It is done. */
  async complete(jobId: string, options: { token: string; result?: unknown }): Promise<LeaseEnd> {
    const where = 'leases.complete'
    checkLease(jobId, options, ['result'], where)
    return this.#end(jobId, options.token, ['succeeded'], where, () => outcomeOf(options.result))
  }

  /** It failed; what happens next is decided by its policy, as for any other run. */
  async fail(
    jobId: string,
    options: { token: string; error: ReportedError; retryAfter?: Duration },
  ): Promise<LeaseEnd> {
    const where = 'leases.fail'
    checkLease(jobId, options, ['error', 'retryAfter'], where)
    const { token, error, retryAfter } = options
    checkError(error, where)
    const retryAfterMs = retryAfter === undefined ? undefined : toMs(retryAfter, `${where}: retryAfter`)
    return this.#end(jobId, token, ['failed', 'cancelled'], where, attempt => {
      const outcome = reportedOutcome(error, retryAfterMs, attempt.policy, this.#env.time.now())
      return this.#withCustomDelay(attempt, asThrown(error), outcome)
    })
  }

  /** Not yet: it comes back later, and that costs no attempt. */
  async snooze(jobId: string, options: { token: string; delay: Duration; note?: string }): Promise<LeaseEnd> {
    const where = 'leases.snooze'
    checkLease(jobId, options, ['delay', 'note'], where)
    const { token, delay, note } = options
    const delayMs = toMs(delay, `${where}: delay`)
    return this.#end(jobId, token, ['snoozed', 'cancelled'], where, attempt => outcomeOf(attempt.snooze(delayMs, note)))
  }

  /**
   * The worker has to stop: another may have it at once, and that costs no attempt. `started: false` says that nothing of it
   * was begun: then it is as if it had not been claimed.
   */
  async release(jobId: string, options: { token: string; started?: boolean }): Promise<LeaseEnd> {
    const where = 'leases.release'
    checkLease(jobId, options, ['started'], where)
    const { token, started = true } = options
    if (started) {
      return this.#end(jobId, token, ['released', 'cancelled'], where, () => ({ kind: 'released', note: RELEASED }))
    }
    const attempt = await this.#find(jobId, token, where)
    await this.#ends.handBack([attempt.claimed], 0)
    this.#fleet.ended(attempt.claimed.workerId, attempt.id)
    const { id, maxAttempts } = attempt
    return { id, state: 'waiting', status: 'released', attempt: attempt.attempt - 1, maxAttempts }
  }

  /** There may be work now, or will be in so many milliseconds. */
  wake(delayMs: number): void {
    this.#longPoll.wake(delayMs)
  }

  /** Nobody waits for work any longer; resolves when nothing is being claimed. */
  async stop(): Promise<void> {
    await this.#longPoll.stop()
    await Promise.allSettled(this.#claims)
    await this.#fleet.stop()
  }

  async #end(
    jobId: string,
    token: string,
    statuses: readonly RunStatus[],
    where: string,
    outcomeFor: (attempt: Attempt) => Outcome,
  ): Promise<LeaseEnd> {
    const lease: Lease = { id: jobId, token }
    const attempt = await this.#ends.find(lease)
    if (attempt) {
      const ended = await this.#ends.end(attempt, outcomeFor(attempt))
      this.#fleet.ended(attempt.claimed.workerId, attempt.id)
      if (ended) return ended
    }
    return this.#ends.endBefore(lease, statuses, where)
  }

  async #find(jobId: string, token: string, where: string): Promise<Attempt> {
    const lease: Lease = { id: jobId, token }
    return (await this.#ends.find(lease)) ?? (await this.#ends.lost(lease, where))
  }

  /** However often its lease is extended, a run has to end. */
  async #timeOut(attempt: Attempt): Promise<ChronosError> {
    const error = interruptionError('timed-out', attempt)
    // Its stack would show the insides of this package.
    const { stack: _, ...stored } = toStoredError(error)
    const timedOut: Outcome = { kind: 'timed-out', error: { ...stored, name: 'TimeoutError' } }
    await this.#ends.end(attempt, this.#withCustomDelay(attempt, error, timedOut))
    this.#fleet.ended(attempt.claimed.workerId, attempt.id)
    const { id, run, timeoutMs } = attempt
    return new ChronosError(
      'LEASE_LOST',
      `leases.extend: run ${run} of job ${id} has had its ${formatMs(timeoutMs)} and was ended as timed out; stop it, and enqueue such jobs with a longer timeout`,
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

  /** Queues may have been given policies before anybody here looked. */
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
  if (log !== undefined) checkLog(log, where)
  if (progress === undefined && (log === undefined || log.length === 0)) return undefined
  return {
    lease: { id, token },
    logs: (log ?? []).map(({ message, data }) => ({ at: now, ...toLogText(message, data) })),
    ...(progress !== undefined && { progress: toPayload(progress, `${where}: progress`) }),
  }
}
