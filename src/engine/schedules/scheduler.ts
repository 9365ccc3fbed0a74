import { timeText } from '../../core/job/view.js'
import { decideTicks, MISSED_AFTER_MS, type Round, type Schedule } from '../../core/schedule/schedule.js'
import { splayOf } from '../../core/schedule/timing.js'
import { present } from '../../core/values/present.js'
import type { StoredRecord } from '../../store/record.js'
import type { Enqueued, Fired, NewJob, Store } from '../../store/store.js'
import type { Environment } from '../client/environment.js'
import {
  type KnownSchedule,
  nextAfter,
  occurrenceKey,
  SCHEDULE,
  SCHEDULE_CHANGES,
  type ScheduleCache,
} from './schedule-cache.js'

const BATCH = 1_000
/** Approximate maximum of jobs in one transaction: the catch-up of one schedule may exceed it. */
const JOBS_MAX = 2_000
const PAGE = 1_000
/** A process that lost a race leaves the next occurrences to the winner for this long. */
const SECOND_MS = 400

export interface SchedulerPace {
  /** How often to look for the first schedule. */
  readonly idleMs: number
  /** How often to look for changes of schedules. */
  readonly changesMs: number
}

export interface SchedulerOptions {
  readonly env: Environment
  readonly pace: SchedulerPace
  /** Called when jobs were made, because this process's workers may take them. */
  readonly onFired: (delayMs: number) => void
}

/** A decision that is being written to the store. */
interface Planned {
  readonly entry: KnownSchedule
  readonly round: Round
  readonly next: Schedule
  readonly jobs: readonly NewJob[]
}

/**
 * Makes jobs of occurrences. It runs in many processes at once and needs no leader: the process whose compare-and-set
 * of a schedule succeeds has decided its occurrences, and their jobs are stored in the same transaction.
 */
export class Scheduler {
  readonly #env: Environment
  readonly #schedules: ScheduleCache
  readonly #pace: SchedulerPace
  readonly #onFired: (delayMs: number) => void
  #changes: number | undefined
  #lookAt = 0
  #isAsked = false
  #isSecond = false

  constructor({ env, pace, onFired }: SchedulerOptions) {
    this.#env = env
    this.#schedules = env.scheduleCache
    this.#pace = pace
    this.#onFired = onFired
  }

  /** A schedule was changed in this process. */
  look(): void {
    this.#isAsked = true
  }

  async step(): Promise<number> {
    const { connection, clock, time } = this.#env
    const store = connection.opened ?? (await connection.store())
    if (this.#isAsked || clock.now() >= this.#lookAt) await this.#look(store)
    const behindMs = this.#isSecond ? SECOND_MS : 0
    const now = time.now()
    const due = this.#schedules.due(now - behindMs)
    const decided = due.length === 0 ? 0 : await this.#decide(store, due.slice(0, BATCH), now)
    if (due.length > decided) return 0
    const next = this.#schedules.nextDueAt()
    const lookInMs = this.#lookAt - clock.now()
    return Math.max(0, next === undefined ? lookInMs : Math.min(lookInMs, next + behindMs - time.now()))
  }

  async #look(store: Store): Promise<void> {
    const { clock, time } = this.#env
    const lookedAt = clock.now()
    this.#isAsked = false
    const isFirst = this.#changes === undefined
    if (isFirst) time.observe((await store.info()).now, lookedAt)
    const [marker] = await store.records(SCHEDULE_CHANGES.kind, { ids: [SCHEDULE_CHANGES.id] })
    const changes = marker?.version ?? 0
    if (isFirst || changes !== this.#changes) this.#schedules.replace(await allSchedules(store), time.now())
    this.#changes = changes
    this.#lookAt = lookedAt + (this.#schedules.size === 0 ? this.#pace.idleMs : this.#pace.changesMs)
  }

  /** Returns how many of them were decided, here or by another process. */
  async #decide(store: Store, due: readonly KnownSchedule[], now: number): Promise<number> {
    const live = await this.#liveOf(store, due)
    const planned: Planned[] = []
    for (let jobs = 0; planned.length < due.length && jobs < JOBS_MAX; jobs += planned.at(-1)!.jobs.length) {
      const entry = due[planned.length]!
      planned.push(this.#plan(entry, live.get(entry.schedule.id) ?? 0, now))
    }
    const changed = planned.filter(({ entry, next }) => next !== entry.schedule)
    for (const { entry } of planned.filter(({ entry, next }) => next === entry.schedule)) {
      this.#schedules.set(entry.schedule, entry.version, now)
    }
    if (changed.length === 0) return planned.length
    const fired = await store.fire(
      changed.map(({ entry, next, jobs }) => ({
        record: { kind: SCHEDULE, id: next.id, body: JSON.stringify(next), expect: entry.version },
        jobs,
      })),
    )
    this.#isSecond = fired.every(({ status }) => status === 'conflict')
    for (const [index, plan] of changed.entries()) this.#done(plan, fired[index]!, now)
    this.#wake(changed.filter((_, index) => fired[index]!.status === 'written'))
    return planned.length
  }

  async #liveOf(store: Store, due: readonly KnownSchedule[]): Promise<ReadonlyMap<string, number>> {
    const ids = due
      .filter(({ schedule }) => schedule.recurring && schedule.overlap !== 'allow')
      .map(({ schedule }) => schedule.id)
    const found = ids.length === 0 ? [] : await store.liveSchedules(ids)
    return new Map(found.map(({ id, live }) => [id, live]))
  }

