import type { Dependency } from '../../core/dependency/dependency.js'
import type { FleetEvent } from '../../core/incident/event.js'
import { present } from '../../core/values/present.js'
import type { Environment } from '../client/environment.js'
import { keepEvents } from '../incident/events.js'

/** Logs, emits and keeps what this change of a dependency means for its circuit. */
export async function announceTransition(
  env: Environment,
  before: Dependency,
  after: Dependency,
  at: number,
): Promise<void> {
  if (before.circuit !== after.circuit) announce(env, before, after)
  await keepEvents(env, eventsOf(before, after, at))
}

function announce({ events, log }: Environment, before: Dependency, after: Dependency): void {
  const { key, tenantId, reason, openUntil } = after
  const name = { key, ...(tenantId !== undefined && { tenantId }) }
  const facts = { ...name, ...(reason !== undefined && { reason }) }
  if (after.circuit === 'open') {
    const until = openUntil === undefined ? {} : { openUntil: new Date(openUntil).toISOString() }
    log.warn({ event: 'circuit.opened', ...facts, ...until }, 'circuit opened')
    events.emit('circuit.opened', { ...facts, ...until })
  } else if (before.circuit === 'open') {
    log.info({ event: 'circuit.closed', ...name }, 'circuit closed')
    events.emit('circuit.closed', name)
  }
}

/** The event of a circuit that opened or closed. */
function eventsOf(before: Dependency, after: Dependency, at: number): readonly FleetEvent[] {
  if ((before.circuit === 'open') === (after.circuit === 'open')) return []
  const { key: dependency, tenantId, reason } = after
  const of = { at, dependency, ...present({ tenantId }) }
  if (after.circuit === 'open') return [{ type: 'circuit-opened', ...of, ...present({ reason }) }]
  return [{ type: 'circuit-closed', ...of }]
}
