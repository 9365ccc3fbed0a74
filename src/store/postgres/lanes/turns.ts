import { partitionOf, type QueueLimits, type Units } from '../../../core/partition/limits.js'
import { idleAt } from '../../../core/partition/pace.js'
import {
  CLOSED,
  LOOK_AGAIN_MS,
  type LockedPartition,
  type LockedQueue,
  type PartitionNote,
  roomOf,
  type Room as TurnRoom,
  type TurnState,
  takeTurns,
  type Waiting,
} from '../../../core/partition/turn.js'
import { present } from '../../../core/values/present.js'
import { fromText, toText } from '../../columns.js'
import { NAMED_DUE_MAX } from '../../run.js'
import type { ClaimRequest, NameChoice } from '../../store.js'
import { ids, jsons, numbers, texts, words } from '../arrays.js'
import type { Database, Row, Statement } from '../connection/pool.js'
import type { FactRow } from '../rows.js'
import { lockFor, type Room, startedAt, startValues, type Taken } from '../writes/claim.js'
import type { KnownLanes } from './known.js'
import { paceOf, stateOf } from './state.js'
import * as sql from './statements.js'

/** How many jobs without a lane a claim sorts, of each queue. */
const SORT_MAX = 1_000

/** The jobs to start, and what the claim of one queue writes. */
interface Turn {
  readonly queue: Locked
  readonly jobs: readonly Candidate[]
  readonly states: readonly NextState[]
  readonly queueState: TurnState | undefined
  /** Most of the partitions have more jobs than their share of the claim. */
  readonly isDeep: boolean
}

interface Locked extends LockedQueue {
  readonly name: string
  readonly isPaused: boolean
  readonly isLaned: boolean
  readonly isLimited: boolean
  readonly isUnsorted: boolean
  readonly partitions: readonly LockedRow[]
}

interface LockedRow extends LockedPartition {
  readonly place: number
  /** Its place in the line: since when it is open, or has a note. */
  readonly since: number
}

interface Candidate {
  readonly spot: string
  readonly pk: string
  readonly partition: string
}

interface NextState {
  readonly partition: LockedRow
  readonly state: TurnState | undefined
  readonly isRunning: boolean
}

/** Takes jobs of queues with limits whose turn it is. */
export async function takeLanes(
  db: Database,
  lanes: KnownLanes,
  request: ClaimRequest,
  queues: readonly string[],
  room: Room,
): Promise<Taken> {
  const sorted = [...queues].sort()
  const taken = await takeOnce(db, lanes, request, sorted, room)
  if (!taken.isUnsorted || taken.held) return taken
  await sortRest(db, sorted)
  if (taken.rows.length > 0) return { ...taken, nextDueAt: taken.now }
  return takeOnce(db, lanes, request, sorted, room)
}

async function takeOnce(
  db: Database,
  lanes: KnownLanes,
  request: ClaimRequest,
  queues: readonly string[],
  room: Room,
): Promise<Taken & { readonly isUnsorted: boolean }> {
  let turns: readonly Turn[] = []
  let locked: readonly Locked[] = []
  let facts = { now: 0, held: false }
  const answers = await db.exchange('control', firstStatements(lanes, request, queues, room), first => {
    facts = readFacts(first)
    locked = readQueues(first)
    turns = facts.held ? [] : decide(locked, first, request.names, room.limit)
    return facts.held ? [] : lastStatements(request, turns, locked)
  })
  lanes.learn(
    queues,
    locked.filter(({ isLaned, partitions }) => isLaned || partitions.length > 0),
  )
  if (facts.held) return { ...facts, rows: [], nextDueAt: null, isUnsorted: false }
  for (const { queue, jobs, isDeep } of turns)
    lanes.tookTurns(queue.name, isDeep, jobs.length / queue.partitions.length)
  const rows = turns.some(({ jobs }) => jobs.length > 0) ? (answers[0] as unknown as FactRow[]) : []
  const now = rows[0] ? startedAt(rows[0]) : facts.now
  const next = nextTurn(answers.at(-1) as unknown as sql.NextRow[], now, rows.length > 0)
  return { now, held: false, rows, nextDueAt: next, isUnsorted: locked.some(({ isUnsorted }) => isUnsorted) }
}

