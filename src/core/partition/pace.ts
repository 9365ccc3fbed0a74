import { type Bounds, type Pace, STARTS, type Units } from './limits.js'

// Rates. Each resource has one clock: the time at which everything spent so far would have been spent at its rate (the
// generic cell rate algorithm). A clock in the past is a full bucket, so an idle partition needs no updates.

/** What a store keeps of the rates of a partition or a queue. Times are epoch milliseconds. */
export interface PaceState {
  /** By resource, as in `Bounds`. */
  readonly clocks?: Readonly<Record<string, number>>
  /** By resource: since when its clock has been ahead of the time. What was spent before has been made up for. */
  readonly busySince?: Readonly<Record<string, number>>
  /** By resource: its starts since then, the newest last. */
  readonly later?: Readonly<Record<string, readonly LaterStart[]>>
  /** What responses have taught: nothing if absent. */
  readonly learned?: Learned
}

/**
 * What was spent before this start, and not yet made up for at its time. No more of it can be given back, whenever that
 * happens or is learned.
 */
interface LaterStart {
  readonly at: number
  readonly ms: number
}

export interface Learned {
  /** The share of the configured rate at the time `since`. */
  readonly share: number
  /** The share grows from here on. */
  readonly since: number
  /** The last time at which it was lowered. */
  readonly loweredAt: number
  /** No start before this time. */
  readonly notBefore?: number
}

/** What one response says about the rate of its partition. */
export type Lesson =
  /** It was refused without a time. */
  | { readonly kind: 'refused' }
  /** It was refused, and the next start is allowed after this time. */
  | { readonly kind: 'wait'; readonly ms: number }
  /** So many starts are left for this time. */
  | { readonly kind: 'left'; readonly starts: number; readonly ms: number }

/** A learned rate is at least this share of the configured one, and reaches the configured one again in ten minutes. */
const SHARE_MIN = 1 / 64
const RECOVERY_MS = 600_000
/** Jobs that were under way together are refused together: they halve the rate once. */
const LOWER_EVERY_MS = 5_000

/** Older starts share an entry with the least that can be given back. */
const LATER_MAX = 8

/** The share of the configured rate that counts now. */
export function learnedShare({ learned }: PaceState, now: number): number {
  if (!learned) return 1
  return Math.min(1, learned.share + Math.max(0, now - learned.since) / RECOVERY_MS)
}

/** What the start of a job costs. */
export function startCost(units: Units = {}): Units {
  return { ...units, [STARTS]: 1 }
}

/** When the next start that costs this much is allowed; `now` if it is allowed at once. */
export function allowedAt(bounds: Bounds, state: PaceState, cost: Units, now: number): number {
  const share = learnedShare(state, now)
  let at = Math.max(now, state.learned?.notBefore ?? now)
  for (const [resource, pace] of Object.entries(bounds.rates)) {
    const amount = amountOf(resource, cost)
    if (amount === 0) continue
    // A start that costs more than a burst waits for a full bucket, and is paid off after it.
    const credit = Math.max(0, pace.burst - amount)
    at = Math.max(at, clockOf(state, resource) - credit * msPerUnit(pace, share))
  }
  return Math.ceil(at)
}

/**
 * The state after a start, or after a correction for a job that started at `startedAt`: what was given back is negative.
 * Nothing is given back that the rate has made up for since, or more would start than it allows.
 */
export function spend(bounds: Bounds, state: PaceState, cost: Units, now: number, startedAt = now): PaceState {
  const rates = Object.entries(bounds.rates)
  if (rates.length === 0) return state
  const share = learnedShare(state, now)
  const clocks = { ...state.clocks }
  const busySince = { ...state.busySince }
  const later = { ...state.later }
  for (const [resource, pace] of rates) {
    const amount = amountOf(resource, cost)
    const clock = clockOf(state, resource)
    const isFull = clock <= now
    if (amount === 0 || (amount < 0 && (isFull || startedAt < (busySince[resource] ?? now)))) continue
    const ms = amount * msPerUnit(pace, share)
    const starts = Object.hasOwn(later, resource) ? later[resource]! : []
    if (amount < 0) {
      const givenMs = Math.min(-ms, ...starts.filter(({ at }) => at > startedAt).map(start => start.ms))
      later[resource] = starts.map(start => (start.at > startedAt ? { at: start.at, ms: start.ms - givenMs } : start))
      clocks[resource] = clock - givenMs
      continue
    }
    if (isFull) {
      busySince[resource] = now
      later[resource] = []
    } else if (now > (starts.at(-1)?.at ?? busySince[resource] ?? 0)) {
      later[resource] = shortened([...starts, { at: now, ms: clock - now }])
    }
    // Claims look at whole milliseconds. The part of one by which this start is late is not lost.
    clocks[resource] = (clock > now - 1 ? clock : now) + ms
  }
  return { ...state, clocks, busySince, later }
}

