import type { Delivery } from '../../core/job/job.js'
import { timeText } from '../../core/job/view.js'
import type { PartialPolicy } from '../../core/policy/policy.js'
import type { Missed, Overlap, Schedule, ScheduleState } from '../../core/schedule/schedule.js'
import { ticksOf } from '../../core/schedule/timing.js'
import { type Duration, durationText } from '../../core/values/duration.js'
import { nextAfter } from './schedule-cache.js'

/** The public form of a schedule: the same in TypeScript, REST and `--json`. */
export interface ScheduleView {
  readonly id: string
  /** For `put` with `version`; incremented by every configuration change. */
  readonly version: number
  readonly state: ScheduleState
  readonly cron?: string
  readonly every?: Duration
  readonly timeZone: string
  readonly startAt?: string
  readonly endAt?: string
  readonly splay?: Duration
  readonly overlap: Overlap
  readonly missed: Missed
  readonly recurring: boolean
  /** The name of its jobs. */
  readonly job: string
  readonly payload: unknown
  readonly queue: string
  readonly priority: number
  readonly delivery: Delivery
  readonly tags: readonly string[]
  readonly tenantId?: string
  readonly timeout?: Duration
  readonly retry?: PartialPolicy
  readonly webhook?: string
  readonly dependsOn?: string
  readonly fingerprint?: string
  readonly nextOccurrenceAt?: string
  readonly lastOccurrenceAt?: string
  readonly lastJobId?: string
  /** The numbers of occurrences that created jobs, that overlapped an earlier one, and at which no scheduler was running. */
  readonly fired: number
  readonly skipped: number
  readonly missedCount: number
  readonly createdAt: string
  readonly updatedAt: string
  readonly endedAt?: string
}

export function viewSchedule(schedule: Schedule, now: number): ScheduleView {
  const { id, revision: version, state, timing, overlap, missed, recurring, job, counts } = schedule
  const next = nextAfter(schedule, ticksOf(timing), now)
  return {
    id,
    version,
    state,
    ...(timing.cron !== undefined && { cron: timing.cron }),
    ...(timing.everyMs !== undefined && { every: durationText(timing.everyMs) }),
    timeZone: timing.timeZone,
    ...time('startAt', timing.startAt),
    ...time('endAt', timing.endAt),
    ...(timing.splayMs !== undefined && { splay: durationText(timing.splayMs) }),
    overlap,
    missed,
    recurring,
    job: job.name,
    payload: JSON.parse(job.payload) as unknown,
    queue: job.queue,
    priority: job.priority,
    delivery: job.delivery,
    tags: job.tags,
    ...(job.tenantId !== undefined && { tenantId: job.tenantId }),
    ...(job.timeoutMs !== undefined && { timeout: durationText(job.timeoutMs) }),
    ...(job.override && { retry: job.override }),
    ...(job.webhook !== undefined && { webhook: job.webhook }),
    ...(job.dependency !== undefined && { dependsOn: job.dependency }),
    ...(job.fingerprint !== undefined && { fingerprint: job.fingerprint }),
    ...time('nextOccurrenceAt', next),
    ...time('lastOccurrenceAt', schedule.lastTick),
    ...(schedule.lastJobId !== undefined && { lastJobId: schedule.lastJobId }),
    fired: counts.fired,
    skipped: counts.skipped,
    missedCount: counts.missed,
    createdAt: timeText(schedule.createdAt),
    updatedAt: timeText(schedule.updatedAt),
    ...time('endedAt', schedule.endedAt),
  }
}

function time<Name extends string>(name: Name, at: number | undefined): { readonly [N in Name]?: string } {
  return (at === undefined ? {} : { [name]: timeText(at) }) as { readonly [N in Name]?: string }
}
