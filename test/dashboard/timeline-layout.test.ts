import { describe, expect, it } from 'vitest'
import { scaleOf } from '../../src/dashboard/charts/scale.js'
import { frameOf } from '../../src/dashboard/timeline/frame.js'
import { type History, stretchesOf } from '../../src/dashboard/timeline/history.js'
import { hatch, insideOf, place, stepFor, torn } from '../../src/dashboard/timeline/timeline-layout.js'

describe('a text in a timeline', () => {
  it.each([
    [5, 'deadline', 25.6],
    [100, 'deadline', 100],
    [198, 'deadline', 174.4],
  ])('centred at %d stays inside', (middle, text, expected) => {
    expect(insideOf(middle, text, 200)).toBeCloseTo(expected)
  })
})

describe('the step of an axis', () => {
  it.each([
    [1_000, 100],
    [60_000, 10_000],
    [3_600_000, 600_000],
    [30 * 86_400_000, 3 * 86_400_000],
  ])('over %d ms is round and leaves room for the labels', (spanMs, step) => {
    expect(stepFor(spanMs, 900, 90)).toBe(step)
  })
})

describe('the texts of a timeline', () => {
  const run = (from: number, to: number, number: number) => ({
    kind: 'run' as const,
    from,
    to,
    label: number === 1 ? 'Initial' : `Retry #${number - 1}`,
    generation: 1,
    status: 'failed',
    run: number,
    rows: [{ label: '', generation: 1, status: 'failed' as const, spans: [] }],
  })
  const history: History = {
    parts: [
      run(0, 1_000, 1),
      { kind: 'wait', from: 1_000, to: 61_000 },
      { kind: 'queue', from: 61_000, to: 62_000 },
      run(62_000, 63_000, 2),
      {
        kind: 'ghost',
        attempt: 6,
        label: 'Retry #5',
        earliest: 70_000,
        latest: 90_000,
        from: 80_000,
        to: 80_000,
        skipped: 3,
        isLast: true,
      },
    ],
    from: 0,
    to: 80_000,
    now: 63_000,
    earlier: 0,
  }
  const textsOf = (isDown: boolean, width: number) => {
    const room = { length: isDown ? 300 : width, activeMin: 40, activeUsual: 44, activeMax: 72, cutMin: 30 }
    const scale = scaleOf(stretchesOf(history, true), 'compressed', room)
    return place(history, scale, frameOf(isDown, width)).map(({ label, took, written }) => [label, took, written])
  }

  it('are above the runs and on the waits of a horizontal timeline', () => {
    expect(textsOf(false, 900)).toEqual([
      ['Initial', '1s', undefined],
      [undefined, undefined, '1m'],
      [undefined, undefined, '1s'],
      ['Retry #1', '1s', undefined],
      ['Retry #5', '+3 before', undefined],
    ])
  })

  it('are longer in a vertical timeline', () => {
    const [initial, ...others] = textsOf(true, 390)
    expect(initial).toEqual(['Initial · failed', expect.stringMatching(/^\d\d:\d\d:\d\d · 1s$/), undefined])
    expect(others).toEqual([
      [undefined, 'waits 1m', undefined],
      [undefined, 'due for 1s, no worker yet', undefined],
      ['Retry #1 · failed', expect.stringMatching(/ · 1s$/), undefined],
      ['Retry #5, 3 more before it', 'in 7s to 27s', undefined],
    ])
  })

  it('are cut to the width of the screen', () => {
    expect(textsOf(true, 120)[4]![1]).toBe('in 7s to…')
  })
})

describe('shapes', () => {
  it('hatches a box with lines that stay inside it', () => {
    const numbers = hatch({ x: 10, y: 20, width: 30, height: 12 }, 6)
      .match(/[\d.]+/g)!
      .map(Number)
    numbers.forEach((value, i) => {
      const [min, max] = i % 2 === 0 ? [10, 40] : [20, 32]
      expect(value).toBeGreaterThanOrEqual(min)
      expect(value).toBeLessThanOrEqual(max)
    })
  })

  it('tears the right edge of a box', () => {
    expect(torn({ x: 0, y: 0, width: 30, height: 40 })).toMatch(/^M0 0H30L25 5L30 10.*H0Z$/)
  })
})
