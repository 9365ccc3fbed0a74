import { describe, expect, it } from 'vitest'
import { exceedsRate, lengthWithout, mostAtOnce, standstills } from './limited.js'

describe('a standstill', () => {
  it('is a long pause between any two starts while a process was frozen', () => {
    const starts = [9_000, 0, 1_000, 1_100, 5_000]
    expect(standstills(starts, [[1_050, 4_000]])).toEqual([[1_100, 5_000]])
    expect(standstills(starts, [[900, 1_150]])).toEqual([
      [0, 1_000],
      [1_100, 5_000],
    ])
    expect(standstills(starts, [])).toEqual([])
  })

  it('does not count as time in which a partition stood still', () => {
    expect(lengthWithout([1_000, 6_000], [[1_100, 5_000]])).toBe(1_100)
    expect(lengthWithout([1_000, 6_000], [[7_000, 8_000]])).toBe(5_000)
    expect(lengthWithout([2_000, 3_000], [[1_100, 5_000]])).toBe(0)
  })
})

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

  it('find a window with more starts than the rate and its burst allow', () => {
    expect(exceedsRate([0, 0, 0, 1_000, 2_000], 1, 3, 1)).toBe(false)
    expect(exceedsRate([0, 0, 0, 900], 1, 3, 1)).toBe(true)
  })
})
