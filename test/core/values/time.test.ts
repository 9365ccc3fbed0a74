import { describe, expect, it } from 'vitest'
import { tryRead } from '../../../src/core/values/schema.js'
import { time, timeOf, timeOrDuration } from '../../../src/core/values/time.js'

describe('timeOf', () => {
  it.each([
    ['2026-12-24T18:00:00Z', '2026-12-24T18:00:00.000Z'],
    ['2026-12-24t18:00:00.25z', '2026-12-24T18:00:00.250Z'],
    ['2026-12-24T18:00:00+02:00', '2026-12-24T16:00:00.000Z'],
    ['+010000-01-01T00:00:00.000Z', '+010000-01-01T00:00:00.000Z'],
    [0, '1970-01-01T00:00:00.000Z'],
    [new Date(5), '1970-01-01T00:00:00.005Z'],
  ])('reads %j', (given, iso) => {
    expect(new Date(timeOf(given, 'at')).toISOString()).toBe(iso)
    expect(tryRead(time, given)).toEqual({ value: given })
  })

  it.each([
    '5',
    '2026',
    '1767225600000',
    '2026-12-24',
    '2026-12-24T18:00Z',
    '2026-12-24T18:00:00',
    '2026-12-24 18:00:00Z',
    '2026-13-24T18:00:00Z',
    'Dec 24 2026',
    'tomorrow',
    '',
  ])('refuses the text %j, which is not RFC 3339', given => {
    expect(() => timeOf(given, 'at')).toThrow(
      `at: expected a Date, a time such as "2026-12-24T18:00:00Z" or epoch milliseconds, got ${JSON.stringify(given)}`,
    )
    expect(tryRead(time, given)).toHaveProperty('flaws')
    expect(tryRead(timeOrDuration, given)).toHaveProperty('flaws')
  })
})
