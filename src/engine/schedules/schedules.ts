import type { HttpRequest } from '../../core/http/request.js'
import { ownSettings } from '../../core/job/options.js'
import {
  deliveryIn,
  jobChangesIn,
  parseScheduleForm,
  type ScheduleChanges,
  type ScheduleForm,
  scheduleEdit,
} from '../../core/schedule/form.js'
import { isIdOf, scheduleId } from '../../core/schedule/id.js'
import { type OccurrenceView, viewOccurrences } from '../../core/schedule/occurrences.js'
import { scheduleOptions } from '../../core/schedule/options.js'
import type { Posted, Schedule, ScheduledJob } from '../../core/schedule/schedule.js'
import { checkHappens, parseTiming, type Timing, ticksOf } from '../../core/schedule/timing.js'
import { ChronosError, shown } from '../../core/values/error.js'
import { canonicalJson } from '../../core/values/json.js'
import { pageLimit } from '../../core/values/limits.js'
import { present } from '../../core/values/present.js'
import { integer, read } from '../../core/values/schema.js'
import { type Time, timeOf } from '../../core/values/time.js'
import type { NewJob, Store } from '../../store/store.js'
import { HTTP_JOB } from '../client/definition.js'
import { type EnqueueOptions, type EnqueueResult, type Enqueuer, sha256 } from '../client/enqueuer.js'
import type { Environment } from '../client/environment.js'
import { dependencyOf, parseChanges } from '../jobs/edit.js'
import { type HistoryQuery, historyPageOf, type List, listOf, PAGE_DEFAULT, type TenantQuery } from '../jobs/query.js'
import { Records, type Stored } from '../records/records.js'
import { type OccurrenceAttempt, occurrenceHistory } from './occurrences.js'
import { isSame, putOver, type ScheduleOptions, saidOf, type TimingOptions } from './options.js'
import { SCHEDULE, SCHEDULE_CHANGES, scheduleOf } from './schedule-cache.js'
import { newJobOf } from './scheduler.js'
import { type ScheduleView, viewSchedule } from './view.js'

export interface PutOptions {
  /** Writes only if the schedule still has this version; 0: only if it does not exist. */
  readonly version?: number
}

export interface CreateOptions {
  /** Default: a new id. */
  readonly id?: string
  readonly tenantId?: string
}

export interface CreatedSchedule {
  readonly schedule: ScheduleView
  /** `existing`: the key, or the id, was used before with the same form. */
  readonly status: 'created' | 'existing'
  /** Options that were given and have no effect. */
  readonly warnings: readonly string[]
}

const ID_LENGTH = 32
const previewCount = integer(1, 1_000)
/** The settings that a schedule passes on to its jobs. */
const SETTINGS = Object.keys(ownSettings) as readonly (keyof typeof ownSettings)[]

interface SchedulesOptions {
  readonly env: Environment
  readonly enqueuer: Enqueuer
  /** Throws if the request is not allowed from here. */
  readonly checkRequest: (request: HttpRequest) => void
  /** Called when a schedule was changed, so that the scheduler reads it at once. */
  readonly onChanged: () => void
}

interface Template extends ScheduledJob {
  readonly warnings: readonly string[]
}

/** `chronos.schedules`: recurring jobs. */
export class Schedules {
  readonly #options: SchedulesOptions
  readonly #env: Environment
  readonly #records: Records<Schedule>

  constructor(options: SchedulesOptions) {
    this.#options = options
    this.#env = options.env
    this.#records = scheduleRecords(options.env)
  }

  /**
   * Creates or changes a schedule. Repeating the call changes nothing, so every process may put its schedules when it
   * starts. Its `warnings` name options that have no effect.
   */
  async put<Input>(id: string, options: ScheduleOptions<Input>, condition: PutOptions = {}): Promise<ScheduleView> {
    const { schedule, warnings } = await this.#put(id, options, condition)
    return warnings.length === 0 ? schedule : { ...schedule, warnings }
  }

