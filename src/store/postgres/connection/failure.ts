import { ChronosError, type ErrorCode } from '../../../core/values/error.js'

/** What the words of an error are made of. */
export interface Site {
  /** Address of the database, without its password. */
  readonly location: string
  readonly schema: string
}

interface Meaning {
  readonly code: ErrorCode
  /** What is the matter, and the way out. `said` is the database's own sentence. */
  readonly words: (site: Site, said: string) => string
}

const unavailable = (words: Meaning['words']): Meaning => ({ code: 'STORE_UNAVAILABLE', words })
const invalid = (words: Meaning['words']): Meaning => ({ code: 'INVALID_OPTION', words })

const NO_TABLES: Meaning = {
  code: 'STORE_NOT_A_DATABASE',
  words: ({ location, schema }) =>
    `${location} has no Chronos tables in schema "${schema}"; create them with \`chronos migrate\`, or correct the schema`,
}
const BUSY = unavailable(({ location }, said) => `${location} was too busy (${said}); it can be tried again`)
const GONE = unavailable(({ location }, said) => `${location} closed the connection (${said}); it is tried again`)
const LOGIN = unavailable(
  ({ location }, said) => `${location} does not let us in (${said}); check user, password and pg_hba.conf`,
)
const UNREACHABLE = unavailable(
  ({ location }, said) => `${location} can't be reached (${said}); check that it runs and that the address is right`,
)

/** SQLSTATE, or its first two characters for a whole class, and what it means here. The longer one counts. */
const MEANINGS: Readonly<Record<string, Meaning>> = {
  '08': GONE,
  '22': invalid((_, said) => `refused by the database: ${said}; correct the value it names`),
  '23': invalid((_, said) => `refused by a constraint of the store: ${said}; correct the value it names`),
  '25006': {
    code: 'STORE_READ_ONLY',
    words: ({ location }) =>
      `${location} only reads: it is a standby, or default_transaction_read_only is on; connect to the primary`,
  },
  '28': LOGIN,
  '3D000': unavailable(
    ({ location }) => `${location} does not exist; create it with \`createdb\`, or correct the name`,
  ),
  '3F000': NO_TABLES,
  '40': BUSY,
  '42501': {
    code: 'STORE_READ_ONLY',
    words: ({ location, schema }, said) =>
      `${location}: ${said}; grant the user CREATE on the database, or USAGE and all rights on schema "${schema}"`,
  },
  '42883': NO_TABLES,
  '42P01': NO_TABLES,
  '53100': {
    code: 'STORE_FULL',
    words: ({ location }) => `no room left for ${location}; free some space on its disk, and it goes on by itself`,
  },
  '53': unavailable(({ location }, said) => `${location} is out of resources (${said}); it is tried again`),
  '55P03': BUSY,
  '57014': unavailable(({ location }, said) => `${location} took too long (${said}); it can be tried again`),
  '57': GONE,
  '58': unavailable(({ location }, said) => `${location} can't read or write its files (${said}); check its disk`),
  XX001: { code: 'STORE_CORRUPT', words: ({ location }, said) => `${location} is damaged (${said}); restore a backup` },
  XX002: { code: 'STORE_CORRUPT', words: ({ location }, said) => `${location} is damaged (${said}); reindex it` },
}

/** The five characters with which PostgreSQL says what went wrong; undefined for what is not from there. */
export function sqlState(error: unknown): string | undefined {
  const { code, severity } = (error ?? {}) as { code?: unknown; severity?: unknown }
  return typeof code === 'string' && code.length === 5 && severity !== undefined ? code : undefined
}

/** Somebody created, after we had looked, what was not there. */
export class OvertakenError extends ChronosError {
  constructor(what: string) {
    super('STORE_UNAVAILABLE', `${what} were created by others again and again at the same moment; try again`)
  }
}

/** It lost a race, and wins the next one: nothing was done, and it can be done at once. */
export function lostRace(error: unknown): boolean {
  if (error instanceof OvertakenError) return true
  const state = sqlState(error) ?? ''
  const takenMeanwhile = state === '23505' && (error as { constraint?: unknown }).constraint === 'jobs_unique'
  return takenMeanwhile || ['40001', '40P01', '55P03'].includes(state)
}

/**
 * A pooler between us gave the transaction a connection on which a statement was not prepared, or on which somebody else
 * had prepared it: nothing was done.
 */
export function lostStatement(error: unknown): boolean {
  return ['26000', '42P05'].includes(sqlState(error) ?? '')
}

/** After a failover the connection may lead to what is a standby now: another one leads to the primary. */
export function needsAnotherConnection(error: unknown): boolean {
  return sqlState(error) === '25006'
}

/** How the driver says that it has no connection any more. */
const NO_CONNECTION = /^(Connection terminated|Client (has|was) |timeout e|Cannot use a pool)/

/** The line is dead, and with it the answer. */
export function lostConnection(error: unknown): boolean {
  const state = sqlState(error)
  if (state !== undefined) return state.startsWith('08') || /^57P0[1-5]$/.test(state)
  if (!(error instanceof Error) || error instanceof ChronosError) return false
  const { message, syscall, code } = error as NodeJS.ErrnoException
  return syscall !== undefined || /^E[A-Z]+$/.test(code ?? '') || NO_CONNECTION.test(message)
}

/** The answer is lost, and the statement had been sent: it may have been done. */
export function unknownOutcome(error: unknown, site: Site): ChronosError {
  return new ChronosError(
    'STORE_UNKNOWN',
    `${site.location}: the connection was lost before the answer came (${saidBy(error)}); ` +
      'it may have been done, and is safe to repeat',
    { cause: error, details: { location: site.location } },
  )
}

/** What PostgreSQL, the driver or the network said, in words that name the database and the way out. */
export function failure(error: unknown, site: Site): unknown {
  if (error instanceof ChronosError) return error
  const state = sqlState(error)
  const meaning = state === undefined ? undefined : (MEANINGS[state] ?? MEANINGS[state.slice(0, 2)])
  if (meaning) return told(meaning, error, site)
  return lostConnection(error) ? told(UNREACHABLE, error, site) : error
}

/** The server itself said no, and did nothing; what became of the rest, and of a line that is dead, is another matter. */
export function wasRefused(error: unknown): boolean {
  return error instanceof ChronosError ? error.details?.['sqlState'] !== undefined : sqlState(error) !== undefined
}

/** Nothing was sent yet, whatever the driver or the network says of it. */
export function connectFailure(error: unknown, site: Site): unknown {
  const known = failure(error, site)
  return known instanceof ChronosError ? known : told(UNREACHABLE, error, site)
}

function told({ code, words }: Meaning, error: unknown, site: Site): ChronosError {
  const state = sqlState(error)
  const details = { location: site.location, ...(state !== undefined && { sqlState: state }) }
  return new ChronosError(code, words(site, saidBy(error)), { cause: error, details })
}

/** A connection that failed for several addresses of one host says nothing itself. */
function saidBy(error: unknown): string {
  const { message, code, errors } = error as Error & { code?: unknown; errors?: readonly unknown[] }
  if (message) return message
  return errors?.[0] instanceof Error ? errors[0].message : String(code ?? error)
}
