import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { systemClock } from '../../../src/engine/time/system.js'
import { wakeTogether } from '../../../src/engine/time/wake-together.js'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const wokenAt: number[] = []
const wake = (): boolean => wokenAt.push(systemClock.steady!()) > 0

beforeEach(() => {
  wokenAt.length = 0
})

it('wakes loops with long waits at the same moment, at most a quarter of a second late', () => {
  const start = systemClock.steady!()
  for (const lateMs of [0, 30, 70]) {
    vi.advanceTimersByTime(lateMs)
    wakeTogether(systemClock, 15_000, wake)
  }
  expect(vi.getTimerCount()).toBeLessThanOrEqual(2)
  vi.advanceTimersByTime(16_000)
  expect(wokenAt).toHaveLength(3)
  for (const [index, beganMs] of [0, 30, 100].entries()) {
    const waitedMs = wokenAt[index]! - start - beganMs
    expect(waitedMs).toBeGreaterThanOrEqual(15_000)
    expect(waitedMs).toBeLessThanOrEqual(15_250)
    expect(wokenAt[index]! % 250).toBe(0)
  }
})

it('does not prolong a short wait', () => {
  const start = systemClock.steady!()
  wakeTogether(systemClock, 4_999, wake)
  vi.advanceTimersByTime(5_000)
  expect(wokenAt).toEqual([start + 4_999])
})

it('lets one loop stop without waking it or delaying the others, and leaves no timer behind', () => {
  const [first, second] = [wakeTogether(systemClock, 5_000, wake), wakeTogether(systemClock, 5_000, wake)]
  first.cancel()
  vi.advanceTimersByTime(5_250)
  expect(wokenAt).toHaveLength(1)
  second.cancel()
  wakeTogether(systemClock, 5_000, wake).cancel()
  expect(vi.getTimerCount()).toBe(0)
})

it('wakes a loop that waits again in its turn a second time', () => {
  wakeTogether(systemClock, 5_000, () => {
    wakeTogether(systemClock, 5_000, wake)
    return true
  })
  vi.advanceTimersByTime(10_750)
  expect(wokenAt).toHaveLength(1)
})
