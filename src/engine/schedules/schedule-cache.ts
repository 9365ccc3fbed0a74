import { isDeepStrictEqual } from 'node:util'
import { dueAt, type Schedule } from '../../core/schedule/schedule.js'
import { type Ticks, ticksOf } from '../../core/schedule/timing.js'
import type { StoredRecord } from '../../store/record.js'
import type { Connection } from '../client/connection.js'
import type { Log } from '../client/log.js'

export const SCHEDULE = 'schedule'
/** Its version tells that somebody changed a schedule: ticks leave it alone. */
export const SCHEDULE_CHANGES = { kind: 'schedule-changes', id: 'all' } as const

/** How often one whose tick waits for the occurrence before it looks whether that is over. */
const QUEUED_LOOK_MS = 1_000

/** A schedule as this process knows it. */
export interface KnownSchedule {
  readonly schedule: Schedule
  readonly version: number
  readonly ticks: Ticks
  /** When there is something to decide. */
  readonly dueAt: number | undefined
}

/** The schedules that this process knows of, with their next ticks. */
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

  /** All that there are; what is not among them is gone. */
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

  /** To read an expression takes longer than to look for its next tick. */
  #ticksOf({ id, timing }: Schedule): Ticks {
    const before = this.#entries.get(id)
    const isSame = before && (before.schedule.timing === timing || isDeepStrictEqual(before.schedule.timing, timing))
    return isSame ? before.ticks : ticksOf(timing)
  }

  delete(id: string): void {
    this.#entries.delete(id)
  }

  /** What waits longest first: when there is more than can be done, nobody is forgotten. */
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

  /** As this process knows it, or else as the store has it. */
  find(
    id: string,
  ): Pick<KnownSchedule, 'schedule' | 'ticks'> | Promise<Pick<KnownSchedule, 'schedule' | 'ticks'> | undefined> {
    return this.#entries.get(id) ?? this.#ask(id)
  }

  async #ask(id: string): Promise<Pick<KnownSchedule, 'schedule' | 'ticks'> | undefined> {
    const store = await this.#connection.store()
    const [record] = await store.records(SCHEDULE, { ids: [id] })
    const schedule = record && scheduleOf(record)
    return schedule && { schedule, ticks: ticksOf(schedule.timing) }
  }
}

export function nextAfter(schedule: Schedule, ticks: Ticks, now: number): number | undefined {
  return schedule.state === 'active' ? ticks.next(Math.max(now, schedule.decidedUntil)) : undefined
}

/** undefined where somebody damaged it by hand: the others must go on. */
export function scheduleOf({ body }: StoredRecord): Schedule | undefined {
  try {
    const schedule = JSON.parse(body) as Schedule
    ticksOf(schedule.timing)
    return schedule
  } catch {
    return undefined
  }
}

/** The same for everybody who decides about this tick: there is one job with this key. */
export function occurrenceKey(scheduleId: string, tick: number): string {
  return `schedule:${scheduleId}:${new Date(tick).toISOString()}`
}
