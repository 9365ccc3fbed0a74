import { ChronosError } from '../core/values/error.js'
import type { Page, PageRequest } from './store.js'

/** Which list a cursor belongs to; one list's cursor is no good for another. */
export type CursorKind = JobsCursor | 'history' | 'logs'

/** The jobs are two lists: the newest first, and the oldest first. */
export type JobsCursor = 'jobs' | 'jobs-oldest'

/** A cursor goes on in the order that it came from, whatever else is asked for. */
export function jobsCursorOf({ order, cursor }: PageRequest): JobsCursor {
  const isOldest = cursor === undefined ? order === 'oldest' : decode(cursor).startsWith('jobs-oldest:')
  return isOldest ? 'jobs-oldest' : 'jobs'
}

function decode(cursor: string): string {
  return Buffer.from(cursor, 'base64url').toString()
}

/** A position in a keyset-paged list: the keys of the last row shown. Opaque outside the stores. */
export function writeCursor(kind: CursorKind, keys: readonly number[]): string {
  return Buffer.from(`${kind}:${keys.join(':')}`).toString('base64url')
}

export function readCursor(kind: CursorKind, cursor: string, size: number): readonly number[] {
  const [found, ...parts] = decode(cursor).split(':')
  const keys = parts.map(part => (/^\d{1,16}$/.test(part) ? Number(part) : Number.NaN))
  if (found === kind && keys.length === size && keys.every(Number.isSafeInteger)) return keys
  throw new ChronosError(
    'INVALID_OPTION',
    `cursor ${JSON.stringify(cursor)} is not one that this list gave out; leave it out to start from the first page`,
    { details: { option: 'cursor', value: cursor } },
  )
}

/** A page of rows of which one more was read than it shows, to know whether there is a next. */
export function cut<Row, T>(
  rows: readonly Row[],
  limit: number,
  show: (row: Row) => T,
  cursor: (row: Row) => string,
): Page<T> {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const data = shown.map(show)
  return rows.length > limit && last !== undefined ? { data, next: cursor(last) } : { data }
}
