import type { BudgetInput, CircuitInput } from '../dependency/settings.js'
import { type Duration, toMs } from '../values/duration.js'
import { longestNamedMs } from './backoff.js'
import { PRESETS, type PresetName } from './presets.js'

export { MAX_RETRIES, parsePolicy } from './form.js'

export type Backoff =
  | { readonly type: 'exponential'; readonly base: Duration; readonly factor?: number }
  | { readonly type: 'linear'; readonly base: Duration; readonly increment?: Duration }
  | { readonly type: 'fixed'; readonly delay: Duration }
  | { readonly type: 'fibonacci'; readonly base: Duration }
  | { readonly type: 'list'; readonly delays: readonly Duration[]; readonly afterEnd?: 'stop' | 'repeat-last' }
  | { readonly type: 'custom'; readonly name: string }

/** A number r between 0 and 1 is ±r of the delay. */
export type Jitter = 'none' | 'full' | 'equal' | 'decorrelated' | number

export type FailureKind = 'transient' | 'throttled' | 'permanent' | 'gone' | 'blocked' | 'endpoint-disabled'

export type StatusMatch = number | `${1 | 2 | 3 | 4 | 5}xx` | readonly [from: number, to: number]

/** All given fields must match; within one field any value may. */
export interface Rule {
  readonly when: {
    readonly name?: string | readonly string[]
    readonly code?: string | readonly string[]
    /** An array is a list of matches, so a range stands in one: `[[500, 599]]`. */
    readonly status?: Exclude<StatusMatch, readonly unknown[]> | readonly StatusMatch[]
    /** Lives in the worker's code only; a policy that is stored must not have one. */
    readonly predicate?: (error: unknown) => boolean
  }
  readonly as: FailureKind
  /** Replaces the computed backoff for this failure; capped and jittered like it. */
  readonly delay?: Duration
}

export interface Policy {
  readonly maxRetries: number
  readonly backoff: Backoff
  readonly jitter: Jitter
  readonly cap?: Duration
  readonly maxElapsed?: Duration
  readonly rules?: readonly Rule[]
  /** Whether a `Retry-After` from the other side is honoured. Default true. */
  readonly retryAfter?: boolean
  /** Shared by all jobs of its dependency: while what they depend on is down, they wait and lose no attempt. Off by default. */
  readonly circuit?: CircuitInput
  /** How many retries may start, as a share of first attempts. Off by default. */
  readonly budget?: BudgetInput
}

/** One level's say (job, definition, queue or instance): whatever it leaves out comes from the next. */
export type PartialPolicy = Partial<Policy>

/** What people may write for a policy: a preset, (part of) a policy, or other well-known names for the same. */
export type PolicyInput = PresetName | PartialPolicy | JobRetryOptions | InstanceRetryOptions

export interface JobRetryOptions {
  readonly maxRetries?: number
  readonly retryDelay?: Duration
  /** false: the same delay every time. */
  readonly useExponentialBackoff?: boolean
}

export interface InstanceRetryOptions {
  readonly maxRetries?: number
  readonly baseRetryDelay?: Duration
  readonly maxRetryDelay?: Duration
  readonly retryStrategy?: 'exponential' | 'linear' | 'fixed' | 'fibonacci'
  readonly jitterEnabled?: boolean
  readonly jitterFactor?: number
}

/**
 * The policy that holds, from what each level says, most specific first; `standard` fills what nobody says.
 *
 * `rules` add up, the most specific first. Everything else is taken whole from the first level that has it. Where
 * two levels do not suit each other, the more specific one gets what it asked for:
 * - a list brings its own number of retries, unless a level at least as specific names one;
 * - more retries than a list from further down has delays repeat its last delay;
 * - a cap from further down that is below a delay which the backoff names is left out;
 * - decorrelated jitter, which needs exponential backoff, becomes equal jitter with any other.
 */
export function mergePolicies(...levels: readonly (PartialPolicy | undefined)[]): Policy {
  const all: readonly PartialPolicy[] = [...levels.filter(level => level !== undefined), PRESETS.standard]
  const has = (key: keyof Policy) => (level: PartialPolicy) => level[key] !== undefined
  const first = <K extends keyof Policy>(key: K): Policy[K] | undefined => all.find(has(key))?.[key]
  const rank = (key: keyof Policy) => all.findIndex(has(key))

  const ownBackoff = first('backoff') ?? PRESETS.standard.backoff
  const maxRetries = retriesOf(ownBackoff, first('maxRetries') ?? 0, rank('maxRetries') <= rank('backoff'))
  const backoff = lengthened(ownBackoff, maxRetries)
  const jitter = first('jitter') ?? PRESETS.standard.jitter
  const cap = first('cap')
  const maxElapsed = first('maxElapsed')
  const retryAfter = first('retryAfter')
  const circuit = first('circuit')
  const budget = first('budget')
  const rules = all.flatMap(level => level.rules ?? [])
  return {
    maxRetries,
    backoff,
    jitter: jitter === 'decorrelated' && backoff.type !== 'exponential' ? 'equal' : jitter,
    ...(cap !== undefined && (rank('cap') <= rank('backoff') || suits(cap, backoff)) && { cap }),
    ...(maxElapsed !== undefined && { maxElapsed }),
    ...(rules.length > 0 && { rules }),
    ...(retryAfter !== undefined && { retryAfter }),
    ...(circuit && { circuit }),
    ...(budget && { budget }),
  }
}

function retriesOf(backoff: Backoff, asked: number, askedForThis: boolean): number {
  if (backoff.type !== 'list' || askedForThis) return asked
  return backoff.afterEnd === 'repeat-last' ? Math.max(asked, backoff.delays.length) : backoff.delays.length
}

function lengthened(backoff: Backoff, maxRetries: number): Backoff {
  if (backoff.type !== 'list' || maxRetries <= backoff.delays.length) return backoff
  return { ...backoff, afterEnd: 'repeat-last' }
}

function suits(cap: Duration, backoff: Backoff): boolean {
  return toMs(cap, 'cap') >= longestNamedMs(backoff)
}

/** The same policy without what only a worker's code has. Rules with a predicate go whole: half a rule matches too much. */
export function storablePolicy<P extends PartialPolicy>(policy: P): P {
  if (policy.rules === undefined) return policy
  return { ...policy, rules: policy.rules.filter(rule => rule.when.predicate === undefined) }
}
