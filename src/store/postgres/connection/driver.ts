import { ChronosError } from '../../../core/values/error.js'

/** The part of the `pg` API that this store is written to. */
export interface PgModule {
  readonly Pool: new (settings: PgSettings) => PgPool
  readonly Client: new (settings: PgSettings) => PgClient
}

/** What `new pg.Pool(…)` or `new pg.Client(…)` takes; only some of it means anything to us. */
export type PgSettings = Readonly<Record<string, unknown>>

/** A pool that somebody else has made. */
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
  /** Whether it sends a query before the one before it was answered; only newer versions can. */
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
  /** Under which the server keeps it, prepared, for as long as the connection lives. */
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

/** Our big integers are times and counts, which a number holds; everything else stays the text that it came as. */
export const TYPES: NonNullable<PgQuery['types']> = {
  getTypeParser: oid => (NUMBERS.has(oid) ? Number : oid === BOOLEAN ? isTrue : same),
}

/** Where the database is: an address, or settings, or the pool of somebody whose settings are taken over. */
export type Place = { readonly url: string } | { readonly pool: CallersPool } | { readonly settings: PgSettings }

export async function loadDriver(place: Place): Promise<PgModule> {
  if ('pool' in place) return driverOf(place.pool)
  try {
    // Through a variable: it is an optional peer, and must not be needed to compile.
    const specifier: string = 'pg'
    const loaded = (await import(specifier)) as PgModule & { readonly default?: PgModule }
    return loaded.default ?? loaded
  } catch (error) {
    throw new ChronosError(
      'STORE_NOT_SUPPORTED',
      `a postgres:// store needs the package "pg", which does not load (${String(error)}); install it with \`npm install pg\``,
      { cause: error },
    )
  }
}

/** The very `pg` that the caller's pool is made of. */
function driverOf(pool: CallersPool): PgModule {
  const { Client } = pool as CallersPool & Pick<PgModule, 'Client'>
  return { Pool: pool.constructor as PgModule['Pool'], Client }
}

export function settingsOf(place: Place): PgSettings {
  if ('url' in place) return { connectionString: place.url }
  if ('settings' in place) return place.settings
  const options = place.pool.options as PgSettings
  // The driver hides the password, so that nobody prints it by accident.
  const password = options['password']
  return password === undefined ? { ...options } : { ...options, password }
}
