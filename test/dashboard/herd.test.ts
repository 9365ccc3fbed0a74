import { describe, expect, it } from 'vitest'
import { PRESETS } from '../../src/core/policy/presets.js'
import { simulate, stormOf } from '../../src/core/simulation/simulate.js'
import { herdPath, peakAt, roundUp, spanFor, timeTicks, valueTicks } from '../../src/dashboard/simulator/herd.js'
import { tryOut } from '../../src/dashboard/simulator/simulation.js'

const FRAME = { width: 100, height: 50, spanMs: 100_000, topPerSecond: 10 }
const series = (peaks: readonly number[], binMs = 1_000) => ({ binMs, peaks, attempts: peaks, served: [] })

describe('the chart of a thundering herd', () => {
  it('is as high as the worst second of each column', () => {
    const wave = Array.from({ length: 100 }, (_, i) => (i === 40 ? 10 : i === 41 ? 5 : 0))
    expect(herdPath(series(wave), FRAME)).toBe('M0 50H40V0H41V25H42V50H100V50Z')
  })

  it('does not lose a wave of one second in a long simulation', () => {
    const wave = Array.from({ length: 2_000 }, (_, i) => (i === 777 ? 8 : 0))
    expect(herdPath(series(wave), { ...FRAME, spanMs: 2_000_000 })).toContain('V10')
  })

  it('clips values above the scale', () => {
    expect(herdPath(series([1_000]), FRAME)).toBe('M0 50H0V0H1V50H100V50Z')
  })

  it('finds the peak around a moment, and zero after the end', () => {
    expect([peakAt(series([3, 7]), 1_400), peakAt(series([3, 7]), 9_000)]).toEqual([7, 0])
  })
})

describe('the scale of the herd simulator', () => {
  it.each([
    [0, 1],
    [73, 80],
    [120, 120],
    [1_001, 1_200],
  ])('over %d goes up to %d', (value, top) => {
    expect(roundUp(value)).toBe(top)
  })

  it('lasts until the last job is done, and at least ten seconds', () => {
    expect(spanFor([1_000, 100_000], 30_000)).toBeCloseTo(108_000)
    expect(spanFor([0], 0)).toBe(10_000)
  })

  it('has round times and values', () => {
    expect(timeTicks(100_000, 600).map(({ text }) => text)).toEqual([
      '0',
      '15s',
      '30s',
      '45s',
      '1m',
      '1m 15s',
      '1m 30s',
    ])
    expect([valueTicks(120), valueTicks(2)]).toEqual([[60, 120], [2]])
  })
})

describe('a simulation for the screen', () => {
  const scenario = { jobs: 200, outage: '30s', capacityPerSecond: 50 } as const

  it('is the simulation of core, with findings and delays', () => {
    const answer = tryOut([{ policy: PRESETS.financial, storm: stormOf(PRESETS.financial, scenario) }])
    if ('problem' in answer) throw new Error(answer.problem)
    const [result] = answer.results
    expect(result?.withJitter).toEqual(simulate(PRESETS.financial, scenario).withJitter)
    expect(result?.rows).toHaveLength(5)
    expect(result?.typicalMs).toHaveLength(5)
    expect(result?.findings.map(({ code }) => code)).toContain('full-jitter-halves')
  })

  it('reports the error of core', () => {
    const policy = { ...PRESETS.standard, backoff: { type: 'custom', name: 'mine' } } as const
    const answer = tryOut([{ policy, storm: stormOf(PRESETS.standard, scenario) }])
    expect(answer).toEqual({ problem: expect.stringMatching(/^policy\.backoff: "mine"/) })
  })

  it('is refused before a thread starts', () => {
    expect(() => stormOf(PRESETS.standard, { ...scenario, jobs: -1 })).toThrow(/^scenario\.jobs/)
  })
})
