import { present } from '../../core/values/present.js'
import type { Piece, Scale } from '../charts/scale.js'
import { clockText } from '../data/format.js'
import { statusWords, windowWords } from './facts.js'
import type { Box, Frame } from './frame.js'
import type { GhostPart, History, HistoryPart, RunPart, WaitPart } from './history.js'
import { spanText } from './span-text.js'

/** Pixels from the top, where time runs from left to right. */
export const LABEL_Y = 13
export const TOOK_Y = 27
export const TICK_Y = 118
export const HEIGHT = 125
/** Pixels from the left, where time runs down. */
export const TEXT_X = 60
/** Room for the outcome behind the last run: pixels. */
export const END_ROOM = { sideways: 112, down: 40 } as const

/** A part with its place and the texts that fit. */
export interface Placed {
  readonly part: HistoryPart
  readonly piece: Piece
  /** The name of the part. */
  readonly label?: string
  /** How long it took; where time runs down, more of what is known. */
  readonly took?: string
  /** The length of a wait, written on its line. */
  readonly written?: string
}

export interface Tick {
  readonly at: number
  readonly text: string
}

/** The window in which a wait could have ended. Neighbours never share a track. */
export interface Band {
  readonly from: number
  readonly to: number
  readonly drawn: number
  readonly track: 0 | 1
}

/** The usual width of a character: pixels. */
export const CHAR = 6.4
const GAP = 8

/** Texts side by side. A text that would overlap the one before it is left out. */
class Row {
  readonly #length: number
  #end = Number.NEGATIVE_INFINITY

  constructor(length: number) {
    this.#length = length
  }

