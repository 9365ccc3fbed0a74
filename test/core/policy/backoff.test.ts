import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type ComputedBackoff, capMs, delayWindow, rawDelay } from '../../../src/core/policy/backoff.js'
import { pick } from '../../../src/core/policy/jitter.js'
import type { Backoff, Jitter, Policy } from '../../../src/core/policy/policy.js'
import { PRESETS } from '../../../src/core/policy/presets.js'
import { preview } from '../../../src/core/policy/preview.js'
import { toMs } from '../../../src/core/values/duration.js'
import vectors from '../../vectors/backoff.json' with { type: 'json' }
import draws from '../../vectors/backoff-draws.json' with { type: 'json' }

interface Vector {
  readonly id: string
  readonly backoff: ComputedBackoff
  readonly n: number
  readonly cap: Policy['cap']
  readonly none: readonly number[] | null
  readonly proportional: readonly number[] | null
  readonly full: readonly number[] | null
  readonly equal: readonly number[] | null
  readonly decorrelated?: readonly number[]
}

const VECTORS = vectors as unknown as readonly Vector[]
const window = (policy: Pick<Policy, 'backoff' | 'jitter' | 'cap'>, n: number, previous?: number) => {
  const found = delayWindow(policy, n, previous)
  return found === null ? null : [found.lo, found.hi]
}

describe('the wait before retry n (R1, R2)', () => {
  const second: readonly [string, ComputedBackoff, readonly (number | null)[]][] = [
    ['exponential', { type: 'exponential', base: '1s' }, [1_000, 2_000, 4_000, 8_000, 16_000]],
    ['exponential with a factor', { type: 'exponential', base: '1s', factor: 3 }, [1_000, 3_000, 9_000]],
    ['linear', { type: 'linear', base: '1s' }, [1_000, 2_000, 3_000, 4_000]],
    ['linear with an increment', { type: 'linear', base: '5s', increment: '10s' }, [5_000, 15_000, 25_000]],
    ['fixed', { type: 'fixed', delay: '1s' }, [1_000, 1_000, 1_000]],
    ['fibonacci', { type: 'fibonacci', base: '1s' }, [1_000, 1_000, 2_000, 3_000, 5_000, 8_000]],
    ['list', { type: 'list', delays: ['30s', '60s', '120s'] }, [30_000, 60_000, 120_000, null]],
    ['list that repeats', { type: 'list', delays: ['30s', '60s'], afterEnd: 'repeat-last' }, [30_000, 60_000, 60_000]],
  ]
  it.each(second)('%s', (_, backoff, waits) => {
    expect(waits.map((_, i) => rawDelay(backoff, i + 1))).toEqual(waits)
  })

  it.each(['exponential', 'linear', 'fibonacci'] as const)('%s: the first retry waits exactly the base', type => {
    expect(rawDelay({ type, base: '60s' }, 1)).toBe(60_000)
  })

  it.each(['exponential', 'linear', 'fibonacci'] as const)('%s: takes no step for each retry before', type => {
    // A loop over all retries before this one would never end.
    const last = Number.MAX_SAFE_INTEGER
    expect(window({ backoff: { type, base: '1ms' }, jitter: 'none', cap: '1h' }, last)).toEqual([3_600_000, 3_600_000])
  })

  it('computes the millionth retry', () => {
    const million = 1_000_000
    const at = (backoff: Backoff) => window({ backoff, jitter: 'none', cap: '1h' }, million)
    expect(at({ type: 'exponential', base: '1s' })).toEqual([3_600_000, 3_600_000])
    expect(at({ type: 'linear', base: '1s' })).toEqual([3_600_000, 3_600_000])
    expect(at({ type: 'fixed', delay: '1s' })).toEqual([1_000, 1_000])
    expect(at({ type: 'fibonacci', base: '1ms' })).toEqual([3_600_000, 3_600_000])
    expect(at({ type: 'list', delays: ['1s'], afterEnd: 'repeat-last' })).toEqual([1_000, 1_000])
    expect(at({ type: 'list', delays: ['1s'] })).toBeNull()
    expect(at({ type: 'exponential', base: 0 })).toEqual([0, 0])
    expect(at({ type: 'exponential', base: '1s', factor: 1 })).toEqual([1_000, 1_000])
    expect(rawDelay({ type: 'fibonacci', base: '1s' }, million)).toBe(Number.POSITIVE_INFINITY)
  })
})

