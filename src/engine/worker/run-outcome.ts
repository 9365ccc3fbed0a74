import { thrownOutcome, toStoredError } from '../../core/failure/outcome.js'
import type { Outcome } from '../../core/job/lifecycle.js'
import { lessonOfError } from '../../core/partition/lesson.js'
import type { Environment } from '../client/environment.js'
import { type Attempt, interruptionError } from './attempt.js'
import { type CustomBackoffs, withCustomDelay } from './custom-backoff.js'

/** The outcomes of runs that did not simply return. */
export class RunOutcomes {
  readonly #env: Environment
  readonly #backoffs: CustomBackoffs

  constructor(env: Environment, backoffs: CustomBackoffs) {
    this.#env = env
    this.#backoffs = backoffs
  }

  thrown(attempt: Attempt, error: unknown): Outcome {
    const now = this.#env.time.now()
    const outcome = thrownOutcome(error, attempt.policy.rules ?? [], now)
    if (attempt.claimed.lane !== undefined) {
      attempt.lesson = lessonOfError(error, 'retryAfterMs' in outcome ? outcome.retryAfterMs : undefined, now)
    }
    return withCustomDelay(this.#backoffs, attempt, error, outcome, this.#env.log)
  }

  /** A handler that finishes after an interruption still succeeds, unless it timed out. */
  interrupted(attempt: Attempt, outcome: Outcome): Outcome {
    const { interruption } = attempt
    if (interruption === undefined) return outcome
    if (interruption === 'timed-out') return this.#timedOut(attempt)
    if (outcome.kind === 'succeeded') return outcome
    if (interruption === 'cancelled') return { kind: 'cancelled' }
    return { kind: 'released', note: interruption === 'stopped' ? 'the worker stopped' : 'its lease was at risk' }
  }

  #timedOut(attempt: Attempt): Outcome {
    const error = interruptionError('timed-out', attempt)
    const outcome = { kind: 'timed-out' as const, error: { ...toStoredError(error), name: 'TimeoutError' } }
    return withCustomDelay(this.#backoffs, attempt, error, outcome, this.#env.log)
  }
}
