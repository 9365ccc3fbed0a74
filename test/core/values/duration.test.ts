import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DURATION_MAX_MS, formatMs, toMs } from '../../../src/core/values/duration.js'
import { ChronosError } from '../../../src/core/values/error.js'

describe('toMs', () => {
  it.each([
    [250, 250],
    ['250ms', 250],
    ['30s', 30_000],
    ['1.5s', 1_500],
    ['5m', 300_000],
    ['2h', 7_200_000],
    ['7d', 604_800_000],
    ['0.4ms', 0],
    [0, 0],
    ['1825d', DURATION_MAX_MS],
  ])('reads %j as %d ms', (value, ms) => {
    expect(toMs(value, 'x')).toBe(ms)
  })

  it.each([
    'soon',
    '',
    '30',
    '30 s',
    '-1s',
    '1e3s',
    's',
    '1.s',
    '1w',
    '1s ',
    null,
    undefined,
    {},
    [],
    true,
    5n,
    Symbol('x'),
    () => 1,
  ])('refuses %o', value => {
    expect(() => toMs(value, 'retry.base')).toThrow(
      /^retry\.base: expected a duration such as "30s" or a number of milliseconds, got /,
    )
  })

  it('names the thing, the value and the fix', () => {
    expect(() => toMs('soon', 'retry.base')).toThrow(
      'retry.base: expected a duration such as "30s" or a number of milliseconds, got "soon"',
    )
    expect(() => toMs(-1, 'timeout')).toThrow('timeout: expected a duration of at least 0ms, got -1')
    expect(() => toMs('6000d', 'cap')).toThrow('cap: expected a duration of at most 1825d, got "6000d"')
    expect(() => toMs('5s', 'lease', { min: 10_000 })).toThrow('lease: expected a duration of at least 10s, got "5s"')
    expect(() => toMs('5s', 'lease', { max: 1_000 })).toThrow('lease: expected a duration of at most 1s, got "5s"')
  })

  it('throws a stable code', () => {
    expect(codeOf(() => toMs('soon', 'x'))).toBe('INVALID_DURATION')
  })

  it('reads any number with any unit, and nothing else throws', () => {
    const unit = fc.constantFrom(['ms', 1], ['s', 1_000], ['m', 60_000], ['h', 3_600_000], ['d', 86_400_000] as const)
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1_825 }), unit, (count, [name, size]) => {
        expect(toMs(`${count}${name}`, 'x')).toBe(count * Number(size))
      }),
    )
    fc.assert(
      fc.property(fc.anything(), value => {
        try {
          expect(Number.isInteger(toMs(value, 'x'))).toBe(true)
        } catch (error) {
          expect(error).toBeInstanceOf(ChronosError)
        }
      }),
    )
  })
})

describe('formatMs', () => {
  it.each([
    [0, '0ms'],
    [250, '250ms'],
    [999.6, '1s'],
    [1_000, '1s'],
    [1_500, '1.5s'],
    [59_940, '59.9s'],
    [59_960, '1m'],
    [250_000, '4m 10s'],
    [3_599_600, '1h'],
    [7_200_000, '2h'],
    [7_260_000, '2h 1m'],
    [86_400_000, '1d'],
    [273_600_000, '3d 4h'],
    [DURATION_MAX_MS, '1825d'],
    [-1_500, '-1.5s'],
    [Number.POSITIVE_INFINITY, 'for ever'],
  ])('writes %d as %s', (ms, text) => {
    expect(formatMs(ms)).toBe(text)
  })

  it('stays within a thirtieth of what it stands for', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: DURATION_MAX_MS }), ms => {
        const read = formatMs(ms)
          .split(' ')
          .reduce((sum, part) => sum + toMs(part, 'part'), 0)
        expect(Math.abs(read - ms)).toBeLessThanOrEqual(ms / 30)
      }),
    )
  })
})

function codeOf(run: () => unknown): string | undefined {
  try {
    run()
  } catch (error) {
    if (error instanceof ChronosError) return error.code
  }
  return undefined
}
