import type { Series } from '../../../core/simulation/series.js'
import { formatMs } from '../../../core/values/duration.js'
import { paint, type Style, type Tone } from '../../output/print.js'
import { countText } from '../../output/show.js'
import { padStart, widthOf } from '../../output/width.js'

/** Charts share one scale, so that they can be compared. */
export interface Frame {
  readonly spanMs: number
  readonly outageMs: number
  /** Infinity: no line is drawn. */
  readonly capacityPerSecond: number
  /** The top of the scale, in attempts per second. */
  readonly topPerSecond: number
}

const ROWS = 8
const COLUMNS_DEFAULT = 80
const COLUMNS_MAX = 120

interface Glyphs {
  /** From an almost empty cell to a full one. */
  readonly blocks: readonly string[]
  readonly limit: string
  readonly edge: string
  readonly corner: string
  readonly down: string
  readonly up: string
  readonly tick: string
}

const UNICODE: Glyphs = {
  blocks: ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
  limit: '┈',
  edge: '│',
  corner: '└',
  down: '━',
  up: '─',
  tick: '┬',
}
const ASCII: Glyphs = {
  blocks: ['.', ':', '#'],
  limit: '-',
  edge: '|',
  corner: '+',
  down: '=',
  up: '-',
  tick: '+',
}

/** Bars of attempts per second over time. Each column shows the busiest second of its interval. */
export class HerdChart {
  readonly #frame: Frame
  readonly #style: Style
  readonly #glyphs: Glyphs
  readonly #margin: number
  readonly #width: number
  readonly #columnMs: number

  constructor(frame: Frame, style: Style) {
    this.#frame = frame
    this.#style = style
    this.#glyphs = style.unicode ? UNICODE : ASCII
    this.#margin = Math.max(...this.#labels().map(widthOf)) + 1
    const columns = Number.isFinite(style.columns) ? Math.min(style.columns, COLUMNS_MAX) : COLUMNS_DEFAULT
    this.#width = columns - this.#margin - 2
    this.#columnMs = frame.spanMs / this.#width
  }

