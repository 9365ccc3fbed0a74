import type { QueueLimits } from '../../../core/partition/limits.js'
import { idleAt } from '../../../core/partition/pace.js'
import {
  CLOSED,
  type LockedPartition,
  type LockedQueue,
  type PartitionNote,
  roomOf,
  type TurnState,
  takeTurns,
} from '../../../core/partition/turn.js'
import { fromText, toText } from '../../columns.js'
import type { NameChoice } from '../../store.js'
import type { Connection } from '../file/connection.js'
import { readTurn } from '../file/settings.js'
import { FACT_COLUMNS, type FactRow, LANE } from '../rows.js'
import { LaneLines } from './lane-lines.js'

// The claim of a queue with limits. The transaction holds the write lock of the file, so nothing that is counted here can
// change before the jobs are taken.

/** A queue with limits. Its name is that of the database. */
export interface LimitedQueue {
  readonly name: string
  readonly limits: QueueLimits
  /** The state of its own limit. */
  state: TurnState
  /** How many of its jobs this claim has started. */
  started: number
}

/** The number of partitions that one round looks at. With more, each would get a smaller share at a higher cost. */
const PARTITIONS_PER_ROUND = 64
/** Takes the jobs that may start: see `take` of the claim. */
type Take = (rows: readonly FactRow[]) => void

const FACTS = `SELECT ${FACT_COLUMNS} FROM jobs WHERE pk IN (SELECT value FROM json_each(?))`

/** Gives partitions their turns, the longest open ones first, until `limit` jobs have started. */
export function takeQueueTurns(
  db: Connection,
  queue: LimitedQueue,
  limit: number,
  now: number,
  names: NameChoice | undefined,
  take: Take,
): void {
  let jobsPerPartition = 1
  for (let room = limit; room > 0 && (queue.state.openAt ?? now) <= now; ) {
    const locked = lock(db, queue, Math.ceil(room / jobsPerPartition), now)
    if (locked.partitions.length === 0) return
    const waiting = new LaneLines(db, queue.name, now, names).find(roomOf(locked, room))
    const turns = takeTurns(locked, waiting, room)
    if (turns.jobs.length > 0) take(db.all<FactRow>(FACTS, JSON.stringify(turns.jobs)))
    // As many jobs of each partition as in the last round, not a smaller share of more partitions: partitions that stay
    // equally far have their next jobs side by side in the file, and a commit writes fewer pages.
    jobsPerPartition = Math.max(1, turns.jobs.length / locked.partitions.length)
    room -= turns.jobs.length
    queue.started += turns.jobs.length
    writeStates(db, queue.name, locked.partitions, turns.states)
    if (queue.limits.limit) {
      queue.state = turns.queueState
      writeQueueState(db, queue.name, queue.state)
    }
    // Partitions that are open, but have no job for this claim, would be looked at again and again.
    const isOpen = ({ name }: LockedPartition): boolean => (turns.states.get(name)?.openAt ?? CLOSED) <= now
    if (turns.jobs.length === 0 && locked.partitions.every(isOpen)) return
  }
}

// ---------------------------------------------------------------- partitions

type OpenRow = [name: string, openAt: number, pace: string | null, notes: string | null, running: number]
const RUNNING = `SELECT count(*) FROM jobs ${LANE} AND queue = ?1 AND state = 'running'`
/** Jobs that no limit counts need not be counted. */
const open = (running: string): string => `
  SELECT name, open_at, pace, notes, ${running} FROM partitions INDEXED BY partitions_open WHERE queue = ?1 AND open_at <= ?2
  ORDER BY open_at, turns LIMIT ?3`
const OPEN = open('0')
const OPEN_COUNTED = open(`(${RUNNING} AND lane = partitions.name)`)
const DEAD_IN_LANE = `SELECT 1 FROM jobs ${LANE} AND queue = ? AND state = 'dead' AND lane = ? LIMIT 1`

function lock(db: Connection, { name, limits, state }: LimitedQueue, places: number, now: number): LockedQueue {
  const sql = countsPartitions(limits) ? OPEN_COUNTED : OPEN
  const rows = db.all<OpenRow>(sql, name, now, Math.min(places, PARTITIONS_PER_ROUND))
  const stopsOnDead = limits.partitions?.onDead === 'stop'
  const partitions = rows.map(
    ([lane, openAt, pace, notes, running]): LockedPartition => ({
      name: fromText(lane),
      running,
      state: readTurn(openAt, pace),
      notes: readNotes(notes),
      isStopped: stopsOnDead && db.get(DEAD_IN_LANE, name, lane) !== undefined,
    }),
  )
  const isCounted = limits.limit?.concurrency !== undefined
  return { limits, running: isCounted ? db.get<[number]>(RUNNING, name)![0] : 0, state, partitions, now }
}

function countsPartitions({ partitions = {} }: QueueLimits): boolean {
  const { concurrency, order, override } = partitions
  return concurrency !== undefined || order !== undefined || override !== undefined
}

function readNotes(notes: string | null): readonly PartitionNote[] {
  return notes === null ? [] : (JSON.parse(notes) as PartitionNote[])
}

const WRITE_STATES = `
  UPDATE partitions SET open_at = ?2, turns = turns + 1, idle_at = ?3, pace = ?4, notes = NULL
  WHERE queue = ?1 AND name IN (SELECT value FROM json_each(?5))`
const FORGET = 'DELETE FROM partitions WHERE queue = ? AND name IN (SELECT value FROM json_each(?))'

/** Partitions with the same state share a statement. */
function writeStates(
  db: Connection,
  queue: string,
  partitions: readonly LockedPartition[],
  states: ReadonlyMap<string, TurnState>,
): void {
  const alike = new Map<string, { readonly state: TurnState | undefined; readonly names: string[] }>()
  for (const { name } of partitions) {
    const state = states.get(name)
    const key = JSON.stringify(state ?? null)
    const same = alike.get(key)
    if (same) same.names.push(toText(name))
    else alike.set(key, { state, names: [toText(name)] })
  }
  for (const { state, names } of alike.values()) {
    const list = JSON.stringify(names)
    if (!state) db.run(FORGET, queue, list)
    else db.run(WRITE_STATES, queue, state.openAt ?? null, idleAt(state), paceText(state), list)
  }
}

function writeQueueState(db: Connection, queue: string, state: TurnState): void {
  const sql = 'UPDATE queues SET open_at = ?, pace = ? WHERE name = ?'
  db.run(sql, state.openAt ?? null, paceText(state), queue)
}

function paceText({ openAt: _, ...pace }: TurnState): string | null {
  return Object.keys(pace).length === 0 ? null : JSON.stringify(pace)
}

// ---------------------------------------------------------------- the next turn

const NEXT_OPEN =
  'SELECT min(open_at) FROM partitions INDEXED BY partitions_open WHERE queue = ? AND open_at IS NOT NULL'
const QUEUE_OPEN = 'SELECT open_at FROM queues WHERE name = ?'

/** When the next job of the queue may start, as far as it is known; a time in the past if it may start now. */
export function nextTurnAt(db: Connection, queue: string): number | undefined {
  const partitionOpenAt = db.get<[number | null]>(NEXT_OPEN, queue)![0]
  if (partitionOpenAt === null) return undefined
  const next = Math.max(partitionOpenAt, db.get<[number | null]>(QUEUE_OPEN, queue)?.[0] ?? 0)
  return next === CLOSED ? undefined : next
}
