import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { runInNewContext } from 'node:vm'
import * as undici from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { classify } from '../../../src/core/failure/classify.js'
import { knownAnswer } from '../../../src/core/failure/known-failures.js'
import { RetryAfter } from '../../../src/core/failure/retry-after.js'
import type { Rule } from '../../../src/core/policy/policy.js'
import { ChronosError, PermanentError } from '../../../src/core/values/error.js'

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

/** The URL of a server that answers with this body. */
async function answering(body: string): Promise<string> {
  const server = createServer((_, response) => response.writeHead(502).end(body)).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

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
  ])('if nothing says otherwise: %s', (_, thrown) => {
    expect(of(thrown)).toEqual({ kind: 'transient', rule: 'default' })
  })

  it('if an HTTP client could not parse the body of a response', async () => {
    const url = await answering('{"cut": ')
    const parse = [
      async () => (await fetch(url)).json(),
      async () => (await undici.fetch(url)).json(),
      async () => (await undici.request(url)).body.json(),
    ]
    for (const read of parse) {
      const thrown = await read().catch((error: unknown) => error)
      expect(of(thrown)).toEqual({ kind: 'transient', rule: 'built-in: SyntaxError of a response body' })
      expect(of(caused(thrown)).kind).toBe('transient')
    }
  })

  it.each([
    ['Unexpected token \'<\', "<html><bod"... is not valid JSON', 'transient'],
    ['Unexpected token < in JSON at position 0', 'transient'],
    ["Unexpected token '<'", 'permanent'],
    ['Unexpected token \'<\', "{"a":<}" is not valid JSON', 'permanent'],
    ['Unexpected end of JSON input', 'permanent'],
  ])('if a handler parsed a page as JSON: %s', (message, kind) => {
    expect(of(new SyntaxError(message)).kind).toBe(kind)
  })

  it.each([NotFoundError, UnauthorizedError, ForbiddenError, ValidationError, SyntaxError])(
    'if the status of a client says so, whatever the client calls it: %o',
    Named => {
      expect(of(Object.assign(new Named(), { status: 503 }))).toMatchObject({
        kind: 'transient',
        rule: 'built-in: HTTP 503',
      })
      expect(of(Object.assign(new Named(), { response: { status: 429 } })).kind).toBe('throttled')
      expect(of(Object.assign(new Named(), { status: 404 }))).toMatchObject({
        kind: 'permanent',
        rule: expect.stringMatching(/Error$/),
      })
    },
  )

  it('with a temporary status, whatever caused it', () => {
    expect(of(Object.assign(caused(new SyntaxError()), { status: 502 }))).toEqual({
      kind: 'transient',
      rule: 'built-in: HTTP 502',
    })
    expect(of(error({ status: 408 })).kind).toBe('transient')
  })

  it('when its cause is too deep in the chain', () => {
    let chain: unknown = new ValidationError()
    for (let i = 0; i < 10; i++) chain = caused(chain)
    expect(of(chain).kind).toBe('permanent')
    expect(of(caused(chain)).kind).toBe('transient')
  })
})

it('429 is throttled', () => {
  expect(of(error({ status: 429 }))).toEqual({ kind: 'throttled', rule: 'built-in: HTTP 429' })
})

