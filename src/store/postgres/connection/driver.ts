import { ChronosError } from '../../../core/values/error.js'

/** The part of the `pg` API that this store uses. */
export interface PgModule {
  readonly Pool: new (settings: PgSettings) => PgPool
  readonly Client: new (settings: PgSettings) => PgClient
}

/** The settings of `new pg.Pool(…)` or `new pg.Client(…)`; the store uses only some of them. */
export type PgSettings = Readonly<Record<string, unknown>>

/** A pool that the caller created. */
export interface CallersPool {
  readonly options: object
  connect(): Promise<unknown>
}

export interface PgPool {
  connect(): Promise<PgPoolClient>
  end(): Promise<void>
  on(event: 'connect', listener: (client: PgClient) => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
}

export interface PgClient {
  readonly host?: string
  readonly port?: number
  readonly database?: string | undefined
  readonly user?: string | undefined
  /** The process of the server that accepted the connection; of a pooler, if there is one. */
  readonly processID?: number | null
  /** Whether the client sends a query before the previous one is answered; only newer versions support it. */
  readonly pipeline?: boolean
  readonly connection?: { readonly stream: { destroy(): void; cork?(): void; uncork?(): void } }
  connect(): Promise<unknown>
  query(query: PgQuery): Promise<PgResult>
  end(): Promise<void>
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'end', listener: () => void): unknown
  on(event: 'notice', listener: (notice: PgNotice) => void): unknown
  on(event: 'notification', listener: (message: PgNotification) => void): unknown
}

export interface PgPoolClient extends PgClient {
  release(broken?: Error | boolean): void
}

export interface PgQuery {
  readonly text: string
  /** The name under which the server keeps the prepared statement for the lifetime of the connection. */
  readonly name?: string
  readonly values?: readonly unknown[]
  readonly rowMode?: 'array'
  readonly types?: { getTypeParser(oid: number): (text: string) => unknown }
}

export interface PgResult {
  readonly rows: unknown[]
}

export interface PgNotice {
  readonly code?: string | undefined
  readonly routine?: string | undefined
}

export interface PgNotification {
  readonly channel: string
  readonly payload?: string | undefined
}

const BOOLEAN = 16
const NUMBERS: ReadonlySet<number> = new Set([20, 21, 23, 701])

const same = (text: string) => text
const isTrue = (text: string) => text === 't'

/** The bigint values are times and counts, which fit into a number; every other type stays text. */
export const TYPES: NonNullable<PgQuery['types']> = {
  getTypeParser: oid => (NUMBERS.has(oid) ? Number : oid === BOOLEAN ? isTrue : same),
}

/** The location of the database: an address, settings, or a caller's pool whose settings are copied. */
export type Place = { readonly url: string } | { readonly pool: CallersPool } | { readonly settings: PgSettings }

export async function loadDriver(place: Place): Promise<PgModule> {
  if ('pool' in place) return driverOf(place.pool)
  try {
    // The specifier is in a variable because the package is an optional peer and must not be required to compile.
    const specifier: string = 'pg'
    const loaded = (await import(specifier)) as PgModule & { readonly default?: PgModule }
    return loaded.default ?? loaded
  } catch (error) {
    throw new ChronosError(
      'STORE_NOT_SUPPORTED',
      `a postgres:// store needs the package "pg", which failed to load (${String(error)}); install it with \`npm install pg\``,
      { cause: error },
    )
  }
}

/** Returns the same `pg` that created the caller's pool. */
function driverOf(pool: CallersPool): PgModule {
  const { Client } = pool as CallersPool & Pick<PgModule, 'Client'>
  return { Pool: pool.constructor as PgModule['Pool'], Client }
}

export function settingsOf(place: Place): PgSettings {
  if ('url' in place) return { connectionString: place.url }
  if ('settings' in place) return place.settings
  const options = place.pool.options as PgSettings
  // The driver makes the password non-enumerable to keep it out of logs.
  const password = options['password']
  return password === undefined ? { ...options } : { ...options, password }
}