function shortened(starts: readonly LaterStart[]): readonly LaterStart[] {
  if (starts.length <= LATER_MAX) return starts
  const [first, second, ...rest] = starts
  return [{ at: second!.at, ms: Math.min(first!.ms, second!.ms) }, ...rest]
}

/** How many starts are allowed at once, as far as starts are counted. */
export function startsNow({ rates }: Bounds, state: PaceState, now: number): number {
  if ((state.learned?.notBefore ?? now) > now) return 0
  const pace = rates[STARTS]
  if (!pace) return Number.POSITIVE_INFINITY
  const owed = Math.max(0, clockOf(state, STARTS) - now) / msPerUnit(pace, learnedShare(state, now))
  // The smallest part of a start is lost to rounding, not won.
  return Math.max(0, Math.floor(pace.burst - owed + 1e-9))
}

/** The state after a response; without `learn`, responses teach nothing. */
export function learn(bounds: Bounds, state: PaceState, lesson: Lesson, now: number): PaceState {
  const pace = bounds.rates[STARTS]
  if (!bounds.learns || !pace) return state
  const share = learnedShare(state, now)
  const known = state.learned
  const isRecent = known !== undefined && now - known.loweredAt < LOWER_EVERY_MS
  const halved = isRecent ? share : Math.max(SHARE_MIN, share / 2)
  const loweredAt = isRecent ? known.loweredAt : now
  const notBefore = known?.notBefore !== undefined && known.notBefore > now ? { notBefore: known.notBefore } : {}
  // The share is that of now, so it does not grow for the time before. It may be set to grow even later.
  const since = Math.max(now, known?.since ?? now)
  const until = lesson.kind === 'refused' ? now : now + lesson.ms
  const waitUntil = Math.max(until, known?.notBefore ?? 0)
  switch (lesson.kind) {
    case 'refused':
      return { ...state, learned: { share: halved, since, loweredAt, ...notBefore } }
    case 'wait':
      return { ...state, learned: { share: halved, since: waitUntil, loweredAt, notBefore: waitUntil } }
    case 'left': {
      // No start is left for this time; the rate itself is not too high.
      if (lesson.starts <= 0)
        return { ...state, learned: { share, since, loweredAt: known?.loweredAt ?? 0, notBefore: waitUntil } }
      const left = Math.max(SHARE_MIN, lesson.starts / Math.max(1, lesson.ms) / pace.perMs)
      if (left >= share) return state
      return { ...state, learned: { share: left, since: Math.max(since, until), loweredAt: now, ...notBefore } }
    }
  }
}

/** Without what no longer matters, so that the state of an idle partition is empty. */
export function tidied({ clocks = {}, busySince = {}, later = {}, learned }: PaceState, now: number): PaceState {
  const busy = Object.keys(clocks).filter(resource => clocks[resource]! > now)
  const of = <T>(kept: Readonly<Record<string, T>>): Record<string, T> =>
    Object.fromEntries(busy.flatMap(resource => (Object.hasOwn(kept, resource) ? [[resource, kept[resource]!]] : [])))
  const several = Object.fromEntries(Object.entries(of(later)).filter(([, starts]) => starts.length > 0))
  const isOver = learned === undefined || (learnedShare({ learned }, now) >= 1 && (learned.notBefore ?? 0) <= now)
  return {
    ...(busy.length > 0 && { clocks: of(clocks), busySince: of(busySince) }),
    ...(Object.keys(several).length > 0 && { later: several }),
    ...(!isOver && { learned }),
  }
}

/** When nothing of a state will be left to remember. */
export function idleAt(state: PaceState): number {
  const { learned } = state
  const recovered = learned === undefined ? 0 : learned.since + (1 - learned.share) * RECOVERY_MS
  return Math.ceil(Math.max(recovered, paidOffAt(state)))
}

/** When everything spent so far has been made up for, and no response forbids a start. */
export function paidOffAt({ clocks = {}, learned }: PaceState): number {
  return Math.max(0, learned?.notBefore ?? 0, ...Object.values(clocks))
}

/** How far ahead of the time starts can bring their clock: a burst, at the slowest rate that responses can teach. */
export function mostAheadMs(pace: Pace, learns: boolean): number {
  return pace.burst * msPerUnit(pace, learns ? SHARE_MIN : 1)
}

// A unit can have the name of an inherited property.
const amountOf = (resource: string, cost: Units): number => (Object.hasOwn(cost, resource) ? cost[resource]! : 0)

const clockOf = ({ clocks = {} }: PaceState, resource: string): number =>
  Object.hasOwn(clocks, resource) ? clocks[resource]! : 0

const msPerUnit = ({ perMs }: Pace, share: number): number => 1 / (perMs * share)
