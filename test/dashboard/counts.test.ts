import { describe, expect, it } from 'vitest'
import { hoursOf } from '../../src/dashboard/charts/hours.js'
import { outcomeAt, stacked } from '../../src/dashboard/charts/outcomes.js'
import { ratesOf } from '../../src/dashboard/charts/rate.js'

const point = { at: '2026-03-01T10:00:00.000Z', firstTry: 10, retried: 5, cancelled: 0, failed: 7, dead: 1 }

describe('stacked outcomes', () => {
  it('are summed from the bottom, successes first, without failed attempts', () => {
    expect(stacked([point, { ...point, cancelled: 4 }])).toEqual([
      [10, 10],
      [15, 15],
      [15, 19],
      [16, 20],
    ])
  })

  it.each([
    [3, 'firstTry'],
    [12, 'retried'],
    [15.5, 'dead'],
    [17, undefined],
  ])('at a height of %d are %s', (value, outcome) => {
    expect(outcomeAt(point, value)).toBe(outcome)
  })
})

describe('failures by hour', () => {
  it('end now and include empty hours', () => {
    const trend = [
      { at: '2026-03-01T08:00:00.000Z', failures: 3 },
      { at: '2026-03-01T10:00:00.000Z', failures: 1 },
      { at: '2026-02-01T10:00:00.000Z', failures: 9 },
    ]
    const hours = hoursOf(trend, Date.parse('2026-03-01T10:40:00.000Z'), 4)
    expect(hours.map(({ count }) => count)).toEqual([0, 3, 0, 1])
  })
})

describe('rates', () => {
  it('are the increase per second between two samples', () => {
    const samples = [
      { at: 0, started: 0, succeeded: 0, dead: 0 },
      { at: 2_000, started: 100, succeeded: 80, dead: 1 },
      { at: 3_000, started: 90, succeeded: 81, dead: 1 },
    ]
    expect(ratesOf(samples)).toEqual([
      { at: 2_000, started: 50, succeeded: 40, dead: 0.5 },
      { at: 3_000, started: 0, succeeded: 1, dead: 0 },
    ])
  })
})
