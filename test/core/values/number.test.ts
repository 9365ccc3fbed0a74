import { describe, expect, it } from 'vitest'
import { SeededStreams } from '../../../src/core/simulation/seed.js'
import {
  countText,
  many,
  percentText,
  rateText,
  ratioText,
  retryRateText,
  shareTexts,
} from '../../../src/core/values/number.js'

const atLeast = (value: number) => ({ value, relation: 'at-least' }) as const

describe('numbers as text', () => {
  it.each([
    [0, '0'],
    [2_314, '2,314'],
    [{ value: 10_000, relation: 'exact' } as const, '10,000'],
    [atLeast(10_000), '10,000+'],
    [atLeast(0), 'unknown'],
  ])('count %j as %s', (count, text) => expect(countText(count)).toBe(text))

  it.each([
    [1, '1 job'],
    [1_234, '1,234 jobs'],
    [atLeast(1), '1+ jobs'],
  ])('name %j as %s', (count, text) => expect(many(count, 'job')).toBe(text))

  it.each([
    [undefined, '–'],
    [0, '0 %'],
    [0.0001, '0.1 %'],
    [0.044, '4.4 %'],
    [0.12, '12 %'],
    [0.9997, '99.97 %'],
    [0.99999, '99.99 %'],
    [1, '100 %'],
    [1.25, '1.25×'],
    [2, '2.0×'],
    [24.6, '25×'],
  ])('show the share %s as %s', (share, text) => expect(percentText(share)).toBe(text))

  it.each([
    [1, '1.00'],
    [1.256, '1.26'],
    [2.04, '2.0'],
    [1_234.5, '1,235'],
  ])('show the ratio %s as %s', (ratio, text) => expect(ratioText(ratio)).toBe(text))

  it.each([
    [0.2, '20 % retries'],
    [1, '100 % retries'],
    [2, '2.0 retries per first attempt'],
  ])('show the retry rate %s as %s', (rate, text) => expect(retryRateText(rate)).toBe(text))
})

it.each([
  [0, '0/min'],
  [0.05, '3.0/h'],
  [1, '1.0/min'],
  [59.6, '60/min'],
  [2_700, '45/s'],
  [90_000, '1,500/s'],
])('a rate of %d per minute is shown as %s', (perMinute, text) => {
  expect(rateText(perMinute)).toBe(text)
})

describe('shares of a whole', () => {
  it.each([
    [
      [1, 1, 1],
      ['34 %', '33 %', '33 %'],
    ],
    [
      [995, 5, 0],
      ['99.5 %', '0.5 %', '0 %'],
    ],
    [
      [999_999, 1],
      ['99.9 %', '0.1 %'],
    ],
    [
      [105, 105, 790],
      ['11 %', '10 %', '79 %'],
    ],
    [[7], ['100 %']],
    [
      [0, 0],
      ['–', '–'],
    ],
  ])('share %j as %j', (parts, texts) => expect(shareTexts(parts)).toEqual(texts))

  it('add up to 100 %, and none of a part is 0 %', () => {
    const dice = new SeededStreams(1, () => 7)
    for (let round = 0; round < 2_000; round++) {
      const parts = Array.from({ length: 1 + (round % 5) }, () => Math.floor(dice.draw(0) ** 6 * 100_000))
      if (parts.every(part => part === 0)) continue
      const tenths = shareTexts(parts).map(text => Math.round(Number.parseFloat(text) * 10))
      expect(tenths.reduce((sum, each) => sum + each)).toBe(1_000)
      expect(tenths.map(each => each > 0)).toEqual(parts.map(part => part > 0))
    }
  })
})
