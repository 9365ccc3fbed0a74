import { describe, expect, it } from 'vitest'
import type { Phase } from '../../src/core/job/job.js'
import { miniOf } from '../../src/dashboard/timeline/mini.js'

const retry = { maxRetries: 9, backoff: { type: 'exponential', base: '1s' }, jitter: 'none' } as const
const mini = (phase: Phase, attempt: number) => miniOf({ phase, attempt, maxAttempts: 10, retry })
const signs = (phase: Phase, attempt: number) =>
  mini(phase, attempt).dots.map(({ sign, isAhead }) => (isAhead ? 'ahead' : sign))

describe('the history of a job in a table row', () => {
  it.each([
    ['scheduled', 0, ['ahead']],
    ['queued', 0, ['ahead']],
    ['retrying', 2, ['failed', 'failed', 'ahead']],
    ['running', 1, ['none']],
    ['succeeded', 3, ['failed', 'failed', 'succeeded']],
    ['dead', 2, ['failed', 'dead']],
    ['cancelled', 1, ['none']],
  ] as const)('%s at attempt %d', (phase, attempt, expected) => {
    expect(signs(phase, attempt)).toEqual(expected)
  })

  it('leaves out the first of many runs and shows their number', () => {
    const { dots, left } = mini('dead', 10)
    expect([dots.length, left]).toEqual([6, 4])
  })

  it('has gaps that grow with the waits, within 90 pixels', () => {
    const places = mini('retrying', 5).dots.map(({ x }) => x)
    const gaps = places.slice(1).map((x, i) => x - places[i]!)
    expect(gaps).toEqual([...gaps].sort((a, b) => a - b))
    expect(new Set(gaps).size).toBeGreaterThan(3)
    expect(places.at(-1)).toBeLessThanOrEqual(84)
  })

  it('has a text form', () => {
    expect(mini('retrying', 3).words).toBe('attempt 3 of 10, waiting for its next retry')
    expect(mini('scheduled', 0).words).toBe('not run yet, scheduled')
  })
})
