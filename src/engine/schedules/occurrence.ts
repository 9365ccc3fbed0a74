import { type Job, TERMINAL } from '../../core/job/job.js'
import type { Schedule } from '../../core/schedule/schedule.js'
import { present } from '../../core/values/present.js'
import type { Store } from '../../store/store.js'
import type { OfSchedule } from './occurrences.js'
import { newJobOf } from './scheduler.js'

const LIVE = ['waiting', 'running'] as const

export function jobsOf({ id: scheduleId, job: { tenantId } }: Schedule): OfSchedule {
  return present({ scheduleId, tenantId })
}

/** Its newest job that waits or runs, otherwise its newest one. */
export async function occurrenceOf(store: Store, schedule: Schedule): Promise<Job | undefined> {
  const [live] = (await store.list({ ...jobsOf(schedule), state: LIVE }, { limit: 1 })).data
  return live ?? (await store.list(jobsOf(schedule), { limit: 1 })).data[0]
}

export const isLive = (job: Job | undefined): boolean => job !== undefined && !TERMINAL.has(job.state)

/** Its first job as it will be; if it makes none any more, as if it were cancelled. */
export function coming(schedule: Schedule, next: number | undefined): Job {
  const { createdAt, updatedAt, endedAt = updatedAt } = schedule
  const { deadline: _, ...job } = newJobOf(schedule, schedule.id)
  return {
    ...job,
    ...(next === undefined
      ? { state: 'cancelled', runAt: endedAt, finishedAt: endedAt }
      : { state: 'waiting', runAt: next }),
    createdAt,
    generation: 1,
    run: 0,
    attempt: 0,
    snoozes: 0,
    releases: 0,
    losses: 0,
    strikes: 0,
    suspect: false,
    begun: false,
    cancelRequested: false,
  }
}
