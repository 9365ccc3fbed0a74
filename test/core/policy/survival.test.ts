import { describe, expect, it } from 'vitest'
import type { Jitter } from '../../../src/core/policy/policy.js'
import { PRESETS, type PresetName } from '../../../src/core/policy/presets.js'
import { preview, typicalStarts } from '../../../src/core/policy/preview.js'
import { outageSurvived } from '../../../src/core/policy/survival.js'
import { simulate } from '../../../src/core/simulation/simulate.js'

const { standard } = PRESETS
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

describe('outage survived', () => {
  it.each<[PresetName, number]>([
    ['http', 1_000 + 2_000 + 4_000],
    ['webhook', 30_000 + 60_000 + 120_000],
    ['none', 0],
  ])('is the sum of the delays of %s, to the millisecond: %i', (name, ms) => {
    expect(outageSurvived(PRESETS[name])).toBe(ms)
  })

  /* For a sum of uniform draws, the probability of at most x above its minimum is xⁿ / (n! · w₁ · … · wₙ), as long as x is within the narrowest window. One job in a hundred falls short of that x. */
  it.each<[PresetName, number]>([
    // 336 s + ∛(0.01 · 3! · 24 s · 48 s · 96 s)
    ['standard', 336_000 + (0.01 * 6 * 24_000 * 48_000 * 96_000) ** (1 / 3)],
    // √(0.01 · 2! · 0.1 s · 0.2 s)
    ['lowLatency', (0.01 * 2 * 100 * 200) ** (1 / 2)],
    // ∛(0.01 · 3! · 0.5 s · 1 s · 2 s)
    ['queue', (0.01 * 6 * 500 * 1_000 * 2_000) ** (1 / 3)],
  ])('is what one job of %s in a hundred falls short of, computed as %d', (name, ms) => {
    const least = sum(preview(PRESETS[name]).map(row => row.window[0]))
    const drawn = outageSurvived(PRESETS[name]) - least
    // Draws are whole milliseconds.
    expect(Math.abs(drawn - (ms - least))).toBeLessThanOrEqual(1 + (ms - least) * 0.05)
  })

  it('is between its least and its average for patient', () => {
    const [least, average] = [preview(PRESETS.patient).at(-1)!.totalMs[0], typicalStarts(PRESETS.patient).at(-1)!]
    const survived = outageSurvived(PRESETS.patient)
    expect(survived).toBeGreaterThan(least)
    expect(survived).toBeLessThan(average)
  })

  it('leaves 99 % alive in a simulation of just that outage, and fewer in a longer one', () => {
    const survivedMs = outageSurvived(standard)
    const alive = (outage: number) => simulate(standard, { jobs: 20_000, outage }).withJitter.succeeded / 20_000
    expect(alive(survivedMs)).toBeGreaterThan(0.985)
    expect(alive(survivedMs)).toBeLessThan(0.995)
    expect(alive(survivedMs + 10_000)).toBeLessThan(0.985)
    expect(alive(336_000)).toBe(1)
  })

  it('is cut by maxElapsed', () => {
    expect(outageSurvived({ ...PRESETS.http, maxElapsed: '5s' })).toBe(3_000)
  })

  it('never shrinks with another retry, a longer base or a higher cap', () => {
    const jitters: readonly Jitter[] = ['none', 'full', 'equal', 'decorrelated', 0.2]
    for (const jitter of jitters) {
      const survived = (maxRetries: number, base: number, cap: number) =>
        outageSurvived({ maxRetries, backoff: { type: 'exponential', base }, jitter, cap })
      for (const [less, more] of [
        [survived(3, 1_000, 60_000), survived(4, 1_000, 60_000)],
        [survived(7, 1_000, 60_000), survived(12, 1_000, 60_000)],
        [survived(6, 1_000, 60_000), survived(6, 1_500, 60_000)],
        [survived(6, 1_000, 8_000), survived(6, 1_000, 20_000)],
      ] as const) {
        expect(more, String(jitter)).toBeGreaterThanOrEqual(less)
      }
    }
  })
})

describe('typical starts', () => {
  it('are in the middle between the earliest and the latest', () => {
    for (const name of ['standard', 'http', 'financial', 'patient'] as const) {
      const rows = preview(PRESETS[name])
      const starts = typicalStarts(PRESETS[name])
      expect(starts).toHaveLength(rows.length)
      rows.forEach(({ totalMs: [min, max] }, i) => {
        expect(Math.abs(starts[i]! - (min + max) / 2)).toBeLessThanOrEqual(1)
      })
    }
  })

  it('follow the average, not the worst case, with decorrelated jitter', () => {
    const policy = { maxRetries: 3, backoff: { type: 'exponential', base: '1s' }, jitter: 'decorrelated' } as const
    // 1…3 → 2; 1…6 → 3.5; 1…10.5 → 5.75
    expect(typicalStarts(policy)).toEqual([2_000, 5_500, 11_250])
  })
})
