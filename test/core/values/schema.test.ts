import { describe, expect, expectTypeOf, it } from 'vitest'
import type { ChronosError } from '../../../src/core/values/error.js'
import {
  about,
  anything,
  boolean,
  type Components,
  duration,
  fromTexts,
  type Infer,
  inCode,
  integer,
  jsonSchema,
  literal,
  named,
  number,
  oneOf,
  pattern,
  read,
  refuse,
  type Schema,
  text,
  tryRead,
} from '../../../src/core/values/schema.js'
import {
  list,
  nullable,
  object,
  omit,
  pair,
  partial,
  record,
  union,
  variants,
  view,
} from '../../../src/core/values/shape.js'

const words = oneOf(['none', 'full', 'equal'])
const jitter = union(words, number(0, 1))
const backoff = variants('type', {
  fixed: object({ delay: duration() }),
  linear: object({ base: duration() }, { increment: duration() }),
})
const policy = object(
  { maxRetries: integer(0, 1000) },
  {
    backoff,
    jitter,
    cap: duration({ max: 60_000 }),
    tags: list(text(5), { max: 2, of: 'tags' }),
    labels: record(text(3), { max: 2, of: 'labels' }),
    until: nullable(duration()),
    payload: anything,
  },
)

function problem(schema: Schema, value: unknown, where = 'retry'): ChronosError {
  try {
    read(schema, value, where)
  } catch (error) {
    return error as ChronosError
  }
  throw new Error('it was accepted')
}