describe('the window of a delay (R3)', () => {
  it.each(VECTORS)('$id, retry $n', ({ backoff, n, cap, none, proportional, full, equal, decorrelated }) => {
    const at = (jitter: Jitter) => window({ backoff, jitter, ...(cap !== undefined && { cap }) }, n)
    expect(at('none')).toEqual(none)
    expect(at(0.2)).toEqual(proportional)
    expect(at('full')).toEqual(full)
    expect(at('equal')).toEqual(equal)
    if (decorrelated !== undefined) {
      const rows = preview({ maxRetries: 1_000, backoff, jitter: 'decorrelated', ...(cap !== undefined && { cap }) })
      expect(rows[Math.min(n, rows.length) - 1]?.window).toEqual(decorrelated)
    }
  })

  const policies: Readonly<Record<string, Pick<Policy, 'backoff' | 'jitter' | 'cap'>>> = {
    'E1 full': { backoff: { type: 'exponential', base: '1s' }, jitter: 'full', cap: '60s' },
    'E1 equal': { backoff: { type: 'exponential', base: '1s' }, jitter: 'equal', cap: '60s' },
    'E1 ±20 %': { backoff: { type: 'exponential', base: '1s' }, jitter: 0.2, cap: '60s' },
    'S1 ±20 %': { backoff: { type: 'list', delays: ['30s', '60s', '120s'] }, jitter: 0.2 },
  }
  it.each(draws.exact)('draws of $l, retry $n', ({ l, n, v }) => {
    const found = delayWindow(policies[l]!, n)!
    expect([0, 0.25, 0.5, 0.75, 0.999999].map(u => pick(found, u))).toEqual(v)
  })

  it.each(draws.seqs)('decorrelated delays with draws of $u', ({ u, s }) => {
    const policy = { backoff: { type: 'exponential', base: '1s' }, jitter: 'decorrelated', cap: '60s' } as const
    let previous: number | undefined
    const delays = s.map((_, i) => {
      previous = pick(delayWindow(policy, i + 1, previous)!, u)
      return previous
    })
    expect(delays).toEqual(s)
  })

  it('is at most 24 hours if no cap is given', () => {
    expect(window({ backoff: { type: 'exponential', base: '1h' }, jitter: 'none' }, 50)).toEqual([
      86_400_000, 86_400_000,
    ])
  })

  it('does not cut a longer configured delay if no cap is given', () => {
    expect(capMs({ backoff: { type: 'list', delays: ['1s', '3d'] } })).toBe(3 * 86_400_000)
    expect(capMs({ backoff: { type: 'custom', name: 'mine' } })).toBe(86_400_000)
  })

  it('is everything up to the cap for a custom backoff', () => {
    expect(window({ backoff: { type: 'custom', name: 'mine' }, jitter: 0.2, cap: '1m' }, 1)).toEqual([0, 60_000])
  })

  it('tolerates draws slightly out of range', () => {
    expect([1, 1.5, -0.1, Number.NaN].map(u => pick({ lo: 10, hi: 20 }, u))).toEqual([20, 20, 10, 10])
  })
})

