import { dirname } from 'node:path'
import { ChronosError } from '../../../core/values/error.js'

// Result codes of SQLite that mean something to us. The low byte is the code, the rest says more of it.
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
/** The shared index beside the file could not grow, which is how a full disk shows first. */
const IOERR_SHMSIZE = 4874

function codeOf(error: unknown): number {
  const thrown = error instanceof ChronosError ? error.cause : error
  const code = (thrown as { errcode?: unknown } | null | undefined)?.errcode
  return typeof code === 'number' ? code : 0
}

/** Somebody else holds the lock: nothing was done, and it can be done a moment later. */
export function isBusy(error: unknown): boolean {
  if (error instanceof ChronosError) return false
  const code = codeOf(error) & 0xff
  return code === BUSY || code === LOCKED || code === PROTOCOL
}

/** After these the connection is no good any more; the next call opens another. */
export function breaksConnection(error: unknown): boolean {
  const code = codeOf(error)
  const fatal = [IOERR, CORRUPT, CANTOPEN, NOTADB].includes(code & 0xff)
  return fatal || (code & 0xff) === READONLY || code === READONLY_DBMOVED
}

/** A commit that met a broken disk may be found done or not done after a restart; any other failed one was not done. */
export function commitFailure(error: unknown, path: string): unknown {
  if ((codeOf(error) & 0xff) !== IOERR || codeOf(error) === IOERR_SHMSIZE) return error
  return new ChronosError(
    'STORE_UNKNOWN',
    `${path}: the disk failed during a commit (${String(error)}); it may have been done, and is safe to repeat`,
    { cause: error, details: { path } },
  )
}

/** What SQLite or the file system said, in words that name the file and the way out. */
export function failure(error: unknown, path: string): unknown {
  if (error instanceof ChronosError) return error
  const told = (code: ConstructorParameters<typeof ChronosError>[0], words: string) =>
    new ChronosError(code, words, { cause: error, details: { path } })
  const code = codeOf(error)
  const said = error instanceof Error ? error.message : String(error)
  if (code === IOERR_SHMSIZE || code === FULL)
    return told('STORE_FULL', `no room left for ${path}; free some space on its disk, and it goes on by itself`)
  if (code === READONLY_DBMOVED)
    return told('STORE_UNAVAILABLE', `${path} was moved or deleted while it was open; put it back, or restart`)
  switch (code & 0xff) {
    case BUSY:
    case LOCKED:
    case PROTOCOL:
      return told('STORE_UNAVAILABLE', `${path} stayed locked by another process for 10 s; end what holds it open`)
    case READONLY:
      return told('STORE_READ_ONLY', `${path} can't be written (${said}); make it and ${dirname(path)} writable`)
    case NOTADB:
      return told('STORE_NOT_A_DATABASE', `${path} is not an SQLite database; choose another path for the store`)
    case CORRUPT:
      return told(
        'STORE_CORRUPT',
        `${path} is damaged (${said}); restore a backup, or try \`sqlite3 ${path} .recover\``,
      )
    case CANTOPEN:
      return told('STORE_UNAVAILABLE', `${path} can't be opened (${said}); check that the path exists and is allowed`)
    case IOERR:
      return told('STORE_UNAVAILABLE', `${path} can't be read or written (${said}); check its disk`)
    case CONSTRAINT:
      return told('INVALID_OPTION', `refused by a constraint of the store: ${said}; correct the value it names`)
  }
  return fileFailure(error, path) ?? error
}

function fileFailure(error: unknown, path: string): ChronosError | undefined {
  const told = (code: 'STORE_READ_ONLY' | 'STORE_UNAVAILABLE' | 'STORE_FULL', words: string) =>
    new ChronosError(code, words, { cause: error, details: { path } })
  switch ((error as NodeJS.ErrnoException | null)?.code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return told('STORE_UNAVAILABLE', `${path} has no directory; create it with \`mkdir -p ${dirname(path)}\``)
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return told('STORE_READ_ONLY', `${path} can't be created; make ${dirname(path)} writable, or choose another path`)
    case 'ENOSPC':
    case 'EDQUOT':
      return told('STORE_FULL', `no room left for ${path}; free some space on its disk, and it goes on by itself`)
    case 'EISDIR':
      return told('STORE_UNAVAILABLE', `${path} is a directory; name a file in it`)
  }
  return undefined
}
