import { describe, expect, it } from 'vitest'
import {
  type PartitionTurns,
  partitionFlaws,
  type QueueTurns,
  queueFlaws,
} from '../../../src/core/partition/integrity.js'
import type { QueueLimits } from '../../../src/core/partition/limits.js'
import { CLOSED } from '../../../src/core/partition/turn.js'

const NOW = 1_000_000_000
const SINCE = NOW - 600_000

function queueOf(limits: Omit<QueueLimits, 'from'>, given: Partial<QueueTurns> = {}): QueueTurns {
  const facts = { queue: 'crm', state: {}, isNoted: false, running: 0 }
  return { ...facts, limits: { since: SINCE, ...limits, from: 'code' }, ...given }
}

function partitionOf(given: Partial<PartitionTurns>): PartitionTurns {
  return { name: 'a', state: {}, isNoted: false, isStopped: false, running: 0, ...given }
}

const newest = (startedAt: number) => ({ id: 'newest', startedAt })
const first = { id: 'first', runAt: NOW - 5_000 }

describe('the integrity check of a partition', () => {
  const two = queueOf({ partitions: { concurrency: 2 } })
  const ordered = queueOf({ partitions: { order: 'fifo', onDead: 'stop' } })
  const rated = queueOf({ partitions: { rate: '1/s', burst: 4 } })
  const learning = queueOf({ partitions: { rate: '1/s', burst: 4, learn: true } })
  const full = queueOf({ limit: { concurrency: 1 } }, { running: 1, state: { openAt: CLOSED } })
  const empty = queueOf({ limit: { concurrency: 1 } }, { state: { openAt: CLOSED } })
  const slow = queueOf({ limit: { rate: '1/s' } }, { state: { openAt: NOW + 60_000, clocks: { '': NOW + 900 } } })
  const busy = (clock: number, since = NOW - 1_000) => ({ clocks: { '': clock }, busySince: { '': since } })

  it.each<[string, QueueTurns, Partial<PartitionTurns>, string[]]>([
    ['as many running jobs as its limit', two, { running: 2, newest: newest(NOW) }, []],
    ['one more', two, { running: 3, newest: newest(NOW) }, ['over-limit']],
    ['one more that started before the limit was set', two, { running: 3, newest: newest(SINCE - 1) }, []],
    ['one more that started while the limit was set', two, { running: 3, newest: newest(SINCE + 1) }, []],
    ['two running jobs of an order', ordered, { running: 2, newest: newest(NOW) }, ['over-limit']],
    ['nothing that waits', two, {}, []],
    ['a waiting job that no claim looks for', two, { first }, ['stranded']],
    ['a waiting job with a note', two, { first, isNoted: true }, []],
    ['a waiting job, and it is open', two, { first, state: { openAt: NOW - 5_000 } }, []],
    ['a waiting job, and it is full', two, { first, running: 2, state: { openAt: CLOSED } }, []],
    ['a waiting job, closed with a free slot', two, { first, running: 1, state: { openAt: CLOSED } }, ['stranded']],
    ['a waiting job, stopped by a dead letter', ordered, { first, isStopped: true, state: { openAt: CLOSED } }, []],
    ['a dead letter that was discarded, and it is closed', ordered, { first, state: { openAt: CLOSED } }, ['stranded']],
    [
      'a retry that comes first',
      ordered,
      { first: { id: 'first', runAt: NOW + 9_000 }, state: { openAt: NOW + 9_000 } },
      [],
    ],
    ['a first job that is due before it opens', ordered, { first, state: { openAt: NOW + 9_000 } }, ['stranded']],
    ['a rate that is used up', rated, { first, state: { openAt: NOW + 3_000, ...busy(NOW + 4_000) } }, []],
    ['a clock further ahead than a burst', rated, { state: busy(NOW + 9_000) }, ['rate-clock']],
    ['such a clock from before the limits', rated, { state: busy(NOW + 9_000, SINCE) }, []],
    ['a clock at a learned rate', learning, { state: busy(NOW + 200_000) }, []],
    ['a clock further ahead than any learned rate', learning, { state: busy(NOW + 300_000) }, ['rate-clock']],
    ['a queue that is full', full, { first, state: { openAt: NOW } }, []],
    ['a queue that is closed with a free slot', empty, { first, state: { openAt: NOW } }, ['stranded']],
    ['a queue that opens later than its rate says', slow, { first, state: { openAt: NOW } }, ['stranded']],
  ])('with %s', (_, queue, given, flaws) => {
    expect(partitionFlaws(queue, partitionOf(given), NOW).map(({ what }) => what)).toEqual(flaws)
  })

  it('says what it has seen', () => {
    const partition = partitionOf({ first, running: 1, state: { openAt: CLOSED } })
    expect(partitionFlaws(two, partition, NOW)).toEqual([
      {
        jobId: 'first',
        what: 'stranded',
        detail: 'partition "a" of queue "crm" is closed, although 1 of 2 slots are in use',
      },
    ])
  })
})

describe('the integrity check of a queue', () => {
  it.each<[string, Partial<QueueTurns>, string[]]>([
    ['as many running jobs as its limit', { running: 2, newest: newest(NOW) }, []],
    ['one more', { running: 3, newest: newest(NOW) }, ['over-limit']],
  ])('with %s', (_, given, flaws) => {
    const queue = queueOf({ limit: { concurrency: 2 } }, given)
    expect(queueFlaws(queue, NOW).map(({ what }) => what)).toEqual(flaws)
  })
})
