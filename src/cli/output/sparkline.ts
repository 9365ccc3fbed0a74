import type { Style } from './print.js'

interface Glyphs {
  readonly none: string
  /** From the smallest value above zero. */
  readonly levels: readonly string[]
}

const UNICODE: Glyphs = { none: '·', levels: ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] }
const ASCII: Glyphs = { none: '.', levels: ['-', '=', '+', '*', '#'] }

/** A chart in one line of text: one character per value, the largest at full height. */
export function sparkline(values: readonly number[], { unicode }: Style): string {
  const { none, levels } = unicode ? UNICODE : ASCII
  const top = Math.max(...values)
  return values.map(value => (value > 0 ? levels[Math.ceil((value / top) * levels.length) - 1] : none)).join('')
}

const HOUR_MS = 3_600_000

/** Sums hourly counts in cells of `cellHours`; the last cell ends with the current hour. */
export function lastHours(
  counts: readonly { readonly at: string; readonly failures: number }[],
  now: number,
  { cells, cellHours }: { readonly cells: number; readonly cellHours: number },
): readonly number[] {
  const end = (Math.floor(now / HOUR_MS) + 1) * HOUR_MS
  const sums = Array.from({ length: cells }, () => 0)
  for (const { at, failures } of counts) {
    // The clock of the store may be slightly ahead.
    const age = Math.max(0, Math.floor((end - 1 - Date.parse(at)) / (cellHours * HOUR_MS)))
    if (age < cells) sums[cells - 1 - age]! += failures
  }
  return sums
}
