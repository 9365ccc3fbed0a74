import { present } from '../core/values/present.js'
import { type Backend, withBackend } from './backend/backend.js'
import type { BackendOptions } from './backend/store-address.js'
import type { Io } from './io.js'
import { type Cell, type Column, type Style, table } from './output/print.js'
import { many, show } from './output/show.js'

export interface PageOptions {
  readonly limit?: number
  readonly cursor?: string
}

export function pageOf({ limit, cursor }: PageOptions): { limit?: number; cursor?: string } {
  return present({ limit, cursor })
}

/** A column of a table of `T`. */
export interface Field<T> extends Column {
  /** Shown on terminals of at least this many columns. */
  readonly from?: number
  readonly cell: (item: T, now: number, style: Style) => Cell
}

export const NONE: Cell = { text: '-', tone: 'dim' }

/** A table without lines around it: ids take half of a small terminal. */
export function fieldTable<T>(fields: readonly Field<T>[], items: readonly T[], now: number, given: Style): string {
  const style = { ...given, boxes: false }
  const shown = fields.filter(({ from = 0 }) => style.columns >= from)
  const rows = items.map(item => shown.map(({ cell }) => cell(item, now, style)))
  return table(shown, rows, style)
}

interface Page<T> {
  readonly data: readonly T[]
  readonly page?: { readonly next?: string }
}

/** A `list` command: what it reads, how it is shown, and what it says if there is nothing to show. */
export interface Listing<T, Given extends readonly unknown[] = readonly never[]> {
  readonly noun: string
  readonly nouns?: string
  /** Printed in place of the number of items if there are none. Gets the arguments of the command and its options. */
  readonly none?: string | ((...given: Given) => string)
  /** Gets the arguments of the command and its options. */
  readonly read: (backend: Backend, ...given: Given) => Promise<readonly T[] | Page<T>>
  readonly text: readonly Field<T>[] | ((items: readonly T[], now: number, style: Style) => string)
  /** Replaces the number of items. */
  readonly summary?: (items: readonly T[]) => string
}

export async function list<T, Given extends readonly unknown[]>(
  { noun, nouns = `${noun}s`, none = `no ${nouns}`, read, text, summary }: Listing<T, Given>,
  given: Given,
  options: BackendOptions,
  io: Io,
): Promise<void> {
  await withBackend(options, io, async backend => {
    const [answer, { now }] = await Promise.all([read(backend, ...given), backend.info()])
    const found: Page<T> = 'data' in answer ? answer : { data: answer, page: {} }
    const { data } = found
    show(io, options, found, style => {
      if (data.length === 0) return ''
      return typeof text === 'function' ? text(data, now, style) : fieldTable(text, data, now, style)
    })
    if (options.json) return
    const counted = summary?.(data) ?? many(data.length, noun, nouns)
    const empty = typeof none === 'function' ? none(...given) : none
    io.stderr.write(`${data.length === 0 ? empty : counted}\n`)
    sayMore(found.page?.next, io)
  })
}

export function sayMore(next: string | undefined, { stderr }: Io): void {
  if (next !== undefined) stderr.write(`more: --cursor ${quoted(next)}\n`)
}

/** A cursor may be a name, with characters that a shell reads. */
function quoted(text: string): string {
  return /^[\w.:/@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
