import { describe, expect, it } from 'vitest'
import {
  limit,
  limitsAfter,
  partitionBounds,
  partitionLimits,
  partitionOf,
  type QueueLimits,
  queueBounds,
  STARTS,
} from '../../../src/core/partition/limits.js'
import { read } from '../../../src/core/values/schema.js'

const many = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${n}`, { concurrency: 1 }]))

describe('limits of partitions', () => {
  it.each<[given: object, says: string]>([
    [{}, 'no limit; give concurrency, rate, units, order or fair'],
    [
      { order: 'fifo', concurrency: 3 },
      'order "fifo" runs one job at a time; leave concurrency out, or give 1 instead of 3',
    ],
    [
      { order: 'fifo', override: { a: { rate: '1/s' }, b: { concurrency: 2 } } },
      'order "fifo" runs one job at a time; leave concurrency out, or give 1 instead of 2',
    ],
    [{ concurrency: 2, onDead: 'stop' }, 'onDead needs order "fifo"; give it, or leave onDead out'],
    [{ concurrency: 2, learn: true }, 'learn needs a rate to begin with; give a rate too'],
    [{ concurrency: 2, burst: 5 }, 'burst needs a rate; give a rate too'],
    [{ fair: true, override: { a: { burst: 5 } } }, 'burst needs a rate; give a rate too'],
    [{ concurency: 2 }, 'did you mean "concurrency"?'],
    [{ concurrency: 0 }, 'concurrency'],
    [{ rate: '0/s' }, 'a rate above 0'],
    [{ order: 'lifo' }, 'fifo'],
    [{ fair: true, override: many(1_001) }, 'limits by partition'],
  ])('refuse %j', (given, says) => {
    expect(() => read(partitionLimits, given, 'partitions')).toThrow(says)
  })

  it.each([
    { concurrency: 2 },
    { fair: true },
    { order: 'fifo', concurrency: 1 },
    { order: 'fifo', onDead: 'stop', rate: '5/m', learn: true, burst: 3 },
    { units: { tokens: '90000/m' } },
    { fair: true, override: many(1_000) },
  ])('accept %j', given => {
    expect(read(partitionLimits, given, 'partitions')).toEqual(given)
  })
})

describe('the limit of a queue', () => {
  it.each<[given: object, says: string]>([
    [{ burst: 5 }, 'burst needs a rate; give a rate too'],
    [{ order: 'fifo' }, 'order'],
  ])('refuses %j', (given, says) => {
    expect(() => read(limit, given, 'limit')).toThrow(says)
  })
})

describe('bounds', () => {
  it('are those of all partitions, with what an override sets', () => {
    const partitions = { concurrency: 2, rate: '60/m', override: { big: { concurrency: 9 } } } as const
    expect(partitionBounds({ partitions }, 'small')).toMatchObject({ concurrency: 2 })
    expect(partitionBounds({ partitions }, 'big')).toMatchObject({
      concurrency: 9,
      rates: { [STARTS]: { perMs: 0.001, burst: 1 } },
    })
  })

  it('ignore the names of inherited properties', () => {
    const partitions = { concurrency: 2, override: {} }
    expect(partitionBounds({ partitions }, 'constructor').concurrency).toBe(2)
  })

  it('let an ordered partition run one job at a time', () => {
    const bounds = partitionBounds({ partitions: { order: 'fifo', onDead: 'stop' } }, 'a')
    expect(bounds).toMatchObject({ concurrency: 1, isOrdered: true, stopsOnDead: true })
  })

  it.each([
    ['20/s', 20],
    ['90/m', 2],
    ['1/h', 1],
  ] as const)('allow a burst of the starts of one second at %s', (rate, burst) => {
    expect(queueBounds({ limit: { rate } }).rates[STARTS]?.burst).toBe(burst)
  })

  it('are none without limits', () => {
    expect(queueBounds({})).toMatchObject({ concurrency: Number.POSITIVE_INFINITY, rates: {} })
    expect(partitionBounds({}, 'a')).toMatchObject({ concurrency: Number.POSITIVE_INFINITY, learns: false })
  })
})

describe('limits after a change', () => {
  const code: QueueLimits = { limit: { concurrency: 1 }, from: 'code' }
  const other: QueueLimits = { limit: { concurrency: 2 }, from: 'code' }
  const operator: QueueLimits = { limit: { concurrency: 3 }, from: 'operator' }

  it.each<[string, QueueLimits | undefined, QueueLimits | null | undefined, QueueLimits | undefined]>([
    ['code sets them', undefined, code, code],
    ['code changes its own', code, other, other],
    [
      'code does not replace those of an operator',
      operator,
      code,
      { ...operator, code: { limit: { concurrency: 1 } } },
    ],
    ['an operator replaces those of code', code, operator, { ...operator, code: { limit: { concurrency: 1 } } }],
    ['null removes them', operator, null, undefined],
    ['null brings those of code back', { ...operator, code: { limit: { concurrency: 1 } } }, null, code],
    ['a change of something else keeps them', operator, undefined, operator],
  ])('%s', (_, old, change, after) => {
    expect(limitsAfter(old && { ...old, since: 7 }, change, 7)).toEqual(after && { ...after, since: 7 })
  })

  it('apply since they were set first, also if the same ones are set again', () => {
    const first = limitsAfter(undefined, code, 7)
    expect(limitsAfter(first, code, 8)).toEqual({ ...code, since: 7 })
    expect(limitsAfter(first, { ...code, from: 'operator' }, 8)).toMatchObject({ from: 'operator', since: 7 })
    expect(limitsAfter(first, other, 8)).toEqual({ ...other, since: 8 })
  })
})

describe('the partition of a job', () => {
  it.each([
    [{ partition: 'p', tenantId: 't' }, 'p'],
    [{ tenantId: 't' }, 't'],
    [{}, ''],
    [{ dependency: 'webhook:wh_1', tenantId: 't' }, 't'],
    [{ queue: 'chronos:deliveries', dependency: 'webhook:wh_1', tenantId: 't' }, 'webhook:wh_1'],
    [
      { queue: 'chronos:deliveries', dependency: 'webhook:https://a.example', tenantId: 't' },
      'webhook:https://a.example t',
    ],
    [{ queue: 'chronos:deliveries', dependency: 'webhook:https://a.example' }, 'webhook:https://a.example'],
    [{ queue: 'chronos:deliveries', partition: 'chronos:alert/ops' }, 'chronos:alert/ops'],
  ])('is, for %j, "%s"', (job, name) => {
    expect(partitionOf({ queue: 'q', ...job })).toBe(name)
  })

  it('is shortened if it is too long for an index, and stays distinct', () => {
    const long = 'x'.repeat(5_000)
    const [one, two] = [
      partitionOf({ queue: 'q', tenantId: `${long}1` }),
      partitionOf({ queue: 'q', tenantId: `${long}2` }),
    ]
    expect(one.length).toBeLessThanOrEqual(200)
    expect(one).not.toBe(two)
    expect(partitionOf({ queue: 'q', tenantId: `${long}1` })).toBe(one)
  })
})