  async #put(
    id: string,
    options: unknown,
    { version }: PutOptions,
    posted?: Posted,
  ): Promise<Omit<CreatedSchedule, 'status'>> {
    read(scheduleId, id, 'schedules.put: id')
    const where = `schedule "${id}"`
    const asked = read(scheduleOptions, options, `${where}:`) as ScheduleOptions<never>
    if (!isIdOf(id, asked.tenantId)) {
      throw new ChronosError(
        'INVALID_OPTION',
        `${where}: the part behind @ is the tenant; leave it out, or give tenantId`,
      )
    }
    const { warnings, ...job } = await this.#template(asked, where)
    let now = 0
    const { body } = await this.#write(id, async (current, store) => {
      now = (await store.info()).now
      checkVersion(id, current?.revision ?? 0, version)
      const said = saidOf(asked, job, current, now, where)
      if (current && isSame(current, said)) return current
      checkHappens(said.timing, now, where)
      return { ...putOver(id, said, current, now), ...present({ posted }) }
    })
    return { schedule: viewSchedule(body, now), warnings }
  }

  /**
   * Creates a schedule from the short form `{ schedule, api, type, isRecurring, maxRetryCount }`: a recurring call to a
   * URL. A repeated key, or a repeated id, returns the existing schedule.
   */
  async create(form: ScheduleForm, { id, tenantId = form.tenantId }: CreateOptions = {}): Promise<CreatedSchedule> {
    const { warnings, ...options } = parseScheduleForm(form, 'job')
    const { dice, clock } = this.#env
    const { key } = form
    const keyId = key === undefined ? undefined : sha256(JSON.stringify(['schedule', tenantId ?? null, key]))
    const own = keyId?.slice(0, ID_LENGTH) ?? id ?? dice.id(clock.now())
    const posted = present({ hash: sha256(canonicalJson(JSON.stringify({ ...form, tenantId }))), key })
    try {
      const { schedule } = await this.#put(own, { ...options, ...present({ tenantId }) }, { version: 0 }, posted)
      return { schedule, status: 'created', warnings }
    } catch (error) {
      const existing = isTaken(error) ? await this.#records.find(own) : undefined
      if (!existing) throw error
      if (existing.body.posted?.hash !== posted.hash) throw keyConflict(key, own)
      return { schedule: viewSchedule(existing.body, this.#env.time.now()), status: 'existing', warnings }
    }
  }

  async get(id: string): Promise<ScheduleView | undefined> {
    const schedule = await this.#records.find(id)
    return schedule && viewSchedule(schedule.body, this.#env.time.now())
  }

  /** Schedules by id. */
  async list({ limit = PAGE_DEFAULT, cursor, tenantId }: TenantQuery = {}): Promise<List<ScheduleView>> {
    read(pageLimit, limit, 'schedules.list: limit')
    const from = cursor === undefined ? {} : { from: cursor }
    const mine = ({ job }: Schedule): boolean => tenantId === undefined || job?.tenantId === tenantId
    const found = await this.#records.page({ limit: limit + 1, ...from }, mine)
    const now = this.#env.time.now()
    return listOf(
      found.slice(0, limit).map(({ body }) => viewSchedule(body, now)),
      found[limit]?.id,
    )
  }

  /** The runs of all its jobs, newest job first. */
  async history(id: string, page: HistoryQuery = {}): Promise<List<OccurrenceAttempt>> {
    const store = await this.#env.connection.store()
    const tenantId = (await this.#records.find(id))?.body.job.tenantId
    const filter = present({ scheduleId: id, tenantId })
    const found = await occurrenceHistory(store, filter, historyPageOf(page, 'schedules.history'))
    return listOf(found.data, found.next)
  }

  /** Makes no further jobs; existing ones continue. */
  pause(id: string): Promise<ScheduleView> {
    return this.#change(id, 'pause', schedule => {
      const { queuedTick: _, ...rest } = schedule
      return schedule.state === 'active' ? { ...rest, state: 'paused' } : undefined
    })
  }

  /** Continues with the next occurrence; those during the pause, or since it was cancelled, are skipped. */
  resume(id: string): Promise<ScheduleView> {
    return this.#change(id, 'resume', ({ endedAt: _, ...schedule }, now) => {
      const { state, recurring, counts, timing } = schedule
      // It ended by a cancel, not because its last occurrence has passed.
      const isCancelled = (recurring || counts.fired === 0) && ticksOf(timing).next(now) !== undefined
      if (state !== 'paused' && !(state === 'ended' && isCancelled)) return undefined
      return { ...schedule, state: 'active', decidedUntil: Math.max(schedule.decidedUntil, now) }
    })
  }

  /** Ends it: it makes no further jobs; existing ones continue. */
  end(id: string): Promise<ScheduleView> {
    return this.#change(id, 'cancel', ({ queuedTick: _, ...schedule }, now) =>
      schedule.state === 'ended' ? undefined : { ...schedule, state: 'ended', endedAt: now },
    )
  }

  /** Changes some fields, for its next occurrences. A new time makes a schedule that has ended active again. */
  async edit(id: string, given: ScheduleChanges, { version }: PutOptions = {}): Promise<ScheduleView> {
    const where = `schedule "${id}"`
    const changes = read(scheduleEdit, given, `${where}:`)
    let now = 0
    const { body } = await this.#write(id, async (current, store) => {
      if (!current) throw noSchedule(id)
      checkVersion(id, current.revision, version)
      now = (await store.info()).now
      const timing =
        changes.schedule === undefined ? current.timing : atCron(current.timing, changes.schedule, now, where)
      const job = await this.#edited(current.job, changes, where)
      const { overlap, missed, recurring } = current
      const said = { timing, overlap, missed, recurring: changes.isRecurring ?? recurring, job }
      if (isSame(current, said)) return current
      if (timing !== current.timing) checkHappens(timing, now, where)
      const next = putOver(id, said, current, now)
      const { state, endedAt } = current
      return changes.schedule === undefined ? { ...next, ...present({ state, endedAt }) } : next
    })
    return viewSchedule(body, now)
  }

  async #edited(job: ScheduledJob, given: ScheduleChanges, where: string): Promise<ScheduledJob> {
    const { runAt: _, delay: _delay, ...asked } = jobChangesIn(given, job, where)
    const delivery = deliveryIn(given)
    if (Object.keys(asked).length === 0) return { ...job, ...present({ delivery }) }
    const changes = parseChanges(asked, where)
    const dependency = await dependencyOf(job, { changes, ...this.#options })
    const { payload, priority, tags, queue, override } = changes
    const payloadHash = payload === undefined ? undefined : sha256(canonicalJson(payload))
    const { override: before, ...rest } = job
    return {
      ...rest,
      ...present({ payload, payloadHash, priority, tags, queue, delivery, ...dependency }),
      ...(override !== null && present({ override: override ?? before })),
    }
  }

  /** Makes an occurrence at once, regardless of the schedule's times, a pause or an earlier occurrence. */
  async run(id: string): Promise<EnqueueResult> {
    const { body: schedule } = await this.#find(id)
    const { dice, clock } = this.#env
    const now = clock.now()
    const job: NewJob = {
      ...newJobOf(schedule, dice.id(now)),
      key: `schedule:${id}:run-${dice.token()}`,
      runAt: { delayMs: 0 },
    }
    const enqueued = await this.#options.enqueuer.add(job)
    return { id: enqueued.id, status: 'created' }
  }

  /** Deletes the schedule; the jobs that it made stay and continue. */
  async delete(id: string): Promise<void> {
    await this.#find(id)
    const store = await this.#env.connection.store()
    await store.putRecords([{ kind: SCHEDULE, id, body: null }, changed()])
    this.#options.onChanged()
  }

  /** The next occurrences, in local time and with its changes. */
  preview(
    options: TimingOptions,
    { count = 10, from }: { count?: number; from?: Time } = {},
  ): readonly OccurrenceView[] {
    read(previewCount, count, 'schedules.preview: count')
    const now = from === undefined ? this.#env.time.now() : timeOf(from, 'schedules.preview: from')
    const timing = parseTiming(options, now, 'schedules.preview')
    checkHappens(timing, now, 'schedules.preview')
    return viewOccurrences(timing, now, count)
  }

  async #template(options: ScheduleOptions<never>, where: string): Promise<Template> {
    const { job, http, payload } = options
    if ((job === undefined) === (http === undefined)) {
      throw new ChronosError('INVALID_OPTION', `${where}: give job or http, ${job === undefined ? 'one' : 'not both'}`)
    }
    const request = http ?? (job === HTTP_JOB ? (payload as unknown as HttpRequest) : undefined)
    if (request !== undefined) this.#options.checkRequest(request)
    const given: Record<string, unknown> = { key: 'occurrence' }
    for (const name of SETTINGS) if (options[name] !== undefined) given[name] = options[name]
    const { enqueuer } = this.#options
    const prepared = await enqueuer.prepare(job ?? HTTP_JOB, http ?? payload, given as EnqueueOptions)
    const warnings = await enqueuer.warnings(job ?? HTTP_JOB, prepared)
    const { id: _, key: _key, runAt: _runAt, deadline, payloadHash, unique: _unique, ...rest } = prepared
    const deadlineMs = deadline && 'delayMs' in deadline ? deadline.delayMs : undefined
    return { ...rest, payloadHash: payloadHash!, ...present({ deadlineMs }), warnings }
  }

  async #change(
    id: string,
    action: string,
    change: (schedule: Schedule, now: number) => Schedule | undefined,
  ): Promise<ScheduleView> {
    let now = 0
    const { body } = await this.#write(id, async (schedule, store) => {
      if (!schedule) throw noSchedule(id)
      now = (await store.info()).now
      const next = change(schedule, now)
      if (next) return { ...next, revision: schedule.revision + 1, updatedAt: now }
      throw new ChronosError('NOT_ALLOWED', `can't ${action} schedule ${shown(id)}: it is ${schedule.state}`, {
        details: { scheduleId: id, state: schedule.state },
      })
    })
    return viewSchedule(body, now)
  }

  #write(
    id: string,
    update: (schedule: Schedule | undefined, store: Store) => Promise<Schedule>,
  ): Promise<Stored<Schedule>> {
    return this.#records.change(id, update, async (store, write) => {
      const [put] = await store.putRecords([write, changed()])
      this.#options.onChanged()
      return put!
    })
  }

  async #find(id: string): Promise<Stored<Schedule>> {
    const schedule = await this.#records.find(id)
    if (!schedule) throw noSchedule(id)
    return schedule
  }
}

