import { styleText } from 'node:util'
import type { Environment, Output } from '../io.js'
import { oneLine, padEnd, padStart, widthOf, wrap } from './width.js'

/** The abilities of an output. */
export interface Style {
  readonly colour: boolean
  /** Draw lines around tables; otherwise align columns with spaces, which programs can parse. */
  readonly boxes: boolean
  readonly unicode: boolean
  /** Infinity in a pipe or a file. */
  readonly columns: number
}

/** The meaning of a colour. Text always says the same, because colours may not be visible. */
export type Tone = 'good' | 'bad' | 'warn' | 'calm' | 'odd' | 'dim' | 'strong'

const FORMATS = {
  good: 'green',
  bad: 'red',
  warn: 'yellow',
  calm: 'cyan',
  odd: 'magenta',
  dim: 'dim',
  strong: 'bold',
} as const satisfies Record<Tone, Parameters<typeof styleText>[0]>

const COLUMNS_DEFAULT = 80
const COLUMNS_MIN = 40

export function styleOf(output: Output, env: Environment): Style {
  const terminal = output.isTTY === true
  const unicode = speaksUnicode(env)
  return {
    colour: hasColour(terminal, env),
    boxes: terminal && unicode,
    unicode,
    columns: terminal ? Math.max(COLUMNS_MIN, output.columns || COLUMNS_DEFAULT) : Number.POSITIVE_INFINITY,
  }
}

/** NO_COLOR (https://no-color.org) takes precedence over FORCE_COLOR (https://force-color.org). */
function hasColour(terminal: boolean, env: Environment): boolean {
  if (env['NO_COLOR']) return false
  const forced = env['FORCE_COLOR']
  if (forced) return forced !== '0' && forced !== 'false'
  return terminal && env['TERM'] !== 'dumb'
}

/** True unless the environment says otherwise: many containers set no locale. */
function speaksUnicode(env: Environment): boolean {
  if (env['TERM'] === 'linux' || env['TERM'] === 'dumb') return false
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG']
  return !locale || /utf-?8/i.test(locale)
}

export function paint(text: string, tone: Tone | undefined, { colour }: Style): string {
  // styleOf has decided about colours; without this, Node would check its own stdout.
  return colour && tone && text !== '' ? styleText(FORMATS[tone], text, { validateStream: false }) : text
}

export interface Column {
  readonly title: string
  readonly align?: 'left' | 'right'
  /** Minimum width, so that several tables line up. */
  readonly min?: number
  /** Wrap this column if the table is too wide. */
  readonly wraps?: boolean
}

export type Cell = string | { readonly text: string; readonly tone?: Tone }

interface Shaped {
  readonly lines: readonly string[]
  readonly tone: Tone | undefined
}

const WRAPPED_MIN = 16

/** Ends with a line break. Cells may contain untrusted text, which is made harmless here. */
export function table(columns: readonly Column[], rows: readonly (readonly Cell[])[], style: Style): string {
  const titles = columns.map((column): Cell => ({ text: column.title, tone: 'strong' }))
  const widths = widthsOf(columns, [titles, ...rows], style)
  if (!fits(widths, style)) return cards(columns, rows, style).join('\n')
  const shaped = [titles, ...rows].map(row =>
    columns.map((column, i): Shaped => {
      const text = oneLine(textOf(row[i] ?? ''))
      return { lines: column.wraps ? wrap(text, widths[i]!) : [text], tone: toneOf(row[i]) }
    }),
  )
  const [head = [], ...body] = shaped.map(row => linesOf(row, columns, widths, style))
  return style.boxes ? boxed(head, body, widths, style) : [head, ...body].flat().join('')
}

function widthsOf(columns: readonly Column[], rows: readonly (readonly Cell[])[], style: Style): readonly number[] {
  const texts = rows.map(row => row.map(cell => oneLine(textOf(cell))))
  const natural = columns.map(({ min = 0 }, i) => Math.max(min, ...texts.map(row => widthOf(row[i] ?? ''))))
  return fitted(columns, natural, style)
}

