import type { Explanation } from '../../core/job/explain.js'
import type { Job } from '../../core/job/job.js'
import type { JobChanges } from '../../core/job/options.js'
import { type AttemptView, type JobView, jobView, timeText } from '../../core/job/view.js'
import { explainSchedule } from '../../core/schedule/explain.js'
import { type JobOrScheduleChanges, jobChangesIn, scheduleEdit } from '../../core/schedule/form.js'
import type { Schedule } from '../../core/schedule/schedule.js'
import { ticksOf } from '../../core/schedule/timing.js'
import type { Count } from '../../core/values/count.js'
import { ChronosError, shown } from '../../core/values/error.js'
import { present } from '../../core/values/present.js'
import { read } from '../../core/values/schema.js'
import { tagged } from '../../core/values/shape.js'
import type { EnqueueResult } from '../client/enqueuer.js'
import type { Environment } from '../client/environment.js'
import { coming, isLive, jobsOf, occurrenceOf } from '../schedules/occurrence.js'
import type { OccurrenceAttempt } from '../schedules/occurrences.js'
import { nextAfter } from '../schedules/schedule-cache.js'
import { type Schedules, scheduleRecords, versionConflict } from '../schedules/schedules.js'
import { type JobSchedule, jobSchedule, viewJobSchedule } from '../schedules/view.js'
import { type EditOptions, notFound } from './edit.js'
import { explainIn } from './explainer.js'
import type { Jobs } from './jobs.js'
import type { LogView } from './log-view.js'
import { type HistoryQuery, type JobQuery, type List, listOf, type PageQuery, pageOf } from './query.js'
import type { SearchOptions } from './search.js'
import { type JobTimeline, type TimelineQuery, timelineIn } from './timeline.js'

/** A job or a schedule; `kind` tells which. */
export const jobOrSchedule = tagged('kind', jobView, jobSchedule)
export type JobOrSchedule = JobView | JobSchedule

/** A cursor in the part of a list that has schedules. */
const SCHEDULES = 'schedule:'
/** Greater than every id. */
const AFTER_ALL = '~'
const SCHEDULES_MAX = 10_000

/** Without `kind`, both. */
export type ListQuery = JobQuery & { readonly kind?: 'job' | 'schedule' }

type NewTime = Parameters<Jobs['reschedule']>[1]

/**
 * `chronos.byId`: what `chronos.jobs` does with a job, for an id that may be of a schedule too. Then it acts on the
 * schedule and its current occurrence.
 */
export class ById {
  readonly #env: Environment
  readonly #jobs: Jobs
  readonly #schedules: Schedules
  readonly #records: ReturnType<typeof scheduleRecords>

  constructor(env: Environment, jobs: Jobs, schedules: Schedules) {
    this.#env = env
    this.#jobs = jobs
    this.#schedules = schedules
    this.#records = scheduleRecords(env)
  }

  async get(id: string): Promise<JobOrSchedule | undefined> {
    const job = await this.#jobs.get(id)
    if (job) return job
    const schedule = await this.#find(id)
    return schedule && this.#view(schedule)
  }

  /** First the schedules that were made in the short form, by id, then the jobs, newest first. */
  async list(query: ListQuery = {}, page: PageQuery = {}, search: SearchOptions = {}): Promise<List<JobOrSchedule>> {
    const { kind, ...filter } = query
    const { limit, cursor } = pageOf(page, 'byId.list')
    const isDone = kind === 'job' || (cursor !== undefined && !cursor.startsWith(SCHEDULES))
    const schedules = isDone ? [] : await this.#posted(filter, limit + 1, cursor?.slice(SCHEDULES.length))
    const data: readonly JobOrSchedule[] = await Promise.all(schedules.slice(0, limit).map(one => this.#view(one)))
    if (schedules.length > limit) return listOf(data, `${SCHEDULES}${schedules[limit]!.id}`)
    if (kind === 'schedule') return listOf(data, undefined)
    if (data.length === limit) return listOf(data, `${SCHEDULES}${AFTER_ALL}`)
    const rest = { limit: limit - data.length, ...(isDone && present({ cursor })) }
    const found = await this.#jobs.list(filter, rest, search)
    return { ...found, data: [...data, ...found.data] }
  }

  /** How many the list has. */
  async count(query: ListQuery = {}, cap?: number, search: SearchOptions = {}): Promise<Count> {
    const { kind, ...filter } = query
    const schedules = kind === 'job' ? 0 : (await this.#posted(filter, SCHEDULES_MAX)).length
    if (kind === 'schedule') return { value: schedules, relation: schedules < SCHEDULES_MAX ? 'exact' : 'at-least' }
    const jobs = await this.#jobs.count(filter, cap, search)
    return { ...jobs, value: jobs.value + schedules }
  }

  /** Only conditions on fields that a schedule has can select it. */
  async #posted(filter: JobQuery, limit: number, from?: string): Promise<readonly Schedule[]> {
    const { queue, name, tenantId, tag, scheduleId, ...others } = filter
    if (Object.values(others).some(value => value !== undefined)) return []
    const fits = (wanted: string | undefined, own: string | undefined): boolean =>
      wanted === undefined || wanted === own
    const found = await this.#records.page({ limit, ...present({ from }) }, ({ id, posted, job }) => {
      if (posted === undefined || !fits(scheduleId, id) || !fits(tenantId, job.tenantId)) return false
      return fits(queue, job.queue) && fits(name, job.name) && (tag === undefined || job.tags.includes(tag))
    })
    return found.map(({ body }) => body)
  }

