/** The layout of time: idle time shortened, linear, or logarithmic from the beginning. */
export type AxisMode = 'compressed' | 'linear' | 'log'

/** A stretch of time to lay out, in epoch milliseconds. Stretches have no gaps between them. */
export interface Stretch {
  readonly from: number
  readonly to: number
  /** `point`: a moment that must be visible although it has no length. */
  readonly kind: 'active' | 'idle' | 'point'
}

/** A stretch of time with its position in pixels. */
export interface Piece extends Stretch {
  readonly start: number
  readonly end: number
  /** Drawn shorter than it is. */
  readonly isCut: boolean
}

export interface Scale {
  readonly pieces: readonly Piece[]
  /** The total length in pixels, which may exceed the requested length. */
  readonly length: number
  /** The position of a moment, clamped to the ends. */
  at(time: number): number
}

/** Pixels. */
export interface Room {
  readonly length: number
  readonly activeMin: number
  readonly activeUsual: number
  readonly activeMax: number
  readonly cutMin: number
}

/** An idle stretch longer than this many times the usual active one is cut. */
const CUT_TIMES = 4

export function scaleOf(stretches: readonly Stretch[], mode: AxisMode, room: Room): Scale {
  const unit = unitOf(stretches)
  const cuts = stretches.map(each => mode === 'compressed' && each.kind === 'idle' && lengthOf(each) > CUT_TIMES * unit)
  const widths = widthsOf(stretches, mode, room, unit, cuts)
  let at = 0
  const pieces = stretches.map((each, i): Piece => {
    const start = at
    at += widths[i]!
    return { ...each, start, end: at, isCut: cuts[i]! }
  })
  return { pieces, length: at, at: time => placeOf(time, pieces) }
}

const lengthOf = ({ from, to }: Stretch): number => Math.max(0, to - from)

/** The median active stretch, or a share of the median wait if nothing was active yet. */
function unitOf(stretches: readonly Stretch[]): number {
  const lengths = (kind: Stretch['kind']): readonly number[] =>
    stretches.filter(each => each.kind === kind && each.to > each.from).map(lengthOf)
  const [active, idle] = [lengths('active'), lengths('idle')]
  return Math.max(1, active.length > 0 ? median(active) : median(idle) / CUT_TIMES)
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  if (sorted.length === 0) return 0
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

function widthsOf(
  stretches: readonly Stretch[],
  mode: AxisMode,
  room: Room,
  unit: number,
  cuts: readonly boolean[],
): readonly number[] {
  switch (mode) {
    case 'compressed':
      return compressed(stretches, room, unit, cuts)
    case 'linear':
      return fitted(stretches.map(lengthOf), stretches.map(seen), room.length)
    case 'log': {
      const from = stretches[0]?.from ?? 0
      const place = (time: number): number => Math.log1p(Math.max(0, time - from) / unit)
      const lengths = stretches.map(each => place(each.to) - place(each.from))
      return fitted(lengths, stretches.map(seen), room.length)
    }
  }
}

/**
 * Runs and short waits keep their proportions. A longer wait grows with the logarithm of its length.
 */
function compressed(
  stretches: readonly Stretch[],
  room: Room,
  unit: number,
  cuts: readonly boolean[],
): readonly number[] {
  const natural = stretches.map(each => {
    if (each.kind === 'point') return room.activeUsual
    const times = lengthOf(each) / unit
    if (each.kind === 'active') return clamp(times * room.activeUsual, room.activeMin, room.activeMax)
    const over = Math.max(0, Math.log2(times / CUT_TIMES))
    return Math.min(times, CUT_TIMES) * room.activeUsual * (1 + CUT_GROWTH * over)
  })
  const least = stretches.map(({ kind }, i) => (kind === 'idle' ? (cuts[i] ? room.cutMin : 0) : room.activeMin))
  // The limit keeps one short run from filling the whole width.
  const widest = Math.max(1, ...natural.filter((_, i) => stretches[i]!.kind === 'active'))
  return fitted(natural, least, room.length, (2 * room.activeMax) / widest)
}

const CUT_GROWTH = 0.35

const SEEN_MIN = 4

const seen = ({ kind }: Stretch): number => (kind === 'idle' ? 0 : SEEN_MIN)

/** The largest scale up to a limit at which everything fits. No stretch gets smaller than its minimum. */
function fitted(
  lengths: readonly number[],
  least: readonly number[],
  room: number,
  limit = Number.POSITIVE_INFINITY,
): readonly number[] {
  const total = Math.max(Number.EPSILON, sum(lengths))
  const at = (perLength: number): readonly number[] => lengths.map((each, i) => Math.max(least[i]!, each * perLength))
  let [low, high] = [0, Math.min(limit, room / total)]
  if (sum(at(high)) <= room) return at(high)
  for (let halvings = 0; halvings < 40; halvings++) {
    const middle = (low + high) / 2
    if (sum(at(middle)) <= room) low = middle
    else high = middle
  }
  return at(low)
}

function placeOf(time: number, pieces: readonly Piece[]): number {
  const first = pieces[0]
  if (first === undefined || time <= first.from) return first?.start ?? 0
  for (const { from, to, start, end } of pieces) {
    if (time > to) continue
    return to > from ? start + ((time - from) / (to - from)) * (end - start) : start
  }
  return pieces.at(-1)!.end
}

const sum = (values: readonly number[]): number => values.reduce((total, each) => total + each, 0)
export const clamp = (value: number, min: number, max: number): number => Math.min(max, Math.max(min, value))
