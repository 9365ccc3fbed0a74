import { ChronosError, type ErrorCode } from '../../../core/values/error.js'

/** The facts that error messages name. */
export interface Site {
  /** Address of the database, without its password. */
  readonly location: string
  readonly schema: string
}

interface Meaning {
  readonly code: ErrorCode
  /** The message, with a remedy. `reason` is the message of the database. */
  readonly message: (site: Site, reason: string) => string
}

const unavailable = (message: Meaning['message']): Meaning => ({ code: 'STORE_UNAVAILABLE', message })
const invalid = (message: Meaning['message']): Meaning => ({ code: 'INVALID_OPTION', message })

const NO_TABLES: Meaning = {
  code: 'STORE_NOT_A_DATABASE',
  message: ({ location, schema }) =>
    `${location} has no Chronos tables in schema "${schema}"; create them with \`chronos migrate\`, or correct the schema`,
}
const BUSY = unavailable(({ location }, reason) => `${location} was too busy (${reason}); retry`)
const GONE = unavailable(({ location }, reason) => `${location} closed the connection (${reason}); Chronos retries`)
const LOGIN = unavailable(
  ({ location }, reason) => `${location} rejected the login (${reason}); check user, password and pg_hba.conf`,
)
const POOL_BUSY = unavailable(
  ({ location }) =>
    `${location}: all connections of this process were in use for too long, because the server is slow or does not ` +
    'answer; retry, or allow more with `connections.max`',
)
const UNREACHABLE = unavailable(
  ({ location }, reason) =>
    `${location} can't be reached (${reason}); check that the server is running and that the address is correct`,
)

/** The meaning of each SQLSTATE, or of its first two characters for a whole class. The longer match wins. */
const MEANINGS: Readonly<Record<string, Meaning>> = {
  '08': GONE,
  '22': invalid((_, reason) => `refused by the database: ${reason}; correct the named value`),
  '23': invalid((_, reason) => `refused by a constraint of the store: ${reason}; correct the named value`),
  '25006': {
    code: 'STORE_READ_ONLY',
    message: ({ location }) =>
      `${location} is read-only: it is a standby, or default_transaction_read_only is on; connect to the primary`,
  },
  '28': LOGIN,
  '3D000': unavailable(
    ({ location }) => `${location} does not exist; create it with \`createdb\`, or correct the name`,
  ),
  '3F000': NO_TABLES,
  '40': BUSY,
  '42501': {
    code: 'STORE_READ_ONLY',
    message: ({ location, schema }, reason) =>
      `${location}: ${reason}; grant the user CREATE on the database, or USAGE and all rights on schema "${schema}"`,
  },
  '42883': NO_TABLES,
  '42P01': NO_TABLES,
  '53100': {
    code: 'STORE_FULL',
    message: ({ location }) => `no disk space left for ${location}; free some space, and Chronos resumes on its own`,
  },
  '53': unavailable(({ location }, reason) => `${location} is out of resources (${reason}); Chronos retries`),
  '55P03': BUSY,
  '57014': unavailable(({ location }, reason) => `${location} took too long (${reason}); retry`),
  '57': GONE,
  '58': unavailable(({ location }, reason) => `${location} can't read or write its files (${reason}); check its disk`),
  XX001: {
    code: 'STORE_CORRUPT',
    message: ({ location }, reason) => `${location} is damaged (${reason}); restore a backup`,
  },
  XX002: { code: 'STORE_CORRUPT', message: ({ location }, reason) => `${location} is damaged (${reason}); reindex it` },
}

/** The SQLSTATE of a PostgreSQL error; undefined for other errors. */
export function sqlState(error: unknown): string | undefined {
  const { code, severity } = (error ?? {}) as { code?: unknown; severity?: unknown }
  return typeof code === 'string' && code.length === 5 && severity !== undefined ? code : undefined
}

