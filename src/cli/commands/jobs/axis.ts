import type { Span, Timeline } from '../../../core/job/timeline.js'

/** A span and its width in columns. */
export interface Stretch extends Span {
  readonly columns: number
  /** Too long to draw to scale. */
  readonly isCut: boolean
}

/** A wait this many times as long as all the rest is drawn shorter, so that the rest stays visible. */
const HIDES_SHARE = 8
const DRAWN_SHARE = 1.5
/** A short rest is not worth it: most waits are much longer than a run, and should look so. */
const REST_MIN_MS = 1_000
const REST_MIN_SPANS = 3
const CUT_MIN_COLUMNS = 5

/**
 * The width of every span of a timeline, to scale if possible. A run gets at least one column, and a wait that would
 * leave no room for the rest is cut.
 */
export function stretches({ rows }: Timeline, columns: number): readonly (readonly Stretch[])[] {
  const spans = rows.flatMap(row => row.spans)
  const lengths = drawnLengths(spans)
  const least = spans.map((span, i) => leastColumns(span, lengths[i]! < length(span)))
  const shares = fitted(lengths, least, columns)
  let at = 0
  return rows.map(row =>
    row.spans.map(span => {
      const stretch = { ...span, columns: shares[at]!, isCut: lengths[at]! < length(span) }
      at++
      return stretch
    }),
  )
}

const length = ({ from, to }: Span): number => to - from

/** Compares the longest waits first, each with the rest. */
function drawnLengths(spans: readonly Span[]): readonly number[] {
  const drawn = spans.map(length)
  const waits = [...spans.keys()].filter(i => spans[i]!.kind !== 'running').sort((a, b) => drawn[b]! - drawn[a]!)
  for (const i of waits) {
    const rest = drawn.reduce((sum, each) => sum + each, 0) - drawn[i]!
    if (rest >= REST_MIN_MS && spans.length > REST_MIN_SPANS && drawn[i]! > rest * HIDES_SHARE)
      drawn[i] = rest * DRAWN_SHARE
  }
  return drawn
}

function leastColumns({ kind }: Span, isCut: boolean): number {
  if (isCut) return CUT_MIN_COLUMNS
  return kind === 'running' ? 1 : 0
}

/** The largest scale at which all spans fit. */
function fitted(lengths: readonly number[], least: readonly number[], columns: number): readonly number[] {
  const at = (scale: number): readonly number[] =>
    lengths.map((each, i) => Math.max(least[i]!, Math.round(each * scale)))
  const total = lengths.reduce((sum, each) => sum + each, 0)
  let [low, high] = [0, columns / Math.max(1, total)]
  for (let halvings = 0; halvings < 40; halvings++) {
    const middle = (low + high) / 2
    const taken = at(middle).reduce((sum, each) => sum + each, 0)
    if (taken <= columns) low = middle
    else high = middle
  }
  return at(low)
}

/** The column of a moment, or undefined if it is outside the axis. */
export function columnOf(moment: number, drawn: readonly (readonly Stretch[])[]): number | undefined {
  let column = 0
  for (const stretch of drawn.flat()) {
    if (moment >= stretch.from && moment < stretch.to) {
      return column + Math.floor(((moment - stretch.from) / (stretch.to - stretch.from)) * stretch.columns)
    }
    column += stretch.columns
  }
  return undefined
}
