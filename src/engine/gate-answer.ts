import type { GateSettings } from '../core/gate.js'
import { budgetSettings, circuitSettings } from '../core/gate-settings.js'
import type { Outcome } from '../core/lifecycle.js'
import type { Policy } from '../core/policy.js'
import type { Claimed } from '../store/store.js'
import type { JobDefinition } from './definition.js'

/** The gate that a job passes, and what its policy says about it. */
export interface GatePlace {
  readonly key: string
  readonly settings: GateSettings
}

const known = new WeakMap<Policy, GateSettings>()

/** undefined where neither circuit nor budget is asked for: then nothing is counted and nobody waits. */
export function gateOf(claimed: Claimed, definition: JobDefinition, policy: Policy): GatePlace | undefined {
  if (!policy.circuit && !policy.budget) return undefined
  const key =
    claimed.gate ?? definition.dependsOn ?? (policy.circuit ? `job:${claimed.name}` : `queue:${claimed.queue}`)
  return { key, settings: settingsOf(policy) }
}

function settingsOf(policy: Policy): GateSettings {
  const cached = known.get(policy)
  if (cached) return cached
  const circuit = circuitSettings(policy.circuit)
  const budget = budgetSettings(policy.budget)
  const settings = { ...(circuit && { circuit }), ...(budget && { budget }) }
  known.set(policy, settings)
  return settings
}

/**
 * What a run's end says about what the job depends on. An answer that refuses the request proves that somebody
 * answers; one that asks for patience says neither; an error of the handler's own says nothing.
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
