import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Bounds, type PartitionLimits, partitionBounds, STARTS } from '../../../src/core/partition/limits.js'
import {
  allowedAt,
  idleAt,
  learn,
  learnedShare,
  type PaceState,
  spend,
  startCost,
  startsNow,
  tidied,
} from '../../../src/core/partition/pace.js'

const NOW = Date.UTC(2026, 0, 1)
const MINUTE_MS = 60_000
const boundsOf = (partitions: PartitionLimits): Bounds => partitionBounds({ partitions }, 'a')
/** Starts as many jobs as are allowed at each of these times. */
function startsAt(bounds: Bounds, times: readonly number[], cost = startCost()): number[] {
  let state: PaceState = {}
  const starts: number[] = []
  for (const now of times) {
    while (allowedAt(bounds, state, cost, now) <= now) {
      state = spend(bounds, state, cost, now)
      starts.push(now)
    }
  }
  return starts
}

describe('a rate', () => {
  it('is never exceeded in any window, whatever the times of the claims', () => {
    const rates = fc.constantFrom('1/s', '3/s', '7/m', '20/s', '1/h', '1000/s', '0.5/s')
    const gaps = fc.array(fc.integer({ min: 0, max: 5_000 }), { minLength: 1, maxLength: 40 })
    fc.assert(
      fc.property(rates, fc.integer({ min: 1, max: 30 }), gaps, (rate, burst, gaps) => {
        const bounds = boundsOf({ rate: rate as '1/s', burst })
        let at = NOW
        const starts = startsAt(
          bounds,
          gaps.map(gap => (at += gap)),
        )
        const { perMs } = bounds.rates[STARTS]!
        // One expectation for all windows: one for each would take longer than the check itself.
        const exceeded: { readonly count: number; readonly windowMs: number }[] = []
        for (let from = 0; from < starts.length; from++) {
          for (let to = from; to < starts.length; to++) {
            // Times are whole milliseconds, of which both are part of the window.
            const windowMs = starts[to]! - starts[from]! + 1
            const count = to - from + 1
            if (!(count <= perMs * windowMs + burst)) exceeded.push({ count, windowMs })
          }
        }
        expect(exceeded).toEqual([])
      }),
      { numRuns: 100 },
    )
  })

  it('is used fully while jobs wait', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 500 }), fc.integer({ min: 1, max: 50 }), (perMinute, burst) => {
        const bounds = boundsOf({ rate: `${perMinute}/m`, burst })
        let state: PaceState = {}
        let now = NOW
        let starts = 0
        while (now <= NOW + 5 * MINUTE_MS) {
          const at = allowedAt(bounds, state, startCost(), now)
          if (at > now) now = at
          else {
            state = spend(bounds, state, startCost(), now)
            starts += 1
          }
        }
        expect(Math.abs(starts - (burst + perMinute * 5))).toBeLessThanOrEqual(1)
      }),
      { numRuns: 100 },
    )
  })

  it('allows as many starts at once as `startsNow` says', () => {
    const bounds = boundsOf({ rate: '2/s', burst: 5 })
    let state: PaceState = {}
    expect(startsNow(bounds, state, NOW)).toBe(5)
    for (let left = 4; left >= 0; left--) {
      state = spend(bounds, state, startCost(), NOW)
      expect(startsNow(bounds, state, NOW)).toBe(left)
    }
    expect(allowedAt(bounds, state, startCost(), NOW)).toBe(NOW + 500)
    expect(startsNow(bounds, state, NOW + 499)).toBe(0)
    expect(startsNow(bounds, state, NOW + 1_000)).toBe(2)
  })

  it('does not save more than a burst', () => {
    expect(startsAt(boundsOf({ rate: '1/s', burst: 2 }), [NOW, NOW + 3_600_000]).length).toBe(4)
  })

  it('does not bound what has none', () => {
    const bounds = boundsOf({ concurrency: 1 })
    expect(startsNow(bounds, {}, NOW)).toBe(Number.POSITIVE_INFINITY)
    expect(allowedAt(bounds, {}, startCost(), NOW)).toBe(NOW)
  })
})

