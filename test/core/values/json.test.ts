import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { inexactInteger } from '../../../src/core/values/json.js'

describe('inexactInteger', () => {
  it.each<[text: string, path: readonly (string | number)[], number: string]>([
    ['9007199254740993', [], '9007199254740993'],
    ['{"a": "x", "id": 9007199254740993}', ['id'], '9007199254740993'],
    ['{"a":[1,{"b":2},[3,-12345678901234567891]]}', ['a', 2, 1], '-12345678901234567891'],
    [
      '{"12345678901234567891": {"a\\"b" : 12345678901234567891}}',
      ['12345678901234567891', 'a"b'],
      '12345678901234567891',
    ],
  ])('finds it in %s', (text, path, number) => {
    const says = `${number} would be rounded to ${Number(number)}; send it as a string`
    expect(inexactInteger(text)).toEqual({ path, says })
  })

  it.each([
    '9007199254740991',
    '9007199254740992',
    '"12345678901234567891"',
    '{"12345678901234567891": 1}',
    '0.12345678901234567891',
    '123456789012345680000',
    '1180591620717411303424',
    `"${'\\\\'.repeat(2_000_000)}1234567890123456"`,
  ])('accepts what is exact, or no integer', text => {
    expect(inexactInteger(text)).toBeUndefined()
  })

  it('accepts whatever JavaScript writes', () => {
    const isExact = (text: string): void => {
      expect(inexactInteger(text)).toBeUndefined()
    }
    fc.assert(fc.property(fc.json({ maxDepth: 4 }), isExact))
    fc.assert(fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), n => isExact(JSON.stringify(n))))
  })
})
