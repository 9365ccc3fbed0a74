import type { Outcome } from '../../core/job/lifecycle.js'
import type { Claim, Claimed } from '../../store/store.js'
import type { Environment } from '../client/environment.js'
import type { Dependencies } from '../dependencies/dependencies.js'
import type { Attempt } from '../worker/attempt.js'
import { repeated } from '../worker/effects.js'
import { isKnownPolicy, unknownPartOf } from '../worker/unknown.js'
import type { LeaseEnds } from './lease-end.js'
import type { ClaimPlan } from './options.js'
import { type LeaseView, viewLease } from './view.js'

interface Options {
  readonly env: Environment
  readonly dependencies: Dependencies
  readonly ends: LeaseEnds
}

export interface ClaimedLeases {
  readonly leases: readonly LeaseView[]
  /** When the next job falls due, if that is known. */
  readonly nextDueInMs?: number
}

/** If none of the claimed jobs could start, claim again up to this many times before returning nothing. */
const ROUNDS_MAX = 10
/** A suspect that was claimed together with other jobs is released for about this long. */
const LATER_MS = 1_000
/** A job that only a newer version understands is left to such a process for this long. */
const UNKNOWN_MS = 30_000

/** Claims jobs for pull workers: checks their dependencies and stores `begin` where it is needed. */
export class LeaseClaimer {
  readonly #options: Options
  readonly #env: Environment

  constructor(options: Options) {
    this.#options = options
    this.#env = options.env
  }

  async take(plan: ClaimPlan): Promise<ClaimedLeases> {
    for (let round = 1; ; round++) {
      const sentAt = this.#env.clock.now()
      const claim = await this.#claim(plan)
      const started = await this.#start(claim, sentAt, plan)
      if (plan.signal?.aborted && !plan.isRepeatable) {
        await this.#options.ends.handBack(
          started.map(({ claimed }) => claimed),
          0,
        )
        return { leases: [] }
      }
      if (started.length > 0 || claim.jobs.length === 0 || round === ROUNDS_MAX) {
        this.#announce(started)
        const now = this.#env.time.now()
        const leases = started.map(attempt => viewLease(attempt, plan.leaseMs, now))
        return { leases, ...(claim.nextDueAt !== undefined && { nextDueInMs: claim.nextDueAt - claim.now }) }
      }
    }
  }

  async #claim({ workerId, token, queues, names, limit, leaseMs }: ClaimPlan): Promise<Claim> {
    const { clock, time } = this.#env
    const policyIds = await this.#options.ends.policyIds(queues)
    const sentAt = clock.now()
    const request = { workerId, token, queues, names, limit, leaseMs, policyIds }
    const claim = await repeated(this.#env, store => store.claim(request))
    time.observe(claim.now, sentAt)
    return claim
  }

  /** The claimed jobs that the worker gets. */
  async #start({ jobs, now }: Claim, sentAt: number, plan: ClaimPlan): Promise<readonly Attempt[]> {
    const { ends, dependencies } = this.#options
    const chosen = await this.#apart(jobs)
    const all = await Promise.all(chosen.map(claimed => ends.attemptOf(claimed)))
    const attempts = all.filter(({ claimed, policy }) => !unknownPartOf(claimed) && isKnownPolicy(policy))
    const unknown = all.filter(attempt => !attempts.includes(attempt)).map(({ claimed }) => claimed)
    await ends.handBack(unknown, UNKNOWN_MS)
    const passed = await Promise.all(attempts.map(attempt => this.#passes(attempt)))
    const free = attempts.filter((_, index) => passed[index])
    const isGone = plan.signal?.aborted === true
    // They are handed back, because a claim without a token of the worker can't be repeated.
    if (isGone && !plan.isRepeatable) return free
    // The answer may reach the worker all the same, for example from a server that is closing.
    const ready = isGone ? free.filter(({ needsBegin, begun }) => !needsBegin || begun) : await this.#begin(free)
    const begun = ready.filter(({ needsBegin, claimed: { leaseUntil } }) => {
      // A sweep that had read the job before `begin` would not count this run.
      return !needsBegin || this.#env.clock.now() - sentAt < leaseUntil - now
    })
    for (const attempt of begun) if (attempt.dependency) dependencies.started(attempt)
    return begun
  }

  /** A suspect may kill its worker, so it is handed out alone and takes no other job with it. */
  async #apart(jobs: readonly Claimed[]): Promise<readonly Claimed[]> {
    const { ends } = this.#options
    const suspects = jobs.filter(({ suspect }) => suspect)
    if (suspects.length === 0 || jobs.length === 1) return jobs
    const [first, ...rest] = jobs
    if (first!.suspect) {
      await ends.handBack(rest, 0)
      return [first!]
    }
    await ends.handBack(suspects, Math.ceil(LATER_MS * (1 + this.#env.dice.random())))
    return jobs.filter(({ suspect }) => !suspect)
  }

  async #passes(attempt: Attempt): Promise<boolean> {
    const { dependencies, ends } = this.#options
    const verdict = attempt.dependency && (await dependencies.ask(attempt))
    attempt.isProbe = verdict?.kind === 'probe'
    if (verdict?.kind !== 'defer') return true
    const deferred: Outcome = { ...verdict, kind: 'deferred', note: verdict.why }
    await ends.end(attempt, deferred)
    return false
  }

  /** The start of an at-most-once or suspect job is committed before the worker gets it. */
  async #begin(attempts: readonly Attempt[]): Promise<readonly Attempt[]> {
    const careful = attempts.filter(attempt => attempt.needsBegin)
    if (careful.length === 0) return attempts
    const requests = careful.map(({ lease: { id, token } }) => ({ id, token }))
    const statuses = await repeated(this.#env, store => store.begin(requests))
    const refused = new Set<Attempt>()
    for (const [index, attempt] of careful.entries()) {
      attempt.begun = statuses[index] === 'held'
      if (!attempt.begun) refused.add(attempt)
      attempt.hasStarted = attempt.begun
      if (statuses[index] === 'cancel-requested') await this.#options.ends.end(attempt, { kind: 'cancelled' })
    }
    return attempts.filter(attempt => !refused.has(attempt))
  }

  #announce(started: readonly Attempt[]): void {
    const { events, telemetry } = this.#env
    for (const attempt of started) {
      telemetry.handedOut(attempt)
      if (!events.hears('job.started')) continue
      events.emit('job.started', { job: attempt.eventJob, workerId: attempt.claimed.workerId })
    }
  }
}
