import { describe, expect, it } from 'vitest'
import { type AxisMode, median, type Room, type Stretch, scaleOf } from '../../src/dashboard/charts/scale.js'

const ROOM: Room = { length: 800, activeMin: 18, activeUsual: 40, activeMax: 170, cutMin: 58 }
const run = (from: number, to: number): Stretch => ({ from, to, kind: 'active' })
const wait = (from: number, to: number): Stretch => ({ from, to, kind: 'idle' })

/** Three runs of 100 ms with a short and a very long wait between them. */
const LIFE = [run(0, 100), wait(100, 300), run(300, 400), wait(400, 3_600_400), run(3_600_400, 3_600_500)]

const width = (stretches: readonly Stretch[], mode: AxisMode, i: number, room = ROOM): number => {
  const { start, end } = scaleOf(stretches, mode, room).pieces[i]!
  return end - start
}

describe('the axis of a timeline', () => {
  it.each(['compressed', 'linear', 'log'] as const)('keeps the order of time and fills its width (%s)', mode => {
    const { pieces, length } = scaleOf(LIFE, mode, ROOM)
    pieces.forEach((piece, i) => {
      expect(piece.end).toBeGreaterThanOrEqual(piece.start)
      expect(piece.start).toBeCloseTo(pieces[i - 1]?.end ?? 0)
    })
    expect(length).toBeLessThanOrEqual(800.001)
    expect(length).toBeGreaterThan(700)
  })

  it('cuts only a wait of more than four usual runs', () => {
    expect(scaleOf(LIFE, 'compressed', ROOM).pieces.map(({ isCut }) => isCut)).toEqual([
      false,
      false,
      false,
      true,
      false,
    ])
    expect(scaleOf(LIFE, 'linear', ROOM).pieces.some(({ isCut }) => isCut)).toBe(false)
  })

  it('draws a short wait at the scale of the runs beside it', () => {
    expect(width(LIFE, 'compressed', 1) / width(LIFE, 'compressed', 0)).toBeCloseTo(2)
  })

  it('draws the longer of two long waits only a little longer', () => {
    const waits = [run(0, 100), wait(100, 1_100), run(1_100, 1_200), wait(1_200, 9_200), run(9_200, 9_300)]
    const [short, long] = [width(waits, 'compressed', 1), width(waits, 'compressed', 3)]
    expect(long).toBeGreaterThan(short)
    expect(long).toBeLessThan(3 * short)
  })

  it('keeps every run visible, also on the linear scale', () => {
    expect(width(LIFE, 'linear', 0)).toBe(4)
    expect(width(LIFE, 'linear', 3)).toBeGreaterThan(780)
  })

  it('exceeds its width rather than hide a run', () => {
    const many = Array.from({ length: 100 }, (_, i) => run(i * 10, i * 10 + 10))
    expect(scaleOf(many, 'compressed', { ...ROOM, length: 400 }).length).toBe(1_800)
  })

  it('does not stretch one short run to the whole width', () => {
    expect(scaleOf([run(0, 5)], 'compressed', ROOM).length).toBe(340)
  })

  it('gives the first seconds the most space on a logarithmic axis', () => {
    const even = [wait(0, 1_000), wait(1_000, 2_000), wait(2_000, 3_000)]
    expect(width(even, 'log', 0)).toBeGreaterThan(width(even, 'log', 1))
    expect(width(even, 'log', 1)).toBeGreaterThan(width(even, 'log', 2))
  })

  it('finds the position of a moment within a cut part, and clamps moments outside', () => {
    const scale = scaleOf(LIFE, 'compressed', ROOM)
    const { start, end } = scale.pieces[3]!
    expect(scale.at(400 + 1_800_000)).toBeCloseTo((start + end) / 2)
    expect(scale.at(-5_000)).toBe(0)
    expect(scale.at(9_999_999)).toBe(scale.length)
  })

  it('has a position for a part without length', () => {
    const ghost: Stretch = { from: 100, to: 100, kind: 'point' }
    expect(width([run(0, 100), ghost], 'compressed', 1)).toBeGreaterThanOrEqual(18)
  })

  it('is empty without parts', () => {
    const scale = scaleOf([], 'compressed', ROOM)
    expect([scale.length, scale.at(5)]).toEqual([0, 0])
  })
})

describe('median', () => {
  it.each([
    [[], 0],
    [[3], 3],
    [[9, 1, 5], 5],
    [[4, 1, 3, 2], 2.5],
  ])('finds the middle of %j: %d', (values, expected) => {
    expect(median(values)).toBe(expected)
  })
})