/** Whether the rows fit as a table; otherwise they are shown as cards. */
export function isTable(columns: readonly Column[], rows: readonly (readonly Cell[])[], style: Style): boolean {
  return fits(widthsOf(columns, [columns.map(({ title }) => title), ...rows], style), style)
}

const textOf = (cell: Cell): string => (typeof cell === 'string' ? cell : cell.text)
const toneOf = (cell: Cell | undefined): Tone | undefined => (typeof cell === 'object' ? cell.tone : undefined)

const BOX_EDGES = 4
const BOX_GAP = 3
const PLAIN_GAP = 2

/** The columns between and around the cells. */
const frameOf = (count: number, { boxes }: Style): number =>
  boxes ? BOX_EDGES + BOX_GAP * (count - 1) : PLAIN_GAP * (count - 1)

const totalOf = (widths: readonly number[], style: Style): number =>
  widths.reduce((sum, width) => sum + width, frameOf(widths.length, style))

/** A terminal narrower than this shows each row as a card, if the table does not fit. */
const CARDS_BELOW = 60

const fits = (widths: readonly number[], style: Style): boolean =>
  style.columns >= CARDS_BELOW || totalOf(widths, style) <= style.columns

const CARD_TEXT_MIN = 10

/** Each row as lines with the titles before the values, for a terminal that is too narrow for the table. */
export function cards(columns: readonly Column[], rows: readonly (readonly Cell[])[], style: Style): readonly string[] {
  const labelColumns = Math.max(...columns.map(({ title }) => widthOf(title))) + PLAIN_GAP
  const room = Math.max(CARD_TEXT_MIN, style.columns - labelColumns)
  return rows.map(row =>
    columns
      .flatMap(({ title }, i) =>
        wrap(oneLine(textOf(row[i] ?? '')).trim(), room).map((line, n) => {
          const label = paint(padEnd(n === 0 ? title : '', labelColumns), 'dim', style)
          return `${`${label}${paint(line, toneOf(row[i]), style)}`.trimEnd()}\n`
        }),
      )
      .join(''),
  )
}

/** Only the column that wraps gets narrower. */
function fitted(columns: readonly Column[], natural: readonly number[], style: Style): readonly number[] {
  const tooMuch = totalOf(natural, style) - style.columns
  if (tooMuch <= 0) return natural
  const wrapping = columns.findIndex(column => column.wraps)
  return natural.map((width, i) => (i === wrapping ? Math.max(WRAPPED_MIN, width - tooMuch) : width))
}

function linesOf(
  row: readonly Shaped[],
  columns: readonly Column[],
  widths: readonly number[],
  style: Style,
): readonly string[] {
  const height = Math.max(...row.map(cell => cell.lines.length))
  const bar = paint('│', 'dim', style)
  return Array.from({ length: height }, (_, n) => {
    const cells = row.map(({ lines, tone }, i) => {
      const text = lines[n] ?? ''
      const padded = columns[i]?.align === 'right' ? padStart(text, widths[i]!) : padEnd(text, widths[i]!)
      // Paint only the text, not the padding.
      return padded.replace(text, () => paint(text, tone, style))
    })
    if (style.boxes) return `${bar} ${cells.join(` ${bar} `)} ${bar}\n`
    return `${cells.join(' '.repeat(PLAIN_GAP)).trimEnd()}\n`
  })
}

function boxed(
  head: readonly string[],
  body: readonly (readonly string[])[],
  widths: readonly number[],
  style: Style,
): string {
  const rule = (left: string, middle: string, right: string): string =>
    `${paint(left + widths.map(width => '─'.repeat(width + 2)).join(middle) + right, 'dim', style)}\n`
  return [rule('┌', '┬', '┐'), ...head, rule('├', '┼', '┤'), ...body.flat(), rule('└', '┴', '┘')].join('')
}
