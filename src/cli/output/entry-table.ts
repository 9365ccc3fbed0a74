import { type Cell, type Column, paint, type Style, table } from './print.js'
import { hang } from './show.js'

/** One thing in a list, of which more is to be said than a line of a terminal has room for. */
export interface Entry {
  readonly cells: readonly Cell[]
  /** Lines under it, on a terminal. */
  readonly below: readonly string[]
  /** The same as further columns, where lines have no end. */
  readonly beside: readonly string[]
}

const INDENT = '      '

/** A table for programs; for people, one whose rows have words under them. */
export function entryTable(
  columns: readonly Column[],
  besideTitles: readonly string[],
  entries: readonly Entry[],
  given: Style,
): string {
  const style = { ...given, boxes: false }
  if (!Number.isFinite(style.columns)) {
    const all = [...columns, ...besideTitles.map(title => ({ title }))]
    return table(
      all,
      entries.map(({ cells, beside }) => [...cells, ...beside]),
      style,
    )
  }
  const rows = entries.map(({ cells }) => cells)
  const [head, ...lines] = table(columns, rows, style).trimEnd().split('\n')
  const told = entries.map(({ below }, i) => `${lines[i]}\n${below.map((words, n) => under(words, n, style)).join('')}`)
  return `${head}\n${told.join('')}`
}

/** The first of them says what it is about; the others step back. */
function under(words: string, index: number, style: Style): string {
  const text = hang(INDENT, INDENT.length, words, style)
  if (index === 0) return text
  return text
    .trimEnd()
    .split('\n')
    .map(line => `${INDENT}${paint(line.trimStart(), 'dim', style)}\n`)
    .join('')
}
