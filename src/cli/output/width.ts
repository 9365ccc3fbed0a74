import { stripVTControlCharacters } from 'node:util'

const CONTROL = /[\p{Cc}\u2028\u2029]+/gu
/** Invisible characters that change the direction of text, and with it what a person reads. */
const DIRECTION = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g
const INVISIBLE = /^[\p{Mark}\p{Default_Ignorable_Code_Point}]*$/u
const EMOJI = /\p{Emoji_Presentation}|\uFE0F/u
/** East Asian Wide and Fullwidth, by block. */
const WIDE =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{1F200}-\u{1F2FF}\u{20000}-\u{3FFFD}]/u
const ASCII = /^[ -~]*$/

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** Untrusted text as one harmless line: it cannot move the cursor, change colours, or break a table. */
export function oneLine(text: string): string {
  return stripVTControlCharacters(text).replace(DIRECTION, '').replace(CONTROL, ' ').trim()
}

/** The columns that the text takes on a terminal. */
export function widthOf(text: string): number {
  if (ASCII.test(text)) return text.length
  let width = 0
  for (const { segment } of graphemes.segment(text)) width += widthOfGrapheme(segment)
  return width
}

function widthOfGrapheme(grapheme: string): number {
  if (INVISIBLE.test(grapheme)) return 0
  return EMOJI.test(grapheme) || WIDE.test(grapheme) ? 2 : 1
}

export function padEnd(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - widthOf(text)))
}

export function padStart(text: string, columns: number): string {
  return ' '.repeat(Math.max(0, columns - widthOf(text))) + text
}

/** Cuts text to a width, and marks the cut with `…`. */
export function cut(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text
  return columns < 1 ? '' : `${head(text, columns - 1).trimEnd()}…`
}

/** Wraps text between words; a word that is longer than a line is broken too. */
export function wrap(text: string, columns: number): readonly string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ').flatMap(long => pieces(long, columns))) {
    const longer = line === '' ? word : `${line} ${word}`
    if (widthOf(longer) <= columns) {
      line = longer
    } else {
      lines.push(line)
      line = word
    }
  }
  return [...lines, line]
}

function pieces(word: string, columns: number): readonly string[] {
  const found: string[] = []
  let rest = word
  while (widthOf(rest) > columns) {
    const piece = head(rest, columns)
    if (piece === '') break
    found.push(piece)
    rest = rest.slice(piece.length)
  }
  return [...found, rest]
}

function head(text: string, columns: number): string {
  let used = 0
  let kept = ''
  for (const { segment } of graphemes.segment(text)) {
    used += widthOfGrapheme(segment)
    if (used > columns) break
    kept += segment
  }
  return kept
}
