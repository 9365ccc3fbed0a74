import type { Clock, Dice } from '../../core/values/clock.js'
import type { Telemetry } from '../figures/telemetry.js'
import type { ScheduleCache } from '../schedules/schedule-cache.js'
import type { StoreTime } from '../time/store-time.js'
import type { Outbox } from '../webhooks/outbox.js'
import type { Connection } from './connection.js'
import type { EventHub } from './events.js'
import type { Log } from './log.js'
import type { Policies } from './policies.js'

/** The dependencies of every part of the engine. */
export interface Environment {
  readonly clock: Clock
  readonly dice: Dice
  readonly log: Log
  readonly connection: Connection
  readonly policies: Policies
  readonly events: EventHub
  readonly time: StoreTime
  readonly scheduleCache: ScheduleCache
  readonly outbox: Outbox
  readonly telemetry: Telemetry
  /** A job of a queue with limits has ended or was handed back, so another one may start. */
  readonly onTurn: (queue: string) => void
}
