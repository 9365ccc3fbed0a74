import { systemClock, systemDice } from './engine/time/system.js'
import type { CallersPool } from './store/postgres/connection/driver.js'
import { type PostgresOptions, type PostgresStore, postgresStore } from './store/postgres/store.js'

export type { PostgresHealth } from './store/postgres/connection/health.js'
export type { PostgresTransaction } from './store/postgres/connection/user-transaction.js'
export type { PostgresStore } from './store/postgres/store.js'
export type { Store } from './store/store.js'

export type PostgresSettings = Omit<PostgresOptions, 'clock' | 'dice'>

/**
 * A store in a PostgreSQL database: `createChronos({ store: postgres('postgres://…') })`. Takes an address, a pool of
 * `pg` whose settings are taken over, or options.
 */
export function postgres(place: string | CallersPool | PostgresSettings): PostgresStore {
  const options = typeof place === 'string' ? fromUrl(place) : isPool(place) ? { pool: place } : place
  return postgresStore({ ...options, clock: systemClock, dice: systemDice })
}

function isPool(place: CallersPool | PostgresSettings): place is CallersPool {
  return 'connect' in place && typeof place.connect === 'function'
}

/** `?schema=…` names the schema; everything else is for the driver. */
function fromUrl(url: string): PostgresSettings {
  const schema = /[?&]schema=([^&#]*)/.exec(url)?.[1]
  return schema === undefined ? { url } : { url, schema: decodeURIComponent(schema) }
}
