import { describe, expect, it } from 'vitest'
import { countWithin, exceedsRate, mostAtOnce } from './limited.js'

describe('the checks of limits', () => {
  it('count intervals that overlap, not those that follow each other', () => {
    expect(
      mostAtOnce([
        [0, 10],
        [10, 20],
        [5, 15],
      ]),
    ).toBe(2)
  })

  it('count the times of an interval', () => {
    const times = [1, 2, 2, 5, 9]
    expect(countWithin(times, [2, 9])).toBe(3)
    expect(countWithin(times, [0, 100])).toBe(5)
    expect(countWithin(times, [6, 3])).toBe(0)
  })

  it('find a window with more starts than the rate and its burst allow', () => {
    expect(exceedsRate([0, 0, 0, 1_000, 2_000], 1, 3)).toBe(false)
    expect(exceedsRate([0, 0, 0, 900], 1, 3)).toBe(true)
  })
})
