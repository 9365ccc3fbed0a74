import type { Dependency } from '../dependency/dependency.js'
import type { Endpoint } from '../webhook/webhook.js'
import type { Reading } from './alert.js'
import type { RuleSettings } from './form.js'

// What a rule is. The rules themselves are in `rules.ts`, one entry each.

/** A `flag` is either true or not and has no threshold worth changing. */
export const UNITS = ['count', 'share', 'duration', 'flag'] as const
export type Unit = (typeof UNITS)[number]

/** The settings of a rule, in numbers. */
export interface Settings {
  readonly enabled: boolean
  /** It fires above this value … */
  readonly fire: number
  /** … and may be resolved at or below this one. */
  readonly clear: number
  /** It is critical above this value. */
  readonly critical: number
  /** How long it must be true, at every evaluation. */
  readonly forMs: number
  /** How long it must not be true any more. */
  readonly keepMs: number
  /** When the notice is repeated while it fires: after this many milliseconds, or when its value has doubled. */
  readonly repeat: number | 'doubled'
  /** The window that is counted, back from now. */
  readonly windowMs?: number
  /** With fewer retries in the window there is no value. */
  readonly minRetries?: number
}

/** Everything about one rule. */
export interface Rule<Name extends string = string, Source extends keyof Facts = keyof Facts> {
  readonly name: Name
  /** What it measures. The dashboard, the CLI, the REST API and the documentation show it. */
  readonly about: string
  /** More about it, for the documentation and the editor of the dashboard. */
  readonly details?: string
  /** A `level` can be measured at any time; a `rate` is known only while it is counted. */
  readonly measures: 'level' | 'rate'
  readonly unit: Unit
  /** As users write them. A rule has the settings that its defaults name, and the common ones. */
  readonly defaults: RuleSettings
  /** Why an alert can be critical whatever its value is. */
  readonly urgentIf?: string
  /** The facts that it reads; the engine reads them from the store if a rule needs them. */
  readonly reads: Source
  /** The value now, for each thing that it watches. */
  readings(facts: Facts[Source], settings: Settings, now: number): readonly Reading[]
}

/** What the rules read. */
export interface Facts {
  /** Queues with due jobs or with dead letters that are not acknowledged. */
  readonly queues: readonly QueueFacts[]
  readonly counts: CountFacts
  readonly dependencies: readonly Dependency[]
  readonly endpoints: readonly Endpoint[]
  /** Schedules that missed occurrences within the window. */
  readonly missed: readonly MissedFacts[]
  /** Waiting jobs that no live worker of their queue has a handler for. */
  readonly unhandled: readonly UnhandledFacts[]
  readonly retention: RetentionFacts
  /** Queues with partitions that a dead letter stops. */
  readonly stopped: readonly StoppedFacts[]
}

export interface StoppedFacts {
  readonly queue: string
  /** How many, up to 100. */
  readonly partitions: number
  /** One of them, and the dead letter that stops it. */
  readonly partition: string
  readonly jobId: string
}

export interface UnhandledFacts {
  readonly queue: string
  readonly name: string
  readonly waiting: { readonly value: number }
  /** The name that was probably meant. */
  readonly similar?: string
}

export interface RetentionFacts {
  /** Ended jobs that are kept although no job is ever pruned; 0 if jobs are pruned. */
  readonly kept: number
}

export interface QueueFacts {
  readonly queue: string
  readonly isPaused: boolean
  /** A live worker takes its jobs. */
  readonly isServed: boolean
  /** Dead letters; there may be more if `isCapped`. */
  readonly dead: number
  readonly isCapped: boolean
  readonly deadSince?: number
  /** When its oldest due job, and its oldest due retry, became due. */
  readonly dueAt?: number
  readonly retryDueAt?: number
}

/** What was counted in the window of a rule, by queue. */
export interface CountFacts {
  /** Counts are kept per minute, so the window begins with the minute in which the setting says it does. */
  readonly since: number
  readonly queues: ReadonlyMap<string, QueueCounts>
}

export interface QueueCounts {
  /** First attempts and retries that ended. */
  readonly first: number
  readonly retry: number
  /** Retries whose latency is known, and its total: the time from the failure to the start, backoff included. */
  readonly measured: number
  readonly latencyMs: number
  /** Jobs that died because they used all their retries. */
  readonly exhausted: number
}

/** Retries ÷ first attempts; absent without first attempts. */
export function retryRateOf({ first, retry }: Pick<QueueCounts, 'first' | 'retry'>): number | undefined {
  return first === 0 ? undefined : retry / first
}

export interface MissedFacts {
  readonly schedule: string
  readonly missed: number
}