  /** The first of the texts that fits, centred and kept inside the drawing. */
  fit(middle: number, ...texts: readonly string[]): string | undefined {
    const found = texts.find(text => this.#left(middle, text) > this.#end + GAP)
    if (found !== undefined) this.#end = this.#left(middle, found) + found.length * CHAR
    return found
  }

  #left(middle: number, text: string): number {
    const width = text.length * CHAR
    return Math.min(Math.max(0, middle - width / 2), Math.max(0, this.#length - width))
  }
}

/** The middle of a text that is centred but must stay inside the drawing. */
export function insideOf(middle: number, text: string, length: number): number {
  const half = (text.length * CHAR) / 2
  return Math.max(half, Math.min(middle, length - half))
}

export function place(history: History, scale: Scale, frame: Frame): readonly Placed[] {
  return frame.isDown ? placeDown(history, scale, frame.width) : placeSideways(history, scale)
}

function placeSideways({ parts }: History, { pieces, length }: Scale): readonly Placed[] {
  const [labels, tooks] = [new Row(length), new Row(length)]
  return parts.map((part, i): Placed => {
    const piece = pieces[i]!
    const middle = (piece.start + piece.end) / 2
    const text = spanText(part.to - part.from)
    switch (part.kind) {
      case 'run': {
        const label = labels.fit(middle, ...labelsOf(part.label, part.rows.length))
        return { part, piece, ...present({ label, took: tooks.fit(middle, text) }) }
      }
      case 'ghost': {
        const label = labels.fit(middle, ...labelsOf(part.label, 1))
        return { part, piece, ...present({ label, took: part.skipped > 0 ? `+${part.skipped} before` : undefined }) }
      }
      case 'end':
        return { part, piece }
      default: {
        const isWide = piece.end - piece.start > text.length * CHAR + 10
        return { part, piece, ...present({ written: isWide ? text : undefined }) }
      }
    }
  })
}

const DOWN_CHAR = 6.6
/** A shorter wait has no room for a text beside it. */
const DOWN_WAIT_MIN = 16

function placeDown({ parts, now }: History, { pieces }: Scale, width: number): readonly Placed[] {
  const chars = Math.floor((width - TEXT_X) / DOWN_CHAR)
  const cut = (text: string): string => (text.length > chars ? `${text.slice(0, Math.max(1, chars - 1))}…` : text)
  return parts.map((part, i): Placed => {
    const piece = pieces[i]!
    switch (part.kind) {
      case 'run':
        return { part, piece, label: cut(runTitle(part)), took: cut(runDetails(part)) }
      case 'ghost': {
        const skipped = part.skipped > 0 ? `, ${part.skipped} more before it` : ''
        return { part, piece, label: cut(`${part.label}${skipped}`), took: cut(ghostWords(part, now)) }
      }
      case 'end':
        return { part, piece }
      default:
        return piece.end - piece.start < DOWN_WAIT_MIN ? { part, piece } : { part, piece, took: cut(waitWords(part)) }
    }
  })
}

const runTitle = ({ rows, label, status }: RunPart): string =>
  `${rows.length > 1 ? `${rows.length} runs` : label} · ${statusWords(status)}`

function runDetails({ from, to, rows }: RunPart): string {
  const status = rows[0]?.attempt?.error?.status
  return `${clockText(from, 'local').slice(11)} · ${spanText(to - from)}${status ? ` · HTTP ${status}` : ''}`
}

function ghostWords({ earliest, latest }: GhostPart, now: number): string {
  const [from, to] = [spanText(Math.max(0, earliest - now)), spanText(Math.max(0, latest - now))]
  return from === to ? `in ${from}` : `in ${from} to ${to}`
}

function waitWords({ kind, from, to, after, window }: WaitPart): string {
  const span = spanText(to - from)
  switch (kind) {
    case 'queue':
      return `due for ${span}, no worker yet`
    case 'ended':
      return `ended for ${span}, then restarted`
    case 'wait':
      return `waits ${span}${window && after ? ` (jitter ${windowWords(after)})` : ''}`
    case 'ahead':
      return ''
  }
}

/** From the longest text to the shortest. */
function labelsOf(label: string, runs: number): readonly string[] {
  if (runs > 1) return [`${runs} runs`, `${runs}×`]
  return [label, label === 'Initial' ? '1st' : label.replace('Retry ', '')]
}

/** The time from the beginning to the start of each run, where the text fits. */
export function ticksOf({ parts, from }: History, { pieces, length }: Scale): readonly Tick[] {
  const row = new Row(length)
  const starts = parts.flatMap((part, i) => (part.kind === 'run' || part.kind === 'end' ? [pieces[i]!] : []))
  const first = row.fit(0, '0')
  let last = ''
  const ticks = starts.flatMap((piece): Tick[] => {
    const wanted = `+${spanText(piece.from - from)}`
    // Texts leave out the seconds after an hour, so several runs may have the same text.
    if (wanted === last || piece.from === from) return []
    const text = row.fit(piece.start, wanted)
    if (text === undefined) return []
    last = text
    return [{ at: piece.start, text }]
  })
  return [...(first ? [{ at: 0, text: first }] : []), ...ticks]
}

const TICK_STEPS_MS = [1, 2, 5, 10, 20, 50, 100, 200, 500].concat(
  [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200].map(s => s * 1_000),
)
const TICK_PIXELS = 90
const DAY_MS = 86_400_000

/** Round times since the beginning, for a linear axis. */
export function roundTicks(from: number, to: number, scale: Scale): readonly Tick[] {
  const step = stepFor(to - from, scale.length, TICK_PIXELS)
  const ticks: Tick[] = []
  for (let ms = 0; ms <= to - from; ms += step)
    ticks.push({ at: scale.at(from + ms), text: ms === 0 ? '0' : `+${spanText(ms)}` })
  return ticks
}

/** The smallest round step in time that leaves at least this many pixels between two labels. */
export function stepFor(spanMs: number, length: number, pixels: number): number {
  const least = (spanMs / Math.max(1, length)) * pixels
  return TICK_STEPS_MS.find(ms => ms >= least) ?? Math.max(1, Math.ceil(least / DAY_MS)) * DAY_MS
}

/** Powers of ten since the beginning, for a logarithmic axis. */
export function logTicks(from: number, to: number, scale: Scale): readonly Tick[] {
  const row = new Row(scale.length)
  const steps = [
    0,
    ...TICK_STEPS_MS.filter(ms => /^[1]0*$/.test(String(ms))),
    60_000,
    600_000,
    3_600_000,
    DAY_MS,
    10 * DAY_MS,
  ]
  return steps
    .filter(ms => ms <= to - from)
    .flatMap((ms): Tick[] => {
      const at = scale.at(from + ms)
      const text = row.fit(at, ms === 0 ? '0' : `+${spanText(ms)}`)
      return text === undefined ? [] : [{ at, text }]
    })
}

export function bandsOf({ parts }: History, scale: Scale): readonly Band[] {
  let track: 0 | 1 = 1
  return parts.flatMap((part): Band[] => {
    const window = windowOf(part)
    if (window === undefined) return []
    track = track === 0 ? 1 : 0
    const drawn = part.kind === 'ghost' ? part.from : part.to
    return [{ from: scale.at(window[0]), to: scale.at(window[1]), drawn: scale.at(drawn), track }]
  })
}

function windowOf(part: HistoryPart): readonly [number, number] | undefined {
  if (part.kind === 'wait') return part.window
  return part.kind === 'ghost' && part.latest > part.earliest ? [part.earliest, part.latest] : undefined
}

/** Slanted lines that fill a box. An SVG pattern would need a unique id. */
export function hatch({ x, y, width, height }: Box, step: number): string {
  let path = ''
  for (let at = step; at < width + height; at += step) {
    const [x1, y1] = at <= height ? [x, y + at] : [x + at - height, y + height]
    const [x2, y2] = at <= width ? [x + at, y] : [x + width, y + at - width]
    path += `M${round(x1)} ${round(y1)}L${round(x2)} ${round(y2)}`
  }
  return path
}

/** A box with a torn right edge. */
export function torn({ x, y, width, height }: Box): string {
  const teeth = 4
  const depth = Math.min(5, width / 3)
  const step = height / teeth
  let path = `M${round(x)} ${round(y)}H${round(x + width)}`
  for (let i = 0; i < teeth; i++) {
    path += `L${round(x + width - depth)} ${round(y + (i + 0.5) * step)}L${round(x + width)} ${round(y + (i + 1) * step)}`
  }
  return `${path}H${round(x)}Z`
}

/** The mark of a part that is longer than drawn. */
export function zigzag(middle: number, y: number): string {
  return `M${round(middle - 6)} ${y + 5}l4 -10M${round(middle + 2)} ${y + 5}l4 -10`
}

const round = (value: number): number => Math.round(value * 100) / 100
