import { FAILURE_KINDS, type FailureKind } from '../policy/policy.js'
import { about, anyText, type Infer, integer, literal, named, number, oneOf } from '../values/schema.js'
import { pair, view } from '../values/shape.js'
import type { DeathReason, JobState, RunStatus, StoredError } from './job.js'

/** The kind of a failure, and the rule that decided it. */
export interface Classification {
  readonly kind: FailureKind
  /** The rule that matched, in words: `rule 2 (code ECONNRESET)`, `built-in: ValidationError`, `default`. */
  readonly rule: string
  readonly delayMs?: number
}

/** The outcome of a run. */
export type Outcome =
  /** `note` says why a result was not stored. */
  | { readonly kind: 'succeeded'; readonly result?: string; readonly note?: string }
  | {
      readonly kind: 'failed'
      readonly error: StoredError
      readonly classification: Classification
      readonly retryAfterMs?: number
      /** false only if the request was certainly not sent; true if it may have been carried out. */
      readonly maybeExecuted?: boolean
      /** The result of the worker's custom backoff function; null means stop. */
      readonly customDelayMs?: number | null
    }
  | { readonly kind: 'timed-out'; readonly error: StoredError; readonly customDelayMs?: number | null }
  | { readonly kind: 'snoozed'; readonly delayMs: number; readonly note?: string }
  | { readonly kind: 'released'; readonly note: string }
  /** Its dependency did not let it start. `pass`: the slot that it got instead. */
  | {
      readonly kind: 'deferred'
      readonly delayMs: number
      readonly note: string
      readonly by: DeferredBy
      readonly pass?: number
    }
  /** `hadHandler` is false if its worker had no handler for it, so that it certainly did not start. */
  | { readonly kind: 'lost'; readonly alone: boolean; readonly hadHandler?: boolean }
  | { readonly kind: 'cancelled' }

/** What kept a job from starting. */
const DEFERRED_BY = ['circuit', 'ramp', 'budget'] as const
type DeferredBy = (typeof DEFERRED_BY)[number]

/**
 * The answer of `reconcile` about a run with an unknown outcome. `ask`: manual review is needed; `no-answer`: it threw,
 * timed out, or returned something else.
 */
const RECONCILIATIONS = ['done', 'not-done', 'ask', 'no-answer'] as const
export type Reconciliation = (typeof RECONCILIATIONS)[number]

/** Why the job makes this transition; stored with the attempt and read by `explain`. */
export const decision = named(
  'Decision',
  view(
    { action: oneOf(['succeed', 'retry', 'die', 'cancel', 'wait']), why: about(anyText, 'One plain sentence.') },
    {
      free: about(literal(true), 'The run did not count: the next one has the same attempt number.'),
      kind: oneOf(FAILURE_KINDS),
      rule: anyText,
      retry: about(integer(), 'The number of the retry in question; 1 follows the first failure.'),
      maxRetries: integer(),
      strategy: anyText,
      jitter: anyText,
      rawMs: about(number(), 'The computed backoff, before the cap.'),
      capMs: number(),
      windowMs: about(pair(number(), 'two numbers'), 'The shortest and the longest delay that the jitter allowed.'),
      draw: about(number(), 'The random number that chose the delay within the window.'),
      retryAfterMs: number(),
      source: oneOf(['backoff', 'rule', 'retry-after', 'snooze', 'custom']),
      delayMs: number(),
      reconciled: oneOf(RECONCILIATIONS),
      dependency: about(anyText, 'The dependency that influenced the decision.'),
      deferredBy: oneOf(DEFERRED_BY),
    },
  ),
  {
    description:
      'Why a run was followed by a retry, a wait or the end of the job: how its failure was classified, by which rule, and how the delay was computed.',
  },
)
/** `traceId`: the trace of the run, if tracing is on. It is part of the decision so that no store needs a column for it. */
export type Decision = Infer<typeof decision> & { readonly traceId?: string }

/** The new state of the job. */
export interface Transition {
  readonly status: RunStatus
  readonly to: Exclude<JobState, 'running'>
  readonly reason?: DeathReason
  /** The wait before it may run again; only if `to` is `waiting`. */
  readonly delayMs: number
  /** The run did not count, so the attempt is given back. */
  readonly attemptBack: boolean
  readonly snoozes: number
  readonly releases: number
  readonly losses: number
  readonly strikes: number
  readonly suspect: boolean
  readonly backoffMs?: number
  readonly failedAt?: number
  readonly decision: Decision
}

/** The facts of a decision, before its sentence. */
export type DecisionRecord = Draft<Omit<Decision, 'action' | 'why'>>

type Draft<T> = { -readonly [K in keyof T]: T[K] }

/** A failure of a job that may be retried, and what is known about the time of the retry. */
export interface Failure extends Classification {
  /** Half a sentence for the decision record. */
  readonly words: string
  readonly retryAfterMs?: number
  readonly customDelayMs?: number | null
}