  /** The runs of a job, or of all jobs of a schedule. */
  async history(id: string, page: HistoryQuery = {}): Promise<List<AttemptView | OccurrenceAttempt>> {
    return (await this.#find(id)) ? this.#schedules.history(id, page) : this.#jobs.history(id, page)
  }

  /** The log lines of a job, or of the current or last occurrence of a schedule. */
  async logs(id: string, page: PageQuery = {}): Promise<List<LogView>> {
    const schedule = await this.#find(id)
    if (!schedule) return this.#jobs.logs(id, page)
    const occurrence = await occurrenceOf(await this.#store(), schedule)
    return occurrence ? this.#jobs.logs(occurrence.id, page) : listOf([], undefined)
  }

  explain(id: string): Promise<Explanation> {
    return this.#either(id, this.#jobs.explain(id), async schedule => {
      const store = await this.#store()
      const occurrence = await occurrenceOf(store, schedule)
      const told = occurrence && (await explainIn(this.#env, store, occurrence))
      const { now } = await store.info()
      return explainSchedule(schedule, told && { told, isLive: isLive(occurrence) }, nextOf(schedule, now), now)
    })
  }

  timeline(id: string, query: TimelineQuery = {}): Promise<JobTimeline> {
    return this.#either(id, this.#jobs.timeline(id, query), async schedule => {
      const store = await this.#store()
      const next = nextOf(schedule, (await store.info()).now)
      const job = (await occurrenceOf(store, schedule)) ?? coming(schedule, next)
      const drawn = await timelineIn(this.#env, job, query)
      return { ...drawn, ...(next !== undefined && { nextOccurrenceAt: timeText(next) }) }
    })
  }

  /** Ends a schedule and cancels its jobs that wait or run. */
  cancel(id: string): Promise<JobOrSchedule> {
    return this.#change(id, this.#jobs.cancel(id), async schedule => {
      const live = { ...jobsOf(schedule), state: ['waiting', 'running'] as const }
      const { value: count } = await this.#jobs.count(live, 1)
      if (schedule.state !== 'ended') await this.#schedules.end(id)
      else if (count === 0) throw refusal('cancel', schedule, 'it has ended')
      await this.#jobs.cancelAll(live)
      return undefined
    })
  }

  /** Starts the last dead or cancelled job of a schedule again; the schedule itself stays as it is. */
  retry(id: string): Promise<JobOrSchedule> {
    return this.#change(id, this.#jobs.retry(id), async schedule => {
      const ended = { ...jobsOf(schedule), state: ['dead', 'cancelled'] as const }
      const [last] = (await (await this.#store()).list(ended, { limit: 1 })).data
      if (!last) throw refusal('retry', schedule, 'none of its jobs is dead or cancelled; run-now makes another one')
      return this.#jobs.retry(last.id)
    })
  }

  /** Runs the waiting job of a schedule now; if it has none, makes one. */
  runNow(id: string): Promise<JobOrSchedule> {
    return this.#change(id, this.#jobs.runNow(id), async schedule => {
      const occurrence = await occurrenceOf(await this.#store(), schedule)
      if (occurrence && isLive(occurrence)) return this.#jobs.runNow(occurrence.id)
      return this.#jobs.get((await this.#schedules.run(id)).id)
    })
  }

  /** Moves the waiting job of a schedule to another time; its occurrences stay. */
  reschedule(id: string, to: NewTime): Promise<JobOrSchedule> {
    return this.#change(id, this.#jobs.reschedule(id, to), schedule => this.#edit(schedule, to, undefined))
  }

  /**
   * Changes a waiting job; or a schedule and, except for its times, its waiting job. A job that is running keeps what it
   * started with.
   */
  edit(id: string, changes: JobOrScheduleChanges, { version }: EditOptions = {}): Promise<JobOrSchedule> {
    const edited = this.#jobs.edit(id, changes as JobChanges, present({ version }))
    return this.#change(id, edited, schedule => this.#edit(schedule, changes, version))
  }

  /** A new job with the payload and options of a job, or of a schedule, in addition to its occurrences. */
  replay(id: string): Promise<EnqueueResult> {
    return this.#either(id, this.#jobs.replay(id), () => this.#schedules.run(id))
  }

  /** Deletes a job, or a schedule and its jobs; none of them may be running. */
  delete(id: string): Promise<void> {
    return this.#either(id, this.#jobs.delete(id), async schedule => {
      const { value: running } = await this.#jobs.count({ ...jobsOf(schedule), state: 'running' }, 1)
      if (running > 0) throw refusal('delete', schedule, 'one of its jobs is running; cancel it first')
      await this.#schedules.delete(id)
      await this.#jobs.deleteAll(jobsOf(schedule))
    })
  }

  async #edit(
    schedule: Schedule,
    changes: JobOrScheduleChanges,
    version: string | undefined,
  ): Promise<JobView | undefined> {
    const { id } = schedule
    const where = `schedule ${shown(id)}`
    const given = read(scheduleEdit, changes, `${where}:`)
    const asked = jobChangesIn(given, schedule.job, where)
    const occurrence = await occurrenceOf(await this.#store(), schedule)
    const isWaiting = occurrence?.state === 'waiting'
    if (!isWaiting && (given.runAt !== undefined || given.delay !== undefined)) {
      throw refusal('edit', schedule, 'none of its jobs is waiting; change its times with schedule')
    }
    const { revision } = schedule
    if (version !== undefined && version !== String(revision)) throw versionConflict(id, revision, shown(version))
    await this.#schedules.edit(id, given, version === undefined ? {} : { version: revision })
    return isWaiting && Object.keys(asked).length > 0 ? this.#editJob(occurrence, asked) : undefined
  }

  /** A job that has started meanwhile keeps what it started with. */
  async #editJob({ id }: Job, changes: JobChanges): Promise<JobView | undefined> {
    try {
      return await this.#jobs.edit(id, changes)
    } catch (error) {
      if (isError(error, 'NOT_ALLOWED') || isError(error, 'NOT_FOUND')) return undefined
      throw error
    }
  }

  /** The changed job, or the changed schedule with the job that was changed, as it was then. */
  #change(id: string, onJob: Promise<JobView>, onSchedule: (schedule: Schedule) => Promise<JobView | undefined>) {
    return this.#either<JobOrSchedule>(id, onJob, async schedule => {
      const occurrence = await onSchedule(schedule)
      const changed = await this.#find(id)
      if (!changed) throw notFound(id)
      return this.#view(changed, occurrence)
    })
  }

  /** Ids of jobs cost nothing more: a schedule is read only if there is no such job. */
  async #either<T>(id: string, onJob: Promise<T>, onSchedule: (schedule: Schedule) => Promise<T>): Promise<T> {
    try {
      return await onJob
    } catch (error) {
      const schedule =
        isError(error, 'NOT_FOUND') || isError(error, 'INVALID_OPTION') ? await this.#find(id) : undefined
      if (!schedule) throw error
      return onSchedule(schedule)
    }
  }

  async #find(id: string): Promise<Schedule | undefined> {
    return (await this.#records.find(id))?.body
  }

  async #view(schedule: Schedule, changed?: JobView): Promise<JobSchedule> {
    return viewJobSchedule(schedule, changed ?? (await this.#occurrence(schedule)), this.#env.time.now())
  }

  async #occurrence(schedule: Schedule): Promise<JobView | undefined> {
    const occurrence = await occurrenceOf(await this.#store(), schedule)
    return occurrence && this.#jobs.get(occurrence.id)
  }

  #store() {
    return this.#env.connection.store()
  }
}

const nextOf = (schedule: Schedule, now: number): number | undefined =>
  nextAfter(schedule, ticksOf(schedule.timing), now)

const isError = (error: unknown, code: ChronosError['code']): boolean =>
  error instanceof ChronosError && error.code === code

function refusal(action: string, { id, state }: Schedule, why: string): ChronosError {
  return new ChronosError('NOT_ALLOWED', `${action}: schedule ${shown(id)} can't: ${why}`, {
    details: { scheduleId: id, state },
  })
}
