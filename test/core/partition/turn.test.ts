import { describe, expect, it } from 'vitest'
import type { Limit, PartitionLimits, Units } from '../../../src/core/partition/limits.js'
import { STARTS } from '../../../src/core/partition/limits.js'
import {
  CLOSED,
  isClosed,
  type LockedPartition,
  type LockedQueue,
  type PartitionNote,
  roomOf,
  type TurnState,
  takeTurns,
  type Waiting,
} from '../../../src/core/partition/turn.js'

const NOW = Date.UTC(2026, 0, 1)
const LATER = NOW + 5_000

interface Given {
  readonly running?: number
  readonly state?: TurnState
  readonly notes?: readonly Omit<PartitionNote, 'queue' | 'partition'>[]
  readonly isStopped?: boolean
  /** The jobs that wait: due ones, or with their time. */
  readonly due?: number
  readonly units?: Units
  readonly laterAt?: number
  readonly headAt?: number
}

interface Case {
  readonly partitions?: PartitionLimits
  readonly limit?: Limit
  readonly running?: number
  readonly state?: TurnState
  readonly lanes: Readonly<Record<string, Given>>
  readonly room?: number
}

/** Looks at the partitions as a store does, and returns the started jobs and when to look again. */
function turnsOf({ partitions, limit, running = 0, state = {}, lanes, room = 100 }: Case) {
  const queue: LockedQueue = {
    limits: { from: 'code', ...(partitions && { partitions }), ...(limit && { limit }) },
    running,
    state,
    now: NOW,
    partitions: Object.entries(lanes).map(([name, given]) => locked(name, given)),
  }
  const rooms = roomOf(queue, room)
  const waiting = rooms.map(one => waitingIn(one.partition, lanes[one.partition]!, one.limit, one.isOrdered))
  const turns = takeTurns(queue, waiting, room)
  const started: Record<string, number> = {}
  for (const lane of turns.jobs) started[lane] = (started[lane] ?? 0) + 1
  const openAt = Object.fromEntries(Object.keys(lanes).map(name => [name, turns.states.get(name)?.openAt]))
  return { started, openAt, queueOpenAt: turns.queueState.openAt, ...turns }
}

function locked(name: string, { running = 0, state = {}, notes = [], isStopped = false }: Given): LockedPartition {
  return { name, running, state, notes: notes.map(note => ({ queue: 'q', partition: name, ...note })), isStopped }
}

function waitingIn(partition: string, given: Given, limit: number, isOrdered: boolean): Waiting<string> {
  const { due = 0, units, laterAt, headAt } = given
  const job = (runAt: number) => ({ job: partition, runAt, ...(units && { units }) })
  if (isOrdered) {
    const all = headAt === undefined ? [] : [job(headAt)]
    all.push(...Array.from({ length: due }, () => job(NOW)))
    return { partition, jobs: all.slice(0, 1), hasMore: all.length > 1 }
  }
  const jobs = Array.from({ length: Math.min(due, limit) }, () => job(NOW))
  return { partition, jobs, hasMore: due > limit, ...(laterAt !== undefined && { nextDueAt: laterAt }) }
}

