import { describe, expect, it } from 'vitest'
import { parseRetryAfter, RetryAfter, retryAfterMs } from '../../../src/core/failure/retry-after.js'

const NOW = Date.UTC(2026, 10, 15, 21)

describe('parseRetryAfter reads', () => {
  it.each([
    ['120', 120_000],
    ['0', 0],
    ['1.5', 1_500],
    ['  30 ', 30_000],
    ['99999999999', 99_999_999_999_000],
    ['9'.repeat(60), Number.MAX_SAFE_INTEGER],
    ['Sun, 15 Nov 2026 21:02:00 GMT', 120_000],
    ['Sun, 15 Nov 2026 20:59:00 GMT', 0],
    ['Sunday, 15-Nov-26 21:02:00 GMT', 120_000],
    ['Sun Nov 15 21:02:00 2026', 120_000],
    ['Sun Nov  1 21:02:00 2026', 0],
    ['Tue, 01 Dec 2026 00:00:00 GMT', Date.UTC(2026, 11, 1) - NOW],
    ['Sun, 15 Nov 2026 21:00:60 GMT', 60_000],
    // A two-digit year is at most fifty years ahead.
    ['Sunday, 15-Nov-70 21:00:00 GMT', Date.UTC(2070, 10, 15, 21) - NOW],
    ['Sunday, 15-Nov-94 21:00:00 GMT', 0],
  ])('%j', (header, ms) => {
    expect(parseRetryAfter(header, NOW)).toBe(ms)
  })

  it.each([
    '-5',
    '1e3',
    '0x10',
    'abc',
    '120, 240',
    '',
    ' ',
    '2026-11-15T21:02:00Z',
    '30s',
    'Sun, 31 Feb 2026 21:02:00 GMT',
    'Sun, 15 Nov 2026 25:02:00 GMT',
    'Sun, 15 Nov 2026 21:02:00 CET',
    'Sun, 15 Foo 2026 21:02:00 GMT',
    '1'.repeat(1_000),
    undefined,
    null,
  ])('nothing in %j', header => {
    expect(parseRetryAfter(header, NOW)).toBeUndefined()
  })
})

describe('RetryAfter', () => {
  it.each<[unknown, number | undefined]>([
    [30, 30_000],
    ['30', 30_000],
    ['30s', 30_000],
    ['250ms', 250],
    [0.5, 500],
    [new Date(NOW + 5_000), 5_000],
    [new Date(NOW - 5_000), 0],
    ['Sun, 15 Nov 2026 21:02:00 GMT', 120_000],
    [1e300, Number.MAX_SAFE_INTEGER],
    [Number.POSITIVE_INFINITY, undefined],
    [new Date(Number.NaN), undefined],
    [Number.NaN, undefined],
    [-1, undefined],
    ['soon', undefined],
    [{}, undefined],
    [undefined, undefined],
    [new Proxy(new Date(NOW), {}), undefined],
  ])('with %o waits %s ms', (value, ms) => {
    expect(retryAfterMs(value, NOW)).toBe(ms)
    expect(new RetryAfter(value as string)).toMatchObject({ name: 'RetryAfter', value })
  })

  it('has a message', () => {
    expect(new RetryAfter(5).message).not.toBe('')
    expect(new RetryAfter(5, 'busy').message).toBe('busy')
  })
})