  /** The bars above an axis that is heavy while the dependency is down. */
  bars(series: Series): string {
    const values = Array.from({ length: this.#width }, (_, column) => this.#worst(series, column))
    const labels = this.#labels()
    const edge = paint(this.#glyphs.edge, 'dim', this.#style)
    const rows = labels.map((label, row) => {
      const cells = values.map((value, column) => this.#cell(value, row, column))
      return `${this.#label(label)}${edge}${painted(cells, this.#style)}`.trimEnd()
    })
    return `${[...rows.reverse(), this.#axis()].join('\n')}\n`
  }

  /** The times below the last chart. */
  times(): string {
    const stepMs = tickMs(this.#frame.spanMs, this.#width)
    let line = ' '.repeat(this.#margin)
    for (let at = 0; at <= this.#frame.spanMs; at += stepMs) {
      const column = this.#margin + 1 + Math.round(at / this.#columnMs)
      const text = at === 0 ? '0' : formatMs(at)
      if (column + text.length > this.#margin + 2 + this.#width) break
      line = `${line.padEnd(column)}${text}`
    }
    return `${line}\n`
  }

  legend(): string {
    const { outageMs, spanMs, capacityPerSecond } = this.#frame
    const parts = outageMs > 0 ? [`${this.#glyphs.down.repeat(2)} the dependency is down`] : []
    if (outageMs > spanMs) parts[0] += ` until ${formatMs(outageMs)}`
    if (Number.isFinite(capacityPerSecond)) {
      const capacity = `capacity ${countText(capacityPerSecond)}/s`
      parts.push(this.#hasLimit ? `${this.#glyphs.limit.repeat(2)} ${capacity}` : `${capacity}, above the scale`)
    }
    return parts.length === 0 ? '' : `${' '.repeat(this.#margin + 1)}${paint(parts.join('   '), 'dim', this.#style)}\n`
  }

  /** One label per row, from the bottom up. */
  #labels(): readonly string[] {
    const { topPerSecond, capacityPerSecond } = this.#frame
    const labels = Array.from({ length: ROWS }, () => '')
    if (this.#hasLimit) labels[this.#limitRow()] = `${countText(capacityPerSecond)}/s`
    labels[ROWS - 1] = `${countText(topPerSecond)}/s`
    return labels
  }

  #label(text: string): string {
    const padded = padStart(text, this.#margin - 1)
    return `${padded.replace(text, () => paint(text, 'dim', this.#style))} `
  }

  #limitRow(): number {
    const { topPerSecond, capacityPerSecond } = this.#frame
    return Math.floor((capacityPerSecond / topPerSecond) * ROWS)
  }

  #worst({ binMs, peaks }: Series, column: number): number {
    const fromMs = column * this.#columnMs
    const first = this.#columnMs < binMs ? Math.floor(fromMs / binMs) : Math.ceil(fromMs / binMs)
    const end = this.#columnMs < binMs ? first + 1 : Math.ceil((fromMs + this.#columnMs) / binMs)
    let worst = 0
    for (let bin = first; bin < end; bin++) worst = Math.max(worst, peaks[bin] ?? 0)
    return worst
  }

  #cell(value: number, row: number, column: number): Spot {
    const { blocks, limit } = this.#glyphs
    const { topPerSecond } = this.#frame
    const steps = blocks.length
    // A value above zero is always visible, however small it is.
    const level = value === 0 ? 0 : Math.max(1, Math.round((value / topPerSecond) * ROWS * steps))
    const filled = Math.min(steps, level - row * steps)
    if (filled > 0) return { char: blocks[filled - 1]!, tone: this.#tone(row, column) }
    return this.#hasLimit && row === this.#limitRow() ? { char: limit, tone: 'dim' } : { char: ' ', tone: undefined }
  }

  /** Whether the line of the capacity is within the scale. */
  get #hasLimit(): boolean {
    return this.#frame.capacityPerSecond < this.#frame.topPerSecond
  }

  #tone(row: number, column: number): Tone {
    const { outageMs, capacityPerSecond, topPerSecond } = this.#frame
    if ((column + 1) * this.#columnMs <= outageMs) return 'bad'
    return (row / ROWS) * topPerSecond < capacityPerSecond ? 'good' : 'bad'
  }

  #axis(): string {
    const { outageMs } = this.#frame
    const { corner, down, up } = this.#glyphs
    const downColumns = Math.min(this.#width, Math.round(outageMs / this.#columnMs))
    const line = paint(down.repeat(downColumns), 'bad', this.#style)
    const rest = paint(up.repeat(this.#width - downColumns), 'dim', this.#style)
    return `${this.#label('0')}${paint(corner, 'dim', this.#style)}${line}${rest}`
  }
}

interface Spot {
  readonly char: string
  readonly tone: Tone | undefined
}

/** Paints neighbours of one tone together, which takes fewer escape codes. */
function painted(spots: readonly Spot[], style: Style): string {
  let text = ''
  let run = ''
  spots.forEach(({ char, tone }, i) => {
    run += char
    if (tone === spots[i + 1]?.tone && i + 1 < spots.length) return
    text += paint(run, tone, style)
    run = ''
  })
  return text
}

const TICKS_MS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400].map(
  s => s * 1_000,
)
const TICK_COLUMNS = 9

/** A round step between times that leaves room for their text. */
function tickMs(spanMs: number, columns: number): number {
  const least = (spanMs / columns) * TICK_COLUMNS
  const step = TICKS_MS.find(ms => ms >= least)
  if (step !== undefined) return step
  const day = TICKS_MS.at(-1)!
  return Math.ceil(least / day) * day
}

const TOPS = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10]

/** The next round number that is not smaller. */
export function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)))
  return TOPS.map(top => Math.ceil(top * power)).find(top => top >= value) ?? value
}
