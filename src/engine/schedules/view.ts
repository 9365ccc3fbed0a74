import { DELIVERIES } from '../../core/job/job.js'
import { attemptView, type JobView, jobView, timeText } from '../../core/job/view.js'
import { units } from '../../core/partition/limits.js'
import { partialPolicy } from '../../core/policy/form.js'
import { formOf, scheduleForm } from '../../core/schedule/form.js'
import { missed, overlap } from '../../core/schedule/options.js'
import { SCHEDULE_STATES, type Schedule } from '../../core/schedule/schedule.js'
import { ticksOf } from '../../core/schedule/timing.js'
import { durationText } from '../../core/values/duration.js'
import { present } from '../../core/values/present.js'
import {
  about,
  anyText,
  anything,
  boolean,
  duration,
  type Infer,
  integer,
  literal,
  named,
  oneOf,
} from '../../core/values/schema.js'
import { listOf, record, view } from '../../core/values/shape.js'
import { timestamp } from '../../core/values/time.js'
import { nextAfter } from './schedule-cache.js'

/** The public form of a schedule: the same in TypeScript, REST and `--json`. */
export const scheduleView = named(
  'Schedule',
  view(
    {
      id: anyText,
      version: about(integer(), 'Incremented by every change of the configuration.'),
      state: oneOf(SCHEDULE_STATES),
      timeZone: anyText,
      overlap,
      missed,
      recurring: boolean,
      job: about(anyText, 'The name of its jobs.'),
      payload: anything,
      queue: anyText,
      priority: integer(),
      delivery: oneOf(DELIVERIES),
      tags: listOf(anyText),
      fired: about(integer(), 'Occurrences that created jobs.'),
      skipped: about(integer(), 'Occurrences that overlapped an earlier one.'),
      missedCount: about(integer(), 'Occurrences at which no scheduler was running.'),
      createdAt: timestamp,
      updatedAt: timestamp,
    },
    {
      cron: anyText,
      every: duration(),
      startAt: timestamp,
      endAt: timestamp,
      splay: duration(),
      tenantId: anyText,
      timeout: duration(),
      retry: partialPolicy,
      webhook: anyText,
      dependsOn: anyText,
      fingerprint: anyText,
      partition: anyText,
      units,
      nextOccurrenceAt: timestamp,
      lastOccurrenceAt: timestamp,
      lastJobId: anyText,
      endedAt: timestamp,
      warnings: about(listOf(anyText), 'Options that have no effect; only in the answer to a change.'),
    },
  ),
)
export type ScheduleView = Infer<typeof scheduleView>

const { type, isRecurring, maxRetryCount, method, body, timeout } = scheduleForm.optional

/** A schedule where a job could be: with the fields of the short form, if it was made in it, and its occurrence. */
export const jobSchedule = named(
  'JobSchedule',
  view(
    { kind: literal('schedule'), ...scheduleView.required },
    {
      ...scheduleView.optional,
      schedule: anyText,
      api: anyText,
      type,
      isRecurring,
      maxRetryCount,
      method,
      headers: record(anyText),
      body,
      timeout: about(timeout, 'The limit of one attempt.'),
      key: anyText,
      nextRunAt: about(timestamp, 'The time of the next run: of a retry while its occurrence is retried.'),
      occurrence: about(jobView, 'Its job that waits or runs, otherwise its last one.'),
    },
  ),
)
export type JobSchedule = Infer<typeof jobSchedule>

/** A run of a job of a schedule. */
export const occurrenceAttempt = named(
  'OccurrenceAttempt',
  view({ ...attemptView.required, jobId: anyText }, attemptView.optional),
)

export function viewSchedule(schedule: Schedule, now: number): ScheduleView {
  const { id, revision: version, state, timing, recurring, job, counts } = schedule
  const next = nextAfter(schedule, ticksOf(timing), now)
  return present({
    id,
    version,
    state,
    cron: timing.cron,
    every: durationText(timing.everyMs),
    timeZone: timing.timeZone,
    startAt: timeText(timing.startAt),
    endAt: timeText(timing.endAt),
    splay: durationText(timing.splayMs),
    overlap: schedule.overlap,
    missed: schedule.missed,
    recurring,
    job: job.name,
    payload: JSON.parse(job.payload) as unknown,
    queue: job.queue,
    priority: job.priority,
    delivery: job.delivery,
    tags: job.tags,
    tenantId: job.tenantId,
    timeout: durationText(job.timeoutMs),
    retry: job.override,
    webhook: job.webhook,
    dependsOn: job.dependency,
    fingerprint: job.fingerprint,
    partition: job.partition,
    units: job.units,
    nextOccurrenceAt: timeText(next),
    lastOccurrenceAt: timeText(schedule.lastTick),
    lastJobId: schedule.lastJobId,
    fired: counts.fired,
    skipped: counts.skipped,
    missedCount: counts.missed,
    createdAt: timeText(schedule.createdAt),
    updatedAt: timeText(schedule.updatedAt),
    endedAt: timeText(schedule.endedAt),
  })
}

export function viewJobSchedule(schedule: Schedule, occurrence: JobView | undefined, now: number): JobSchedule {
  const view = viewSchedule(schedule, now)
  const nextRunAt = occurrence?.state === 'waiting' ? occurrence.runAt : view.nextOccurrenceAt
  return { kind: 'schedule', ...view, ...formOf(schedule), ...present({ nextRunAt, occurrence }) }
}
