import type { FailureKind } from '../policy/policy.js'
import type { DeathReason, JobState, RunStatus, StoredError } from './job.js'

/** What a failure was taken for, and by which rule. */
export interface Classification {
  readonly kind: FailureKind
  /** The rule that matched, in words: `rule 2 (code ECONNRESET)`, `built-in: ValidationError`, `default`. */
  readonly rule: string
  readonly delayMs?: number
}

/** What a run ended with. */
export type Outcome =
  /** `note` says why a result was not kept. */
  | { readonly kind: 'succeeded'; readonly result?: string; readonly note?: string }
  | {
      readonly kind: 'failed'
      readonly error: StoredError
      readonly classification: Classification
      readonly retryAfterMs?: number
      /** false only where it is certain that no request left; true where one may have been carried out. */
      readonly maybeExecuted?: boolean
      /** What the custom backoff function of the worker answered; null means stop. */
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
  /** Its dependency did not let it start. `pass`: the slot that it was given instead. */
  | {
      readonly kind: 'deferred'
      readonly delayMs: number
      readonly note: string
      readonly by: DeferredBy
      readonly pass?: number
    }
  | { readonly kind: 'lost'; readonly alone: boolean }
  | { readonly kind: 'cancelled' }

/** What kept a job from its start. */
export type DeferredBy = 'circuit' | 'ramp' | 'budget'

/** It was sent ahead to try an open circuit: that it failed is the circuit's matter, and costs the job nothing. */
export interface FailedProbe {
  readonly delayMs: number
  readonly pass: number
}

/**
 * What `reconcile` found out about a run whose end nobody saw. `ask`: a person has to look; `no-answer`: it threw, took
 * too long, or said something else.
 */
export type Reconciliation = 'done' | 'not-done' | 'ask' | 'no-answer'

/** Why the job goes where it goes; kept with the attempt and read by `explain`. */
export interface Decision {
  readonly action: 'succeed' | 'retry' | 'die' | 'cancel' | 'wait'
  /** One plain sentence for people. */
  readonly why: string
  readonly kind?: FailureKind
  readonly rule?: string
  /** Number of the retry decided about (1 follows the first failure), and how many there may be. */
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
  /** The dependency that took part in it, and how. */
  readonly dependency?: string
  readonly deferredBy?: DeferredBy | 'probe'
}

/** What the job becomes. */
export interface Transition {
  readonly status: RunStatus
  readonly to: Exclude<JobState, 'running'>
  readonly reason?: DeathReason
  /** How long until it may run again; only where `to` is `waiting`. */
  readonly delayMs: number
  /** The run did not count: the attempt is given back. */
  readonly attemptBack: boolean
  readonly snoozes: number
  readonly releases: number
  readonly losses: number
  readonly strikes: number
  readonly suspect: boolean
  readonly backoffMs?: number
  readonly decision: Decision
}

/** A decision in the making: what it rests on, before the sentence. */
export type DecisionRecord = Draft<Omit<Decision, 'action' | 'why'>>

type Draft<T> = { -readonly [K in keyof T]: T[K] }

/** A failure of a job that may be retried, and what is known about when. */
export interface Failure extends Classification {
  /** Half a sentence for the decision record. */
  readonly words: string
  readonly retryAfterMs?: number
  readonly customDelayMs?: number | null
}
