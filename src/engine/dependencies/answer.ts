import type { DependencySettings } from '../../core/dependency/dependency.js'
import { budgetSettings, circuitSettings } from '../../core/dependency/settings.js'
import type { Outcome } from '../../core/job/lifecycle.js'
import type { Policy } from '../../core/policy/policy.js'
import type { Claimed } from '../../store/store.js'
import type { JobDefinition } from '../client/definition.js'

/** The dependency of a job, and what its policy says about dependencies. */
export interface SharedDependency {
  readonly key: string
  readonly settings: DependencySettings
}

/** What a policy says about dependencies, cached because every job needs it. */
interface Known {
  readonly settings: DependencySettings
  readonly given: Map<string, SharedDependency>
  readonly byDefault: Map<string, SharedDependency>
}

const known = new WeakMap<Policy, Known>()

/** Undefined if the policy has neither a circuit nor a retry budget; then nothing is counted and no job waits. */
export function dependencyOf(
  claimed: Claimed,
  definition: JobDefinition,
  policy: Policy,
): SharedDependency | undefined {
  if (!policy.circuit && !policy.budget) return undefined
  const { settings, given, byDefault } = knownOf(policy)
  const asked = claimed.dependency ?? definition.dependsOn
  if (asked !== undefined) return placeOf(given, asked, asked, settings)
  return policy.circuit
    ? placeOf(byDefault, claimed.name, `job:${claimed.name}`, settings)
    : placeOf(byDefault, claimed.queue, `queue:${claimed.queue}`, settings)
}

/** There may be many dependencies, for example one per customer address. */
const PLACES_MAX = 10_000

function placeOf(
  places: Map<string, SharedDependency>,
  id: string,
  key: string,
  settings: DependencySettings,
): SharedDependency {
  const place = places.get(id)
  if (place) return place
  if (places.size >= PLACES_MAX) places.clear()
  const made = { key, settings }
  places.set(id, made)
  return made
}

function knownOf(policy: Policy): Known {
  const cached = known.get(policy)
  if (cached) return cached
  const circuit = circuitSettings(policy.circuit)
  const budget = budgetSettings(policy.budget)
  const settings = { ...(circuit && { circuit }), ...(budget && { budget }) }
  const made = { settings, given: new Map(), byDefault: new Map() }
  known.set(policy, made)
  return made
}

/**
 * What the outcome of a run says about the dependency. A response that refuses the request shows that the dependency is
 * up, one that asks to retry later is inconclusive, and an error of the handler itself says nothing.
 */
export function answerOf(outcome: Outcome): 'up' | 'down' | 'unsure' {
  if (outcome.kind === 'succeeded') return 'up'
  if (outcome.kind === 'timed-out') return 'down'
  if (outcome.kind !== 'failed') return 'unsure'
  const { kind } = outcome.classification
  if (kind === 'transient') return 'down'
  return (kind === 'permanent' || kind === 'gone') && outcome.error.status !== undefined ? 'up' : 'unsure'
}

export function whyOf(outcome: Outcome): string | undefined {
  if (outcome.kind !== 'failed' && outcome.kind !== 'timed-out') return undefined
  const { name, message } = outcome.error
  return `${name}: ${message}`.slice(0, 200)
}