/** Starts and what is given back later, in the order of their times, or as far as each was known. */
type Spending = { readonly at: number; readonly amount: number; readonly startedAt?: number }

describe('what is given back', () => {
  const bounds = boundsOf({ rate: '2/s', burst: 2 })
  const spendAll = (spendings: readonly Spending[]): PaceState =>
    spendings.reduce<PaceState>(
      (state, { at, amount, startedAt = at }) => spend(bounds, state, { [STARTS]: amount }, at, startedAt),
      {},
    )
  const nextAt = (state: PaceState): number => allowedAt(bounds, state, startCost(), NOW + 300)

  it('counts as if it had been known before, also if it is learned after the next start (seed 100950)', () => {
    const starts = [
      { at: NOW, amount: 1 },
      { at: NOW, amount: 1 },
    ]
    const first = { at: NOW + 131, amount: -1, startedAt: NOW }
    const second = { at: NOW + 131, amount: -1, startedAt: NOW }
    const later = [
      { at: NOW + 138, amount: 1 },
      { at: NOW + 266, amount: 1 },
    ]
    const inOrder = spendAll([...starts, first, second, ...later])
    expect(nextAt(inOrder)).toBe(NOW + 638)
    expect(nextAt(spendAll([...starts, first, later[0]!, second, later[1]!]))).toBe(NOW + 638)
    expect(nextAt(spendAll([...starts, first, ...later, second]))).toBe(NOW + 638)
  })

  it('never lets more start than the rate allows, whenever it happens and is learned', () => {
    const gaps = fc.array(fc.integer({ min: 0, max: 700 }), { minLength: 2, maxLength: 12 })
    const lags = fc.array(fc.integer({ min: 1, max: 2_000 }), { minLength: 12, maxLength: 12 })
    fc.assert(
      fc.property(gaps, lags, (gaps, lags) => {
        let state: PaceState = {}
        let at = NOW
        const starts: { readonly at: number; readonly over: number; readonly knownAt: number }[] = []
        for (const [index, gap] of gaps.entries()) {
          const since = at
          at += gap
          for (const start of starts.filter(({ knownAt }) => knownAt > since && knownAt <= at))
            state = spend(bounds, state, { [STARTS]: -1 }, start.over, start.at)
          if (allowedAt(bounds, state, startCost(), at) > at) continue
          state = spend(bounds, state, startCost(), at)
          const lag = lags[index]!
          starts.push({ at, over: at + Math.ceil(lag / 2), knownAt: at + lag })
          const counted = starts.filter(({ over }) => over > at)
          for (const [first, { at: from }] of counted.entries())
            expect(counted.length - first).toBeLessThanOrEqual((2 / 1_000) * (at - from + 1) + 2)
        }
      }),
      { numRuns: 300 },
    )
  })

  it('is given back in full if it was not made up for', () => {
    const wide = boundsOf({ rate: '1/s', burst: 8 })
    let state: PaceState = {}
    const times = Array.from({ length: 8 }, (_, index) => NOW + index)
    for (const at of times) state = spend(wide, state, startCost(), at)
    expect(startsNow(wide, state, NOW + 10)).toBe(0)
    for (const startedAt of times.slice(2)) state = spend(wide, state, { [STARTS]: -1 }, NOW + 10, startedAt)
    expect(startsNow(wide, state, NOW + 10)).toBe(6)
  })
})

