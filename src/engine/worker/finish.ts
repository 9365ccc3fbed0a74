import type { JobFacts, JobState } from '../../core/job/job.js'
import { decide, type Outcome, type Transition } from '../../core/job/lifecycle.js'
import type { Units } from '../../core/partition/limits.js'
import type { Lesson } from '../../core/partition/pace.js'
import type { Policy } from '../../core/policy/policy.js'
import type { Claimed, Settled, Settlement } from '../../store/store.js'
import type { JobDefinition } from '../client/definition.js'
import type { Environment } from '../client/environment.js'
import type { SharedDependency } from '../dependencies/answer.js'
import type { Dependencies } from '../dependencies/dependencies.js'
import { announce } from './announce.js'
import type { Attempt } from './attempt.js'
import type { Found } from './reconcile.js'
import { settlementFor, settlementOf } from './settlement.js'

/** A run that ends. An `Attempt` is one; the sweeper makes one for a job whose worker vanished. */
export interface EndingRun {
  readonly claimed: Claimed
  readonly policy: Policy
  readonly facts: JobFacts
  readonly startedAt: number
  readonly definition?: JobDefinition | undefined
  readonly dependency?: SharedDependency | undefined
  /** What the handler said with `job.note`. */
  readonly noted?: string | undefined
  /** false: the handler did not start. */
  readonly hasStarted?: boolean
  /** What the handler said with `job.spent`. */
  readonly spentUnits?: Units | undefined
  /** What its error or its response says about the rate of its partition. */
  readonly lesson?: Lesson | undefined
  /** The trace of the run, if tracing is on. */
  readonly traceId?: string | undefined
}

/**
 * The end of a run, with the same steps wherever the run ends: decide → settlement with its webhook deliveries → store →
 * telemetry → log and events. The callers differ in how they store the settlement: the worker in batches with retries,
 * `job.complete` in the caller's transaction, the lease API at once, the sweeper only if the lease has expired.
 */
export class Ending {
  readonly #env: Environment
  readonly run: EndingRun
  readonly outcome: Outcome
  readonly transition: Transition
  readonly finishedAt: number
  #settlement: Settlement | undefined
  #hasDeliveries = false

  constructor(env: Environment, run: EndingRun, outcome: Outcome, transition: Transition, finishedAt: number) {
    this.#env = env
    this.run = run
    this.outcome = outcome
    this.transition = transition
    this.finishedAt = finishedAt
  }

  /** The job's definition can find out how the run ended. */
  get canReconcile(): boolean {
    return this.transition.reason === 'unknown-outcome' && this.run.definition?.reconcile !== undefined
  }

  /** The same end, decided again with the answer of `reconcile`. */
  reconciled({ found, ...answer }: Found): Ending {
    const { time, dice } = this.#env
    const { run, outcome, finishedAt } = this
    const decided = decide(run.facts, outcome, Math.max(finishedAt, time.now()), dice.random, found)
    // The run failed when it ended, however long the answer took.
    const transition = decided.failedAt === undefined ? decided : { ...decided, failedAt: finishedAt }
    const known = found === 'done' ? { kind: 'succeeded' as const, ...answer } : { ...outcome, note: answer.note }
    return new Ending(this.#env, run, known, transition, finishedAt)
  }

  /** What to store, webhook deliveries included. */
  get settlement(): Settlement {
    if (this.#settlement) return this.#settlement
    const plain = settlementOf(this)
    this.#settlement = this.#env.outbox.attach(plain, this.run.claimed)
    this.#hasDeliveries = this.#settlement !== plain
    return this.#settlement
  }

  /**
   * Measures and announces a stored outcome. Returns the state of the job, or undefined if the lease was lost and
   * nothing was stored.
   */
  stored(settled: Settled): JobState | undefined {
    if (settled.status === 'lost') return undefined
    const { telemetry, outbox, onTurn } = this.#env
    telemetry.ended(this.run, this.transition, settled, this.finishedAt)
    announce(this.#env, this, settled)
    if (this.#hasDeliveries) outbox.wake()
    if (this.run.claimed.lane !== undefined) onTurn(this.run.claimed.queue)
    return settled.status === 'settled' ? settled.state : this.transition.to
  }
}

/** The end of an attempt, after its dependency has learned the outcome. */
export function finish(env: Environment, dependencies: Dependencies, attempt: Attempt, outcome: Outcome): Ending {
  if (attempt.dependency) dependencies.ended(attempt, outcome)
  // The estimate of the store's time may have been corrected since the start.
  return decideEnd(env, attempt, outcome, Math.max(attempt.startedAt, env.time.now()))
}

export function decideEnd(env: Environment, run: EndingRun, outcome: Outcome, finishedAt: number): Ending {
  return new Ending(env, run, outcome, decide(run.facts, outcome, finishedAt, env.dice.random), finishedAt)
}

/** Returns a claimed job to its queue as if it had not been claimed; gives what to store for that. */
export function handBack({ outbox, time }: Environment, claimed: Claimed, delayMs: number): Settlement {
  const now = time.now()
  return outbox.attach(settlementFor(claimed, now, now, { kind: 'handed-back', delayMs }), claimed)
}
