import { describe, expect, it } from 'vitest'
import { hatch, insideOf, stepFor, torn } from '../../src/dashboard/timeline/timeline-layout.js'

describe('words in a drawing', () => {
  it.each([
    [5, 'deadline', 25.6],
    [100, 'deadline', 100],
    [198, 'deadline', 174.4],
  ])('at %d stay inside', (middle, text, expected) => {
    expect(insideOf(middle, text, 200)).toBeCloseTo(expected)
  })
})

describe('steps of an axis', () => {
  it.each([
    [1_000, 100],
    [60_000, 10_000],
    [3_600_000, 600_000],
    [30 * 86_400_000, 3 * 86_400_000],
  ])('of %d ms are round and leave room for their words', (spanMs, step) => {
    expect(stepFor(spanMs, 900, 90)).toBe(step)
  })
})

describe('shapes', () => {
  it('hatch a box with lines that do not leave it', () => {
    const numbers = hatch(10, 20, 30, 12, 6)
      .match(/[\d.]+/g)!
      .map(Number)
    numbers.forEach((value, i) => {
      const [min, max] = i % 2 === 0 ? [10, 40] : [20, 32]
      expect(value).toBeGreaterThanOrEqual(min)
      expect(value).toBeLessThanOrEqual(max)
    })
  })

  it('tear the far end of a box', () => {
    expect(torn(0, 0, 30, 40)).toMatch(/^M0 0H30L25 5L30 10.*H0Z$/)
  })
})
