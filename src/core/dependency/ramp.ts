/** How fast jobs start after a circuit was open: the number of starts per second, which doubles with every step. */
export interface Ramp {
  readonly perSecond: number
  readonly doubleEveryMs: number
}

export const RAMP_DEFAULT: Ramp = { perSecond: 5, doubleEveryMs: 5_000 }

/** After this many doublings the ramp no longer limits a real workload. */
export const RAMP_DOUBLINGS = 8

export function rampLengthMs({ doubleEveryMs }: Ramp): number {
  return RAMP_DOUBLINGS * doubleEveryMs
}

/** When the start with this number (from 0) is allowed, in milliseconds from the beginning of the ramp. */
export function rampDelayMs({ perSecond, doubleEveryMs }: Ramp, rank: number): number {
  // The first step allows `step` starts, the next ones 2, 4, 8, … times as many.
  const step = (perSecond * doubleEveryMs) / 1_000
  const doublings = Math.floor(Math.log2(rank / step + 1))
  const before = step * (2 ** doublings - 1)
  return doublings * doubleEveryMs + ((rank - before) / (perSecond * 2 ** doublings)) * 1_000
}

/** How many starts the ramp allows up to this moment. */
export function rampedBy({ perSecond, doubleEveryMs }: Ramp, ms: number): number {
  const doublings = Math.floor(ms / doubleEveryMs)
  const rate = perSecond * 2 ** doublings
  const before = ((perSecond * doubleEveryMs) / 1_000) * (2 ** doublings - 1)
  return before + ((ms - doublings * doubleEveryMs) / 1_000) * rate
}
