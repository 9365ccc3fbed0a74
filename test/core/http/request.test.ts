import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isSecretHeader } from '../../../src/core/http/headers.js'
import { type HttpRequest, isExpected, parseHttpRequest } from '../../../src/core/http/request.js'
import { ChronosError } from '../../../src/core/values/error.js'

const URL_ = 'https://api.example/orders'
const parse = (input: unknown) => parseHttpRequest(input, 'http')

describe('an HTTP request', () => {
  it('needs only a URL', () => {
    expect(parse({ url: URL_ })).toEqual({
      method: 'GET',
      url: URL_,
      origin: 'https://api.example',
      headers: {},
      timeoutMs: 30_000,
      expectedStatuses: ['2xx'],
      followRedirects: 0,
      retryClientErrors: false,
      captureBody: true,
    })
  })

  it.each<[what: string, request: Partial<HttpRequest>, read: Record<string, unknown>]>([
    ['JSON', { body: { a: 1 } }, { method: 'POST', body: '{"a":1}', headers: { 'content-type': 'application/json' } }],
    [
      'text',
      { body: 'a=1' },
      { method: 'POST', body: 'a=1', headers: { 'content-type': 'text/plain; charset=utf-8' } },
    ],
    ['false', { body: false, method: 'PUT' }, { method: 'PUT', body: 'false' }],
    ['empty text', { body: '' }, { method: 'POST', body: '' }],
    [
      'a given content type',
      { body: 'a=1', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } },
      { headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    ],
    ['a method in lower case', { method: 'delete' }, { method: 'DELETE' }],
    ['a fragment', { url: `${URL_}#part` }, { url: URL_ }],
    ['an odd host', { url: 'HTTP://EXAMPLE.com:80/ü' }, { url: 'http://example.com/%C3%BC' }],
    ['a time', { timeout: '30m' }, { timeoutMs: 1_800_000 }],
    ['redirects', { followRedirects: 3 }, { followRedirects: 3 }],
    ['a trace', { headers: { traceparent: '00-a-b-01' } }, { headers: { traceparent: '00-a-b-01' } }],
  ])('may have %s', (_, request, read) => {
    expect(parse({ url: URL_, ...request })).toMatchObject(read)
  })

  it.each<[input: unknown, message: string]>([
    [undefined, 'http: expected an object, got undefined'],
    [{}, 'http.url: expected an address such as "https://api.example.com/orders", got undefined'],
    [
      { url: 'api.example' },
      'http.url: expected an address such as "https://api.example.com/orders", got "api.example"',
    ],
    [{ url: 'ftp://a.example/' }, 'http.url: expected http: or https:, got "ftp:"'],
    [
      { url: 'https://u:p@a.example/' },
      'http.url: a name or password in the address is not sent; use an authorization header',
    ],
    [{ url: `https://a.example/${'x'.repeat(9_000)}` }, 'got a text of 9018 characters'],
    [{ url: 'not an address?token=s3cret' }, 'got "not an address"'],
    [{ url: URL_, methd: 'GET' }, 'http: unknown key "methd"; did you mean "method"?'],
    [
      { url: URL_, method: 'TRACE' },
      'http.method: expected one of GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, got "TRACE"',
    ],
    [{ url: URL_, method: 'GET', body: 'x' }, 'http.body: GET takes no body; leave it out, or use POST'],
    [{ url: URL_, body: null }, 'http.body: got null; leave it out instead'],
    [{ url: URL_, body: { at: new Date(0) } }, 'http.body.at: a Date comes back as text; send toISOString()'],
    [{ url: URL_, body: 'x'.repeat(262_145) }, 'http.body: is over 256 KiB; store it elsewhere and send a reference'],
    [{ url: URL_, timeout: '31m' }, 'http.timeout: expected a duration of at most 30m, got "31m"'],
    [{ url: URL_, timeout: 0 }, 'http.timeout: expected a duration of at least 1ms, got 0'],
    [
      { url: URL_, expectedStatuses: [200, 299] },
      'http.expectedStatuses: a list of statuses, or a range in a list: [[200, 299]]',
    ],
    [
      { url: URL_, expectedStatuses: [] },
      'http.expectedStatuses: expected a list such as [200, "3xx", [500, 504]], got an empty one',
    ],
    [{ url: URL_, expectedStatuses: [200, '9xx'] }, 'http.expectedStatuses[1]: expected a status from 100 to 599'],
    [
      { url: URL_, expectedStatuses: [[300, 200]] },
      'http.expectedStatuses[0]: expected a range of statuses such as [500, 503]',
    ],
    [{ url: URL_, followRedirects: 4 }, 'http.followRedirects: expected a whole number from 0 to 3, got 4'],
    [{ url: URL_, followRedirects: true }, 'http.followRedirects: expected a whole number from 0 to 3, got true'],
    [{ url: URL_, retryClientErrors: 'yes' }, 'http.retryClientErrors: expected true or false, got "yes"'],
    [{ url: URL_, headers: ['a'] }, 'http.headers: expected an object of texts, got an array'],
    [{ url: URL_, headers: { 'a b': 'x' } }, 'http.headers: "a b" is no name of a header'],
    [{ url: URL_, headers: { a: 7 } }, 'http.headers.a: expected text of one line in Latin letters, got 7'],
    [
      { url: URL_, headers: { a: 'x', A: 'y' } },
      'http.headers: "a" is given twice; names differ by more than capitals',
    ],
    [{ url: URL_, headers: { a: 'x'.repeat(17_000) } }, 'bytes of headers; at most 16384 are sent'],
    [
      { url: URL_, headers: Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`h${i}`, ''])) },
      '65 headers; at most 64',
    ],
  ])('refuses %j', (input, message) => {
    expect(() => parse(input)).toThrow(ChronosError)
    expect(() => parse(input)).toThrow(message)
  })

  it.each(['\r\nx: y', '\n', '\r', '\0', '\x7f', '\u0100', 'a\u2028b'])('refuses %j in a header', value => {
    expect(() => parse({ url: URL_, headers: { 'x-note': `s3cret${value}` } })).toThrow(/expected text of one line/)
    // The error does not show the value either.
    expect(() => parse({ url: URL_, headers: { 'x-note': `s3cret${value}` } })).not.toThrow(/s3cret/)
  })

  it.each(
    'Host Content-Length Transfer-Encoding Connection Keep-Alive Upgrade Expect TE Trailer User-Agent Accept-Encoding Proxy-Authorization X-Chronos-Attempt Webhook-Signature'.split(
      ' ',
    ),
  )('leaves %s to Chronos', name => {
    expect(() => parse({ url: URL_, headers: { [name]: 'x' } })).toThrow(/is set by Chronos and can't be overridden/)
  })

  it('never turns one header into two', () => {
    const text = fc.string({
      unit: fc.constantFrom('a', ':', ' ', '\r', '\n', '\0', '\t', 'é', '\u{1f600}'),
      maxLength: 12,
    })
    fc.assert(
      fc.property(fc.dictionary(text, text, { maxKeys: 5 }), headers => {
        let read: Readonly<Record<string, string>>
        try {
          read = parse({ url: URL_, headers }).headers
        } catch (error) {
          expect(error).toBeInstanceOf(ChronosError)
          return
        }
        const wire = Object.entries(read).map(([name, value]) => `${name}: ${value}`)
        expect(wire.filter(line => !/^[^\r\n\0:]+: [^\r\n\0]*$/.test(line))).toEqual([])
      }),
      { numRuns: 5_000 },
    )
  })
})