describe('units', () => {
  const bounds = boundsOf({ units: { tokens: '100/s' } })

  it('are spent beside starts', () => {
    const cost = startCost({ tokens: 60 })
    const state = spend(bounds, {}, cost, NOW)
    expect(allowedAt(bounds, state, startCost({ tokens: 40 }), NOW)).toBe(NOW)
    expect(allowedAt(bounds, state, cost, NOW)).toBe(NOW + 200)
    expect(allowedAt(bounds, state, startCost(), NOW)).toBe(NOW)
  })

  it('let a start that is dearer than the burst begin with a full bucket, and pay it off', () => {
    const dear = startCost({ tokens: 500 })
    expect(allowedAt(bounds, {}, dear, NOW)).toBe(NOW)
    const state = spend(bounds, {}, dear, NOW)
    expect(allowedAt(bounds, state, startCost({ tokens: 100 }), NOW)).toBe(NOW + 5_000)
    const some = spend(bounds, {}, startCost({ tokens: 10 }), NOW)
    expect(allowedAt(bounds, some, dear, NOW)).toBe(NOW + 100)
  })

  it('are corrected by the end of a run, from the time at which it happened', () => {
    const started = spend(bounds, {}, startCost({ tokens: 100 }), NOW)
    const more = spend(bounds, started, { tokens: 200 }, NOW + 1_000)
    expect(allowedAt(bounds, more, startCost({ tokens: 100 }), NOW + 1_000)).toBe(NOW + 3_000)
    const less = spend(bounds, started, { tokens: -100 }, NOW)
    expect(allowedAt(bounds, less, startCost({ tokens: 100 }), NOW)).toBe(NOW)
  })

  it('that are given back never save more than a burst', () => {
    const state = spend(bounds, {}, { tokens: -1_000 }, NOW)
    const spent = spend(bounds, state, startCost({ tokens: 100 }), NOW)
    expect(allowedAt(bounds, spent, startCost({ tokens: 100 }), NOW)).toBe(NOW + 1_000)
  })

  it('may have the name of an inherited property', () => {
    const strange = boundsOf({ units: { constructor: '1/s' as const, toString: '1/s' as const } })
    expect(allowedAt(strange, {}, startCost(), NOW)).toBe(NOW)
    expect(spend(strange, {}, startCost(), NOW)).toEqual({ clocks: {}, busySince: {}, later: {} })
    const state = spend(strange, {}, startCost({ constructor: 1 }), NOW)
    expect(allowedAt(strange, state, startCost({ constructor: 1 }), NOW)).toBe(NOW + 1_000)
  })
})

