import type { Units } from '../../../core/partition/limits.js'
import type { Candidate, Room, Waiting } from '../../../core/partition/turn.js'
import { toText } from '../../columns.js'
import { NAMED_DUE_MAX } from '../../run.js'
import type { NameChoice } from '../../store.js'
import type { Connection } from '../file/connection.js'
import { LANE } from '../rows.js'

// The waiting jobs of lanes, found by index seeks, so that the backlog of another lane costs nothing. A job that may not
// start is not read in full.

/** A job by its key. */
type Found = [pk: number, runAt: number, units: string | null]

const FOUND = 'pk, run_at, units'
const IN_LANE = `FROM jobs INDEXED BY jobs_lane_due WHERE state = 'waiting' AND queue = ?1 AND lane = `
const IS_DUE = 'run_at <= ?2 AND (deadline IS NULL OR deadline > ?2)'

/** The due jobs with the highest priority of every lane. */
const FIRST_DUE = `
  SELECT room.key, job.pk, job.run_at, job.units FROM json_each(?3) AS room CROSS JOIN jobs AS job ON job.pk IN (
    SELECT pk ${IN_LANE} room.value AND priority = (SELECT max(priority) ${IN_LANE} room.value)
    AND ${IS_DUE} ORDER BY run_at, pk LIMIT ?4
  )`

const LINE = `${IN_LANE} ?3 AND priority = ?4 AND ${IS_DUE} ORDER BY run_at, pk LIMIT ?5`
const DUE = `SELECT ${FOUND} ${LINE}`
const DUE_NAMED = `
  SELECT ${FOUND} FROM jobs WHERE pk IN (
    SELECT pk FROM (SELECT pk, name ${LINE}) WHERE (name IN (SELECT value FROM json_each(?6))) = ?7 LIMIT ?8
  ) ORDER BY run_at, pk`
const PRIORITY_BELOW = `SELECT max(priority) ${IN_LANE} ?2 AND priority < ?3`
const NEXT_DUE = `SELECT min(run_at) ${IN_LANE} ?3 AND priority = ?4 AND run_at > ?2`
const OLDEST = `
  SELECT ${FOUND}, name FROM jobs ${LANE} AND queue = ?1 AND state = 'waiting' AND lane = ?3
  AND (deadline IS NULL OR deadline > ?2) ORDER BY pk LIMIT 2`

export class LaneLines {
  readonly #db: Connection
  readonly #queue: string
  readonly #now: number
  readonly #names: NameChoice | undefined

  /** The name of the queue is that of the database. */
  constructor(db: Connection, queue: string, now: number, names: NameChoice | undefined) {
    this.#db = db
    this.#queue = queue
    this.#now = now
    this.#names = names
  }

  /** The jobs of each room, in the order in which they start. */
  find(rooms: readonly Room[]): readonly Waiting<number>[] {
    const isPlain = rooms.length > 1 && !this.#names && !rooms.some(({ isOrdered }) => isOrdered)
    const first = isPlain ? this.#firstDue(rooms) : []
    return rooms.map((room, place) => {
      const found = first[place] ?? []
      if (found.length > room.limit) return waiting(room, found, true)
      return room.isOrdered ? this.#oldest(room) : this.#due(room)
    })
  }

  /** Most lanes have jobs of one priority, and more of them than may start: one statement finds them all. */
  #firstDue(rooms: readonly Room[]): readonly Found[][] {
    const lanes = JSON.stringify(rooms.map(({ partition }) => toText(partition)))
    // One more than there is room for tells whether there are more.
    const limit = Math.max(...rooms.map(room => room.limit)) + 1
    const found = rooms.map((): Found[] => [])
    const rows = this.#db.all<[place: number, ...Found]>(FIRST_DUE, this.#queue, this.#now, lanes, limit)
    for (const [place, pk, runAt, units] of rows) found[place]!.push([pk, runAt, units])
    for (const line of found) line.sort(([onePk, oneAt], [pk, at]) => oneAt - at || onePk - pk)
    return found
  }

  /** The first job keeps the others waiting, whatever its time. */
  #oldest(room: Room): Waiting<number> {
    const values = [this.#queue, this.#now, toText(room.partition)] as const
    const found = this.#db.all<[...Found, name: string]>(OLDEST, ...values)
    const rows = found.slice(0, 1).filter(([, , , name]) => this.#isWanted(name))
    return waiting(
      room,
      rows.map(([pk, runAt, units]) => [pk, runAt, units]),
      found.length > rows.length,
    )
  }

  #isWanted(name: string): boolean {
    const names = this.#names
    return !names || names.list.some(one => toText(one) === name) !== names.isExcluded
  }

  /** Walks down the priorities of the lane, as a claim of other queues does. */
  #due(room: Room): Waiting<number> {
    const lane = toText(room.partition)
    const rows: Found[] = []
    const priorities: number[] = []
    for (let priority = this.#below(lane, 10); priority >= 0; priority = this.#below(lane, priority)) {
      priorities.push(priority)
      rows.push(...this.#line(lane, priority, room.limit + 1 - rows.length))
      if (rows.length > room.limit) return waiting(room, rows, true)
    }
    if (this.#names && this.#hasOthers(lane, priorities, rows.length)) return waiting(room, rows, true)
    const later = priorities.flatMap(priority => this.#nextDue(lane, priority) ?? [])
    const found = waiting(room, rows, false)
    return later.length === 0 ? found : { ...found, nextDueAt: Math.min(...later) }
  }

  #line(lane: string, priority: number, limit: number): Found[] {
    const values = [this.#queue, this.#now, lane, priority] as const
    const names = this.#names
    if (!names) return this.#db.all<Found>(DUE, ...values, limit)
    const list = JSON.stringify(names.list.map(toText))
    return this.#db.all<Found>(DUE_NAMED, ...values, NAMED_DUE_MAX, list, names.isExcluded ? 0 : 1, limit)
  }

  /** Whether jobs with other names are due. */
  #hasOthers(lane: string, priorities: readonly number[], count: number): boolean {
    const values = (priority: number) => [this.#queue, this.#now, lane, priority, count + 1] as const
    return priorities.flatMap(priority => this.#db.all(DUE, ...values(priority))).length > count
  }

  #below(lane: string, priority: number): number {
    return this.#db.get<[number | null]>(PRIORITY_BELOW, this.#queue, lane, priority)![0] ?? -1
  }

  #nextDue(lane: string, priority: number): number | null {
    return this.#db.get<[number | null]>(NEXT_DUE, this.#queue, this.#now, lane, priority)![0]
  }
}

function waiting({ partition, limit }: Room, rows: readonly Found[], hasMore: boolean): Waiting<number> {
  return { partition, jobs: rows.slice(0, limit).map(candidate), hasMore }
}

function candidate([pk, runAt, units]: Found): Candidate<number> {
  return units === null ? { job: pk, runAt } : { job: pk, runAt, units: JSON.parse(units) as Units }
}
