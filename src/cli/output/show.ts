import type { Io } from '../io.js'
import { type Style, styleOf } from './print.js'
import { oneLine, widthOf, wrap } from './width.js'

/** One answer of a command: the same facts as JSON or as text. */
export function show(io: Io, options: { readonly json?: true }, value: unknown, text: (style: Style) => string): void {
  io.stdout.write(options.json ? jsonText(value) : text(styleOf(io.stdout, io.env)))
}

/** What a terminal would obey, or read from right to left. JSON has it in strings only, where it can be escaped. */
const UNSAFE = /[\u007F-\u009F\u2028\u2029\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g

export function jsonText(value: unknown): string {
  return `${safe(JSON.stringify(value, undefined, 2))}\n`
}

function safe(json: string): string {
  return json.replace(UNSAFE, char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Text of several lines from outside, each harmless, and set in. */
export function block(text: string, indent: string): string {
  return text
    .split('\n')
    .map(line => `${indent}${/^ */.exec(line)![0]}${oneLine(line)}`.trimEnd())
    .map(line => `${line}\n`)
    .join('')
}

const VALUE_COLUMNS = 100

/** A value as people like to read it: short JSON on one line, longer JSON indented. */
export function valueText(value: unknown, columns: number): string {
  const line = safe(JSON.stringify(value))
  return widthOf(line) <= Math.min(columns, VALUE_COLUMNS) ? line : safe(JSON.stringify(value, undefined, 2))
}

const WORDS_MIN_COLUMNS = 20

/** Words behind a head of this width, and below each other. Where lines have no end, nothing is broken. */
export function hang(head: string, headColumns: number, words: string, { columns }: Style): string {
  const clean = oneLine(words)
  const room = Math.max(WORDS_MIN_COLUMNS, columns - headColumns)
  const lines = Number.isFinite(room) ? wrap(clean, room) : [clean]
  const margin = ' '.repeat(headColumns)
  return lines.map((line, n) => `${`${n === 0 ? head : margin}${line}`.trimEnd()}\n`).join('')
}

const GROUPS = new Intl.NumberFormat('en')

export const countText = (value: number): string => GROUPS.format(value)

/** `1 job`, `1,234 jobs`. */
export function many(value: number, noun: string): string {
  return `${countText(value)} ${noun}${value === 1 ? '' : 's'}`
}
