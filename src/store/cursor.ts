import { ChronosError } from '../core/values/error.js'
import type { Page, PageRequest } from './store.js'

/** The list that a cursor belongs to. A cursor is only valid for its own list. */
export type CursorKind = OrderedCursor | 'logs'

/** Jobs and attempts are listed newest first or oldest first. */
export type OrderedCursor<List extends 'jobs' | 'history' = 'jobs' | 'history'> = List | `${List}-oldest`

/** A cursor keeps the order of the list that returned it, even if the request asks for another order. */
export function cursorOf<List extends 'jobs' | 'history'>(
  list: List,
  { order, cursor }: PageRequest,
): OrderedCursor<List> {
  const isOldest = cursor === undefined ? order === 'oldest' : decode(cursor).startsWith(`${list}-oldest:`)
  return isOldest ? `${list}-oldest` : list
}

function decode(cursor: string): string {
  return Buffer.from(cursor, 'base64url').toString()
}

/** Writes a position in a keyset-paged list: the keys of the last row shown. It is opaque outside the stores. */
export function writeCursor(kind: CursorKind, keys: readonly number[]): string {
  return Buffer.from(`${kind}:${keys.join(':')}`).toString('base64url')
}

export function readCursor(kind: CursorKind, cursor: string, size: number): readonly number[] {
  const [found, ...parts] = decode(cursor).split(':')
  const keys = parts.map(part => (/^\d{1,16}$/.test(part) ? Number(part) : Number.NaN))
  if (found === kind && keys.length === size && keys.every(Number.isSafeInteger)) return keys
  throw new ChronosError(
    'INVALID_OPTION',
    `cursor ${JSON.stringify(cursor)} does not belong to this list; leave it out to start from the first page`,
    { details: { option: 'cursor', value: cursor } },
  )
}

/** Cuts off the extra row that was read only to know whether there is a next page. */
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
