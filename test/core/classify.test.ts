import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { classify } from '../../src/core/classify.js'
import { ChronosError, PermanentError } from '../../src/core/error.js'
import type { Rule } from '../../src/core/policy.js'
import { RetryAfter } from '../../src/core/retry-after.js'

const NOW = Date.UTC(2026, 10, 15, 21)

class ValidationError extends Error {}
class ZipCodeError extends ValidationError {}
class NotFoundError extends Error {}
class UnauthorizedError extends Error {}
class ForbiddenError extends Error {}

const error = (facts: object) => Object.assign(new Error('x'), facts)
const of = (thrown: unknown, ...rules: Rule[]) => classify(thrown, rules, NOW)
const caused = (cause: unknown) => new Error('outer', { cause })

describe('an error is permanent (R9)', () => {
  it.each([
    ['ValidationError', new ValidationError()],
    ['NotFoundError', new NotFoundError()],
    ['UnauthorizedError', new UnauthorizedError()],
    ['ForbiddenError', new ForbiddenError()],
    ['SyntaxError', new SyntaxError()],
    ['ValidationError', new ZipCodeError()],
    ['ValidationError', error({ name: 'ValidationError' })],
    ['ValidationError', { name: 'ValidationError', message: 'no class at all' }],
    ['SyntaxError', runInNewContext('new SyntaxError("another realm")')],
    ['HTTP 400', error({ status: 400 })],
    ['HTTP 422', error({ statusCode: 422 })],
    ['HTTP 404', error({ status: 404 })],
    ['HTTP 401', error({ status: 401 })],
    ['HTTP 403', error({ status: 403 })],
    ['HTTP 410', error({ status: 410 })],
    ['ValidationError', caused(caused(new ZipCodeError()))],
    ['INVALID_PAYLOAD', new ChronosError('INVALID_PAYLOAD', 'x')],
    ['EFFECT_UNKNOWN', new ChronosError('EFFECT_UNKNOWN', 'x')],
  ])('as %s', (what, thrown) => {
    expect(of(thrown)).toEqual({ kind: 'permanent', rule: `built-in: ${what}` })
  })
})

describe('an error is transient (R9)', () => {
  it.each([
    ['unknown', new Error('x')],
    ['a TypeError', new TypeError('fetch failed')],
    ['a string', 'boom'],
    ['null', null],
    ['undefined', undefined],
    ['a number', 404],
    ['a status that is text', error({ status: '404' })],
    ['a status that is no status', error({ status: 42 })],
    ['a number as code', error({ code: 404 })],
    ['any other ChronosError', new ChronosError('STORE_UNAVAILABLE', 'x')],
    ['an unknown 4xx', error({ status: 418 })],
  ])('by default: %s', (_, thrown) => {
    expect(of(thrown)).toEqual({ kind: 'transient', rule: 'default' })
  })

  it('with a status that may pass, whatever caused it', () => {
    expect(of(Object.assign(caused(new SyntaxError()), { status: 502 }))).toEqual({
      kind: 'transient',
      rule: 'built-in: HTTP 502',
    })
    expect(of(error({ status: 408 })).kind).toBe('transient')
  })

  it('when its cause is too far away to be seen', () => {
    let chain: unknown = new ValidationError()
    for (let i = 0; i < 10; i++) chain = caused(chain)
    expect(of(chain).kind).toBe('permanent')
    expect(of(caused(chain)).kind).toBe('transient')
  })
})

it('429 is throttled', () => {
  expect(of(error({ status: 429 }))).toEqual({ kind: 'throttled', rule: 'built-in: HTTP 429' })
})

describe('what a handler says itself (R9)', () => {
  const always: Rule = { when: { predicate: () => true }, as: 'transient' }

  it('goes before every rule', () => {
    expect(of(new PermanentError('no'), always)).toEqual({ kind: 'permanent', rule: 'handler: PermanentError' })
    expect(of(new RetryAfter(30), always)).toEqual({
      kind: 'throttled',
      rule: 'handler: RetryAfter',
      retryAfterMs: 30_000,
    })
  })

  it('counts anywhere in the chain of causes', () => {
    expect(of(caused(new PermanentError('no'))).kind).toBe('permanent')
    expect(of(caused(new RetryAfter('2m'))).retryAfterMs).toBe(120_000)
    expect(of(new RetryAfter(5, 'later', { cause: new PermanentError('no') })).kind).toBe('permanent')
  })

  it('counts in a subclass, and from another copy of this package', () => {
    class CardDeclined extends PermanentError {}
    expect(of(new CardDeclined('x')).kind).toBe('permanent')
    expect(of({ name: 'RetryAfter', value: 3 })).toMatchObject({ kind: 'throttled', retryAfterMs: 3_000 })
  })

  it('without a usable time is an ordinary throttled failure', () => {
    for (const value of ['soon', -5, Number.NaN, null, undefined]) {
      expect(of(new RetryAfter(value))).toEqual({ kind: 'throttled', rule: 'handler: RetryAfter' })
    }
  })
})

