import { describe, expect, it } from 'vitest'

// The module reads the address of the page when it is loaded.
Object.assign(globalThis, {
  document: { baseURI: 'http://localhost/' },
  window: { location: { pathname: '/jobs', search: '' } },
})
const { apiRange, rangeIn, rangeText } = await import('../../src/dashboard/data/range.js')
const { stackParts } = await import('../../src/dashboard/parts/stack.js')

const NOW = Date.parse('2026-11-18T03:00:00Z')
const HOUR = 3_600_000

describe('the time range of a URL', () => {
  it.each([
    [{}, '1h', { from: NOW - HOUR, last: '1h' }],
    [{}, 'all', undefined],
    [{ range: '6h' }, 'all', { from: NOW - 6 * HOUR, last: '6h' }],
    [{ range: 'all' }, '1h', undefined],
    [{ range: 'nonsense' }, '1h', { from: NOW - HOUR, last: '1h' }],
    [{ range: 'nonsense' }, 'all', undefined],
    [{ from: '2026-11-18T02:00:00Z', to: '2026-11-18T03:00:00Z', range: '6h' }, '1h', { from: NOW - HOUR, to: NOW }],
    // A range that ends before it starts is no range.
    [{ from: '2026-11-18T03:00:00Z', to: '2026-11-18T02:00:00Z' }, '1h', { from: NOW - HOUR, last: '1h' }],
    [{ from: 'x', to: 'y' }, '1h', { from: NOW - HOUR, last: '1h' }],
  ])('reads %j on a screen with the default %s', (query, otherwise, range) => {
    expect(rangeIn(query as Record<string, string>, otherwise, NOW)).toEqual(range)
  })

  it('becomes parameters of the API', () => {
    expect(apiRange(undefined)).toEqual({})
    expect(apiRange({ from: NOW - HOUR, last: '1h' }, 'failed')).toEqual({ failedAfter: '2026-11-18T02:00:00.000Z' })
    expect(apiRange({ from: NOW - HOUR, to: NOW })).toEqual({
      from: '2026-11-18T02:00:00.000Z',
      to: '2026-11-18T03:00:00.000Z',
    })
  })

  it('has a short text', () => {
    expect(rangeText(undefined)).toBe('All time')
    expect(rangeText({ from: 0, last: '24h' })).toBe('24 h')
    expect(rangeText({ from: NOW - HOUR, to: NOW })).toMatch(/^2026-11-1\d \d\d:00 – \d\d:00$|^2026.*2026/)
  })
})

describe('a stack', () => {
  it('has the frames of libraries apart', () => {
    const lines = [
      'Error: x',
      '    at a (/app/a.ts:1)',
      '    at b (/app/node_modules/b/b.js:2)',
      '    at node:net:3',
      '    at c (/app/c.ts:4)',
    ]
    expect(stackParts(lines.join('\n')).map(({ isLibrary, lines: some }) => [isLibrary, some.length])).toEqual([
      [false, 2],
      [true, 2],
      [false, 1],
    ])
  })
})
