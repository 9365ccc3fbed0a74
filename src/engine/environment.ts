import type { Clock, Dice } from '../core/clock.js'
import type { Calendar } from './calendar.js'
import type { Connection } from './connection.js'
import type { EventHub } from './events.js'
import type { Log } from './log.js'
import type { Outbox } from './outbox.js'
import type { Policies } from './policies.js'
import type { StoreTime } from './store-time.js'
import type { Telemetry } from './telemetry.js'

/** What every part of the engine is given. */
export interface Environment {
  readonly clock: Clock
  readonly dice: Dice
  readonly log: Log
  readonly connection: Connection
  readonly policies: Policies
  readonly events: EventHub
  readonly time: StoreTime
  readonly calendar: Calendar
  readonly outbox: Outbox
  readonly telemetry: Telemetry
}
