import type { StandardSchemaV1 } from '@standard-schema/spec'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { canonicalJson, toPayload } from '../../../src/core/job/payload.js'
import { ChronosError } from '../../../src/core/values/error.js'
import { parseWith } from '../../../src/core/values/standard-schema.js'

const back = (value: unknown) => JSON.parse(toPayload(value, 'payload'))
const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)])

class Point {
  x = 1
}
class Money {
  toJSON() {
    return '5 €'
  }
}

describe('an accepted payload comes back equal', () => {
  it.each<[string, unknown]>([
    ['an object', { orderId: 'A-17', cents: 4200, nested: [{ a: null, b: true }] }],
    ['text', 'hello'],
    ['an empty text', ''],
    ['null', null],
    ['minus zero', { a: -0, b: [0, -0], c: 'x"' }],
    ['NUL and lone surrogates', ['\0', '\ud800', 'a\udc00b', { '\ud800': 1 }]],
    ['the largest numbers', [Number.MAX_VALUE, Number.MIN_VALUE, Number.MAX_SAFE_INTEGER]],
    ['64 levels', nested(64)],
    ['exactly 1 MiB', 'x'.repeat(1024 * 1024 - 2)],
    ['the same object twice', [{ a: 1 }, { a: 1 }].map((value, _, all) => [value, all[0]])],
  ])('%s', (_, value) => {
    expect(back(value)).toEqual(value)
  })

  it('any JSON', () => {
    const key = fc.string({ unit: 'binary' }).filter(text => text !== '__proto__')
    const { tree } = fc.letrec(tie => ({
      tree: fc.oneof(
        { maxDepth: 6 },
        fc.string({ unit: 'binary' }),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.boolean(),
        fc.constant(null),
        fc.constantFrom('\ud800', '\udfffx', '\0', -0),
        fc.array(tie('tree')),
        fc.dictionary(key, tie('tree')),
      ),
    }))
    const comesBack = (value: unknown) => {
      fc.pre(!JSON.stringify(value).includes('__proto__'))
      expect(back(value)).toEqual(value)
    }
    fc.assert(fc.property(tree, comesBack), { numRuns: 1_000 })
    fc.assert(fc.property(fc.jsonValue(), comesBack), { numRuns: 1_000 })
  })

  it('without its undefined properties; undefined becomes null', () => {
    expect(toPayload({ a: undefined, b: 1 }, 'payload')).toBe('{"b":1}')
    expect(toPayload(undefined, 'payload')).toBe('null')
  })

  it('also from an object without a prototype', () => {
    expect(toPayload(Object.assign(Object.create(null), { a: 1 }), 'payload')).toBe('{"a":1}')
  })
})

describe('a payload is refused that would not come back equal', () => {
  const circular: Record<string, unknown> = { a: {} }
  circular['a'] = { b: [circular] }
  const sparse: number[] = []
  sparse[2] = 1
  it.each<[string, unknown]>([
    ['payload.items[3].price: a BigInt is not JSON; send it as a string', { items: [1, 2, 3, { price: 5n }] }],
    ['payload.run: a function is not JSON; remove it', { run: () => 1 }],
    ['payload: a symbol is not JSON; send it as a string', Symbol('x')],
    ['payload[1]: undefined is not JSON; send null', [1, undefined]],
    ['payload[0]: a hole in an array is not JSON; send null', sparse],
    ['payload.n: NaN is not JSON; send null or a string', { n: Number.NaN }],
    ['payload.n: -Infinity is not JSON; send null or a string', { n: Number.NEGATIVE_INFINITY }],
    ['payload.at: a Date comes back as text; send toISOString()', { at: new Date(0) }],
    ['payload: a Map is not JSON; send Object.fromEntries(…) or an array', new Map()],
    ['payload.s: a Set is not JSON; send an array', { s: new Set() }],
    ['payload.p: an instance of Point would come back as a plain object; send a plain object', { p: new Point() }],
    [
      'payload.m: an instance of Money would come back as a plain object; send what its toJSON() gives',
      { m: new Money() },
    ],
    ['payload: an instance of Uint8Array would come back as a plain object; send a plain object', new Uint8Array(2)],
    ['payload: an instance of String would come back', Object('boxed')],
    ['payload.a.b[0]: refers back to something that contains it; send an id instead', circular],
    ['payload: has a key "__proto__"; rename it', JSON.parse('{"__proto__":1}')],
    ['payload: has a key that is a symbol; use a string', { [Symbol('x')]: 1 }],
    ['payload["a b"]["…"]: a BigInt', { 'a b': { '…': 5n } }],
    [': is nested deeper than 64 levels; flatten it', nested(65)],
    [
      'payload: could not be read; give plain data',
      new Proxy(
        {},
        {
          ownKeys: () => {
            throw new Error('trap')
          },
        },
      ),
    ],
  ])('%s', (message, value) => {
    expect(() => toPayload(value, 'payload')).toThrow(message)
    expect(codeOf(() => toPayload(value, 'payload'))).toBe('INVALID_PAYLOAD')
  })

  it.each<[string, unknown]>([
    ['a byte over 1 MiB', 'x'.repeat(1024 * 1024 - 1)],
    ['over 1 MiB in UTF-8 only', 'é'.repeat(600_000)],
    ['over 1 MiB in escapes only', '\x01'.repeat(300_000)],
    ['over 100,000 values', Array(100_001).fill(1)],
    ['huge by repetition', Array(60).fill(Array(60).fill(Array(60).fill(1)))],
    ['huge text by repetition', Array(99_999).fill('x'.repeat(100_000))],
  ])('with its own code when it is too large: %s', (_, value) => {
    expect(codeOf(() => toPayload(value, 'payload'))).toBe('PAYLOAD_TOO_LARGE')
  })

  it('with a ChronosError, whatever it is', () => {
    fc.assert(
      fc.property(
        fc.anything({
          withBigInt: true,
          withDate: true,
          withMap: true,
          withSparseArray: true,
          withNullPrototype: true,
        }),
        value => {
          try {
            expect(back(value) ?? undefined).toEqual(value ?? undefined)
          } catch (error) {
            expect(error).toBeInstanceOf(ChronosError)
          }
        },
      ),
      { numRuns: 2_000 },
    )
  })
})