  #plan(entry: KnownSchedule, live: number, now: number): Planned {
    const { schedule, ticks } = entry
    const round = decideTicks(schedule, ticks, live, now)
    const jobs = round.fire.map(tick => this.#job(schedule, tick, now))
    const lastJobId = jobs.at(-1)?.id
    const isSame = round.next.decidedUntil === schedule.decidedUntil && jobs.length === 0
    const next = isSame ? schedule : { ...round.next, ...present({ lastJobId }) }
    return { entry, round, next, jobs }
  }

  #job(schedule: Schedule, tick: number, now: number): NewJob {
    const { clock, dice } = this.#env
    const at = tick + splayOf(schedule.id, schedule.timing.splayMs)
    return {
      ...newJobOf(schedule, dice.id(clock.now())),
      key: occurrenceKey(schedule.id, tick),
      // An occurrence that is caught up later than this must not run before jobs that are due now.
      runAt: now - tick > MISSED_AFTER_MS ? { delayMs: 0 } : { at },
    }
  }

  #done(plan: Planned, fired: Fired, now: number): void {
    const { id } = plan.next
    if (fired.status === 'written') {
      this.#schedules.set(plan.next, fired.version, now)
      this.#announce(plan, fired.enqueued, now)
    } else if (fired.current) this.#schedules.read(fired.current, now)
    else this.#schedules.delete(id)
  }

  #announce({ round, next, entry, jobs }: Planned, enqueued: readonly Enqueued[], now: number): void {
    const { log, events, telemetry } = this.#env
    const { name, queue, tenantId } = next.job
    if (telemetry.meter) {
      telemetry.enqueued(jobs, enqueued)
      const { skipped, missed } = round
      telemetry.meter.ticked({ fired: jobs.length, skipped: skipped.length, missed: missed?.count ?? 0 })
    }
    if (round.skipped.length > 0) this.#announceSkipped(round, next, entry, now)
    if (round.missed) {
      const { from, to, count } = round.missed
      const gap = { from: timeText(from), to: timeText(to), count, made: jobs.length }
      log.warn({ ...factsOf('missed', next, entry, now), ...gap }, 'occurrences were missed, no scheduler was running')
    }
    if (next.state === 'ended') log.info(factsOf('ended', next, entry, now), 'schedule ended')
    if (!events.hears('job.enqueued')) return
    for (const [index, { id }] of jobs.entries()) {
      if (enqueued[index]?.status !== 'created') continue
      events.emit('job.enqueued', present({ id, name, queue, tenantId }))
    }
  }

  #announceSkipped({ skipped: ticks }: Round, next: Schedule, entry: KnownSchedule, now: number): void {
    const { log, events } = this.#env
    const { skipped } = next.counts
    const facts = factsOf('skipped', next, entry, now)
    const { scheduleId, tenantId, nextOccurrenceAt } = facts
    for (const tick of ticks) {
      const tickAt = timeText(tick)
      log.info({ ...facts, tickAt, skipped }, 'occurrence skipped')
      events.emit('schedule.skipped', present({ scheduleId, tickAt, skipped, tenantId, nextOccurrenceAt }))
    }
  }

  #wake(written: readonly Planned[]): void {
    const now = this.#env.time.now()
    const delays = written.flatMap(({ jobs }) => jobs.map(({ runAt }) => ('at' in runAt ? runAt.at - now : 0)))
    if (delays.length > 0) this.#onFired(Math.max(0, Math.min(...delays)))
  }
}

async function allSchedules(store: Store): Promise<readonly StoredRecord[]> {
  const all: StoredRecord[] = []
  for (;;) {
    const last = all.at(-1)
    const page = await store.records(SCHEDULE, present({ limit: PAGE, from: last?.id }))
    all.push(...page.filter(({ id }) => id !== last?.id))
    if (page.length < PAGE) return all
  }
}

/** The fields of every log line about a schedule. */
function factsOf(
  what: 'skipped' | 'missed' | 'ended',
  { id: scheduleId, job }: Schedule,
  entry: KnownSchedule,
  now: number,
) {
  const { name, queue, tenantId } = job
  const nextAt = what === 'ended' ? undefined : nextAfter(entry.schedule, entry.ticks, now)
  const nextOccurrenceAt = timeText(nextAt)
  return { event: `schedule.${what}`, scheduleId, tenantId, name, queue, nextOccurrenceAt }
}

/** The job of an occurrence without its time and its key. */
export function newJobOf({ id: scheduleId, job }: Schedule, id: string): Omit<NewJob, 'runAt'> {
  const { deadlineMs, ...rest } = job
  return { ...rest, id, scheduleId, ...(deadlineMs !== undefined && { deadline: { delayMs: deadlineMs } }) }
}