describe('a drawn delay', () => {
  const time = fc.integer({ min: 0, max: 10 * 86_400_000 })
  const backoff: fc.Arbitrary<ComputedBackoff> = fc.oneof(
    fc.record({
      type: fc.constant('exponential' as const),
      base: time,
      factor: fc.double({ min: 1, max: 100, noNaN: true }),
    }),
    fc.record({ type: fc.constant('linear' as const), base: time, increment: time }),
    fc.record({ type: fc.constant('fixed' as const), delay: time }),
    fc.record({ type: fc.constant('fibonacci' as const), base: time }),
    fc.record({
      type: fc.constant('list' as const),
      delays: fc.array(time, { minLength: 1, maxLength: 5 }),
      afterEnd: fc.constant('repeat-last' as const),
    }),
  )
  const jitter: fc.Arbitrary<Jitter> = fc.oneof(
    fc.constantFrom('none' as const, 'full' as const, 'equal' as const, 'decorrelated' as const),
    fc.double({ min: 0, max: 1, noNaN: true }),
  )
  const u = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
  const n = fc.integer({ min: 1, max: 1_000_000 })

  it('lies in its window, and never over the cap (R3)', () => {
    fc.assert(
      fc.property(backoff, jitter, time, n, u, time, (backoff, jitter, cap, n, u, previous) => {
        const found = delayWindow({ backoff, jitter, cap }, n, previous)!
        const delay = pick(found, u)
        expect(Number.isSafeInteger(delay)).toBe(true)
        expect(found.lo <= delay && delay <= found.hi).toBe(true)
        expect(0 <= delay && found.hi <= cap).toBe(true)
        expect(pick(found, 0)).toBe(found.lo)
      }),
      { numRuns: 2_000 },
    )
  })

  it('never shrinks from retry to retry without jitter, lists aside', () => {
    fc.assert(
      fc.property(backoff, n, (backoff, n) => {
        fc.pre(backoff.type !== 'list')
        const [now, next] = [n, n + 1].map(i => delayWindow({ backoff, jitter: 'none' }, i)!.lo)
        expect(next).toBeGreaterThanOrEqual(now!)
      }),
    )
  })

  it('falls between 48 and 72 seconds for 100 jobs that fail together, with ±20 % of 60 s, and spreads (document 1)', () => {
    const delays = Array.from({ length: 100 }, (_, i) => pick(delayWindow(PRESETS.standard, 1)!, i / 100))
    expect(Math.min(...delays)).toBe(48_000)
    expect(Math.max(...delays)).toBeLessThanOrEqual(72_000)
    expect(new Set(delays).size).toBe(100)
  })
})

describe('preview', () => {
  it('shows every retry with its window and the total so far', () => {
    expect(preview(PRESETS.standard)).toEqual([
      { retry: 1, label: 'Retry #1', delayMs: 60_000, window: [48_000, 72_000], totalMs: [48_000, 72_000] },
      { retry: 2, label: 'Retry #2', delayMs: 120_000, window: [96_000, 144_000], totalMs: [144_000, 216_000] },
      { retry: 3, label: 'Retry #3', delayMs: 240_000, window: [192_000, 288_000], totalMs: [336_000, 504_000] },
    ])
  })

  it('ends with a list, and after a thousand rows', () => {
    expect(preview({ ...PRESETS.webhook, maxRetries: 9 })).toHaveLength(3)
    expect(preview({ ...PRESETS.http, maxRetries: 5_000 })).toHaveLength(1_000)
    expect(preview(PRESETS.none)).toEqual([])
  })

  it('does not predict the result of a function', () => {
    const [row] = preview({ maxRetries: 1, backoff: { type: 'custom', name: 'mine' }, jitter: 0.2, cap: '1m' })
    expect(row).toMatchObject({ delayMs: null, window: [0, 60_000] })
  })
})

describe('presets (R4)', () => {
  const waits = (policy: Policy) => preview(policy).map(row => row.delayMs! / 1_000)

  it('standard: 3 retries, base 60 s, cap 1 h, ±20 %', () => {
    expect(PRESETS.standard).toMatchObject({ maxRetries: 3, jitter: 0.2 })
    expect(toMs(PRESETS.standard.cap, 'cap')).toBe(3_600_000)
    expect(waits(PRESETS.standard)).toEqual([60, 120, 240])
  })

  it('http: T+0, +1, +3, +7, to the millisecond', () => {
    expect(preview(PRESETS.http).map(row => row.totalMs)).toEqual([
      [1_000, 1_000],
      [3_000, 3_000],
      [7_000, 7_000],
    ])
  })

  it('the others carry the numbers of their documents', () => {
    expect(waits(PRESETS.lowLatency)).toEqual([0.1, 0.2])
    expect(waits(PRESETS.financial)).toEqual([1, 2, 4, 8, 16])
    expect(waits(PRESETS.queue)).toEqual([0.5, 1, 2])
    expect(waits(PRESETS.webhook)).toEqual([30, 60, 120])
    expect(waits(PRESETS.patient)).toHaveLength(20)
    expect(Math.max(...waits(PRESETS.patient))).toBe(6 * 3_600)
    expect(waits(PRESETS.none)).toEqual([])
    expect(['lowLatency', 'financial', 'queue'].map(name => PRESETS[name as 'queue'].jitter)).toEqual([
      'full',
      'full',
      'full',
    ])
    expect(PRESETS.patient.jitter).toBe('equal')
    expect(PRESETS.webhook.cap).toBeUndefined()
  })
})