/** A row that did not exist at the read was created concurrently. */
export class OvertakenError extends ChronosError {
  constructor(what: string) {
    super('STORE_UNAVAILABLE', `${what} were created concurrently; retry`)
  }
}

/** The transaction lost a race and was rolled back; it can be retried at once. */
export function lostRace(error: unknown): boolean {
  if (error instanceof OvertakenError) return true
  const state = sqlState(error) ?? ''
  const takenMeanwhile = state === '23505' && (error as { constraint?: unknown }).constraint === 'jobs_unique'
  return takenMeanwhile || ['40001', '40P01', '55P03'].includes(state)
}

/**
 * A pooler gave the transaction a connection on which the statement was not prepared, or on which another client had
 * prepared it: nothing was done.
 */
export function lostStatement(error: unknown): boolean {
  return ['26000', '42P05'].includes(sqlState(error) ?? '')
}

/**
 * After a failover the connection may lead to a server that is now a standby; a new connection leads to the primary.
 */
export function needsAnotherConnection(error: unknown): boolean {
  return sqlState(error) === '25006'
}

/** How the driver reports a lost connection. */
const NO_CONNECTION = /^(Connection terminated|Client (has|was) |timeout e|Query read timeout|Cannot use a pool)/

/** The connection was lost, and the answer with it. */
export function lostConnection(error: unknown): boolean {
  const state = sqlState(error)
  if (state !== undefined) return state.startsWith('08') || /^57P0[1-5]$/.test(state)
  if (!(error instanceof Error) || error instanceof ChronosError) return false
  const { message, syscall, code } = error as NodeJS.ErrnoException
  return syscall !== undefined || /^E[A-Z]+$/.test(code ?? '') || NO_CONNECTION.test(message)
}

/** The statement was sent and the answer was lost: it may have been committed. */
export function unknownOutcome(error: unknown, site: Site): ChronosError {
  return new ChronosError(
    'STORE_UNKNOWN',
    `${site.location}: the connection was lost before the answer arrived (${reasonOf(error)}); ` +
      'the write may have been committed; repeating it is safe, except for an enqueue without a `key`',
    { cause: error, details: { location: site.location } },
  )
}

/** Translates an error of PostgreSQL, the driver or the network into one that names the database and a remedy. */
export function failure(error: unknown, site: Site): unknown {
  if (error instanceof ChronosError) return error
  const state = sqlState(error)
  const meaning = state === undefined ? undefined : (MEANINGS[state] ?? MEANINGS[state.slice(0, 2)])
  if (meaning) return chronosError(meaning, error, site)
  return lostConnection(error) ? chronosError(UNREACHABLE, error, site) : error
}

/** Whether the server itself rejected the statement and did nothing. The outcome after a lost connection is unknown. */
export function wasRefused(error: unknown): boolean {
  return error instanceof ChronosError ? error.details?.['sqlState'] !== undefined : sqlState(error) !== undefined
}

/** Every connection of the process was in use for as long as the caller waited. */
export function isPoolBusy(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('timeout exceeded when trying to connect')
}

/** The connection could not be established, so nothing was sent. */
export function connectFailure(error: unknown, site: Site): unknown {
  if (isPoolBusy(error)) return chronosError(POOL_BUSY, error, site)
  const known = failure(error, site)
  return known instanceof ChronosError ? known : chronosError(UNREACHABLE, error, site)
}

function chronosError({ code, message }: Meaning, error: unknown, site: Site): ChronosError {
  const state = sqlState(error)
  const details = { location: site.location, ...(state !== undefined && { sqlState: state }) }
  return new ChronosError(code, message(site, reasonOf(error)), { cause: error, details })
}

/** If the connection failed for several addresses of one host, the error itself has no message. */
function reasonOf(error: unknown): string {
  const { message, code, errors } = error as Error & { code?: unknown; errors?: readonly unknown[] }
  if (message) return message
  return errors?.[0] instanceof Error ? errors[0].message : String(code ?? error)
}
