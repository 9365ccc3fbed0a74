import { countText, many } from '../../core/values/number.js'
import type { Count } from '../../store/store.js'
import type { Io } from '../io.js'
import { paint, type Style, styleOf } from './print.js'
import { oneLine, padEnd, widthOf, wrap } from './width.js'

/** Prints the result of a command, as JSON or as text. */
export function show(io: Io, options: { readonly json?: true }, value: unknown, text: (style: Style) => string): void {
  io.stdout.write(options.json ? jsonText(value) : text(styleOf(io.stdout, io.env)))
}

/** Characters that control a terminal or reverse the direction of text. In JSON they are in strings only, so they can be escaped. */
const UNSAFE = /[\u007F-\u009F\u2028\u2029\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g

export function jsonText(value: unknown): string {
  return `${safe(JSON.stringify(value, undefined, 2))}\n`
}

/** One line of a stream of JSON documents. */
export function jsonLine(value: unknown): string {
  return `${safe(JSON.stringify(value))}\n`
}

function safe(json: string): string {
  return json.replace(UNSAFE, char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Untrusted text of several lines, made harmless and indented. */
export function block(text: string, indent: string): string {
  return text
    .split('\n')
    .map(line => `${indent}${/^ */.exec(line)![0]}${oneLine(line)}`.trimEnd())
    .map(line => `${line}\n`)
    .join('')
}

const VALUE_COLUMNS = 100

/** Short JSON on one line, longer JSON indented. */
export function valueText(value: unknown, columns: number): string {
  const line = safe(JSON.stringify(value))
  return widthOf(line) <= Math.min(columns, VALUE_COLUMNS) ? line : safe(JSON.stringify(value, undefined, 2))
}

const WORDS_MIN_COLUMNS = 20

/** Words after a head, wrapped with a hanging indent. Not wrapped if the output has no width. */
export function hang(head: string, headColumns: number, words: string, { columns }: Style): string {
  const clean = oneLine(words)
  const room = Math.max(WORDS_MIN_COLUMNS, columns - headColumns)
  const lines = Number.isFinite(room) ? wrap(clean, room) : [clean]
  const margin = ' '.repeat(headColumns)
  return lines.map((line, n) => `${`${n === 0 ? head : margin}${line}`.trimEnd()}\n`).join('')
}

export { countText, many }

/** `1,234 jobs`, or `more than 10,000 jobs` where counting stopped. */
export function manyOf({ value, relation }: Count, noun: string): string {
  return `${relation === 'exact' ? '' : 'more than '}${many(value, noun)}`
}

/** Lines with a label before each; a line without words is left out. */
export function labelled(
  rows: readonly (readonly [label: string, words: string | undefined])[],
  labelColumns: number,
  style: Style,
): string {
  const lines = rows.map(([label, words]) => {
    const head = `  ${paint(padEnd(label, labelColumns), 'dim', style)}  `
    return words === undefined ? '' : hang(head, labelColumns + 4, words, style)
  })
  return lines.join('')
}
