import { type FleetEvent, fleetEventId } from '../../core/incident/event.js'
import type { RecordWrite } from '../../store/record.js'
import type { Environment } from '../client/environment.js'

/** The kind of the records of fleet events. They are removed after 90 days. */
export const FLEET_EVENT = 'fleet-event'

export const eventWrites = (events: readonly FleetEvent[]): readonly RecordWrite[] =>
  events.map(event => ({ kind: FLEET_EVENT, id: fleetEventId(event), body: JSON.stringify(event) }))

/** What happened is not undone because it can't be recorded, so a failure is only logged. */
export async function keepEvents({ connection, log }: Environment, events: readonly FleetEvent[]): Promise<void> {
  if (events.length === 0) return
  try {
    const store = await connection.store()
    await store.putRecords(eventWrites(events))
  } catch (error) {
    log.warn(
      { event: 'fleet-event.failed', types: events.map(({ type }) => type), err: error },
      'failed to record event',
    )
  }
}
