import { partitionOf } from '../../../core/partition/limits.js'
import { CLOSED, type PartitionNote } from '../../../core/partition/turn.js'
import { present } from '../../../core/values/present.js'
import { fromText, toText } from '../../columns.js'
import type { Connection } from '../file/connection.js'
import { LANE, LANES, PLAIN } from '../rows.js'

// The waiting jobs of a queue with limits are in lanes, one for each partition. Every lane with waiting jobs has a row
// among the partitions whose `open_at` says when a claim should look at it. A write that lets a job of a lane start
// opens the lane in the same transaction.

const LANED = 'SELECT name, limits IS NOT NULL FROM queues INDEXED BY queues_laned WHERE laned = 1'

/**
 * The queues with lanes, and whether they still have limits. It is read once per transaction, which holds the write
 * lock, so that writes without lanes cost nothing.
 */
function lanedQueues(db: Connection): ReadonlyMap<string, boolean> {
  db.laned ??= new Map(db.all<[string, number]>(LANED).map(([name, limited]) => [name, limited === 1]))
  return db.laned
}

/** Whether jobs of the queue may have lanes. */
export function isLaned(db: Connection, queue: string): boolean {
  const queues = lanedQueues(db)
  return queues.size > 0 && queues.has(toText(queue))
}

/** Whether the waiting jobs of the queue belong into lanes. */
export function isLimited(db: Connection, queue: string): boolean {
  const queues = lanedQueues(db)
  return queues.size > 0 && queues.get(toText(queue)) === true
}

/** A lane that is full or stopped stays so: an arrival frees no slot. */
const ARRIVE = `
  INSERT INTO partitions (queue, name, open_at) SELECT ?1, value, ?2 FROM json_each(?3) WHERE true
  ON CONFLICT (queue, name) DO UPDATE SET open_at = excluded.open_at
  WHERE ifnull(open_at, ${CLOSED - 1}) > excluded.open_at AND open_at IS NOT ${CLOSED}`
const OPEN = `
  INSERT INTO partitions (queue, name, open_at) SELECT ?1, value, ?2 FROM json_each(?3) WHERE true
  ON CONFLICT (queue, name) DO UPDATE SET open_at = excluded.open_at WHERE ifnull(open_at > excluded.open_at, true)`
const FREE = `
  UPDATE partitions SET open_at = ?2
  WHERE queue = ?1 AND name IN (SELECT value FROM json_each(?3)) AND open_at = ${CLOSED}`
const FREE_QUEUE = `UPDATE queues SET open_at = ?2 WHERE name = ?1 AND open_at = ${CLOSED}`
const OPEN_QUEUE = 'UPDATE queues SET open_at = ?2 WHERE name = ?1 AND open_at > ?2'
const NOTE = `
  UPDATE partitions SET notes = json_insert(ifnull(notes, '[]'), '$[#]', json(?3)) WHERE queue = ?1 AND name = ?2`

/** What a batch of writes does to lanes, so that each lane is written once. */
export class LaneDraft {
  /** By queue, then by the time at which the first job of the lanes is due. */
  readonly #arrived = new Map<string, Map<number, Set<string>>>()
  readonly #changed = new Map<string, Set<string>>()
  readonly #freed = new Map<string, Set<string>>()
  readonly #notes: PartitionNote[] = []

  /** A job came to wait in the lane. */
  arrive(queue: string, lane: string, runAt: number): void {
    const byTime = this.#arrived.get(queue) ?? new Map<number, Set<string>>()
    this.#arrived.set(queue, byTime)
    const lanes = byTime.get(runAt)
    if (lanes) lanes.add(lane)
    else byTime.set(runAt, new Set([lane]))
  }

