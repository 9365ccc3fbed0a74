import type { Job } from '../../core/job/job.js'
import type { PartitionTurns, QueueTurns, StartedJob } from '../../core/partition/integrity.js'
import { partitionBounds, partitionOf, type QueueLimits } from '../../core/partition/limits.js'
import { idleAt } from '../../core/partition/pace.js'
import {
  CLOSED,
  isClosed,
  type LockedQueue,
  type Room,
  roomOf,
  type TurnState,
  takeTurns,
  type Waiting,
} from '../../core/partition/turn.js'
import { present } from '../../core/values/present.js'
import { byBytes } from '../columns.js'
import type { NameChoice, PartitionQuery, PartitionRecord } from '../store.js'
import type { Lane, MemoryTables, Row } from './tables.js'

/** The jobs of queues with limits that may start now. */
export function turnsOf(
  tables: MemoryTables,
  queues: readonly string[],
  limit: number,
  now: number,
  names?: NameChoice,
): Row[] {
  const rows: Row[] = []
  for (const queue of queues) rows.push(...queueTurns(tables, queue, limit - rows.length, now, names))
  return rows
}

function queueTurns(tables: MemoryTables, name: string, limit: number, now: number, names?: NameChoice): Row[] {
  if (limit <= 0) return []
  const queue = lock(tables, name, limit, now)
  if (!queue) return []
  const found = roomOf(queue, limit).map(room => waitingIn(tables.lane(name, room.partition), room, now, names))
  const turns = takeTurns(queue, found, limit)
  const states = statesOf(tables, name)
  for (const { name: partition } of queue.partitions) {
    const state = turns.states.get(partition)
    if (state) states.set(partition, state)
    else states.delete(partition)
  }
  tables.queues.set(name, { ...tables.queues.get(name)!, turn: turns.queueState })
  return [...turns.jobs]
}

/** The partitions to look at: those with notes, and then those that are open, the longest first. */
function lock(tables: MemoryTables, name: string, limit: number, now: number): LockedQueue | undefined {
  const { limits, turn = {} } = tables.queues.get(name)!
  const notes = tables.notes.get(name) ?? []
  if (!limits || (notes.length === 0 && (turn.openAt ?? now) > now)) return undefined
  const states = statesOf(tables, name)
  const open = [...states].filter(([, { openAt = CLOSED }]) => openAt <= now)
  open.sort(([, a], [, b]) => a.openAt! - b.openAt!)
  const chosen = [...new Set([...notes.map(({ partition }) => partition), ...open.map(([one]) => one)])].slice(0, limit)
  tables.notes.set(
    name,
    notes.filter(({ partition }) => !chosen.includes(partition)),
  )
  const partitions = chosen.map(partition => ({
    name: partition,
    running: tables.lane(name, partition).running.size,
    state: states.get(partition) ?? {},
    notes: notes.filter(note => note.partition === partition),
    isStopped: stoppedBy(tables.lane(name, partition), limits, partition) !== undefined,
  }))
  const running = [...tables.running].filter(({ job }) => job.queue === name && job.lane !== undefined).length
  return { limits, running, state: turn, partitions, now }
}

function waitingIn(lane: Lane, room: Room, now: number, names?: NameChoice): Waiting<Row> {
  const isOverdue = ({ job }: Row): boolean => job.deadline !== undefined && job.deadline <= now
  const isWanted = ({ job }: Row): boolean => !names || names.list.includes(job.name) !== names.isExcluded
  const rows = room.isOrdered
    ? lane.order.rows().filter(row => !isOverdue(row))
    : [...lane.lines].reverse().flatMap(line => line.due(now, Number.POSITIVE_INFINITY))
  const first = room.isOrdered ? rows.slice(0, 1) : rows
  const jobs = first.filter(isWanted).slice(0, room.limit)
  const later = lane.lines.flatMap(line => line.nextAfter(now) ?? [])
  return {
    partition: room.partition,
    jobs: jobs.map(row => ({ job: row, runAt: row.job.runAt, ...present({ units: row.job.units }) })),
    hasMore: rows.length > jobs.length,
    ...(later.length > 0 && { nextDueAt: Math.min(...later) }),
  }
}

/** Whether its queue is paused, or a limit keeps it waiting once its time has come. */
export function isHeldBack(tables: MemoryTables, { queue: name, lane }: Job, now: number): boolean {
  const queue = tables.queues.get(name)
  if (queue?.paused) return true
  if (lane === undefined || !queue?.limits) return false
  if (isClosed(queue.turn ?? {}, now)) return true
  const state = statesOf(tables, name).get(lane) ?? {}
  return isClosed(state, now) && !(state.openAt === CLOSED && isFreed(tables.lane(name, lane), queue.limits, lane))
}

/** A run has ended since the last claim looked at the partition, so the next claim starts one of its jobs. */
function isFreed(lane: Lane, limits: QueueLimits, name: string): boolean {
  return lane.running.size < partitionBounds(limits, name).concurrency && stoppedBy(lane, limits, name) === undefined
}

