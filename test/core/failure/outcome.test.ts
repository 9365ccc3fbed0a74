import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { failedOutcome, outcomeOf, Snooze, toLogText, toStoredError } from '../../../src/core/failure/outcome.js'
import { RetryAfter } from '../../../src/core/failure/retry-after.js'
import type { StoredError } from '../../../src/core/job/job.js'
import { PermanentError } from '../../../src/core/values/error.js'

const hostile = (): never => {
  throw new Error('hostile')
}
const traps: ProxyHandler<object> = {
  get: hostile,
  has: hostile,
  ownKeys: hostile,
  getPrototypeOf: hostile,
  getOwnPropertyDescriptor: hostile,
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

function circle(): Error {
  const error = new Error('a')
  error.cause = new Error('b', { cause: error })
  return error
}

function deep(levels: number): object {
  let value: object = {}
  for (let i = 0; i < levels; i++) value = { value, message: undefined }
  return value
}

function deepCauses(levels: number): Error {
  let error = new Error('root')
  for (let i = 0; i < levels; i++) error = new Error(`level ${i}`, { cause: error })
  return error
}

/** The limits of every stored error: bounded, plain, valid Unicode, with a readable message. */
function expectStorable(stored: StoredError): void {
  const json = JSON.stringify(stored)
  expect(new TextEncoder().encode(json).length).toBeLessThanOrEqual(16 * 1024)
  expect(JSON.parse(json)).toEqual(stored)
  expect(stored.name.trim()).not.toBe('')
  expect(stored.message.trim()).not.toBe('')
  for (const text of [stored.name, stored.message, stored.code ?? '', stored.stack ?? '']) {
    expect(text).not.toMatch(/\p{Surrogate}/u)
    expect(text).not.toContain('\0')
  }
}

describe('equal errors', () => {
  const make = (change: object = {}) =>
    Object.assign(new TypeError('oops'), { stack: 'TypeError: oops\n    at a' }, change)

  it('share one object, which can not be changed', () => {
    const stored = toStoredError(make())
    expect(toStoredError(make())).toBe(stored)
    expect(Object.isFrozen(stored)).toBe(true)
  })

  it.each<[string, Error, Partial<StoredError>]>([
    ['name', make({ name: 'Other' }), { name: 'Other' }],
    ['message', make({ message: 'other' }), { message: 'other' }],
    ['code', make({ code: 'E1' }), { code: 'E1' }],
    ['status', make({ status: 503 }), { status: 503 }],
    ['cause', make({ cause: new Error('root') }), { message: 'oops; caused by: Error: root' }],
    ['stack', make({ stack: 'TypeError: oops\n    at b' }), { stack: 'TypeError: oops\n    at b' }],
  ])('are not those with another %s', (_, error, expected) => {
    toStoredError(make())
    expect(toStoredError(error)).toMatchObject(expected)
  })
})

describe('toStoredError (R14)', () => {
  it('keeps name, message, code, status and stack', () => {
    const stored = toStoredError(Object.assign(new TypeError('oops'), { code: 'E1', status: 503 }))
    expect(stored).toMatchObject({ name: 'TypeError', message: 'oops', code: 'E1', status: 503 })
    expect(stored.stack).toMatch(/^TypeError: oops\n {4}at /)
  })

  it('includes the causes, and takes the code of the first error that has one', () => {
    const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
    const stored = toStoredError(new TypeError('fetch failed', { cause }))
    expect(stored.message).toBe('fetch failed; caused by: Error: connect ECONNREFUSED')
    expect(stored.code).toBe('ECONNREFUSED')
    expect(stored.stack).toMatch(/TypeError: fetch failed\n.*caused by: Error: connect ECONNREFUSED\n/s)
  })

  it('goes ten causes deep', () => {
    const { message } = toStoredError(deepCauses(100))
    expect(message.match(/caused by/g)).toHaveLength(10)
  })

  it('follows a cycle of causes once', () => {
    expect(toStoredError(circle()).message).toBe('a; caused by: Error: b')
  })

  it('reads the errors inside an AggregateError', () => {
    expect(toStoredError(new AggregateError([new Error('a'), 'b', {}])).message).toBe('a, b, {…}')
    expect(toStoredError(new AggregateError([new Error('a')], 'all failed')).message).toBe('all failed (a)')
  })

  it.each<[string, unknown, Partial<StoredError>]>([
    ['a string', 'boom', { name: 'NonError', message: 'boom' }],
    ['an empty string', '', { message: 'an empty string was thrown' }],
    ['null', null, { name: 'NonError', message: 'null was thrown' }],
    ['undefined', undefined, { message: 'undefined was thrown' }],
    ['a number', 42, { message: '42' }],
    ['a BigInt', 42n, { message: '42n' }],
    ['a symbol', Symbol('x'), { message: 'Symbol(x)' }],
    ['a function', () => 1, { message: 'a function was thrown' }],
    ['an object with a message', { message: 'm', code: 'C' }, { name: 'NonError', message: 'm', code: 'C' }],
    ['an object without one', { a: 1, b: { c: 2 } }, { message: 'thrown: { a: 1, b: {…} }' }],
    ['an array', [1, 2], { name: 'Array', message: 'thrown: { 0: 1, 1: 2 }' }],
    ['an error without a message', new Error(''), { name: 'Error', message: 'no message' }],
    ['an error with only a code', Object.assign(new Error(''), { code: 'E' }), { message: 'E' }],
    ['a message that is not text', { message: { a: 1 } }, { message: 'thrown: { message: {…} }' }],
    ['a DOMException', new DOMException('late', 'TimeoutError'), { name: 'TimeoutError', message: 'late' }],
    [
      'an error of another realm',
      runInNewContext('new RangeError("far away")'),
      { name: 'RangeError', message: 'far away' },
    ],
    ['a frozen error', Object.freeze(new Error('cold')), { message: 'cold' }],
    ['lone surrogates and NUL', new Error('a\ud800b\0c'), { message: 'a\ufffdb\u2400c' }],
  ])('keeps %s', (_, thrown, expected) => {
    const stored = toStoredError(thrown)
    expect(stored).toMatchObject(expected)
    expectStorable(stored)
  })

  it.each<[string, unknown]>([
    ['10 MB of text', 'x'.repeat(10_000_000)],
    ['10 MB of message', new Error('x'.repeat(10_000_000))],
    ['10 MB of quotes', new Error('"'.repeat(10_000_000))],
    ['10 MB of control characters', new Error('\x01'.repeat(10_000_000))],
    ['10 MB of emoji', new Error('😀'.repeat(5_000_000))],
    ['10 MB of half emoji', new Error('\ud83d'.repeat(10_000_000))],
    [
      'long everything',
      Object.assign(new Error('😀'.repeat(9_999)), {
        name: '"'.repeat(9_999),
        code: '\\'.repeat(9_999),
        stack: '\x02'.repeat(99_999),
      }),
    ],
    [
      'a hundred long causes',
      Array.from({ length: 100 }).reduce<Error>(cause => new Error('é'.repeat(9_999), { cause }), new Error('x')),
    ],
    ['a proxy with traps', new Proxy({}, traps)],
    ['an error behind traps', new Proxy(new Error('x'), traps)],
    ['a revoked proxy', revoked()],
    ['a function behind traps', new Proxy(() => 1, traps)],
    [
      'throwing getters',
      Object.defineProperties(
        {},
        Object.fromEntries(
          ['name', 'message', 'stack', 'code', 'status', 'cause'].map(key => [key, { get: hostile, enumerable: true }]),
        ),
      ),
    ],
    ['a cycle of causes', circle()],
    ['a very deep object', deep(100_000)],
    ['very deep causes', deepCauses(100_000)],
    ['a cause that is hostile', new Error('x', { cause: new Proxy({}, traps) })],
    ['a name that is not text', Object.assign(new Error('x'), { name: { a: 1 } })],
    ['an object without a prototype', Object.assign(Object.create(null), { a: 1 })],
    ['a hundred thousand keys', Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`key${i}`, i]))],
    ['blanks for a message', new Error(' \n ')],
  ])('survives %s', (_, thrown) => {
    expectStorable(toStoredError(thrown))
  })

  it('keeps the frames of a stack behind a long message', () => {
    expect(toStoredError(new Error('x'.repeat(1_000_000))).stack).toMatch(/…\n {4}at /)
  })

  it('survives anything', () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withNullPrototype: true,
      withSet: true,
      withSparseArray: true,
      withTypedArray: true,
    })
    const text = fc.string({ unit: 'binary', maxLength: 200 })
    const error = fc.record({
      name: fc.oneof(text, anything),
      message: fc.oneof(text, anything),
      code: text,
      stack: text,
      cause: anything,
    })
    fc.assert(
      fc.property(fc.oneof(anything, text, error), thrown => expectStorable(toStoredError(thrown))),
      { numRuns: 2_000 },
    )
  })
})

