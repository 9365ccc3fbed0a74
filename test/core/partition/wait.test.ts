import { describe, expect, it } from 'vitest'
import type { PartitionLimits } from '../../../src/core/partition/limits.js'
import { CLOSED } from '../../../src/core/partition/turn.js'
import { type PartitionFacts, partitionHold, turnWait } from '../../../src/core/partition/wait.js'

const NOW = 1_000

describe('a job of a partition that was full when a claim last looked at it', () => {
  const because = (partitions: PartitionLimits, facts: Partial<PartitionFacts>) => {
    const partition = { name: 'a', running: 0, state: { openAt: CLOSED }, ...facts }
    const limits = { partitions, from: 'code' } as const
    return turnWait({ queue: 'q', limits, queueState: {}, partition }, undefined, NOW)?.because
  }

  it.each([
    ['waits for the limit while it is full', { concurrency: 2 }, { running: 2 }, 'limit'],
    ['may start when a run has ended since', { concurrency: 2 }, { running: 1 }, undefined],
    ['waits for an earlier job', { order: 'fifo' }, { running: 1 }, 'order'],
    ['may start when the earlier job has ended', { order: 'fifo' }, { running: 0 }, undefined],
    ['waits for a dead letter', { order: 'fifo', onDead: 'stop' }, { stoppedBy: 'dead' }, 'stopped'],
    ['waits for the rate', { rate: '1/h' }, { state: { openAt: NOW + 5, clocks: { '': NOW + 3_600_005 } } }, 'rate'],
  ] as const)('%s', (_, partitions, facts, code) => {
    expect(because(partitions, facts)).toBe(code)
  })
})

const RATE_BEFORE = { openAt: NOW + 60_000, clocks: { '': NOW + 900 } }

describe('a partition whose next job is not due', () => {
  const because = (partitions: PartitionLimits, facts: Partial<PartitionFacts>) => {
    const partition = { name: 'a', running: 0, state: { openAt: NOW + 5 }, ...facts }
    return partitionHold({ queue: 'q', limits: { partitions, from: 'code' }, partition }, NOW)?.because
  }

  it.each([
    ['is open, whatever its concurrency', { concurrency: 2 }, { waiting: 3 }, undefined],
    ['is open if its first job is alone', { order: 'fifo' }, { waiting: 1 }, undefined],
    ['keeps later jobs in order', { order: 'fifo' }, { waiting: 2 }, 'order'],
    ['is full while its jobs run', { concurrency: 2 }, { running: 2, state: { openAt: CLOSED } }, 'limit'],
    ['is stopped by a dead letter', { order: 'fifo', onDead: 'stop' }, { stoppedBy: 'dead', waiting: 1 }, 'stopped'],
    ['is open if its rate allows a start before that', { rate: '1/s' }, { state: RATE_BEFORE }, undefined],
    ['may wait for units', { rate: '1/s', units: { tokens: '9/s' } }, { state: RATE_BEFORE }, 'rate'],
    [
      'keeps later jobs in order after its rate',
      { order: 'fifo', rate: '1/s' },
      { waiting: 2, state: RATE_BEFORE },
      'order',
    ],
    ['waits for its rate', { rate: '1/h' }, { state: { openAt: NOW + 5, clocks: { '': NOW + 3_600_005 } } }, 'rate'],
  ] as const)('%s', (_, partitions, facts, code) => {
    expect(because(partitions, facts)).toBe(code)
  })
})