/** When the next job of a queue with limits may start, as far as it is known, and not before `earliest`. */
export function nextTurnAt(tables: MemoryTables, name: string, now: number, earliest: number): number | undefined {
  if ((tables.notes.get(name)?.length ?? 0) > 0) return earliest
  const queueOpenAt = tables.queues.get(name)?.turn?.openAt ?? now
  const times = [...statesOf(tables, name).values()].map(({ openAt = CLOSED }) => Math.max(openAt, queueOpenAt))
  const next = Math.min(CLOSED, ...times)
  return next === CLOSED ? undefined : Math.max(earliest, next)
}

/** Sorts the jobs of a queue whose limits have changed, and looks at every partition again. */
export function sortQueue(tables: MemoryTables, name: string): void {
  for (const row of tables.rows.values()) {
    const { job, lease } = row
    if (job.queue !== name || job.lane !== undefined || (job.state !== 'waiting' && job.state !== 'running')) continue
    if (tables.queues.get(name)?.limits) tables.change(row, { ...job, lane: partitionOf(job) }, lease)
  }
  for (const partition of tables.laneNames(name)) tables.note({ queue: name, partition, at: 0 })
}

export function partitions(tables: MemoryTables, queue: string, query: PartitionQuery): readonly PartitionRecord[] {
  const limits = tables.queues.get(queue)?.limits
  if (!limits) return []
  const known = new Set([...tables.laneNames(queue), ...statesOf(tables, queue).keys()])
  const names = 'names' in query ? query.names.filter(name => known.has(name)) : [...known]
  const sorted = names.sort(byBytes).filter(name => !('after' in query) || byBytes(name, query.after!) > 0)
  const records = sorted.map((name): PartitionRecord => {
    const lane = tables.lane(queue, name)
    const waiting = lane.order.rows().length
    const isMore = waiting > query.cap
    return {
      name,
      running: lane.running.size,
      waiting: { value: isMore ? query.cap : waiting, relation: isMore ? 'at-least' : 'exact' },
      state: statesOf(tables, queue).get(name) ?? {},
      ...present({ stoppedBy: stoppedBy(lane, limits, name) }),
    }
  })
  const live = records.filter(
    ({ running, waiting, stoppedBy, state }) =>
      running + waiting.value > 0 || stoppedBy !== undefined || Object.keys(state).length > 0,
  )
  if ('names' in query) return live
  const wanted = query.which === 'stopped' ? live.filter(one => one.stoppedBy !== undefined) : live
  return wanted.slice(0, query.limit)
}

/** The queues with limits, and all of their partitions, for an integrity check. */
export function turnsToAudit(tables: MemoryTables, now: number): (readonly [QueueTurns, readonly PartitionTurns[]])[] {
  return [...tables.queues.values()].flatMap(({ name: queue, limits, turn = {} }) => {
    if (!limits) return []
    const noted = new Set((tables.notes.get(queue) ?? []).map(({ partition }) => partition))
    const running = [...tables.running].filter(({ job }) => job.queue === queue && job.lane !== undefined)
    const whole = { queue, limits, state: turn, isNoted: noted.size > 0, ...runningOf(running) }
    const names = new Set([...tables.laneNames(queue), ...statesOf(tables, queue).keys()])
    const partitions = [...names].map((name): PartitionTurns => {
      const lane = tables.lane(queue, name)
      const { isOrdered } = partitionBounds(limits, name)
      const waiting = lane.order.rows().filter(({ job }) => (job.deadline ?? CLOSED) > now)
      const first = isOrdered ? waiting[0] : waiting.sort((a, b) => a.job.runAt - b.job.runAt)[0]
      return {
        name,
        state: statesOf(tables, queue).get(name) ?? {},
        isNoted: noted.has(name),
        isStopped: stoppedBy(lane, limits, name) !== undefined,
        ...runningOf([...lane.running]),
        ...present({ first: first?.job }),
      }
    })
    return [[whole, partitions] as const]
  })
}

function runningOf(rows: readonly Row[]): { readonly running: number; readonly newest?: StartedJob } {
  const jobs = rows.map(({ job: { id, startedAt = 0 } }) => ({ id, startedAt }))
  const newest = jobs.sort((a, b) => b.startedAt - a.startedAt)[0]
  return { running: rows.length, ...present({ newest }) }
}

/** A partition in which nothing waits is remembered for its rates, until they allow a burst again. */
export function forgetPartitions(tables: MemoryTables, now: number): void {
  for (const states of tables.partitions.values()) {
    for (const [name, state] of states) if (state.openAt === undefined && idleAt(state) <= now) states.delete(name)
  }
}

/** The oldest dead letter that stops the partition. */
function stoppedBy(lane: Lane, limits: QueueLimits, partition: string): string | undefined {
  if (!partitionBounds(limits, partition).stopsOnDead) return undefined
  const dead = [...lane.dead].filter(({ job }) => job.reason !== 'discarded')
  return dead.sort((a, b) => a.seq - b.seq)[0]?.job.id
}

function statesOf(tables: MemoryTables, queue: string): Map<string, TurnState> {
  const states = tables.partitions.get(queue) ?? new Map<string, TurnState>()
  tables.partitions.set(queue, states)
  return states
}