function statement(text: string, ...values: readonly unknown[]): Statement {
  return { sql: text, values, isKept: true }
}

function firstStatements(
  lanes: KnownLanes,
  { token, names }: ClaimRequest,
  queues: readonly string[],
  { limit, mayBeHeld }: Room,
): Statement[] {
  const asked = texts(queues)
  const share = Math.ceil(limit / queues.length)
  const places = queues.map(queue => lanes.placesOf(queue, share))
  return [
    lockFor(token),
    statement(sql.LOCK_QUEUES, asked),
    statement(sql.SORT, asked, SORT_MAX),
    statement(sql.LOCK_PARTITIONS, asked, numbers(places), mayBeHeld, toText(token)),
    statement(sql.TAKE_NOTES),
    statement(sql.READ_QUEUES, asked, mayBeHeld, toText(token)),
    statement(sql.READ_PARTITIONS),
    statement(sql.FIND_CANDIDATES, limit, names ? NAMED_DUE_MAX : 0),
  ]
}

const [NOTES, QUEUES, PARTITIONS, CANDIDATES] = [4, 5, 6, 7] as const

function readFacts(answers: readonly Row[][]): Pick<Taken, 'now' | 'held'> {
  const [now, held] = answers[QUEUES]![0] as unknown as sql.QueueRow
  return { now, held }
}

// ---------------------------------------------------------------- deciding

function readQueues(answers: readonly Row[][]): Locked[] {
  const notes = grouped(answers[NOTES] as unknown as sql.NoteRow[], ([queue, name]) => laneKey(queue, name))
  const partitions = answers[PARTITIONS] as unknown as sql.PartitionRow[]
  return (answers[QUEUES] as unknown as sql.QueueRow[]).map(row => {
    const [now, , name, isPaused, isLaned, limits, openAt, turn, running, isUnsorted] = row
    const own = partitions.filter(([, queue]) => queue === name)
    return {
      name: fromText(name),
      isPaused,
      isLaned,
      isLimited: limits !== null,
      isUnsorted,
      limits: limits === null ? { from: 'code' } : (JSON.parse(limits) as QueueLimits),
      running,
      state: stateOf(openAt, turn),
      partitions: own.map(one => readPartition(one, notes.get(laneKey(one[1], one[2])) ?? [])),
      now,
    }
  })
}

function readPartition(row: sql.PartitionRow, notes: readonly sql.NoteRow[]): LockedRow {
  const [place, queue, name, since, openAt, body, running, isStopped] = row
  return {
    place,
    name: fromText(name),
    since,
    running,
    state: stateOf(openAt, body),
    notes: notes.map(([, , at, said]) => ({
      ...(JSON.parse(said) as Pick<PartitionNote, 'spent' | 'startedAt' | 'lesson'>),
      queue: fromText(queue),
      partition: fromText(name),
      at,
    })),
    isStopped,
  }
}

const laneKey = (queue: string, name: string): string => JSON.stringify([queue, name])

function grouped<R, K>(rows: readonly R[], keyOf: (row: R) => K): Map<K, R[]> {
  const groups = new Map<K, R[]>()
  for (const row of rows) {
    const key = keyOf(row)
    const known = groups.get(key)
    if (known) known.push(row)
    else groups.set(key, [row])
  }
  return groups
}

/** Every queue gets an equal share of the claim, and what the queues before it have left. */
function decide(queues: readonly Locked[], answers: readonly Row[][], names: NameChoice | undefined, limit: number) {
  const found = answers[CANDIDATES] as unknown as sql.CandidateRow[]
  const candidates = new Map(found.map(row => [row[0], row]))
  const open = queues.filter(({ isPaused, partitions }) => !isPaused && partitions.length > 0)
  let left = limit
  return open.map((queue, index): Turn => {
    const turn = queueTurn(queue, candidates, names, Math.ceil(left / (open.length - index)))
    left -= turn.jobs.length
    return turn
  })
}