describe('learning', () => {
  const bounds = boundsOf({ rate: '100/s', learn: true })
  const refused = { kind: 'refused' } as const

  it('halves the rate once for jobs that are refused together', () => {
    let state = learn(bounds, {}, refused, NOW)
    state = learn(bounds, state, refused, NOW + 4_999)
    expect(learnedShare(state, NOW)).toBeCloseTo(0.5, 1)
    expect(learnedShare(state, NOW + 4_999)).toBeCloseTo(0.5 + 4_999 / 600_000, 5)
    state = learn(bounds, state, refused, NOW + 5_000)
    expect(learnedShare(state, NOW + 5_000)).toBeCloseTo(0.25 + 2_500 / 600_000, 5)
    expect(allowedAt(bounds, spend(bounds, state, { [STARTS]: 100 }, NOW + 5_000), startCost(), NOW + 5_000)).toBe(
      NOW + 5_000 + Math.ceil(1 / (0.1 * learnedShare(state, NOW + 5_000))),
    )
  })

  it('never goes below a small share, and recovers within ten minutes', () => {
    let state: PaceState = {}
    for (let i = 0; i < 50; i++) state = learn(bounds, state, refused, NOW + i * 5_000)
    const last = NOW + 49 * 5_000
    expect(learnedShare(state, last)).toBeGreaterThanOrEqual(1 / 64)
    expect(learnedShare(state, last)).toBeLessThan(0.04)
    expect(learnedShare(state, last + 300_000)).toBeGreaterThan(0.5)
    expect(learnedShare(state, last + 600_000)).toBe(1)
    expect(tidied(state, last + 600_000)).toEqual({})
  })

  it('waits as long as a response asks, and the longest if several do', () => {
    let state = learn(bounds, {}, { kind: 'wait', ms: 30_000 }, NOW)
    state = learn(bounds, state, { kind: 'wait', ms: 1_000 }, NOW + 100)
    expect(allowedAt(bounds, state, startCost(), NOW + 100)).toBe(NOW + 30_000)
    expect(startsNow(bounds, state, NOW + 29_999)).toBe(0)
    expect(learnedShare(state, NOW + 30_000)).toBeCloseTo(0.5, 3)
    expect(startsNow(bounds, state, NOW + 30_000)).toBe(100)
  })

  it('still waits if another job is refused meanwhile', () => {
    const waits = learn(bounds, {}, { kind: 'wait', ms: 30_000 }, NOW)
    const state = learn(bounds, waits, refused, NOW + 10_000)
    expect(allowedAt(bounds, state, startCost(), NOW + 10_000)).toBe(NOW + 30_000)
  })

  it('slows down to what is left', () => {
    const state = learn(bounds, {}, { kind: 'left', starts: 100, ms: 10_000 }, NOW)
    expect(learnedShare(state, NOW)).toBeCloseTo(0.1)
    expect(learnedShare(state, NOW + 10_000)).toBeCloseTo(0.1)
    expect(learnedShare(state, NOW + 70_000)).toBeCloseTo(0.2)
    expect(learn(bounds, {}, { kind: 'left', starts: 5_000, ms: 10_000 }, NOW)).toEqual({})
  })

  it('waits if nothing is left, without a lower rate after it', () => {
    const state = learn(bounds, {}, { kind: 'left', starts: 0, ms: 10_000 }, NOW)
    expect(allowedAt(bounds, state, startCost(), NOW)).toBe(NOW + 10_000)
    expect(learnedShare(state, NOW + 10_000)).toBe(1)
    expect(learnedShare(learn(bounds, state, refused, NOW + 1_000), NOW + 1_000)).toBeCloseTo(0.5, 2)
  })

  it('does not recover faster because nothing is left', () => {
    const lowered = learn(bounds, {}, refused, NOW)
    const later = NOW + 60_000
    const state = learn(bounds, lowered, { kind: 'left', starts: 0, ms: 1_000 }, later)
    expect(learnedShare(state, later)).toBeCloseTo(learnedShare(lowered, later), 5)
    expect(learnedShare(state, later + 60_000)).toBeCloseTo(learnedShare(lowered, later + 60_000), 5)
  })

  it('does not shorten a longer wait if nothing is left', () => {
    const waits = learn(bounds, {}, { kind: 'wait', ms: 30_000 }, NOW)
    const state = learn(bounds, waits, { kind: 'left', starts: 0, ms: 1_000 }, NOW)
    expect(allowedAt(bounds, state, startCost(), NOW)).toBe(NOW + 30_000)
  })

  it('happens only if it was asked for', () => {
    expect(learn(boundsOf({ rate: '100/s' }), {}, refused, NOW)).toEqual({})
    expect(learn(boundsOf({ concurrency: 1 }), {}, refused, NOW)).toEqual({})
  })
})

describe('what is remembered', () => {
  it('is nothing once the bucket is full', () => {
    const bounds = boundsOf({ rate: '1/s', units: { tokens: '1/s' } })
    const state = spend(bounds, {}, startCost({ tokens: 10 }), NOW)
    expect(Object.keys(tidied(state, NOW).clocks ?? {})).toEqual(['tokens', STARTS])
    expect(Object.keys(tidied(state, NOW + 1_000).clocks ?? {})).toEqual(['tokens'])
    expect(tidied(state, NOW + 10_000)).toEqual({})
  })

  it('ends at the time that `idleAt` says', () => {
    const bounds = boundsOf({ rate: '7/m', learn: true })
    const spent = spend(bounds, {}, { [STARTS]: 20 }, NOW)
    const states = [
      spent,
      learn(bounds, {}, { kind: 'refused' }, NOW),
      learn(bounds, spent, { kind: 'wait', ms: 3_600_000 }, NOW),
      learn(bounds, {}, { kind: 'left', starts: 0, ms: 3_600_000 }, NOW),
    ]
    for (const state of states) {
      expect(tidied(state, idleAt(state))).toEqual({})
      expect(tidied(state, idleAt(state) - 2)).not.toEqual({})
    }
    expect(idleAt({})).toBe(0)
  })
})
