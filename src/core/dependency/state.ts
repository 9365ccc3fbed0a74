import { advanced, type Dependency, isProbed } from './dependency.js'

/** The state of a circuit as it is shown. */
export const CIRCUIT_STATES = ['closed', 'open', 'half-open', 'ramping'] as const
export type CircuitState = (typeof CIRCUIT_STATES)[number]

export function circuitState(dependency: Dependency, now: number): CircuitState {
  const { circuit } = advanced(dependency, now)
  return circuit === 'open' && isProbed(dependency, now) ? 'half-open' : circuit
}

/** Whether the circuit holds jobs back or lets only some start, or an operator holds it. */
export function isRestricted(dependency: Dependency, now: number): boolean {
  return dependency.forced !== undefined || circuitState(dependency, now) !== 'closed'
}