function queueTurn(
  queue: Locked,
  candidates: ReadonlyMap<number, sql.CandidateRow>,
  names: NameChoice | undefined,
  limit: number,
): Turn {
  // The order of an ordered partition is known only when all of its jobs are in their lane.
  const mayStart = !(queue.isUnsorted && queue.limits.partitions?.order === 'fifo')
  const rooms = mayStart ? roomOf(queue, limit) : []
  const places = new Map(queue.partitions.map(({ name, place }) => [name, place]))
  const waiting = rooms.map(room => waitingOf(room, candidates.get(places.get(room.partition)!)!, names))
  const turns = takeTurns(queue, waiting, limit)
  const started = new Map<string, number>()
  for (const { partition } of turns.jobs) started.set(partition, (started.get(partition) ?? 0) + 1)
  const states = queue.partitions.map((partition): NextState => {
    const own = started.get(partition.name) ?? 0
    const state = turns.states.get(partition.name)
    // It keeps its place in the line until one of its jobs has started.
    const isPassedOver = own === 0 && state?.openAt === queue.now && partition.since < queue.now
    return {
      partition,
      state: isPassedOver ? { ...state, openAt: partition.since } : state,
      isRunning: partition.running + own > 0,
    }
  })
  const share = Math.ceil(limit / queue.partitions.length)
  const full = waiting.filter(({ jobs, hasMore }) => hasMore && jobs.length >= share)
  return {
    queue,
    jobs: turns.jobs,
    states,
    queueState: queue.limits.limit && turns.queueState,
    isDeep: 2 * full.length >= queue.partitions.length,
  }
}

function waitingOf(room: TurnRoom, row: sql.CandidateRow, names?: NameChoice): Waiting<Candidate> {
  const { partition } = room
  const [, spots, , , , , nextDueAt] = row
  const found = spots === null ? [] : candidatesOf(row, spots, partition)
  const first = room.isOrdered ? found.slice(0, 1) : found
  const jobs = (names ? wanted(first, row, names) : first).slice(0, room.limit)
  return { partition, jobs, hasMore: found.length > jobs.length, ...(nextDueAt !== null && { nextDueAt }) }
}

function candidatesOf([, , pks, runAts, units]: sql.CandidateRow, spots: string, partition: string) {
  const [pkList, timeList] = [pks!.split(' '), runAts!.split(' ')]
  const costs = units === null ? [] : (JSON.parse(units) as (string | null)[])
  return spots.split(' ').map((spot, index) => {
    const cost = costs[index] ?? null
    const job = { spot, pk: pkList[index]!, partition }
    const runAt = Number(timeList[index])
    return cost === null ? { job, runAt } : { job, runAt, units: JSON.parse(cost) as Units }
  })
}

function wanted<C>(found: readonly C[], row: sql.CandidateRow, { list, isExcluded }: NameChoice): readonly C[] {
  const names = JSON.parse(row[5] ?? '[]') as string[]
  return found.filter((_, index) => list.includes(fromText(names[index]!)) !== isExcluded)
}

// ---------------------------------------------------------------- writing

/** The started jobs are the first answer if there are any, and `NEXT_TURN` is the last. */
function lastStatements(request: ClaimRequest, turns: readonly Turn[], queues: readonly Locked[]): Statement[] {
  const names = texts(queues.map(({ name }) => name))
  return [...startStatements(request, turns), ...stateStatements(turns), ...lanedStatements(queues), next(names)]
}

const next = (names: string): Statement => statement(sql.NEXT_TURN, names)

function startStatements(request: ClaimRequest, turns: readonly Turn[]): Statement[] {
  const jobs = turns.flatMap(turn => turn.jobs)
  if (jobs.length === 0) return []
  const spots = words(jobs.map(({ spot }) => spot))
  const lanes = new Map(jobs.map(({ partition }) => [partition, JSON.stringify(toText(partition))]))
  // Not `JSON.stringify`: an object with so many numbers as its keys is slow.
  const laneOf = `{${jobs.map(({ pk, partition }) => `"${pk}":${lanes.get(partition)}`).join(',')}}`
  const queues = texts(turns.map(({ queue }) => queue.name))
  const decidedAt = turns[0]!.queue.now
  return [statement(sql.START_JOBS, ...startValues(request, spots, laneOf, queues), decidedAt)]
}