describe('a verdict of the handler (R9)', () => {
  const always: Rule = { when: { predicate: () => true }, as: 'transient' }

  it('takes precedence over every rule', () => {
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
    expect(of(thrown, { when, as: 'gone' })).toMatchObject({ kind: 'gone', rule: `rule 1 (${words})` })
  })

  it('distinguish errors of one class by their own names', () => {
    const rule: Rule = { when: { name: 'Declined' }, as: 'gone' }
    const [before, named, after] = [new ZipCodeError(), new ZipCodeError(), new ZipCodeError()]
    named.name = 'Declined'
    expect([before, named, after].map(thrown => of(thrown, rule).kind)).toEqual(['permanent', 'gone', 'permanent'])
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
    ['a predicate that returns a promise', { predicate: (async () => true) as never }, new Error('x')],
    ['a field, but not the predicate', { name: 'Error', predicate: () => false }, new Error('x')],
    ['anything after losing its predicate', {}, new Error('x')],
  ])('do not match %s', (_, when, thrown) => {
    expect(of(thrown, { when, as: 'gone' }).kind).toBe('transient')
  })

  it('apply in order, before the built-in table', () => {
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

/** Errors as Node, undici, DNS and TLS throw them. */
describe('an error without a response', () => {
  const node = (code: string, syscall?: string, message = `${syscall ?? 'x'} ${code} 192.0.2.1:443`) =>
    error({ code, ...(syscall && { syscall }), message })
  const fetchFailed = (cause: unknown) => new TypeError('fetch failed', { cause })

  // biome-ignore format: a table reads best with one row per line
  it.each<[string, unknown, string, boolean | undefined, string]>([
    // Columns: description, thrown value, kind, whether it may have been carried out, identified by
    ['refused', node('ECONNREFUSED', 'connect'), 'transient', false, 'ECONNREFUSED'],
    ['refused, by fetch', fetchFailed(node('ECONNREFUSED', 'connect')), 'transient', false, 'ECONNREFUSED'],
    ['no such name', fetchFailed(node('ENOTFOUND', 'getaddrinfo')), 'transient', false, 'ENOTFOUND'],
    ['DNS fails temporarily', node('EAI_AGAIN', 'getaddrinfo'), 'transient', false, 'EAI_AGAIN'],
    ['DNS answers nothing', node('ESERVFAIL', 'queryA'), 'transient', false, 'ESERVFAIL'],
    ['no route', node('EHOSTUNREACH', 'connect'), 'transient', false, 'EHOSTUNREACH'],
    ['no route, code only', error({ code: 'ENETUNREACH' }), 'transient', false, 'ENETUNREACH'],
    ['the route went away', node('EHOSTUNREACH', 'read'), 'transient', true, 'EHOSTUNREACH'],
    ['the route went away, wrapped', error({ code: 'EHOSTUNREACH', message: 'read EHOSTUNREACH' }), 'transient', true, 'EHOSTUNREACH'],
    ['no port left', node('EADDRNOTAVAIL', 'connect'), 'transient', false, 'EADDRNOTAVAIL'],
    ['no file handle for a socket', node('EMFILE', 'connect'), 'transient', false, 'EMFILE'],
    ['no file handle for a file', node('EMFILE', 'open'), 'transient', undefined, 'EMFILE'],
    ['undici: connect timeout', fetchFailed(error({ code: 'UND_ERR_CONNECT_TIMEOUT' })), 'transient', false, 'UND_ERR_CONNECT_TIMEOUT'],
    ['connect timeout', node('ETIMEDOUT', 'connect'), 'transient', false, 'ETIMEDOUT'],
    ['connect timeout, wrapped', error({ code: 'ETIMEDOUT', message: 'connect ETIMEDOUT 192.0.2.1:443' }), 'transient', false, 'ETIMEDOUT'],
    ['timeout on an open connection', node('ETIMEDOUT', 'read'), 'transient', true, 'ETIMEDOUT'],
    ['HTTP/2 refused the stream', error({ code: 'ERR_HTTP2_STREAM_ERROR', message: 'Stream closed with error code NGHTTP2_REFUSED_STREAM' }), 'transient', false, 'ERR_HTTP2_STREAM_ERROR'],
    ['HTTP/2 cut the stream', error({ code: 'ERR_HTTP2_STREAM_ERROR', message: 'Stream closed with error code NGHTTP2_INTERNAL_ERROR' }), 'transient', true, 'ERR_HTTP2_STREAM_ERROR'],
    ['reset', fetchFailed(node('ECONNRESET', 'read')), 'transient', true, 'ECONNRESET'],
    ['reset in the TLS handshake', error({ code: 'ECONNRESET', message: 'Client network socket disconnected before secure TLS connection was established' }), 'transient', false, 'ECONNRESET'],
    ['broken pipe', node('EPIPE', 'write'), 'transient', true, 'EPIPE'],
    ['an axios timeout', error({ name: 'AxiosError', code: 'ECONNABORTED', message: 'timeout of 5000ms exceeded' }), 'transient', true, 'ECONNABORTED'],
    ['undici: the other side closed', fetchFailed(error({ code: 'UND_ERR_SOCKET' })), 'transient', true, 'UND_ERR_SOCKET'],
    ['undici: no headers', fetchFailed(error({ code: 'UND_ERR_HEADERS_TIMEOUT' })), 'transient', true, 'UND_ERR_HEADERS_TIMEOUT'],
    ['undici: the body stopped', error({ code: 'UND_ERR_BODY_TIMEOUT' }), 'transient', true, 'UND_ERR_BODY_TIMEOUT'],
    ['undici: the body is too short', error({ code: 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH' }), 'transient', true, 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'],
    ['a 200 whose body was cut off', error({ status: 200, code: 'UND_ERR_SOCKET' }), 'transient', true, 'UND_ERR_SOCKET'],
    ['garbage', fetchFailed(error({ name: 'HTTPParserError', code: 'HPE_INVALID_CONSTANT' })), 'transient', true, 'HPE_INVALID_CONSTANT'],
    ['AbortSignal.timeout()', new DOMException('The operation was aborted due to timeout', 'TimeoutError'), 'transient', true, 'TimeoutError'],
    ['an abort by the handler', new DOMException('This operation was aborted', 'AbortError'), 'transient', true, 'AbortError'],
    ['a certificate that expired', fetchFailed(error({ code: 'CERT_HAS_EXPIRED' })), 'permanent', false, 'CERT_HAS_EXPIRED'],
    ['a certificate for another name', error({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' }), 'permanent', false, 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ['TLS against plain HTTP', error({ code: 'ERR_SSL_WRONG_VERSION_NUMBER' }), 'permanent', false, 'ERR_SSL_WRONG_VERSION_NUMBER'],
    ['TLS cut off', error({ code: 'ERR_SSL_UNEXPECTED_EOF_WHILE_READING', message: 'error:0A000126:SSL routines::unexpected eof while reading' }), 'transient', true, 'ERR_SSL_UNEXPECTED_EOF_WHILE_READING'],
    ['TLS, somewhere', error({ code: 'EPROTO' }), 'permanent', undefined, 'EPROTO'],
    ['no URL', error({ code: 'ERR_INVALID_URL' }), 'permanent', false, 'ERR_INVALID_URL'],
    ['a port that fetch refuses', fetchFailed(new Error('bad port')), 'permanent', false, '"bad port"'],
    ['credentials in the URL', new TypeError('Request cannot be constructed from a URL that includes credentials: http://a:b@c/'), 'permanent', false, '"URL that includes credentials"'],
    ['an address that is not allowed', error({ code: 'ESSRFBLOCKED' }), 'blocked', false, 'ESSRFBLOCKED'],
    ['a response with a status', error({ status: 502, code: 'ECONNRESET' }), 'transient', undefined, 'HTTP 502'],
  ])('%s', (_, thrown, kind, maybeExecuted, word) => {
    expect(of(thrown)).toEqual({
      kind,
      rule: `built-in: ${word}`,
      ...(maybeExecuted !== undefined && { maybeExecuted }),
    })
  })

  it('is classified by what all of several addresses have in common', () => {
    const tried = (...errors: unknown[]) => Object.assign(new AggregateError(errors), { code: 'ETIMEDOUT' })
    expect(of(tried(node('ETIMEDOUT', 'connect'), node('ECONNREFUSED', 'connect')))).toMatchObject({
      kind: 'transient',
      maybeExecuted: false,
    })
    expect(of(tried(node('ETIMEDOUT', 'connect'), node('ECONNRESET', 'read')))).toMatchObject({ maybeExecuted: true })
    expect(of(tried(node('ETIMEDOUT', 'connect'), new Error('x')))).not.toHaveProperty('maybeExecuted')
  })

  it('keeps whether the request was sent, whatever a rule says', () => {
    const rule: Rule = { when: { code: ['ECONNRESET', 'ECONNREFUSED'] }, as: 'throttled', delay: '5m' }
    expect(of(node('ECONNRESET', 'read'), rule)).toMatchObject({
      kind: 'throttled',
      delayMs: 300_000,
      maybeExecuted: true,
    })
    expect(of(node('ECONNREFUSED', 'connect'), rule)).toMatchObject({ kind: 'throttled', maybeExecuted: false })
  })

  it('follows the handler if it gives a verdict, because it knows more', () => {
    expect(of(new PermanentError('no', { cause: node('ECONNRESET', 'read') }))).not.toHaveProperty('maybeExecuted')
  })
})

describe('a response on a thrown error', () => {
  it.each<[string, object]>([
    ['on the error', { status: 404 }],
    ['under another name', { statusCode: 404 }],
    ['on the response', { response: { status: 404 } }],
    ['on the response, under another name', { response: { statusCode: 404 } }],
  ])('is found %s', (_, facts) => {
    expect(of(error(facts))).toEqual({ kind: 'permanent', rule: 'built-in: HTTP 404' })
  })

  // biome-ignore format: a table reads best with one row per line
  it.each<[string, object, object]>([
    ['429', { status: 429, headers: { 'retry-after': '30' } }, { kind: 'throttled', retryAfterMs: 30_000 }],
    ['503', { status: 503, headers: new Headers({ 'retry-after': '30' }) }, { kind: 'throttled', retryAfterMs: 30_000 }],
    ['429 of a client that keeps the response', { response: { status: 429, headers: { 'Retry-After': 5 } } }, { kind: 'throttled', retryAfterMs: 5_000 }],
    ['408', { status: 408, headers: { 'retry-after': '7' } }, { kind: 'transient', retryAfterMs: 7_000 }],
    ['503 with a date, on the clock of the other side', { status: 503, headers: { date: 'Sun, 15 Nov 2026 09:00:00 GMT', 'retry-after': 'Sun, 15 Nov 2026 09:01:00 GMT' } }, { kind: 'throttled', retryAfterMs: 60_000 }],
  ])('says when to retry: %s', (_, facts, expected) => {
    expect(of(error(facts))).toMatchObject(expected)
  })

  it('keeps its Retry-After when a rule classifies it', () => {
    const thrown = error({ status: 503, headers: { 'retry-after': '30' } })
    expect(of(thrown, { when: { status: 503 }, as: 'transient' })).toMatchObject({
      kind: 'transient',
      retryAfterMs: 30_000,
    })
  })

  it.each<[string, object]>([
    ['an ordinary 503', { status: 503 }],
    ['a 503 with an invalid value', { status: 503, headers: { 'retry-after': 'soon' } }],
    ['a 500, for which it is ignored', { status: 500, headers: { 'retry-after': '30' } }],
  ])('gives no retry time: %s', (_, facts) => {
    const found = of(error(facts))
    expect(found.kind).toBe('transient')
    expect(found).not.toHaveProperty('retryAfterMs')
  })
})

describe('a response to an HTTP job', () => {
  it.each<[string, number[], string | undefined]>([
    ['is a success', [200, 201, 204, 299], undefined],
    ['is permanent', [301, 302, 304, 308], 'permanent'],
    ['is permanent', [400, 401, 402, 403, 404, 405, 406, 409, 410, 411, 413, 414, 415, 418, 422, 451], 'permanent'],
    ['is transient', [408, 425], 'transient'],
    ['is throttled', [429], 'throttled'],
    ['is transient', [500, 502, 503, 504, 507, 520, 521, 522, 523, 524, 529, 530, 599], 'transient'],
    ['is transient', [501, 505, 506, 508, 510, 511], 'transient'],
  ])('%s: %j', (_, statuses, kind) => {
    for (const status of statuses) {
      expect(knownAnswer({ status }), String(status)).toEqual(kind && { kind, word: `HTTP ${status}` })
    }
  })

  it('503 with a Retry-After is throttled', () => {
    expect(knownAnswer({ status: 503, retryAfter: true })?.kind).toBe('throttled')
    expect(knownAnswer({ status: 500, retryAfter: true })?.kind).toBe('transient')
  })

  it('409 of a call that was sent before conflicts with our own first call, still running', () => {
    expect(knownAnswer({ status: 409, repeated: true })?.kind).toBe('transient')
    expect(knownAnswer({ status: 404, repeated: true })?.kind).toBe('permanent')
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

  it('with very many errors is not classified', () => {
    expect(of(all(...Array.from({ length: 100 }, () => new ValidationError()))).kind).toBe('permanent')
    expect(of(all(...Array.from({ length: 101 }, () => new ValidationError()))).kind).toBe('transient')
  })

  it('with endlessly nested aggregates terminates', () => {
    const loop = new AggregateError([])
    loop.errors = Array.from({ length: 100 }, () => loop)
    expect(of(loop).kind).toBe('transient')
    expect(
      of({ name: 'AggregateError', errors: new Proxy({}, { get: (_, key) => (key === 'length' ? 100 : loop) }) }).kind,
    ).toBe('transient')
  })
})

describe('no thrown value does harm', () => {
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
    ['a cycle of causes', circular],
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