describe('a schema', () => {
  it.each<[string, Schema, unknown]>([
    ['a number', number(0, 1), 0.5],
    ['a whole number', integer(0, 9), 9],
    ['a boolean', boolean, false],
    ['a text', text(3), 'abc'],
    ['a pattern', pattern(3, /^a+$/, 'some a'), 'aaa'],
    ['a word', words, 'full'],
    ['a literal', literal(null), null],
    ['a duration with a unit', duration(), '1.5s'],
    ['milliseconds', duration(), 250],
    ['a list', list(integer(), { max: 2, of: 'numbers' }), [1, 2]],
    ['a pair', pair(integer(), 'a pair'), [1, 2]],
    ['a record', record(integer()), { a: 1 }],
    ['a union, by either type', jitter, 0.2],
    ['null where it may be', nullable(integer()), null],
    ['a variant', backoff, { type: 'linear', base: '1s' }],
    ['anything', anything, { a: [undefined] }],
    ['an object', policy, { maxRetries: 3, until: null, payload: null, backoff: { type: 'fixed', delay: 5 } }],
  ])('accepts %s and keeps it as it was written', (_, schema, value) => {
    expect(read(schema, value, 'it')).toEqual(value)
  })

  it.each<[Schema, unknown, string]>([
    [number(0, 1), 2, 'retry: expected a number from 0 to 1, got 2'],
    [number(0), -1, 'retry: expected a number of at least 0, got -1'],
    [integer(0, 9), 1.5, 'retry: expected a whole number from 0 to 9, got 1.5'],
    [integer(0, 9), Number.NaN, 'retry: expected a whole number from 0 to 9, got NaN'],
    [boolean, 'yes', 'retry: expected true or false, got "yes"'],
    [text(3), '', 'retry: expected a text of 1 to 3 characters, got ""'],
    [text(3), '\ud800', 'retry: expected a text of 1 to 3 characters, got "\\ud800"'],
    [pattern(3, /^a+$/, 'some a'), 'b', 'retry: expected some a, got "b"'],
    [words, 'ful', 'retry: expected one of "none", "full", "equal", got "ful"; did you mean "full"?'],
    [words, 7, 'retry: expected one of "none", "full", "equal", got 7'],
    [jitter, true, 'retry: expected one of "none", "full", "equal", or a number from 0 to 1, got true'],
    [jitter, 7, 'retry: expected a number from 0 to 1, got 7'],
    [
      union(integer(0, 1), integer(5, 6)),
      3,
      'retry: expected a whole number from 0 to 1, or a whole number from 5 to 6, got 3',
    ],
    [duration(), 'soon', 'retry: expected a duration such as "30s" or a number of milliseconds, got "soon"'],
    [pair(integer(), 'two numbers'), [1], 'retry: expected two numbers, got an array'],
    [inCode('a function', given => typeof given === 'function'), {}, 'retry: expected a function, got an object'],
    [policy, 'x', 'retry: expected an object, got "x"'],
    [policy, new Date(), 'retry: expected a plain object, got an instance of a class'],
    [policy, {}, 'retry.maxRetries: expected a whole number from 0 to 1000, got undefined'],
    [policy, { maxRetries: 'x' }, 'retry.maxRetries: expected a whole number from 0 to 1000, got "x"'],
    [policy, { maxRetry: 3 }, 'retry: unknown key "maxRetry"; did you mean "maxRetries"?'],
    [policy, { speed: 3 }, 'retry: unknown key "speed"; expected one of maxRetries, backoff, jitter, cap, '],
    [object({}), { speed: 3 }, 'retry: unknown key "speed"; remove it'],
    [policy, { maxRetries: 1, cap: null }, 'retry.cap: got null; leave it out instead'],
    [policy, { maxRetries: 1, cap: '2m' }, 'retry.cap: expected a duration of at most 1m, got "2m"'],
    [policy, { maxRetries: 1, tags: 'a' }, 'retry.tags: expected a list of tags, got "a"'],
    [policy, { maxRetries: 1, tags: ['a', 'b', 'c'] }, 'retry.tags: expected at most 2 tags, got 3'],
    [
      policy,
      { maxRetries: 1, tags: ['a', 'too long'] },
      'retry.tags[1]: expected a text of 1 to 5 characters, got "too long"',
    ],
    [policy, { maxRetries: 1, labels: { a: 1 } }, 'retry.labels.a: expected a text of 1 to 3 characters, got 1'],
    [policy, { maxRetries: 1, labels: { a: 'a', b: 'b', c: 'c' } }, 'retry.labels: expected at most 2 labels, got 3'],
    [policy, { maxRetries: 1, backoff: { typ: 'fixed' } }, 'retry.backoff: unknown key "typ"; did you mean "type"?'],
    [policy, { maxRetries: 1, backoff: {} }, 'retry.backoff.type: expected one of "fixed", "linear", got undefined'],
    [
      policy,
      { maxRetries: 1, backoff: { type: 'fix' } },
      'retry.backoff.type: expected one of "fixed", "linear", got "fix"; did you mean "fixed"?',
    ],
    [policy, { maxRetries: 1, backoff: { type: 'fixed', base: 1 } }, 'retry.backoff: unknown key "base"; '],
    [list(integer(), { min: 1, max: 9, of: 'delays', empty: 'give a delay' }), [], 'retry: give a delay'],
    [list(integer(), { min: 2, max: 9, of: 'delays' }), [1], 'retry: expected at least 2 delays, got 1'],
  ])('refuses %#: the thing, the value and the way out', (schema, value, message) => {
    expect(problem(schema, value).message).toContain(message)
  })

  it('has a code, and for a duration that of durations', () => {
    expect(problem(policy, {}).code).toBe('INVALID_OPTION')
    expect(problem(policy, { maxRetries: 1, cap: 'soon' }).code).toBe('INVALID_DURATION')
    expect(() => read(policy, 1, 'x', 'INVALID_POLICY')).toThrow(expect.objectContaining({ code: 'INVALID_POLICY' }))
  })

  it('names every field that is wrong, for forms and for REST', () => {
    const { details } = problem(policy, { speed: 1, tags: ['', 'ok'], maxRetries: -1 })
    expect(details['path']).toEqual(['speed'])
    expect(details['errors']).toEqual([
      { path: ['speed'], detail: expect.stringContaining('unknown key "speed"') },
      { path: ['tags', 0], detail: 'expected a text of 1 to 5 characters, got ""' },
      { path: ['maxRetries'], detail: 'expected a whole number from 0 to 1000, got -1' },
    ])
    expect(tryRead(policy, { maxRetries: 1 })).toEqual({ value: { maxRetries: 1 } })
  })

  it('writes a place that ends with a colon before the field', () => {
    expect(problem(policy, {}, 'enqueue "mail":').message).toMatch(/^enqueue "mail": maxRetries: expected /)
    expect(problem(policy, 1, 'enqueue "mail":').message).toMatch(/^enqueue "mail": expected an object/)
    expect(refuse(['a', 0], 'no', 'x', 'INVALID_OPTION')).toMatchObject({
      message: 'x.a[0]: no',
      details: { path: ['a', 0] },
    })
  })

  it.each(['{"__proto__": 1}', '{"constructor": 1}', '{"prototype": 1}'])('refuses %s in objects and records', json => {
    expect(problem(policy, { ...JSON.parse('{}'), ...{ maxRetries: 1 }, labels: JSON.parse(json) }).message).toContain(
      'is not allowed; remove it',
    )
    expect(problem(policy, JSON.parse(json)).message).toContain('is not allowed; remove it')
  })

  it('refuses a key that is a symbol', () => {
    expect(problem(policy, { maxRetries: 1, [Symbol('x')]: 1 }).message).toBe(
      'retry: the key a symbol is not allowed; remove it',
    )
  })

  it('reads each value once, and survives a getter that throws', () => {
    let reads = 0
    const counting = {
      get maxRetries() {
        reads++
        return 1
      },
    }
    expect(read(policy, counting, 'x')).toEqual({ maxRetries: 1 })
    expect(reads).toBe(1)
    const broken = {
      get maxRetries(): never {
        throw new Error('boom')
      },
    }
    expect(problem(policy, broken).message).toBe('retry: could not be read; give plain data')
  })

  it('removes fields, and makes them optional', () => {
    expect(read(partial(policy), {}, 'x')).toEqual({})
    expect(problem(omit(policy, 'cap'), { maxRetries: 1, cap: 1 }).message).toContain('unknown key "cap"')
  })

  it('reads the texts of a query, a flag or a form', () => {
    const query = object(
      {},
      {
        limit: integer(1, 9),
        all: boolean,
        ids: list(text(9), { max: 9, of: 'ids' }),
        jitter,
        name: text(9),
        wait: duration(),
      },
    )
    expect(fromTexts(query, { limit: '5', all: 'true', ids: 'a, b', jitter: '0.2', name: '7', wait: '5s' })).toEqual({
      limit: 5,
      all: true,
      ids: ['a', 'b'],
      jitter: 0.2,
      name: '7',
      wait: '5s',
    })
    expect(fromTexts(query, { ids: ['a', 'b,c'], limit: 'many', other: 'x' })).toEqual({
      ids: ['a', 'b', 'c'],
      limit: 'many',
      other: 'x',
    })
  })

  it('has a type that is read-only, and exact about what is optional', () => {
    expectTypeOf<Infer<typeof backoff>>().toEqualTypeOf<
      | { readonly type: 'fixed'; readonly delay: Infer<ReturnType<typeof duration>> }
      | {
          readonly type: 'linear'
          readonly base: Infer<ReturnType<typeof duration>>
          readonly increment?: Infer<ReturnType<typeof duration>>
        }
    >()
    const small = object({ a: integer() }, { b: boolean })
    expectTypeOf<Infer<typeof small>>().toEqualTypeOf<{ readonly a: number; readonly b?: boolean }>()
    // The compiler checks the types; vitest asks every test for an expectation that runs.
    expect(small).toBeDefined()
  })
})