describe('rules (R9)', () => {
  it.each<[string, Rule['when'], unknown]>([
    ['name StripeError', { name: 'StripeError' }, { name: 'StripeError' }],
    ['name ValidationError', { name: ['A', 'ValidationError'] }, new ZipCodeError()],
    ['code ECONNRESET', { code: ['EPIPE', 'ECONNRESET'] }, caused(error({ code: 'ECONNRESET' }))],
    ['status 503', { status: 503 }, error({ status: 503 })],
    ['status 503', { status: '5xx' }, error({ statusCode: 503 })],
    ['status 503', { status: [404, [500, 510]] }, error({ status: 503 })],
    ['predicate', { predicate: thrown => thrown === 'boom' }, 'boom'],
    ['name Error, code A, status 503', { name: 'Error', code: 'A', status: 503 }, error({ code: 'A', status: 503 })],
  ])('match by %s', (words, when, thrown) => {
    expect(of(thrown, { when, as: 'gone' })).toEqual({ kind: 'gone', rule: `rule 1 (${words})` })
  })

  it.each<[string, Rule['when'], unknown]>([
    ['another name', { name: 'Other' }, new Error('x')],
    ['one field of two', { code: 'A', status: 503 }, error({ code: 'A', status: 500 })],
    [
      'fields of different errors of a chain',
      { code: 'A', status: 503 },
      Object.assign(caused(error({ code: 'A' })), { status: 503 }),
    ],
    [
      'a predicate that throws',
      {
        predicate: () => {
          throw new Error('oops')
        },
      },
      new Error('x'),
    ],
    ['a predicate that promises', { predicate: (async () => true) as never }, new Error('x')],
    ['a field, but not the predicate', { name: 'Error', predicate: () => false }, new Error('x')],
    ['nothing, since its predicate got lost', {}, new Error('x')],
  ])('do not match %s', (_, when, thrown) => {
    expect(of(thrown, { when, as: 'gone' }).kind).toBe('transient')
  })

  it('are asked in order, before what is built in', () => {
    const rules: Rule[] = [
      { when: { code: 'B' }, as: 'gone' },
      { when: { status: '4xx' }, as: 'transient', delay: '10s' },
      { when: { status: 404 }, as: 'blocked' },
    ]
    expect(of(error({ status: 404 }), ...rules)).toEqual({
      kind: 'transient',
      rule: 'rule 2 (status 404)',
      delayMs: 10_000,
    })
  })
})

describe('an AggregateError', () => {
  const all = (...errors: unknown[]) => new AggregateError(errors)

  it('is permanent only if all its errors are', () => {
    expect(of(all(new ValidationError(), error({ status: 404 })))).toEqual({
      kind: 'permanent',
      rule: 'built-in: AggregateError',
    })
    expect(of(all(new ValidationError(), new Error('x'))).kind).toBe('transient')
    expect(of(all()).kind).toBe('transient')
    expect(of(all(all(new ValidationError()), new PermanentError('x'))).kind).toBe('permanent')
    expect(of(all(all(new Error('x')), new PermanentError('x'))).kind).toBe('transient')
  })

  it('is judged by the rules too', () => {
    expect(of(all(new Error('x')), { when: { name: 'AggregateError' }, as: 'gone' }).kind).toBe('gone')
    expect(of(all(error({ code: 'A' })), { when: { code: 'A' }, as: 'blocked' }).kind).toBe('permanent')
  })

  it('of very many is not judged at all', () => {
    expect(of(all(...Array.from({ length: 100 }, () => new ValidationError()))).kind).toBe('permanent')
    expect(of(all(...Array.from({ length: 101 }, () => new ValidationError()))).kind).toBe('transient')
  })

  it('of aggregates without end comes to an end', () => {
    const loop = new AggregateError([])
    loop.errors = Array.from({ length: 100 }, () => loop)
    expect(of(loop).kind).toBe('transient')
    expect(
      of({ name: 'AggregateError', errors: new Proxy({}, { get: (_, key) => (key === 'length' ? 100 : loop) }) }).kind,
    ).toBe('transient')
  })
})

describe('nothing that is thrown can harm', () => {
  const hostile = (): never => {
    throw new Error('hostile')
  }
  const traps = new Proxy(
    {},
    { get: hostile, getPrototypeOf: hostile, has: hostile, getOwnPropertyDescriptor: hostile },
  )
  const { proxy: revoked, revoke } = Proxy.revocable({}, {})
  revoke()
  const circular = new Error('a')
  circular.cause = new Error('b', { cause: circular })
  const endless: object = new Proxy(new Error('x'), {
    get: (target, key) => (key === 'cause' ? endlessCause() : Reflect.get(target, key)),
    getPrototypeOf: () => endless,
  })
  function endlessCause(): object {
    return Object.defineProperty({}, 'cause', { get: endlessCause })
  }

  it.each<[string, unknown]>([
    ['a proxy with traps', traps],
    ['a revoked proxy', revoked],
    [
      'throwing getters',
      Object.defineProperties(
        {},
        Object.fromEntries(['name', 'code', 'status', 'cause', 'errors'].map(key => [key, { get: hostile }])),
      ),
    ],
    ['a circle of causes', circular],
    ['an endless chain', endless],
    ['a cause that is hostile', caused(traps)],
    ['a function', () => 1],
    ['a symbol', Symbol('x')],
    ['a RetryAfter whose value is hostile', { name: 'RetryAfter', value: traps }],
  ])('%s', (_, thrown) => {
    const rules: Rule[] = [
      { when: { name: 'A', code: 'B', status: 500, predicate: e => (e as { code: number }).code > 1 }, as: 'gone' },
    ]
    expect(['transient', 'throttled']).toContain(of(thrown, ...rules).kind)
  })

  it('one hostile property does not hide the others', () => {
    const thrown = Object.defineProperty(error({ status: 404 }), 'code', { get: hostile })
    expect(of(thrown).kind).toBe('permanent')
  })
})