describe('failedOutcome', () => {
  it('has the error and its classification', () => {
    expect(failedOutcome(new PermanentError('declined'), [], 0)).toMatchObject({
      kind: 'failed',
      error: { name: 'PermanentError', message: 'declined' },
      classification: { kind: 'permanent', rule: 'handler: PermanentError' },
    })
  })

  it('has the time that the other side asked for', () => {
    const outcome = failedOutcome(new RetryAfter('30s'), [], 0)
    expect(outcome.retryAfterMs).toBe(30_000)
    expect(outcome.classification).toEqual({ kind: 'throttled', rule: 'handler: RetryAfter' })
  })

  it('has the delay of a rule', () => {
    const rule = { when: { code: 'A' }, as: 'transient', delay: '9s' } as const
    expect(failedOutcome({ code: 'A' }, [rule], 0).classification.delayMs).toBe(9_000)
  })
})

describe('what a handler returned', () => {
  it.each<[unknown, object]>([
    [undefined, { kind: 'succeeded' }],
    [null, { kind: 'succeeded', result: 'null' }],
    [{ receipt: 'r1' }, { kind: 'succeeded', result: '{"receipt":"r1"}' }],
    [new Date(0), { kind: 'succeeded', result: '"1970-01-01T00:00:00.000Z"' }],
    [new Snooze(10_000), { kind: 'snoozed', delayMs: 10_000 }],
    [new Snooze(5, 'not yet'), { kind: 'snoozed', delayMs: 5, note: 'not yet' }],
  ])('%j', (value, outcome) => {
    expect(outcomeOf(value)).toEqual(outcome)
  })

  const circular: unknown[] = []
  circular.push(circular)
  it.each<[string, unknown]>([
    ['a BigInt', { price: 5n }],
    ['a cycle', circular],
    ['a function', () => 1],
    ['a symbol', Symbol('x')],
    ['something too deep', deep(100_000)],
    ['a toJSON that throws', { toJSON: hostile }],
    ['a proxy with traps', new Proxy({}, traps)],
    ['a revoked proxy', revoked()],
    ['over 1 MiB', 'é'.repeat(600_000)],
  ])('stays a success if its result cannot be stored: %s', (_, value) => {
    expect(outcomeOf(value)).toEqual({ kind: 'succeeded', note: expect.stringMatching(/^the result was not kept: /) })
  })
})

describe('a line of a log', () => {
  it('is text, with data as JSON', () => {
    expect(toLogText('charged', { cents: 4200 })).toEqual({ message: 'charged', data: '{"cents":4200}' })
    expect(toLogText('charged', undefined)).toEqual({ message: 'charged' })
  })

  it('never fails, and is bounded', () => {
    expect(toLogText('a\0\ud800', 5n)).toEqual({ message: 'a\u2400\ufffd' })
    expect(toLogText({ a: 1 }, circle())).toMatchObject({ message: '{"a":1}' })
    expect(toLogText('x'.repeat(1_000_000), 'x'.repeat(1_000_000)).message.length).toBeLessThan(5_000)
  })
})
