import type { Delivery } from '../job/job.js'
import type { Units } from '../partition/limits.js'
import type { PartialPolicy } from '../policy/policy.js'
import { present } from '../values/present.js'
import { CATCH_UP_MAX, type Missed, type Overlap } from './options.js'
import { lastTick, nextTicks, type Ticks, type Timing } from './timing.js'

export type { Missed, Overlap } from './options.js'

export const SCHEDULE_STATES = ['active', 'paused', 'ended'] as const
export type ScheduleState = (typeof SCHEDULE_STATES)[number]

/**
 * A schedule: plain data in the store, so that any process can continue it. It includes everything that an occurrence
 * changes: if several processes decide about an occurrence, the one whose compare-and-set succeeds wins.
 */
export interface Schedule {
  readonly id: string
  /** Grows with every change by a user, not with occurrences. */
  readonly revision: number
  readonly state: ScheduleState
  readonly timing: Timing
  readonly overlap: Overlap
  readonly missed: Missed
  /** false: one occurrence, after which the schedule has ended. */
  readonly recurring: boolean
  readonly job: ScheduledJob
  /** It was made in the short form. */
  readonly posted?: Posted
  readonly createdAt: number
  readonly updatedAt: number
  readonly endedAt?: number
  /** All occurrences up to this time are decided. */
  readonly decidedUntil: number
  /** Waits for the previous occurrence to end (`overlap: 'queue'`). */
  readonly queuedTick?: number
  readonly lastTick?: number
  readonly lastJobId?: string
  readonly counts: TickCounts
}

export interface Posted {
  /** Tells whether a repeated key comes with the same form. */
  readonly hash: string
  readonly key?: string
}

export interface TickCounts {
  readonly fired: number
  /** Skipped because an earlier occurrence had not ended. */
  readonly skipped: number
  /** Missed because no scheduler was running at the time. */
  readonly missed: number
}

/** The template of every job of the schedule. */
export interface ScheduledJob {
  readonly name: string
  readonly queue: string
  readonly priority: number
  readonly delivery: Delivery
  readonly payload: string
  readonly payloadHash: string
  readonly tags: readonly string[]
  readonly tenantId?: string
  readonly timeoutMs?: number
  readonly deadlineMs?: number
  readonly override?: PartialPolicy
  readonly policyId?: string
  readonly dependency?: string
  readonly fingerprint?: string
  readonly partition?: string
  readonly units?: Units
  readonly webhook?: string
}

export const NO_TICKS: TickCounts = { fired: 0, skipped: 0, missed: 0 }

/** An occurrence that stayed undecided for this long is missed; until then it is late. */
export const MISSED_AFTER_MS = 15_000

/** The decision about the due occurrences, and the schedule after it. */
export interface Round {
  /** Occurrences whose jobs are to be enqueued. */
  readonly fire: readonly number[]
  readonly skipped: readonly number[]
  /** The first and the last missed occurrence, and their number, counted up to a bound. */
  readonly missed?: { readonly from: number; readonly to: number; readonly count: number }
  readonly next: Schedule
}

/** The time of the next decision; undefined: never. */
export function dueAt(schedule: Schedule, ticks: Ticks): number | undefined {
  return schedule.state === 'active' ? ticks.next(schedule.decidedUntil) : undefined
}

/**
 * Decides all occurrences up to now. `live`: how many of its jobs wait or run. Occurrences on time follow the overlap
 * rule; a catch-up with a number does not.
 */
export function decideTicks(schedule: Schedule, ticks: Ticks, live: number, now: number): Round {
  const due = dueTicks(schedule, ticks, now)
  const begun: Draft = { fire: [], skipped: [], live, queuedTick: schedule.queuedTick }
  const isFree = !schedule.recurring || schedule.overlap === 'allow'
  if (begun.queuedTick !== undefined && begun.live === 0) {
    fire(begun, begun.queuedTick)
    begun.queuedTick = undefined
  }
  for (const tick of due.catchUp) fire(begun, tick)
  for (const tick of due.onTime) {
    if (isFree || begun.live === 0) fire(begun, tick)
    else if (schedule.overlap === 'queue' && begun.queuedTick === undefined) begun.queuedTick = tick
    else begun.skipped.push(tick)
  }
  const { missed } = due
  return present({
    fire: begun.fire,
    skipped: begun.skipped,
    missed,
    next: after(schedule, begun, due, ticks, now),
  })
}

