import { clamp } from './scale.js'

/** The pixels of a chart over time and the ranges they stand for. */
export interface TimeFrame {
  readonly width: number
  readonly height: number
  /** Epoch milliseconds at the left and the right. */
  readonly from: number
  readonly to: number
  /** The value at the top; 0 is at the bottom. */
  readonly top: number
}

export function xOf(at: number, { width, from, to }: TimeFrame): number {
  return round(((at - from) / Math.max(1, to - from)) * width)
}

export function yOf(value: number, { height, top }: TimeFrame): number {
  return round(height - (Math.min(Math.max(0, value), top) / top) * height)
}

/** One path for each level of a stack. `sums` are the tops of the levels, from the bottom up. */
export function barPaths(
  times: readonly number[],
  stepMs: number,
  sums: readonly (readonly number[])[],
  frame: TimeFrame,
): readonly string[] {
  const slot = xOf(frame.from + stepMs, frame)
  const width = round(Math.max(1, slot - (slot > 6 ? 2 : slot > 3 ? 1 : 0)))
  return sums.map((level, i) =>
    times
      .map((at, column) => {
        const [low, high] = [sums[i - 1]?.[column] ?? 0, level[column] ?? 0]
        if (high <= low) return ''
        const bottom = yOf(low, frame)
        // A value above zero is at least one pixel high.
        return `M${xOf(at, frame)} ${Math.min(yOf(high, frame), bottom - 1)}h${width}V${bottom}h-${width}z`
      })
      .join(''),
  )
}

/** A line with gaps where there is no value. */
export function linePath(times: readonly number[], values: readonly (number | null)[], frame: TimeFrame): string {
  let isOn = false
  return times
    .map((at, i) => {
      const value = values[i]
      if (value === null || value === undefined) {
        isOn = false
        return ''
      }
      const verb = isOn ? 'L' : 'M'
      isOn = true
      return `${verb}${xOf(at, frame)} ${yOf(value, frame)}`
    })
    .join('')
}

/** The values between two gaps, which a line does not show. */
export function dotPath(times: readonly number[], values: readonly (number | null)[], frame: TimeFrame): string {
  const isGap = (i: number): boolean => (values[i] ?? null) === null
  return times
    .map((at, i) =>
      isGap(i) || !isGap(i - 1) || !isGap(i + 1) ? '' : `M${xOf(at, frame)} ${yOf(values[i]!, frame)}h0`,
    )
    .join('')
}

/** The line closed at the bottom. */
export function areaPath(times: readonly number[], values: readonly (number | null)[], frame: TimeFrame): string {
  const line = linePath(times, values, frame)
  if (line === '' || times.length === 0) return ''
  return `${line}L${xOf(times.at(-1)!, frame)} ${frame.height}L${xOf(times[0]!, frame)} ${frame.height}Z`
}

const TOP_MIN = 4
const NICE = [1, 2, 2.5, 5, 10]

/** A round maximum not below the highest value, and the values of the grid lines, which are whole. */
export function valueScale(max: number, lines = 4): { readonly top: number; readonly ticks: readonly number[] } {
  const least = Math.max(TOP_MIN, max) / lines
  const power = 10 ** Math.floor(Math.log10(least))
  const step = NICE.map(nice => nice * power).find(each => each >= least && each % 1 === 0) ?? least
  const count = Math.max(1, Math.ceil(Math.max(TOP_MIN, max) / step))
  return { top: count * step, ticks: Array.from({ length: count }, (_, i) => (i + 1) * step) }
}

const SECOND_MS = 1_000
const DAY_MS = 86_400_000
const STEPS_MS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200].map(
  seconds => seconds * SECOND_MS,
)
const TICK_PIXELS = 64
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const two = (value: number): string => String(value).padStart(2, '0')

export interface TimeTick {
  readonly x: number
  readonly text: string
}

const LETTER_PIXELS = 6.4
/** The space of a chart beside its last value. */
const RIGHT_PIXELS = 14

/** Where the label of a time is centred, so that the last one is not cut off. */
export function tickX({ x, text }: TimeTick, width: number): number {
  return clamp(x, 14, Math.min(width, width + RIGHT_PIXELS - (text.length * LETTER_PIXELS) / 2))
}

/** Round local times: `14:05`, or the date at midnight and for daily steps. */
export function clockTicks(frame: TimeFrame): readonly TimeTick[] {
  const { from, to, width } = frame
  const least = ((to - from) / Math.max(1, width)) * TICK_PIXELS
  const step = STEPS_MS.find(ms => ms >= least) ?? Math.ceil(least / DAY_MS) * DAY_MS
  const offset = new Date(from).getTimezoneOffset() * 60_000
  const ticks: TimeTick[] = []
  for (let at = Math.ceil((from - offset) / step) * step + offset; at <= to; at += step) {
    ticks.push({ x: xOf(at, frame), text: clockText(new Date(at), step) })
  }
  return ticks
}

function clockText(date: Date, step: number): string {
  const isMidnight = date.getHours() === 0 && date.getMinutes() === 0 && date.getSeconds() === 0
  if (step >= DAY_MS || isMidnight) return `${date.getDate()} ${MONTHS[date.getMonth()]}`
  const seconds = step < 60 * SECOND_MS ? `:${two(date.getSeconds())}` : ''
  return `${two(date.getHours())}:${two(date.getMinutes())}${seconds}`
}

const round = (value: number): number => Math.round(value * 10) / 10
