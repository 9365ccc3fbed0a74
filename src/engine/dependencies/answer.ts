import { createHash } from 'node:crypto'
import type { DependencyName, DependencySettings } from '../../core/dependency/dependency.js'
import { budgetSettings, circuitSettings } from '../../core/dependency/settings.js'
import type { Outcome } from '../../core/job/lifecycle.js'
import type { Policy } from '../../core/policy/policy.js'
import { present } from '../../core/values/present.js'
import { DELIVERY_JOB, isEndpointKey } from '../../core/webhook/delivery.js'
import type { Claimed } from '../../store/store.js'
import type { JobDefinition } from '../client/definition.js'

/** The dependency of a job, and what its policy says about dependencies. */
export interface SharedDependency extends DependencyName {
  readonly id: string
  readonly settings: DependencySettings
}

/** What a policy says about dependencies, cached because every job needs it. */
interface Known {
  readonly settings: DependencySettings
  readonly places: Map<string, SharedDependency>
}

const known = new WeakMap<Policy, Known>()

/** Undefined if the policy has neither a circuit nor a retry budget; then nothing is counted and no job waits. */
export function dependencyOf(
  claimed: Claimed,
  definition: JobDefinition,
  policy: Policy,
): SharedDependency | undefined {
  if (!policy.circuit && !policy.budget) return undefined
  const asked = claimed.dependency ?? definition.dependsOn
  const key = asked ?? (policy.circuit ? `job:${claimed.name}` : `queue:${claimed.queue}`)
  return placeOf(knownOf(policy), key, ownerOf(claimed, key))
}

/**
 * The tenant whose jobs share this dependency. Deliveries to a webhook endpoint share it whichever tenant they report
 * about, because the endpoint itself belongs to one tenant or to the operator.
 */
export function ownerOf({ name, tenantId }: Pick<Claimed, 'name' | 'tenantId'>, key: string): string | undefined {
  return name === DELIVERY_JOB && isEndpointKey(key) ? undefined : tenantId
}

/** Marks the ids of dependencies of tenants. It sorts after letters, so that a list begins with the others. */
const OF_TENANT = '~'
/** An index of PostgreSQL has no room for much longer ids. */
const ID_BYTES_MAX = 2_000

/** The id of the dependency's record. Without a tenant it is the key itself. */
export function dependencyId({ key, tenantId }: DependencyName): string {
  const isPlain = tenantId === undefined && !key.startsWith(OF_TENANT)
  const id = isPlain ? key : OF_TENANT + JSON.stringify([tenantId ?? null, key])
  if (Buffer.byteLength(id) <= ID_BYTES_MAX) return id
  return OF_TENANT + createHash('sha256').update(id).digest('hex')
}

/** There may be many dependencies, for example one per customer address. */
const PLACES_MAX = 10_000

function placeOf({ places, settings }: Known, key: string, tenantId: string | undefined): SharedDependency {
  const name = tenantId === undefined ? key : `${tenantId} ${key}`
  const place = places.get(name)
  if (place?.tenantId === tenantId && place?.key === key) return place
  if (places.size >= PLACES_MAX) places.clear()
  const dependency = tenantId === undefined ? { key } : { key, tenantId }
  const made = { ...dependency, id: dependencyId(dependency), settings }
  places.set(name, made)
  return made
}

function knownOf(policy: Policy): Known {
  const cached = known.get(policy)
  if (cached) return cached
  const circuit = circuitSettings(policy.circuit)
  const budget = budgetSettings(policy.budget)
  const settings = present({ circuit, budget })
  const made = { settings, places: new Map() }
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
