import type { Piece, Scale } from '../charts/scale.js'
import type { Life, LifePart } from './life.js'
import { spanText } from './span-text.js'

/** A part with its place and the words that there is room for. */
export interface Placed {
  readonly part: LifePart
  readonly piece: Piece
  /** Above it: what it is, and how long it took. */
  readonly label?: string
  readonly took?: string
  /** On it: how long a wait lasted. */
  readonly written?: string
}

export interface Tick {
  readonly at: number
  readonly text: string
}

/** Between which moments a wait could have ended; two beside each other never share a track. */
export interface Band {
  readonly from: number
  readonly to: number
  readonly drawn: number
  readonly track: 0 | 1
}

const CHAR = 6.4
const GAP = 8

/** Words side by side, as many as there is room for; the first come first. */
class Row {
  readonly #length: number
  #end = Number.NEGATIVE_INFINITY

  constructor(length: number) {
    this.#length = length
  }

  /** The first of the texts that fits, centred; kept inside the picture. */
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

/** Where a text of this length stands when it is centred but must not leave the picture. */
export function insideOf(middle: number, text: string, length: number): number {
  const half = (text.length * CHAR) / 2
  return Math.max(half, Math.min(middle, length - half))
}

export function place({ parts }: Life, { pieces, length }: Scale): readonly Placed[] {
  const [labels, tooks] = [new Row(length), new Row(length)]
  return parts.map((part, i): Placed => {
    const piece = pieces[i]!
    const middle = (piece.start + piece.end) / 2
    const width = piece.end - piece.start
    switch (part.kind) {
      case 'run': {
        const label = labels.fit(middle, ...labelsOf(part.label, part.rows.length))
        const took = tooks.fit(middle, spanText(part.to - part.from))
        return { part, piece, ...(label && { label }), ...(took && { took }) }
      }
      case 'ghost': {
        const label = labels.fit(middle, ...labelsOf(part.label, 1))
        return { part, piece, ...(label && { label }) }
      }
      case 'end':
        return { part, piece }
      default: {
        const text = spanText(part.to - part.from)
        return { part, piece, ...(width > text.length * CHAR + 10 && { written: text }) }
      }
    }
  })
}

/** From the longest way to say it to the shortest. */
function labelsOf(label: string, runs: number): readonly string[] {
  if (runs > 1) return [`${runs} runs`, `${runs}×`]
  return [label, label === 'Initial' ? '1st' : label.replace('Retry ', '')]
}

/** How long after the beginning each run started: as many as there is room for, the last one always. */
export function ticksOf({ parts, from }: Life, { pieces, length }: Scale): readonly Tick[] {
  const row = new Row(length)
  const starts = parts.flatMap((part, i) => (part.kind === 'run' || part.kind === 'end' ? [pieces[i]!] : []))
  const first = row.fit(0, '0')
  let last = ''
  const ticks = starts.flatMap((piece): Tick[] => {
    const wanted = `+${spanText(piece.from - from)}`
    // After an hour the seconds are no longer said: one word for many places would say nothing.
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

/** Round times from the beginning on, for an axis that is to scale. */
export function roundTicks(from: number, to: number, scale: Scale): readonly Tick[] {
  const step = stepFor(to - from, scale.length, TICK_PIXELS)
  const ticks: Tick[] = []
  for (let ms = 0; ms <= to - from; ms += step)
    ticks.push({ at: scale.at(from + ms), text: ms === 0 ? '0' : `+${spanText(ms)}` })
  return ticks
}

/** A round step in time that leaves so many pixels for each. */
export function stepFor(spanMs: number, length: number, pixels: number): number {
  const least = (spanMs / Math.max(1, length)) * pixels
  return TICK_STEPS_MS.find(ms => ms >= least) ?? Math.max(1, Math.ceil(least / DAY_MS)) * DAY_MS
}

/** Powers of ten from the beginning on, for an axis by the logarithm. */
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

export function bandsOf({ parts }: Life, scale: Scale): readonly Band[] {
  let track: 0 | 1 = 1
  return parts.flatMap((part): Band[] => {
    const window = windowOf(part)
    if (window === undefined) return []
    track = track === 0 ? 1 : 0
    const drawn = part.kind === 'ghost' ? part.from : part.to
    return [{ from: scale.at(window[0]), to: scale.at(window[1]), drawn: scale.at(drawn), track }]
  })
}

function windowOf(part: LifePart): readonly [number, number] | undefined {
  if (part.kind === 'wait') return part.window
  return part.kind === 'ghost' && part.latest > part.earliest ? [part.earliest, part.latest] : undefined
}

/** Slanted lines that fill a box: what other drawings do with a pattern, without an id that must be unique. */
export function hatch(x: number, y: number, width: number, height: number, step: number): string {
  let path = ''
  for (let at = step; at < width + height; at += step) {
    const [x1, y1] = at <= height ? [x, y + at] : [x + at - height, y + height]
    const [x2, y2] = at <= width ? [x + at, y] : [x + width, y + at - width]
    path += `M${round(x1)} ${round(y1)}L${round(x2)} ${round(y2)}`
  }
  return path
}

/** A box whose far end is torn. */
export function torn(x: number, y: number, width: number, height: number): string {
  const teeth = 4
  const depth = Math.min(5, width / 3)
  const step = height / teeth
  let path = `M${round(x)} ${round(y)}H${round(x + width)}`
  for (let i = 0; i < teeth; i++) {
    path += `L${round(x + width - depth)} ${round(y + (i + 0.5) * step)}L${round(x + width)} ${round(y + (i + 1) * step)}`
  }
  return `${path}H${round(x)}Z`
}

/** A line in zig-zag along a part that is longer than drawn. */
export function zigzag(middle: number, y: number): string {
  return `M${round(middle - 6)} ${y + 5}l4 -10M${round(middle + 2)} ${y + 5}l4 -10`
}

const round = (value: number): number => Math.round(value * 100) / 100
