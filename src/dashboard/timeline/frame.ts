/** The geometry of the timeline: it runs from left to right, or from top to bottom on a narrow screen. */
export interface Frame {
  readonly isDown: boolean
  /** The room that texts must stay inside: pixels. */
  readonly width: number
  /** The row of runs and waits, the tracks of jitter windows beside it, and where both end: pixels across the time axis. */
  readonly lane: number
  readonly laneSize: number
  readonly track: number
  readonly trackSize: number
  readonly trackStep: number
  readonly edge: number
}

const SIDEWAYS = { isDown: false, lane: 36, laneSize: 34, track: 77, trackSize: 5, trackStep: 8, edge: 101 }
const DOWN = { isDown: true, lane: 6, laneSize: 26, track: 38, trackSize: 4, trackStep: 7, edge: 54 }

export const frameOf = (isDown: boolean, width: number): Frame => ({ ...(isDown ? DOWN : SIDEWAYS), width })

export const middleOf = ({ lane, laneSize }: Frame): number => lane + laneSize / 2

/** A box that starts at `from` on the time axis and at `side` across it. */
export interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export function boxOf({ isDown }: Frame, from: number, length: number, side: number, size: number): Box {
  return isDown ? { x: side, y: from, width: size, height: length } : { x: from, y: side, width: length, height: size }
}

export const laneBox = (frame: Frame, from: number, length: number, grow = 0): Box =>
  boxOf(frame, from - grow, length + 2 * grow, frame.lane - grow, frame.laneSize + 2 * grow)

export function pointOf({ isDown }: Frame, at: number, side: number): { readonly x: number; readonly y: number } {
  return isDown ? { x: side, y: at } : { x: at, y: side }
}

/** A line along the time axis. */
export const alongPath = ({ isDown }: Frame, from: number, to: number, side: number): string =>
  isDown ? `M${side} ${from}V${to}` : `M${from} ${side}H${to}`

/** A line across the time axis, at one moment. */
export const crossPath = ({ isDown }: Frame, at: number, from: number, to: number): string =>
  isDown ? `M${from} ${at}H${to}` : `M${at} ${from}V${to}`
