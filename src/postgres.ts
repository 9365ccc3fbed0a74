import { systemClock, systemDice } from './engine/time/system.js'
import type { CallersPool } from './store/postgres/connection/driver.js'
import { type PostgresOptions, type PostgresStore, postgresStore } from './store/postgres/store.js'

export type { PostgresHealth } from './store/postgres/connection/health.js'
export type { PostgresTransaction } from './store/postgres/connection/user-transaction.js'
export type { PostgresStore } from './store/postgres/store.js'
export type { Store } from './store/store.js'

export type PostgresSettings = Omit<PostgresOptions, 'clock' | 'dice'>

/**
 * A store in a PostgreSQL database: `createChronos({ store: postgres('postgres://…') })`. Accepts a URL, a pool of `pg`
 * whose settings are copied, or options.
 */
export function postgres(source: string | CallersPool | PostgresSettings): PostgresStore {
  const options = typeof source === 'string' ? fromUrl(source) : isPool(source) ? { pool: source } : source
  return postgresStore({ ...options, clock: systemClock, dice: systemDice })
}

function isPool(source: CallersPool | PostgresSettings): source is CallersPool {
  return 'connect' in source && typeof source.connect === 'function'
}

/** `?schema=…` names the schema, `connections=…` limits the connections; the driver reads the rest. */
function fromUrl(url: string): PostgresSettings {
  const parameter = (name: string): string | undefined => new RegExp(`[?&]${name}=([^&#]*)`).exec(url)?.[1]
  const schema = parameter('schema')
  const max = parameter('connections')
  return {
    url,
    ...(schema !== undefined && { schema: decodeURIComponent(schema) }),
    ...(max !== undefined && { connections: { max: Number(max) } }),
  }
}