export function scheduleRecords(env: Environment): Records<Schedule> {
  const name = (id: string): string => `schedule ${shown(id)}`
  return new Records({ env, kind: SCHEDULE, name, parse: scheduleOf })
}

/** Another expression, with the other settings as they are. */
function atCron({ everyMs: _, anchor: _anchor, ...rest }: Timing, cron: string, now: number, where: string): Timing {
  return { ...rest, ...parseTiming({ cron, timeZone: rest.timeZone }, now, where) }
}

const isTaken = (error: unknown): boolean => error instanceof ChronosError && error.code === 'VERSION_CONFLICT'

function keyConflict(key: string | undefined, id: string): ChronosError {
  const what = key === undefined ? `id ${shown(id)}` : `key ${shown(key)}`
  return new ChronosError(
    'KEY_CONFLICT',
    `${what} belongs to a schedule with other fields; use another one, or change that schedule`,
    { details: present({ key, scheduleId: id }) },
  )
}

/** Notifies every scheduler that a schedule has changed. */
function changed() {
  return { ...SCHEDULE_CHANGES, body: '{}' }
}

function checkVersion(id: string, current: number, version: number | undefined): void {
  if (version !== undefined && version !== current) throw versionConflict(id, current, version)
}

export function versionConflict(id: string, current: number, expected: number | string): ChronosError {
  return new ChronosError(
    'VERSION_CONFLICT',
    current === 0
      ? `there is no schedule ${shown(id)}, and version ${expected} was expected`
      : `schedule ${shown(id)} has version ${current}, not ${expected}: it was modified concurrently; read it again`,
    { details: { scheduleId: id, version: current } },
  )
}

function noSchedule(id: string): ChronosError {
  return new ChronosError('NOT_FOUND', `there is no schedule ${shown(id)}`, { details: { scheduleId: id } })
}