describe('canonicalJson', () => {
  it('is the same for the same value, however it was written', () => {
    expect(canonicalJson('{ "b": [1, {"d": 2, "c": null}], "a": "x" }')).toBe('{"a":"x","b":[1,{"c":null,"d":2}]}')
    expect(canonicalJson('-0')).toBe(canonicalJson('0'))
    expect(canonicalJson('1.0')).toBe('1')
  })

  it('parses to the value that it was made from', () => {
    fc.assert(
      fc.property(fc.jsonValue(), value => {
        const text = canonicalJson(JSON.stringify(value))
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)))
        expect(canonicalJson(text)).toBe(text)
      }),
    )
  })
})

describe('parseWith', () => {
  const schema = z.object({ orderId: z.string(), lines: z.array(z.object({ cents: z.number().default(5) })) })

  it('returns the schema output synchronously', () => {
    expect(parseWith(schema, { orderId: 'A', lines: [{}] }, 'payload')).toEqual({ orderId: 'A', lines: [{ cents: 5 }] })
  })

  it('lists the problems, with paths', () => {
    const run = () => parseWith(schema, { orderId: 1, lines: [{ cents: 'x' }] }, 'payload')
    expect(run).toThrow(/^payload\.orderId: .*; payload\.lines\[0\]\.cents: /)
    expect(codeOf(run)).toBe('INVALID_PAYLOAD')
  })

  it('waits for an async schema', async () => {
    const slow = z.string().refine(async text => text === 'yes', 'say yes')
    await expect(parseWith(slow, 'yes', 'payload')).resolves.toBe('yes')
    await expect(parseWith(slow, 'no', 'payload')).rejects.toThrow('payload: say yes')
  })

  it('blames a schema that throws', async () => {
    const broken = standard(() => {
      throw new Error('bug')
    })
    expect(() => parseWith(broken, 1, 'payload')).toThrow(
      'payload: its schema threw instead of answering; fix the schema',
    )
    const later = standard(() => Promise.reject(new Error('bug')))
    await expect(parseWith(later, 1, 'payload')).rejects.toThrow('payload: its schema threw')
  })

  it('shows at most ten problems', () => {
    const many = standard(() => ({
      issues: Array.from({ length: 12 }, (_, i) => ({ message: `m${i}`, path: [{ key: 'a' }, i] })),
    }))
    expect(() => parseWith(many, 1, 'payload')).toThrow(/payload\.a\[9\]: m9; and 2 more$/)
  })
})

function standard(validate: StandardSchemaV1.Props['validate']): StandardSchemaV1 {
  return { '~standard': { version: 1, vendor: 'test', validate } }
}

function codeOf(run: () => unknown): string | undefined {
  try {
    run()
  } catch (error) {
    if (error instanceof ChronosError) return error.code
  }
  return undefined
}
