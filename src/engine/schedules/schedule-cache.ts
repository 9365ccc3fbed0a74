import { isDeepStrictEqual } from 'node:util'
import { dueAt, type Schedule } from '../../core/schedule/schedule.js'
import { type Ticks, ticksOf } from '../../core/schedule/timing.js'
import type { StoredRecord } from '../../store/record.js'
import type { Connection } from '../client/connection.js'
import type { Log } from '../client/log.js'

export const SCHEDULE = 'schedule'
/** Its version changes when a user changes a schedule; occurrences do not change it. */
export const SCHEDULE_CHANGES = { kind: 'schedule-changes', id: 'all' } as const

/** How often to check whether the previous occurrence has ended, while the next one waits for it. */
const QUEUED_LOOK_MS = 1_000

/** A schedule and its times. */
export interface TimedSchedule {
  readonly schedule: Schedule
  readonly ticks: Ticks
}

/** A schedule as this process knows it. */
export interface KnownSchedule extends TimedSchedule {
  readonly version: number
  /** When the next decision is due. */
  readonly dueAt: number | undefined
}

/** The schedules that this process knows, with their next occurrences. */
export class ScheduleCache {
  readonly #connection: Connection
  readonly #log: Log
  #entries = new Map<string, KnownSchedule>()

  constructor(connection: Connection, log: Log) {
    this.#connection = connection
    this.#log = log
  }

  get size(): number {
    return this.#entries.size
  }

  entries(): IterableIterator<KnownSchedule> {
    return this.#entries.values()
  }

  /** Replaces all schedules; those that are not among the records are gone. */
  replace(records: readonly StoredRecord[], now: number): void {
    const before = this.#entries
    this.#entries = new Map()
    for (const record of records) {
      const same = before.get(record.id)
      if (same?.version === record.version) this.#entries.set(record.id, same)
      else this.read(record, now)
    }
  }

  read(record: StoredRecord, now: number): void {
    const schedule = scheduleOf(record)
    if (schedule) this.set(schedule, record.version, now)
    else
      this.#log.error({ event: 'schedule.unreadable', scheduleId: record.id }, 'failed to read a schedule, skipping it')
  }

  set(schedule: Schedule, version: number, now: number): void {
    const ticks = this.#ticksOf(schedule)
    const next = dueAt(schedule, ticks)
    const look = schedule.queuedTick === undefined ? undefined : now + QUEUED_LOOK_MS
    const first = Math.min(next ?? Number.POSITIVE_INFINITY, look ?? Number.POSITIVE_INFINITY)
    this.#entries.set(schedule.id, { schedule, version, ticks, dueAt: Number.isFinite(first) ? first : undefined })
  }

  /** Cached, because parsing an expression takes longer than finding its next occurrence. */
  #ticksOf({ id, timing }: Schedule): Ticks {
    const before = this.#entries.get(id)
    const isSame = before && (before.schedule.timing === timing || isDeepStrictEqual(before.schedule.timing, timing))
    return isSame ? before.ticks : ticksOf(timing)
  }

  delete(id: string): void {
    this.#entries.delete(id)
  }

  /** The most overdue schedule comes first, so that none is starved when there are more than fit into one step. */
  due(now: number): readonly KnownSchedule[] {
    const due: KnownSchedule[] = []
    for (const entry of this.#entries.values()) if (entry.dueAt !== undefined && entry.dueAt <= now) due.push(entry)
    return due.sort((a, b) => a.dueAt! - b.dueAt!)
  }

  nextDueAt(): number | undefined {
    let first: number | undefined
    for (const { dueAt: at } of this.#entries.values())
      if (at !== undefined && (first === undefined || at < first)) first = at
    return first
  }

  /** The schedule as this process knows it, otherwise as the store has it: another process may have queued an occurrence. */
  find(id: string): TimedSchedule | Promise<TimedSchedule | undefined> {
    const known = this.#entries.get(id)
    return known && known.schedule.overlap !== 'queue' ? known : this.#ask(id)
  }

  async #ask(id: string): Promise<TimedSchedule | undefined> {
    const store = await this.#connection.store()
    const [record] = await store.records(SCHEDULE, { ids: [id] })
    const schedule = record && scheduleOf(record)
    return schedule && { schedule, ticks: ticksOf(schedule.timing) }
  }
}

export function nextAfter(schedule: Schedule, ticks: Ticks, now: number): number | undefined {
  return schedule.state === 'active' ? ticks.next(Math.max(now, schedule.decidedUntil)) : undefined
}

/** Undefined if the record is damaged: the other schedules must continue. */
export function scheduleOf({ body }: StoredRecord): Schedule | undefined {
  try {
    const schedule = JSON.parse(body) as Schedule
    ticksOf(schedule.timing)
    return schedule
  } catch {
    return undefined
  }
}

/** The same in every process that decides about this occurrence, so that there is only one job for it. */
export function occurrenceKey(scheduleId: string, tick: number): string {
  return `schedule:${scheduleId}:${new Date(tick).toISOString()}`
}