describe('turns', () => {
  it.each<[title: string, given: Case, started: Record<string, number>, openAt: Record<string, number | undefined>]>([
    [
      'share a claim equally, whatever the backlog of one',
      { partitions: { fair: true }, lanes: { big: { due: 50 }, b: { due: 1 }, c: { due: 1 } }, room: 6 },
      { big: 2, b: 1, c: 1 },
      { big: NOW, b: undefined, c: undefined },
    ],
    [
      'give at least one job to each partition, as far as the claim has room',
      { partitions: { fair: true }, lanes: { a: { due: 5 }, b: { due: 5 }, c: { due: 5 } }, room: 2 },
      { a: 1, b: 1 },
      { a: NOW, b: NOW, c: NOW },
    ],
    [
      'start as many jobs as the concurrency leaves',
      { partitions: { concurrency: 3 }, lanes: { a: { due: 5, running: 1 }, b: { due: 2, running: 1 } } },
      { a: 2, b: 2 },
      { a: CLOSED, b: undefined },
    ],
    [
      'start nothing in a full partition',
      { partitions: { concurrency: 3 }, lanes: { a: { due: 5, running: 3 }, b: { due: 5, running: 9 } } },
      {},
      { a: CLOSED, b: CLOSED },
    ],
    [
      'remember a full partition if jobs wait for later',
      { partitions: { concurrency: 1 }, lanes: { a: { due: 1, laterAt: LATER }, b: { laterAt: LATER } } },
      { a: 1 },
      { a: CLOSED, b: LATER },
    ],
    [
      'need no look at a partition in which nothing waits',
      { partitions: { concurrency: 1 }, lanes: { a: { due: 1 }, b: {} } },
      { a: 1 },
      { a: undefined, b: undefined },
    ],
    [
      'start nothing in a stopped partition',
      {
        partitions: { order: 'fifo', onDead: 'stop' },
        lanes: { a: { due: 5, isStopped: true }, b: { due: 1 } },
      },
      { b: 1 },
      { a: CLOSED, b: undefined },
    ],
    [
      'of ordered partitions start one job, and wait for the time of the oldest',
      { partitions: { order: 'fifo' }, lanes: { a: { due: 5 }, b: { headAt: LATER, due: 5 }, c: {} } },
      { a: 1 },
      { a: CLOSED, b: LATER, c: undefined },
    ],
    [
      'follow the override of a partition',
      {
        partitions: { concurrency: 1, override: { big: { concurrency: 4 } } },
        lanes: { big: { due: 9 }, small: { due: 9 } },
      },
      { big: 4, small: 1 },
      { big: CLOSED, small: CLOSED },
    ],
    [
      'wait for the rate of a partition',
      { partitions: { rate: '1/s', burst: 2 }, lanes: { a: { due: 5 }, b: { due: 1 } } },
      { a: 2, b: 1 },
      { a: NOW + 1_000, b: undefined },
    ],
    [
      'wait for units that the next job costs',
      { partitions: { units: { tokens: '100/s' } }, lanes: { a: { due: 3, units: { tokens: 60 } } } },
      { a: 1 },
      { a: NOW + 200 },
    ],
  ])('%s', (_, given, started, openAt) => {
    const turns = turnsOf(given)
    expect([turns.started, turns.openAt]).toEqual([started, openAt])
  })

  it('look again when the rate allows the next start', () => {
    const limits = { partitions: { rate: '1/s', burst: 2 } } as const
    const first = turnsOf({ ...limits, lanes: { a: { due: 5 } } })
    const state = first.states.get('a')!
    const again = turnsOf({ ...limits, lanes: { a: { due: 5, state } } })
    expect([again.started, again.openAt]).toEqual([{}, { a: NOW + 1_000 }])
  })
})

describe('the limit of a queue', () => {
  it.each<[title: string, given: Case, started: Record<string, number>, queueOpenAt: number]>([
    [
      'holds over all partitions',
      { partitions: { fair: true }, limit: { concurrency: 5 }, running: 3, lanes: { a: { due: 9 }, b: { due: 9 } } },
      { a: 1, b: 1 },
      CLOSED,
    ],
    [
      'lets nothing start while it is reached',
      { limit: { concurrency: 3 }, running: 3, lanes: { a: { due: 9 } } },
      {},
      CLOSED,
    ],
    ['is open while there is room', { limit: { concurrency: 5 }, running: 1, lanes: { a: { due: 1 } } }, { a: 1 }, NOW],
    [
      'can be a rate',
      { limit: { rate: '2/s', burst: 3 }, lanes: { a: { due: 9 }, b: { due: 9 } } },
      { a: 2, b: 1 },
      NOW + 500,
    ],
    [
      'holds together with the rate of a partition: the one that is reached first',
      {
        partitions: { rate: '1/s', burst: 1 },
        limit: { rate: '10/s', burst: 10 },
        lanes: { a: { due: 9 }, b: { due: 9 } },
      },
      { a: 1, b: 1 },
      NOW,
    ],
    [
      'lets a job with many units wait until it can pay',
      { limit: { units: { tokens: '100/s' } }, lanes: { a: { due: 9, units: { tokens: 70 } } } },
      { a: 1 },
      NOW + 400,
    ],
  ])('%s', (_, given, started, queueOpenAt) => {
    const turns = turnsOf(given)
    expect([turns.started, turns.queueOpenAt]).toEqual([started, queueOpenAt])
  })

  it('keeps partitions open that it kept from starting', () => {
    const { openAt } = turnsOf({ limit: { concurrency: 1 }, running: 1, lanes: { a: { due: 9 } } })
    expect(openAt).toEqual({ a: NOW })
  })
})

