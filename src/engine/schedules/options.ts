import { isDeepStrictEqual } from 'node:util'
import type { HttpRequest } from '../../core/http/request.js'
import type { Delivery } from '../../core/job/job.js'
import type { PolicyInput } from '../../core/policy/policy.js'
import {
  type Missed,
  NO_TICKS,
  type Overlap,
  parseMissed,
  parseOverlap,
  type Schedule,
  type ScheduledJob,
} from '../../core/schedule/schedule.js'
import { parseTiming, type Timing, type TimingInput } from '../../core/schedule/timing.js'
import type { Duration } from '../../core/values/duration.js'
import { ChronosError, shown } from '../../core/values/error.js'
import { type JobReference, timeOf } from '../client/enqueuer.js'

export type Moment = Date | string | number

/** The timing: either `cron` or `every`. */
export interface TimingOptions {
  /** Five fields, or six with seconds first. */
  readonly cron?: string
  /** The interval from the creation of the schedule (or `startAt`), at least 1 s. */
  readonly every?: Duration
  /** The time zone of `cron`. Default UTC. */
  readonly timeZone?: string
  readonly startAt?: Moment
  readonly endAt?: Moment
  /** Jobs start up to this long after their occurrence, with a constant delay per schedule. Default: no delay. */
  readonly splay?: Duration
}

export interface ScheduleOptions<Input = unknown> extends TimingOptions {
  /** A definition, or the name of a job that is defined elsewhere. */
  readonly job?: JobReference<Input>
  readonly payload?: Input
  /** Calls a URL instead of a `job`. */
  readonly http?: HttpRequest
  readonly queue?: string
  readonly priority?: number
  readonly retry?: PolicyInput
  readonly timeout?: Duration
  readonly delivery?: Delivery
  readonly tenantId?: string
  readonly tags?: readonly string[]
  readonly maxElapsed?: Duration
  readonly dependsOn?: string
  readonly fingerprint?: string
  /** The URL that receives the outcome of each job. */
  readonly webhook?: string
  /** What happens while an earlier occurrence waits, runs or is retried. Default `skip`. */
  readonly overlap?: Overlap
  /** What happens to occurrences at which no scheduler was running. Default `run-once`. */
  readonly missed?: Missed
  /** false: the schedule ends after one occurrence. Default true. */
  readonly recurring?: boolean
}

export const TIMING = ['cron', 'every', 'timeZone', 'startAt', 'endAt', 'splay'] as const
export const JOB = [
  'queue',
  'priority',
  'retry',
  'timeout',
  'delivery',
  'tenantId',
  'tags',
  'maxElapsed',
  'dependsOn',
  'fingerprint',
  'webhook',
] as const
export const OPTIONS = [...TIMING, ...JOB, 'job', 'payload', 'http', 'overlap', 'missed', 'recurring']
/** The configuration of a schedule; its other fields are state. */
type Said = Pick<Schedule, 'timing' | 'overlap' | 'missed' | 'recurring' | 'job'>

export function saidOf(
  options: ScheduleOptions<never>,
  job: ScheduledJob,
  current: Schedule | undefined,
  now: number,
  where: string,
): Said {
  const { recurring = true } = options
  if (typeof recurring !== 'boolean') {
    throw new ChronosError('INVALID_OPTION', `${where}: recurring: expected true or false, got ${shown(recurring)}`)
  }
  const timing = parseTiming(timingInput(options, where), now, where)
  return {
    timing: current ? sameAnchor(timing, current.timing) : timing,
    overlap: parseOverlap(options.overlap ?? 'skip', where),
    missed: parseMissed(options.missed ?? 'run-once', where),
    recurring,
    job,
  }
}

export function timingInput(
  { cron, every, timeZone, startAt, endAt, splay }: TimingOptions,
  where: string,
): TimingInput {
  return {
    ...(cron !== undefined && { cron }),
    ...(every !== undefined && { every }),
    ...(timeZone !== undefined && { timeZone }),
    ...(startAt !== undefined && { startAt: timeOf(startAt, `${where}: startAt`) }),
    ...(endAt !== undefined && { endAt: timeOf(endAt, `${where}: endAt`) }),
    ...(splay !== undefined && { splay }),
  }
}

/** An unchanged interval keeps its start. */
function sameAnchor(timing: Timing, before: Timing): Timing {
  const isOn = timing.everyMs !== undefined && timing.everyMs === before.everyMs && timing.startAt === before.startAt
  return isOn && before.anchor !== undefined ? { ...timing, anchor: before.anchor } : timing
}

export function isSame(current: Schedule, said: Said): boolean {
  const { timing, overlap, missed, recurring, job } = current
  // The stored form has no undefined fields.
  return isDeepStrictEqual({ timing, overlap, missed, recurring, job }, JSON.parse(JSON.stringify(said)))
}

export function putOver(id: string, said: Said, current: Schedule | undefined, now: number): Schedule {
  if (!current) {
    return {
      id,
      revision: 1,
      state: 'active',
      ...said,
      createdAt: now,
      updatedAt: now,
      decidedUntil: now,
      counts: NO_TICKS,
    }
  }
  const { endedAt: _, queuedTick: _queued, ...rest } = current
  const isTimed = current.state === 'active' && isDeepStrictEqual(current.timing, said.timing)
  return {
    ...rest,
    ...said,
    state: current.state === 'ended' ? 'active' : current.state,
    revision: current.revision + 1,
    updatedAt: now,
    // Past occurrences of the old timing are dropped; decided occurrences stay decided.
    decidedUntil: isTimed ? current.decidedUntil : Math.max(current.decidedUntil, now),
    ...(isTimed && current.queuedTick !== undefined && { queuedTick: current.queuedTick }),
  }
}
