import type { Severity } from '../alert/alert.js'
import { timeText } from '../job/view.js'

/** Something that happened to the fleet. It is kept as a record, so that it is known after the fleet has recovered. */
export type FleetEvent = { readonly at: number } & (
  | {
      readonly type: 'circuit-opened' | 'circuit-closed'
      readonly dependency: string
      readonly tenantId?: string
      readonly reason?: string
    }
  | {
      readonly type: 'alert-fired' | 'alert-resolved'
      readonly alertId: string
      readonly rule: string
      readonly labels: Readonly<Record<string, string>>
      readonly severity: Severity
      readonly summary: string
    }
  | { readonly type: 'worker-started'; readonly workerId: string; readonly host: string; readonly build: string }
)

export type EventOf<Type extends FleetEvent['type']> = FleetEvent & { readonly type: Type }

/** Ids sort by time, and the same event has the same id. */
export function fleetEventId(event: FleetEvent): string {
  return `${timeText(event.at)} ${event.type} ${subjectOf(event)}`
}

function subjectOf(event: FleetEvent): string {
  switch (event.type) {
    case 'circuit-opened':
    case 'circuit-closed':
      return event.tenantId === undefined ? event.dependency : `${event.dependency}@${event.tenantId}`
    case 'alert-fired':
    case 'alert-resolved':
      return event.alertId
    case 'worker-started':
      return event.workerId
  }
}
