import type { Series } from '../../core/simulation/series.js'
import { spanText } from '../timeline/span-text.js'
import { stepFor, type Tick } from '../timeline/timeline-layout.js'

/** The size of the chart in pixels. */
export interface HerdFrame {
  readonly width: number
  readonly height: number
  readonly spanMs: number
  /** The top of the scale, in attempts per second. */
  readonly topPerSecond: number
}

const TOPS = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10]

/** The next round number. */
export function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)))
  return TOPS.map(top => Math.ceil(top * power)).find(top => top >= value) ?? value
}

/**
 * The peak of each pixel column as one closed path, so that a peak of one second is visible in a long chart.
 */
export function herdPath({ binMs, peaks }: Series, frame: HerdFrame): string {
  const { width, height, spanMs, topPerSecond } = frame
  const y = (value: number): number => round(height - (Math.min(value, topPerSecond) / topPerSecond) * height)
  const columns = Math.min(Math.ceil(width), Math.max(1, Math.ceil(spanMs / binMs)))
  const perColumn = spanMs / columns
  let path = `M0 ${height}`
  let last = 0
  for (let column = 0; column < columns; column++) {
    const worst = worstOf(peaks, (column * perColumn) / binMs, ((column + 1) * perColumn) / binMs)
    if (worst === last) continue
    const x = round((column * width) / columns)
    path += `H${x}V${y(worst)}`
    last = worst
  }
  return `${path}H${round(width)}V${height}Z`
}

function worstOf(peaks: readonly number[], from: number, to: number): number {
  let worst = 0
  for (let bin = Math.floor(from); bin < Math.max(Math.floor(from) + 1, Math.ceil(to - 1e-9)); bin++) {
    worst = Math.max(worst, peaks[bin] ?? 0)
  }
  return worst
}

/** The peak of attempts per second around a moment. */
export function peakAt({ binMs, peaks }: Series, atMs: number): number {
  return peaks[Math.floor(atMs / binMs)] ?? 0
}

export function timeTicks(spanMs: number, width: number): readonly Tick[] {
  const step = stepFor(spanMs, width, 76)
  const ticks: Tick[] = []
  for (let ms = 0; ms <= spanMs; ms += step)
    ticks.push({ at: (ms / spanMs) * width, text: ms === 0 ? '0' : spanText(ms) })
  return ticks
}

/** Two or three round values for the axis. */
export function valueTicks(top: number): readonly number[] {
  return top >= 4 ? [top / 2, top] : [top]
}

const QUIET_SHARE = 1.08
const SPAN_MIN_MS = 10_000

/** The time to show: until the last job is done, without a long tail. */
export function spanFor(doneMs: readonly number[], outageMs: number): number {
  return Math.max(SPAN_MIN_MS, Math.max(outageMs, ...doneMs) * QUIET_SHARE)
}

const round = (value: number): number => Math.round(value * 10) / 10