describe('an expected response', () => {
  it.each<[statuses: HttpRequest['expectedStatuses'], status: number, expected: boolean]>([
    [undefined, 200, true],
    [undefined, 299, true],
    [undefined, 304, false],
    [[200, 404], 404, true],
    [[200, 404], 201, false],
    [['2xx', '3xx'], 302, true],
    [[[500, 503]], 503, true],
    [[[500, 503]], 504, false],
  ])('%j: %i is %s', (expectedStatuses, status, expected) => {
    const call = parse({ url: URL_, ...(expectedStatuses && { expectedStatuses }) })
    expect(isExpected(call, status)).toBe(expected)
  })
})

describe('a secret header', () => {
  it.each([
    ...['authorization', 'Cookie', 'set-cookie', 'x-api-key', 'api-key', 'apikey', 'x-auth-token', 'x-access-token'],
    ...[
      'x-amz-security-token',
      'client-secret',
      'x-csrf-token',
      'access_token',
      'token',
      'password',
      'x-hub-signature',
      'proxy-authorization',
      'x-token-id',
      'access-key',
      'x-auth',
    ],
  ])('is %s', name => {
    expect(isSecretHeader(name)).toBe(true)
  })

  it.each(['accept', 'content-type', 'idempotency-key', 'traceparent', 'x-request-id', 'etag', 'location'])(
    'is not %s',
    name => {
      expect(isSecretHeader(name)).toBe(false)
    },
  )
})