describe('notes', () => {
  it('correct the rate of a partition from the time at which they happened', () => {
    const started = turnsOf({
      partitions: { units: { tokens: '100/s' } },
      lanes: { a: { due: 9, units: { tokens: 100 } } },
    })
    const state = started.states.get('a')!
    const given = { due: 9, units: { tokens: 100 }, state }
    const back = { at: NOW, startedAt: NOW, spent: { tokens: -100 } }
    const partitions = { units: { tokens: '100/s' } } as const
    expect(turnsOf({ partitions, lanes: { a: { ...given, notes: [back] } } }).started).toEqual({ a: 1 })
    const more = { at: NOW - 2_000, spent: { tokens: 300 } }
    expect(turnsOf({ partitions, lanes: { a: { due: 1, units: { tokens: 100 }, notes: [more] } } }).openAt).toEqual({
      a: NOW + 1_000,
    })
  })

  it('give a job that did not start back to the rate of its queue', () => {
    const limit: Limit = { rate: '1/h', burst: 1 }
    const { queueState } = turnsOf({ limit, lanes: { a: { due: 1 } } })
    const { openAt: _, ...state } = queueState
    const notes = [{ at: NOW, startedAt: NOW, spent: { [STARTS]: -1 } }]
    expect(turnsOf({ limit, state, lanes: { a: { due: 1 } } }).started).toEqual({})
    expect(turnsOf({ limit, state, lanes: { a: { due: 1, notes } } }).started).toEqual({ a: 1 })
  })

  it('correct the units of a queue', () => {
    const limit: Limit = { units: { tokens: '100/s' } }
    const notes = [{ at: NOW, spent: { tokens: 300 } }]
    const turns = turnsOf({ limit, lanes: { a: { due: 1, units: { tokens: 100 }, notes } } })
    expect([turns.started, turns.queueOpenAt]).toEqual([{}, NOW + 3_000])
  })

  it('teach a partition, and not its queue', () => {
    const notes = [{ at: NOW, lesson: { kind: 'wait', ms: 30_000 } as const }]
    const turns = turnsOf({
      partitions: { rate: '10/s', learn: true },
      limit: { rate: '10/s' },
      lanes: { a: { due: 5, notes }, b: { due: 1 } },
    })
    expect([turns.started, turns.openAt, turns.queueOpenAt]).toEqual([{ b: 1 }, { a: NOW + 30_000, b: undefined }, NOW])
  })

  it('from a clock that is ahead count from now', () => {
    const notes = [{ at: NOW + 60_000, spent: { tokens: 100 } }]
    const turns = turnsOf({
      partitions: { units: { tokens: '100/s' } },
      lanes: { a: { due: 1, units: { tokens: 100 }, notes } },
    })
    expect(turns.openAt).toEqual({ a: NOW + 1_000 })
  })
})

describe('a partition', () => {
  it.each<[TurnState, boolean]>([
    [{}, false],
    [{ openAt: NOW }, false],
    [{ openAt: NOW + 1 }, true],
    [{ openAt: CLOSED }, true],
  ])('with %j keeps due jobs waiting: %s', (state, closed) => {
    expect(isClosed(state, NOW)).toBe(closed)
  })
})
