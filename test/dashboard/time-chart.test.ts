import { describe, expect, it } from 'vitest'
import {
  areaPath,
  barPaths,
  clockTicks,
  dotPath,
  linePath,
  type TimeFrame,
  tickX,
  valueScale,
  xOf,
  yOf,
} from '../../src/dashboard/charts/time-chart.js'

const FRAME: TimeFrame = { width: 100, height: 50, from: 0, to: 10_000, top: 10 }
const TIMES = [0, 5_000]

describe('a chart over time', () => {
  it('has a position for every moment and value, clamped to the chart', () => {
    expect([xOf(2_500, FRAME), yOf(5, FRAME), yOf(99, FRAME), yOf(-3, FRAME)]).toEqual([25, 25, 0, 50])
  })

  it('stacks the levels of a bar on each other', () => {
    const [low, high] = barPaths(
      TIMES,
      5_000,
      [
        [5, 0],
        [10, 5],
      ],
      FRAME,
    )
    expect(low).toBe('M0 25h48V50h-48z')
    expect(high).toBe('M0 0h48V25h-48zM50 25h48V50h-48z')
  })

  it('shows even the smallest value', () => {
    expect(barPaths([0], 5_000, [[0.01]], FRAME)).toEqual(['M0 49h48V50h-48z'])
  })

  it('breaks a line where there is no value', () => {
    expect(linePath([0, 2_500, 5_000, 7_500], [0, 5, null, 10], FRAME)).toBe('M0 50L25 25M75 0')
    expect(dotPath([0, 2_500, 5_000, 7_500], [0, 5, null, 10], FRAME)).toBe('M75 0h0')
  })

  it('closes an area at the bottom, and draws nothing without values', () => {
    expect(areaPath(TIMES, [5, 5], FRAME)).toBe('M0 25L50 25L50 50L0 50Z')
    expect(areaPath([], [], FRAME)).toBe('')
  })
})

describe('the scale of values', () => {
  it.each([
    [0, 4, [1, 2, 3, 4]],
    [7, 8, [2, 4, 6, 8]],
    [10, 10, [5, 10]],
    [230, 300, [100, 200, 300]],
    [1_000, 1_000, [250, 500, 750, 1_000]],
  ])('up to %d has a round top and whole lines', (max, top, ticks) => {
    expect(valueScale(max)).toEqual({ top, ticks })
  })
})

describe('the scale of time', () => {
  const frame = (from: string, to: string): TimeFrame => ({
    ...FRAME,
    width: 600,
    from: new Date(from).getTime(),
    to: new Date(to).getTime(),
  })

  it('has round local times', () => {
    const ticks = clockTicks(frame('2026-03-02T10:07:00', '2026-03-02T11:07:00'))
    expect(ticks.map(({ text }) => text)).toEqual(['10:10', '10:20', '10:30', '10:40', '10:50', '11:00'])
  })

  it('shows the date at midnight', () => {
    const ticks = clockTicks(frame('2026-03-02T18:00:00', '2026-03-03T06:00:00'))
    expect(ticks.map(({ text }) => text)).toContain('3 Mar')
  })

  it('moves the last label to the left if it would be cut off', () => {
    expect(tickX({ x: 300, text: '19 Nov' }, 600)).toBe(300)
    expect(tickX({ x: 600, text: '+15m' }, 600)).toBe(600)
    expect(tickX({ x: 600, text: '19 Nov' }, 600)).toBeLessThanOrEqual(595)
    expect(tickX({ x: 0, text: '19 Nov' }, 600)).toBe(14)
  })

  it('shows seconds for short ranges', () => {
    expect(clockTicks(frame('2026-03-02T10:00:00', '2026-03-02T10:00:40'))[1]?.text).toBe('10:00:05')
  })
})
