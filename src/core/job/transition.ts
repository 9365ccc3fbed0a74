import type { FailureKind } from '../policy/policy.js'
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
      readonly probe?: FailedProbe
    }
  | {
      readonly kind: 'timed-out'
      readonly error: StoredError
      readonly customDelayMs?: number | null
      readonly probe?: FailedProbe
    }
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
  | { readonly kind: 'lost'; readonly alone: boolean }
  | { readonly kind: 'cancelled' }

/** What kept a job from starting. */
export type DeferredBy = 'circuit' | 'ramp' | 'budget'

/** It was the probe of an open circuit: its failure counts for the circuit and costs the job nothing. */
export interface FailedProbe {
  readonly delayMs: number
  readonly pass: number
}

/**
 * The answer of `reconcile` about a run with an unknown outcome. `ask`: manual review is needed; `no-answer`: it threw,
 * timed out, or returned something else.
 */
export type Reconciliation = 'done' | 'not-done' | 'ask' | 'no-answer'

/** Why the job makes this transition; stored with the attempt and read by `explain`. */
export interface Decision {
  readonly action: 'succeed' | 'retry' | 'die' | 'cancel' | 'wait'
  /** One plain sentence. */
  readonly why: string
  readonly kind?: FailureKind
  readonly rule?: string
  /** The number of the retry in question (1 follows the first failure), and the maximum. */
  readonly retry?: number
  readonly maxRetries?: number
  readonly strategy?: string
  readonly jitter?: string
  readonly rawMs?: number
  readonly capMs?: number
  readonly windowMs?: readonly [lo: number, hi: number]
  readonly draw?: number
  readonly retryAfterMs?: number
  readonly source?: 'backoff' | 'rule' | 'retry-after' | 'snooze' | 'custom'
  readonly delayMs?: number
  readonly reconciled?: Reconciliation
  /** The dependency that influenced it, and how. */
  readonly dependency?: string
  readonly deferredBy?: DeferredBy | 'probe'
}

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
