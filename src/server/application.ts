import type { Clock, Dice } from '../core/values/clock.js'
import type { Chronos } from '../engine/client/chronos.js'
import type { Log } from '../engine/client/log.js'
import type { Access } from './access/access.js'
import type { Quota } from './access/quota.js'
import type { Tokens } from './access/tokens.js'
import type { AuditLog } from './audit-log.js'
import type { EventFeed } from './events/feed.js'
import type { Health } from './health.js'
import type { BodyBudget } from './http/body.js'
import type { Idempotency } from './http/idempotency.js'
import type { LargePages } from './http/large-pages.js'
import type { Slots } from './http/slots.js'
import type { SavedViews } from './saved-views.js'
import type { ServerSettings } from './settings.js'

/** The parts of the server that routes use. */
export interface Application {
  readonly chronos: Chronos
  readonly settings: ServerSettings
  readonly clock: Clock
  readonly dice: Dice
  readonly log: Log
  readonly access: Access
  readonly tokens: Tokens
  readonly savedViews: SavedViews
  readonly quota: Quota
  readonly auditLog: AuditLog
  readonly idempotency: Idempotency
  readonly feed: EventFeed
  readonly health: Health
  readonly bodies: BodyBudget
  readonly pages: LargePages
  /** Requests that wait for the end of a job, and streams of the updates of a job. */
  readonly waiting: Slots
  readonly following: Slots
  /** Aborts when the server closes, so that waiting requests are answered at once. */
  readonly closing: AbortSignal
}
