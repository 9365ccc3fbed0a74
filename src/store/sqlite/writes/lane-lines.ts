import { toText } from '../../columns.js'
import { NAMED_DUE_MAX } from '../../run.js'
import type { NameChoice } from '../../store.js'
import type { Connection } from '../file/connection.js'
import { FACT_COLUMNS, type FactRow, LANE } from '../rows.js'

// The waiting jobs of one lane, found by index seeks, so that the backlog of another lane costs nothing.

export interface LaneRoom {
  /** As the database stores them. */
  readonly queue: string
  readonly lane: string
  readonly limit: number
  readonly isOrdered: boolean
}

export interface LaneJobs {
  readonly rows: readonly FactRow[]
  readonly hasMore: boolean
  readonly nextDueAt?: number
}

const IN_LANE = `FROM jobs INDEXED BY jobs_lane_due WHERE state = 'waiting' AND queue = ? AND lane = ? AND priority`
const LINE = `${IN_LANE} = ? AND run_at <= ? AND (deadline IS NULL OR deadline > ?) ORDER BY run_at, pk LIMIT ?`
const DUE = `SELECT ${FACT_COLUMNS} ${LINE}`
const DUE_NAMED = `
  SELECT ${FACT_COLUMNS} FROM jobs WHERE pk IN (
    SELECT pk FROM (SELECT pk, name ${LINE}) WHERE (name IN (SELECT value FROM json_each(?))) = ? LIMIT ?
  ) ORDER BY run_at, pk`
const HAS_DUE = `SELECT 1 ${LINE}`
const PRIORITY_BELOW = `SELECT max(priority) ${IN_LANE} < ?`
const NEXT_DUE = `SELECT min(run_at) ${IN_LANE} = ? AND run_at > ?`
const OLDEST = `
  SELECT ${FACT_COLUMNS} FROM jobs ${LANE} AND queue = ? AND state = 'waiting' AND lane = ?
  AND (deadline IS NULL OR deadline > ?) ORDER BY pk LIMIT 2`

export function waitingInLane(db: Connection, room: LaneRoom, now: number, names: NameChoice | undefined): LaneJobs {
  return room.isOrdered ? oldest(db, room, now, names) : due(db, room, now, names)
}

/** The first job keeps the others waiting, whatever its time. */
function oldest(db: Connection, { queue, lane }: LaneRoom, now: number, names: NameChoice | undefined): LaneJobs {
  const found = db.all<FactRow>(OLDEST, queue, lane, now)
  const rows = found.slice(0, 1).filter(row => isWanted(row, names))
  return { rows, hasMore: found.length > rows.length }
}

function isWanted(row: FactRow, names: NameChoice | undefined): boolean {
  return !names || names.list.some(name => toText(name) === row[2]) !== names.isExcluded
}

/** Walks down the priorities of the lane, as a claim of other queues does. */
function due(db: Connection, room: LaneRoom, now: number, names: NameChoice | undefined): LaneJobs {
  const { queue, lane, limit } = room
  const rows: FactRow[] = []
  const priorities: number[] = []
  let hasMore = false
  for (let priority = below(db, room, 10); priority >= 0 && !hasMore; priority = below(db, room, priority)) {
    priorities.push(priority)
    // One more than there is room for tells whether there are more.
    const want = limit + 1 - rows.length
    const line = names
      ? named(db, room, priority, now, names, want)
      : db.all<FactRow>(DUE, queue, lane, priority, now, now, want)
    rows.push(...line)
    hasMore = rows.length > limit
  }
  if (hasMore) return { rows: rows.slice(0, limit), hasMore }
  if (names) {
    const dueNow = priorities.flatMap(priority => db.all(HAS_DUE, queue, lane, priority, now, now, rows.length + 1))
    if (dueNow.length > rows.length) return { rows, hasMore: true }
  }
  const later = priorities.flatMap(priority => db.get<[number | null]>(NEXT_DUE, queue, lane, priority, now)![0] ?? [])
  return later.length === 0 ? { rows, hasMore } : { rows, hasMore, nextDueAt: Math.min(...later) }
}

function named(
  db: Connection,
  { queue, lane }: LaneRoom,
  priority: number,
  now: number,
  { list, isExcluded }: NameChoice,
  limit: number,
): FactRow[] {
  const wanted = JSON.stringify(list.map(toText))
  const values = [queue, lane, priority, now, now, NAMED_DUE_MAX, wanted, isExcluded ? 0 : 1, limit] as const
  return db.all<FactRow>(DUE_NAMED, ...values)
}

function below(db: Connection, { queue, lane }: LaneRoom, priority: number): number {
  return db.get<[number | null]>(PRIORITY_BELOW, queue, lane, priority)![0] ?? -1
}