describe('its JSON Schema', () => {
  const json = (schema: Schema): unknown => jsonSchema(schema, {})

  it.each<[Schema, unknown]>([
    [integer(0, 9), { type: 'integer', minimum: 0, maximum: 9 }],
    [number(), { type: 'number' }],
    [text(9), { type: 'string', minLength: 1, maxLength: 9 }],
    [words, { type: 'string', enum: ['none', 'full', 'equal'] }],
    [nullable(boolean), { anyOf: [{ type: 'boolean' }, { type: 'null' }] }],
    [literal(true), { type: 'boolean', enum: [true] }],
    [anything, {}],
    [
      list(boolean, { min: 1, max: 2, of: 'x' }),
      { type: 'array', items: { type: 'boolean' }, minItems: 1, maxItems: 2 },
    ],
    [record(boolean), { type: 'object', additionalProperties: { type: 'boolean' } }],
    [
      object({ a: boolean }, { b: about(boolean, 'Whether b.', { example: true }) }),
      {
        type: 'object',
        properties: { a: { type: 'boolean' }, b: { type: 'boolean', description: 'Whether b.', example: true } },
        required: ['a'],
        additionalProperties: false,
      },
    ],
    [view({ a: boolean }), { type: 'object', properties: { a: { type: 'boolean' } }, required: ['a'] }],
  ])('%#', (schema, expected) => {
    expect(json(schema)).toEqual(expected)
  })

  it('puts what has a name among the components, once, and refers to it', () => {
    const point = named('Point', object({ x: integer(0, 1) }), { description: 'A point.' })
    const components: Components = {}
    const line = object({ from: point, to: about(point, 'Where it ends.') })
    expect(jsonSchema(line, components)).toMatchObject({
      properties: {
        from: { $ref: '#/components/schemas/Point' },
        to: { $ref: '#/components/schemas/Point', description: 'Where it ends.' },
      },
    })
    expect(components).toEqual({ Point: expect.objectContaining({ type: 'object', description: 'A point.' }) })
  })
})
