import { describe, expect, it } from 'vitest'
import { bar } from '../../../src/cli/output/bar.js'
import type { Style } from '../../../src/cli/output/print.js'
import { lastHours, sparkline } from '../../../src/cli/output/sparkline.js'

const PLAIN: Style = { colour: false, boxes: false, unicode: true, columns: 80 }
const ASCII: Style = { ...PLAIN, unicode: false }

describe('sparkline', () => {
  it.each([
    [[], '', ''],
    [[0, 0], '··', '..'],
    [[0, 1, 2, 3, 4, 5, 6, 7, 8], '·▁▂▃▄▅▆▇█', '.-==+**##'],
    [[1, 1000], '▁█', '-#'],
    [[5], '█', '#'],
  ])('draws %j as %s', (values, unicode, ascii) => {
    expect([sparkline(values, PLAIN), sparkline(values, ASCII)]).toEqual([unicode, ascii])
  })
})

describe('the last hours', () => {
  const now = Date.parse('2026-03-01T12:34:56Z')
  const at = (hour: string) => ({ at: `2026-03-01T${hour}:00:00.000Z`, failures: 2 })

  it.each([
    ['end with the current hour', [at('12')], { cells: 3, cellHours: 1 }, [0, 0, 2]],
    ['are in order', [at('10'), at('11')], { cells: 3, cellHours: 1 }, [2, 2, 0]],
    ['are added up in longer cells', [at('09'), at('10'), at('12')], { cells: 2, cellHours: 2 }, [4, 2]],
    ['leave out earlier hours', [at('09')], { cells: 3, cellHours: 1 }, [0, 0, 0]],
    ['include counts of a clock that is ahead', [at('13')], { cells: 3, cellHours: 1 }, [0, 0, 2]],
  ])('%s', (_, counts, shape, sums) => {
    expect(lastHours(counts, now, shape)).toEqual(sums)
  })
})

describe('a bar', () => {
  const parts = (done: number, failed: number) =>
    [
      { value: done, symbol: '█', ascii: '#', tone: 'good' },
      { value: failed, symbol: '▓', ascii: 'x', tone: 'bad' },
    ] as const

  it.each([
    [0, 0, 10, '░░░░░░░░░░'],
    [5, 0, 10, '█████░░░░░'],
    [9, 1, 10, '█████████▓'],
    [10, 0, 10, '██████████'],
    [1, 1, 1_000, '█▓░░░░░░░░'],
    [3, 0, 0, '██████████'],
  ])('shows %i and %i in %i', (done, failed, whole, drawn) => {
    expect(bar(parts(done, failed), whole, 10, PLAIN)).toBe(drawn)
  })

  it('can use ASCII only', () => {
    expect(bar(parts(4, 2), 10, 10, ASCII)).toBe('####xx....')
  })
})
