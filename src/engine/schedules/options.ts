import { isDeepStrictEqual } from 'node:util'
import type { scheduleOptions, TimingOptions } from '../../core/schedule/options.js'
import { NO_TICKS, type Schedule, type ScheduledJob } from '../../core/schedule/schedule.js'
import { parseTiming, type Timing } from '../../core/schedule/timing.js'
import { present } from '../../core/values/present.js'
import type { Infer } from '../../core/values/schema.js'
import type { JobReference } from '../client/enqueuer.js'

export type { TimingOptions } from '../../core/schedule/options.js'

/** The payload may be left out only if the job has none. */
export type ScheduleOptions<Input = unknown> = Omit<Infer<typeof scheduleOptions>, 'job' | 'payload'> & {
  /** A definition, or the name of a job that is defined elsewhere. */
  readonly job?: JobReference<Input>
} & (undefined extends Input ? { readonly payload?: Input } : { readonly payload: Input })

/** The configuration of a schedule; its other fields are state. */
type Said = Pick<Schedule, 'timing' | 'overlap' | 'missed' | 'recurring' | 'job'>

export function saidOf(
  { overlap = 'skip', missed = 'run-once', recurring = true, ...options }: ScheduleOptions<never>,
  job: ScheduledJob,
  current: Schedule | undefined,
  now: number,
  where: string,
): Said {
  const timing = parseTiming(timingOf(options), now, where)
  return { timing: current ? sameAnchor(timing, current.timing) : timing, overlap, missed, recurring, job }
}

const timingOf = ({ cron, every, timeZone, startAt, endAt, splay }: TimingOptions): TimingOptions =>
  present({ cron, every, timeZone, startAt, endAt, splay })

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
