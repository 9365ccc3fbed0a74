import { type Cell, type Column, cards, isTable, paint, type Style, table } from './print.js'
import { hang } from './show.js'

/** A row with more text than fits on one line of a terminal. */
export interface Entry {
  readonly cells: readonly Cell[]
  /** On a terminal: lines below the row. */
  readonly below: readonly string[]
  /** In a pipe: the same text as further columns. */
  readonly beside: readonly string[]
}

const INDENT = '      '

/** In a pipe a wide table, on a terminal a table with lines below each row. */
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
  const below = ({ below: lines }: Entry): string => lines.map((words, n) => under(words, n, style)).join('')
  if (!isTable(columns, rows, style)) {
    return cards(columns, rows, style)
      .map((card, i) => `${card}${below(entries[i]!)}`)
      .join('\n')
  }
  const [head, ...lines] = table(columns, rows, style).trimEnd().split('\n')
  const blocks = entries.map((entry, i) => `${lines[i]}\n${below(entry)}`)
  return `${head}\n${blocks.join('')}`
}

/** Lines after the first are dimmed. */
function under(words: string, index: number, style: Style): string {
  const text = hang(INDENT, INDENT.length, words, style)
  if (index === 0) return text
  return text
    .trimEnd()
    .split('\n')
    .map(line => `${INDENT}${paint(line.trimStart(), 'dim', style)}\n`)
    .join('')
}
