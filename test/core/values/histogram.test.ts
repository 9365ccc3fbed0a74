import { describe, expect, it, test } from 'vitest'
import {
  addPairs,
  bucketOf,
  countIn,
  type Histogram,
  mergedPairs,
  middleOf,
  observe,
  pairsOf,
  quantiles,
} from '../../../src/core/values/histogram.js'
import { seededDice } from '../../../src/engine/time/virtual.js'

const SHARES = [0.5, 0.95, 0.99]

const of = (values: readonly number[]): Histogram => {
  const histogram: Histogram = new Map()
  for (const value of values) observe(histogram, value)
  return histogram
}

const exact = (values: readonly number[], share: number): number =>
  [...values].sort((a, b) => a - b)[Math.max(1, Math.ceil(share * values.length)) - 1]!

/** The largest relative error of the three percentiles. */
function errorOf(histogram: Histogram, values: readonly number[]): number {
  const found = quantiles(histogram, SHARES)!
  return Math.max(
    ...SHARES.map((share, index) => {
      const expected = exact(values, share)
      return Math.abs(found[index]! - expected) / Math.max(1, expected)
    }),
  )
}

const normal = (random: () => number): number =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())

const DISTRIBUTIONS: readonly [name: string, draw: (random: () => number) => number][] = [
  ['uniform', random => random() * 10_000],
  ['log-normal', random => Math.exp(5 + 1.5 * normal(random))],
  ['bimodal', random => (random() < 0.9 ? 40 + 5 * random() : 30_000 + 4_000 * random())],
  ['constant', () => 1_234],
  ['of a few milliseconds', random => random() * 30],
  ['from a millisecond to months', random => 10 ** (random() * 10)],
]

describe.each(DISTRIBUTIONS)('percentiles of a distribution that is %s', (_, draw) => {
  const seeds = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
  const values = (seed: number): number[] => {
    const { random } = seededDice(seed)
    return Array.from({ length: 2_000 }, () => Math.round(draw(random)))
  }

  it('are within 2 % of the exact values', () => {
    for (const seed of seeds) expect(errorOf(of(values(seed)), values(seed))).toBeLessThanOrEqual(0.02)
  })

  it('stay within 2 % after the pieces of many workers are merged, in any order and grouping', () => {
    const all = values(99)
    const pieces = Array.from({ length: 50 }, (_, worker) => of(all.filter((_, index) => index % 50 === worker)))
    const minutes = Array.from({ length: 10 }, (_, minute) =>
      pieces
        .slice(minute * 5, minute * 5 + 5)
        .map(pairsOf)
        .reduce(mergedPairs, []),
    )
    const hour = minutes.reverse().reduce(mergedPairs, [])
    const sum = addPairs(new Map(), JSON.parse(JSON.stringify(hour)))
    expect(countIn(sum)).toBe(all.length)
    expect(hour).toEqual(pairsOf(of(all)))
    expect(errorOf(sum, all)).toBeLessThanOrEqual(0.02)
  })
})

test('buckets are in order, without a gap, and at most 1/32 wide', () => {
  let last = 0
  for (let ms = 0; ms < 3_000_000; ms = Math.max(ms + 1, Math.floor(ms * 1.001))) {
    const bucket = bucketOf(ms)
    expect(bucket - last).toBeLessThanOrEqual(1)
    expect(bucket).toBeGreaterThanOrEqual(last)
    expect(Math.abs(middleOf(bucket) - ms)).toBeLessThanOrEqual(ms / 64)
    last = bucket
  }
  for (const ms of [2 ** 31 - 1, 2 ** 31, 2 ** 33 + 12_345, 2 ** 45]) {
    expect(Math.abs(middleOf(bucketOf(ms)) - ms)).toBeLessThanOrEqual(ms / 64)
  }
})

test('a duration that the clocks made negative counts as zero', () => {
  expect([bucketOf(-5), bucketOf(0), bucketOf(0.4)]).toEqual([0, 0, 0])
  expect(quantiles(of([-5, 0]), SHARES)).toEqual([0, 0, 0])
})

test('an empty histogram has no percentiles', () => {
  expect(quantiles(new Map(), SHARES)).toBeUndefined()
  expect(pairsOf(new Map())).toEqual([])
})