  /** A run of the lane ended, and its job waits no more. */
  free(queue: string, lane: string): void {
    addTo(this.#freed, queue, lane)
  }

  /** Something else happened to a job of the lane. */
  change(queue: string, lane: string): void {
    addTo(this.#changed, queue, lane)
  }

  /** A run had something to say about the rates of the lane. */
  note(note: PartitionNote): void {
    this.#notes.push(note)
    this.change(note.queue, note.partition)
  }

  write(db: Connection, now: number): void {
    for (const [queue, byTime] of this.#arrived) {
      for (const [runAt, lanes] of byTime) writeLanes(db, ARRIVE, queue, Math.max(now, runAt), lanes)
    }
    for (const [queue, lanes] of this.#freed) {
      writeLanes(db, FREE, queue, now, lanes)
      db.run(FREE_QUEUE, toText(queue), now)
    }
    for (const [queue, lanes] of this.#changed) {
      // A queue whose limits were removed needs no partitions.
      if (!isLimited(db, queue)) continue
      writeLanes(db, OPEN, queue, now, lanes)
      db.run(FREE_QUEUE, toText(queue), now)
    }
    for (const note of this.#notes) {
      const { queue, partition, ...said } = note
      const text = JSON.stringify(said)
      if (db.run(NOTE, toText(queue), toText(partition), text) > 0) db.run(OPEN_QUEUE, toText(queue), now)
    }
  }
}

function addTo(lanes: Map<string, Set<string>>, queue: string, lane: string): void {
  const known = lanes.get(queue)
  if (known) known.add(lane)
  else lanes.set(queue, new Set([lane]))
}

function writeLanes(db: Connection, sql: string, queue: string, at: number, lanes: ReadonlySet<string>): void {
  db.run(sql, toText(queue), at, JSON.stringify([...lanes].map(toText)))
}

// ---------------------------------------------------------------- sorting

/** The number of jobs that one transaction sorts, which takes some milliseconds. */
const SORTED_MAX = 2_000

type UnsortedRow = [
  pk: number,
  runAt: number,
  partition: string | null,
  dependency: string | null,
  tenantId: string | null,
]
const UNSORTED = `SELECT pk, run_at, partition, dependency, tenant_id FROM jobs`
const UNSORTED_WAITING = `${UNSORTED} ${PLAIN} AND queue = ? LIMIT ?`
const UNSORTED_RUNNING = `${UNSORTED} INDEXED BY jobs_running WHERE state = 'running' AND queue = ? AND lane IS NULL`
const SORT = 'UPDATE jobs SET lane = ? WHERE pk IN (SELECT value FROM json_each(?))'

/**
 * Gives lanes to the waiting jobs of a queue that have none: those that are older than its limits, and those that a
 * process of an earlier version has enqueued. Returns whether all of them have one.
 */
export function sortWaiting(db: Connection, queue: string, now: number): boolean {
  const rows = db.all<UnsortedRow>(UNSORTED_WAITING, queue, SORTED_MAX)
  const draft = new LaneDraft()
  for (const [lane, some] of sort(db, queue, rows))
    draft.arrive(fromText(queue), lane, Math.min(...some.map(([, runAt]) => runAt)))
  if (rows.length > 0) draft.write(db, now)
  return rows.length < SORTED_MAX
}

/** Gives lanes to the running jobs of a queue, so that its limits count them. */
export function sortRunning(db: Connection, queue: string): void {
  sort(db, queue, db.all<UnsortedRow>(UNSORTED_RUNNING, queue))
}

function sort(db: Connection, queue: string, rows: readonly UnsortedRow[]): Map<string, UnsortedRow[]> {
  const byLane = new Map<string, UnsortedRow[]>()
  for (const row of rows) {
    const [, , partition, dependency, tenantId] = row
    const given = { partition: textOf(partition), dependency: textOf(dependency), tenantId: textOf(tenantId) }
    const lane = partitionOf({ queue: fromText(queue), ...present(given) })
    const some = byLane.get(lane)
    if (some) some.push(row)
    else byLane.set(lane, [row])
  }
  for (const [lane, some] of byLane) db.run(SORT, toText(lane), JSON.stringify(some.map(([pk]) => pk)))
  return byLane
}

const textOf = (value: string | null): string | undefined => (value === null ? undefined : fromText(value))

const LEAVE_LANES = `
  UPDATE jobs SET lane = NULL WHERE pk IN (SELECT pk FROM jobs ${LANES} AND queue = ? LIMIT ?)`
const HAS_RUNNING = `SELECT 1 FROM jobs ${LANE} AND queue = ? AND state = 'running' LIMIT 1`

/**
 * Takes the waiting jobs of a queue without limits out of their lanes. A job that still runs may come back to its lane,
 * so the queue has lanes until the last one has ended. Returns whether no job waits in a lane.
 */
export function leaveLanes(db: Connection, queue: string): boolean {
  if (db.run(LEAVE_LANES, queue, SORTED_MAX) === SORTED_MAX) return false
  if (!db.get(HAS_RUNNING, queue)) {
    db.run('UPDATE queues SET laned = 0 WHERE name = ?', queue)
    db.laned = undefined
  }
  return true
}