interface Draft {
  readonly fire: number[]
  readonly skipped: number[]
  live: number
  queuedTick: number | undefined
}

function fire(draft: Draft, tick: number): void {
  draft.fire.push(tick)
  draft.live++
}

interface Due {
  readonly onTime: readonly number[]
  readonly catchUp: readonly number[]
  readonly missed?: NonNullable<Round['missed']>
  readonly last?: number
}

function dueTicks(schedule: Schedule, ticks: Ticks, now: number): Due {
  const first = dueAt(schedule, ticks)
  if (first === undefined || first > now) return { onTime: [], catchUp: [] }
  if (!schedule.recurring) return once(schedule, first, now)
  if (now - first <= MISSED_AFTER_MS) {
    const onTime = upTo(ticks, schedule.decidedUntil, now)
    return { onTime, catchUp: [], last: onTime.at(-1)! }
  }
  const last = lastTick(ticks, schedule.decidedUntil, now)!
  const isLate = now - last <= MISSED_AFTER_MS
  switch (schedule.missed) {
    case 'skip': {
      const onTime = isLate ? upTo(ticks, Math.max(schedule.decidedUntil, now - MISSED_AFTER_MS - 1), now) : []
      return { onTime, catchUp: [], last, ...missedOf(schedule, ticks, first, onTime[0] ?? last + 1) }
    }
    case 'run-once':
      // The newest occurrence makes up for all that were missed.
      return { onTime: [last], catchUp: [], last, ...missedOf(schedule, ticks, first, last) }
    default: {
      const catchUp = newest(ticks, schedule.decidedUntil, now, schedule.missed.all)
      return { onTime: [], catchUp, last, ...missedOf(schedule, ticks, first, catchUp[0] ?? last + 1) }
    }
  }
}

/** The only occurrence of a schedule may be late or missed, but never runs twice. */
function once({ missed }: Schedule, first: number, now: number): Due {
  if (missed !== 'skip' || now - first <= MISSED_AFTER_MS) return { onTime: [first], catchUp: [], last: first }
  return { onTime: [], catchUp: [], last: first, missed: { from: first, to: first, count: 1 } }
}

function upTo(ticks: Ticks, from: number, until: number): readonly number[] {
  return nextTicks(ticks, from, CATCH_UP_MAX).filter(tick => tick <= until)
}

/** The newest `count` occurrences, oldest first. */
function newest(ticks: Ticks, after: number, now: number, count: number): readonly number[] {
  const found: number[] = []
  let until = now
  while (found.length < count) {
    const tick = lastTick(ticks, after, until)
    if (tick === undefined) break
    found.unshift(tick)
    until = tick - 1
  }
  return found
}

/** The occurrences from `first` on and before `end`, which are missed. */
function missedOf({ decidedUntil }: Schedule, ticks: Ticks, first: number, end: number): Pick<Due, 'missed'> {
  if (first >= end) return {}
  const count = upTo(ticks, first - 1, end - 1).length
  return { missed: { from: first, to: lastTick(ticks, decidedUntil, end - 1) ?? first, count } }
}

function after(
  schedule: Schedule,
  { fire: fired, skipped, queuedTick }: Draft,
  due: Due,
  ticks: Ticks,
  now: number,
): Schedule {
  const { queuedTick: _, ...rest } = schedule
  const { counts } = schedule
  const decidedUntil = due.last ?? schedule.decidedUntil
  const next: Schedule = present({
    ...rest,
    decidedUntil,
    queuedTick,
    ...(fired.length > 0 && { lastTick: fired.at(-1)! }),
    counts: {
      fired: counts.fired + fired.length,
      skipped: counts.skipped + skipped.length,
      missed: counts.missed + (due.missed?.count ?? 0),
    },
  })
  const isOver = schedule.recurring
    ? dueAt(next, ticks) === undefined && queuedTick === undefined
    : due.last !== undefined
  return isOver ? { ...next, state: 'ended', endedAt: now } : next
}