function stateStatements(turns: readonly Turn[]): Statement[] {
  const all = turns.flatMap(({ queue, states }) => states.map(one => ({ ...one, queue: queue.name })))
  // The row of a partition with running jobs stays, because the end of each run locks it again.
  const gone = all.filter(({ state, isRunning }) => state === undefined && !isRunning)
  const kept = all.filter(one => !gone.includes(one) && bodyOf(one.state) !== bodyOf(one.partition.state))
  const keys = (rows: typeof all): string[] => [
    texts(rows.map(({ queue }) => queue)),
    texts(rows.map(({ partition }) => partition.name)),
  ]
  const bound = turns.filter(({ queueState }) => queueState)
  const statements: Statement[] = []
  if (kept.length > 0) {
    const times = [
      numbers(kept.map(({ state }) => state?.openAt)),
      numbers(kept.map(({ state = {} }) => idleAt(state))),
    ]
    statements.push(
      statement(sql.WRITE_PARTITIONS, ...keys(kept), ...times, jsons(kept.map(({ state }) => paceOf(state)))),
    )
  }
  if (gone.length > 0) statements.push(statement(sql.DELETE_PARTITIONS, ...keys(gone)))
  if (bound.length > 0) {
    const times = numbers(bound.map(({ queueState }) => queueState!.openAt))
    const names = texts(bound.map(({ queue }) => queue.name))
    statements.push(statement(sql.WRITE_QUEUES, names, times, jsons(bound.map(({ queueState }) => paceOf(queueState)))))
  }
  return statements
}

const bodyOf = (state: TurnState | undefined): string => JSON.stringify([state?.openAt ?? null, paceOf(state)])

function lanedStatements(queues: readonly Locked[]): Statement[] {
  const namesOf = (some: readonly Locked[]): string => texts(some.map(({ name }) => name))
  const found = queues.filter(({ isLaned, partitions }) => !isLaned && partitions.length > 0)
  const empty = queues.filter(({ isLaned, isLimited, partitions }) => isLaned && !isLimited && partitions.length === 0)
  return [
    ...(found.length > 0 ? [statement(sql.KEEP_LANED, namesOf(found))] : []),
    ...(empty.length > 0 ? [statement(sql.FORGET_LANED, namesOf(empty))] : []),
  ]
}

/** When the next job in a lane may start, as far as it is known. A claim that found none does not repeat at once. */
function nextTurn(rows: readonly sql.NextRow[], now: number, hasTaken: boolean): number | null {
  const times = rows.map(([queueOpenAt, openAt, isNoted]) => {
    if (isNoted) return now
    return openAt === null ? CLOSED : Math.max(openAt, queueOpenAt ?? 0)
  })
  const first = Math.min(CLOSED, ...times)
  if (first > now) return first === CLOSED ? null : first
  return hasTaken ? now : now + LOOK_AGAIN_MS
}

// ---------------------------------------------------------------- sorting

type UnsortedRow = [
  id: string,
  queue: string,
  partition: string | null,
  dependency: string | null,
  tenantId: string | null,
]

/** Sorts jobs that `SORT` has left: very many, those with long names, and deliveries. */
async function sortRest(db: Database, queues: readonly string[]): Promise<void> {
  await db.transaction('control', async ask => {
    const rows = await ask<UnsortedRow>(sql.FIND_UNSORTED, texts(queues), SORT_MAX)
    const lanes = rows.map(([, queue, partition, dependency, tenantId]) => {
      const given = { partition: read(partition), dependency: read(dependency), tenantId: read(tenantId) }
      return partitionOf({ queue: fromText(queue), ...present(given) })
    })
    if (rows.length > 0) await ask(sql.SET_LANES, ids(rows.map(([id]) => id)), texts(lanes))
  })
}

const read = (text: string | null): string | undefined => (text === null ? undefined : fromText(text))
