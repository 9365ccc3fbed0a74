import { accessSync, constants } from 'node:fs'
import { dirname } from 'node:path'
import { ChronosError } from '../../../core/values/error.js'

// SQLite result codes that need special handling. The low byte is the primary code; the rest is the extended code.
const BUSY = 5
const LOCKED = 6
const READONLY = 8
const IOERR = 10
const CORRUPT = 11
const FULL = 13
const CANTOPEN = 14
const PROTOCOL = 15
const CONSTRAINT = 19
const NOTADB = 26
const READONLY_DBMOVED = 1032
/** The shared-memory file could not grow; a full disk usually shows this error first. */
const IOERR_SHMSIZE = 4874

/** What SQLite says for each primary code. */
const MESSAGES: readonly (readonly [RegExp, number])[] = [
  [/^database is locked/, BUSY],
  [/^database (table|schema) is locked/, LOCKED],
  [/^attempt to write a readonly database/, READONLY],
  [/^disk I\/O error/, IOERR],
  [/^database disk image is malformed|^malformed database schema/, CORRUPT],
  [/^database or disk is full/, FULL],
  [/^unable to open database file/, CANTOPEN],
  [/^locking protocol/, PROTOCOL],
  [/constraint failed/, CONSTRAINT],
  [/^file is not a database/, NOTADB],
]

function codeOf(error: unknown): number {
  const thrown = (error instanceof ChronosError ? error.cause : error) as SqliteError | null | undefined
  if (typeof thrown?.errcode === 'number') return thrown.errcode
  // `@photostructure/sqlite` gives no number if a row after the first one can't be read.
  if (thrown?.code !== 'ERR_SQLITE_ERROR') return 0
  return MESSAGES.find(([message]) => message.test(thrown.message))?.[1] ?? 0
}

interface SqliteError extends Error {
  readonly code?: unknown
  readonly errcode?: unknown
}

/** Another connection holds the lock: nothing was done, and the call can be retried. */
export function isBusy(error: unknown): boolean {
  if (error instanceof ChronosError) return false
  const code = codeOf(error) & 0xff
  return code === BUSY || code === LOCKED || code === PROTOCOL
}

/** After these errors the connection is unusable; the next call opens another one. */
export function breaksConnection(error: unknown): boolean {
  const code = codeOf(error)
  const fatal = [IOERR, CORRUPT, CANTOPEN, NOTADB].includes(code & 0xff)
  return fatal || (code & 0xff) === READONLY || code === READONLY_DBMOVED
}

/**
 * After a disk error during a commit, the outcome is known only after a restart. Any other failed commit was not done.
 */
export function commitFailure(error: unknown, path: string): unknown {
  if ((codeOf(error) & 0xff) !== IOERR || codeOf(error) === IOERR_SHMSIZE) return error
  return new ChronosError(
    'STORE_UNKNOWN',
    `${path}: disk error during a commit (${String(error)}); the write may have been committed; ` +
      'repeating it is safe, except for an enqueue without a `key`',
    { cause: error, details: { path } },
  )
}

/** Translates an error of SQLite or the file system into one that names the file and a remedy. */
export function failure(error: unknown, path: string): unknown {
  if (error instanceof ChronosError) return error
  const chronosError = (code: ConstructorParameters<typeof ChronosError>[0], message: string) =>
    new ChronosError(code, message, { cause: error, details: { path } })
  const readOnly = () =>
    chronosError('STORE_READ_ONLY', `${path} can't be written (${reason}); make it and ${dirname(path)} writable`)
  const code = codeOf(error)
  const reason = error instanceof Error ? error.message : String(error)
  if (code === IOERR_SHMSIZE || code === FULL)
    return chronosError('STORE_FULL', `no disk space left for ${path}; free some space, and Chronos resumes on its own`)
  if (code === READONLY_DBMOVED)
    return chronosError('STORE_UNAVAILABLE', `${path} was moved or deleted while it was open; put it back, or restart`)
  switch (code & 0xff) {
    case BUSY:
    case LOCKED:
    case PROTOCOL:
      return chronosError(
        'STORE_UNAVAILABLE',
        `${path} stayed locked by another process for 10 s; stop the process that holds the lock`,
      )
    case READONLY:
      return readOnly()
    case NOTADB:
      return chronosError(
        'STORE_NOT_A_DATABASE',
        `${path} is not an SQLite database; choose another path for the store`,
      )
    case CORRUPT:
      return chronosError(
        'STORE_CORRUPT',
        `${path} is damaged (${reason}); restore a backup, or try \`sqlite3 ${path} .recover\``,
      )
    case CANTOPEN:
      // SQLite can't create the files beside a read-only file.
      if (!isWritable(path)) return readOnly()
      return chronosError(
        'STORE_UNAVAILABLE',
        `${path} can't be opened (${reason}); check that the path exists and is allowed`,
      )
    case IOERR:
      return chronosError('STORE_UNAVAILABLE', `${path} can't be read or written (${reason}); check its disk`)
    case CONSTRAINT:
      return chronosError('INVALID_OPTION', `refused by a constraint of the store: ${reason}; correct the named value`)
  }
  return fileFailure(error, path) ?? error
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    accessSync(dirname(path), constants.W_OK)
    return true
  } catch (error) {
    return !['EACCES', 'EPERM', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '')
  }
}

/** SQLite does not notice that its file is gone, and would go on with one that has no name any more. */
export function moved(): Error {
  return Object.assign(new Error('the file is not at its path any more'), { errcode: READONLY_DBMOVED })
}

function fileFailure(error: unknown, path: string): ChronosError | undefined {
  const chronosError = (code: 'STORE_READ_ONLY' | 'STORE_UNAVAILABLE' | 'STORE_FULL', message: string) =>
    new ChronosError(code, message, { cause: error, details: { path } })
  switch ((error as NodeJS.ErrnoException | null)?.code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return chronosError(
        'STORE_UNAVAILABLE',
        `${path} is in a directory that does not exist; create it with \`mkdir -p ${dirname(path)}\``,
      )
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return chronosError(
        'STORE_READ_ONLY',
        `${path} can't be created; make ${dirname(path)} writable, or choose another path`,
      )
    case 'ENOSPC':
    case 'EDQUOT':
      return chronosError(
        'STORE_FULL',
        `no disk space left for ${path}; free some space, and Chronos resumes on its own`,
      )
    case 'EISDIR':
      return chronosError('STORE_UNAVAILABLE', `${path} is a directory; name a file in it`)
  }
  return undefined
}
