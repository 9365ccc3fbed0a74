import { type Duration, toMs } from '../values/duration.js'
import { present } from '../values/present.js'
import type { Infer } from '../values/schema.js'
import { longestNamedMs } from './backoff.js'
import type { Backoff, instanceRetryOptions, jobRetryOptions, PartialPolicy, Policy } from './form.js'
import { PRESETS, type PresetName } from './presets.js'

export {
  type Backoff,
  type Jitter,
  type PartialPolicy,
  type Policy,
  parsePolicy,
  partialPolicy,
  policy,
  policyLevel,
} from './form.js'
export { MAX_RETRIES } from './presets.js'
export type { Rule, StatusMatch } from './rules.js'

export const FAILURE_KINDS = ['transient', 'throttled', 'permanent', 'gone', 'blocked', 'endpoint-disabled'] as const
export type FailureKind = (typeof FAILURE_KINDS)[number]

/** The input forms of a policy: a preset, a whole or partial policy, or other well-known names of the same settings. */
export type PolicyInput = PresetName | PartialPolicy | JobRetryOptions | InstanceRetryOptions
export type JobRetryOptions = Infer<typeof jobRetryOptions>
export type InstanceRetryOptions = Infer<typeof instanceRetryOptions>

/**
 * The effective policy of several levels, most specific first; `standard` supplies missing settings.
 *
 * `rules` add up, the most specific first. Every other setting is taken from the first level that has it. If
 * two levels conflict, the more specific one takes precedence:
 * - a list brings its own number of retries, no jitter and no cap, unless a level at least as specific names them;
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
  const isExact = backoff.type === 'list' && rank('jitter') > rank('backoff')
  const jitter = isExact ? 'none' : (first('jitter') ?? PRESETS.standard.jitter)
  const cap = first('cap')
  const rules = all.flatMap(level => level.rules ?? [])
  return present({
    ...(Object.assign({}, ...all.map(level => present(level)).reverse()) as PartialPolicy),
    maxRetries,
    backoff,
    jitter: jitter === 'decorrelated' && backoff.type !== 'exponential' ? 'equal' : jitter,
    cap: cap !== undefined && (rank('cap') <= rank('backoff') || suits(cap, backoff)) ? cap : undefined,
    rules: rules.length > 0 ? rules : undefined,
  })
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
  return backoff.type !== 'list' && toMs(cap, 'cap') >= longestNamedMs(backoff)
}

/** The policy without functions. Rules with a predicate are dropped, because without it they would match too much. */
export function storablePolicy<P extends PartialPolicy>(policy: P): P {
  if (policy.rules === undefined) return policy
  return { ...policy, rules: policy.rules.filter(rule => rule.when.predicate === undefined) }
}
