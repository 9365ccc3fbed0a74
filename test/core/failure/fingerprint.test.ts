import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fingerprint, fingerprintOf } from '../../../src/core/failure/fingerprint.js'
import { MASKED_LENGTH_MAX, maskMessage } from '../../../src/core/failure/mask.js'
import type { StoredError } from '../../../src/core/job/job.js'
import { hash64 } from '../../../src/core/values/hash.js'
import { read } from '../../../src/core/values/schema.js'

// Real messages, and what remains of them.
const MESSAGES: readonly (readonly [message: string, masked: string])[] = [
  // Node and undici
  [
    'fetch failed; caused by: Error: connect ECONNREFUSED 127.0.0.1:5432',
    'fetch failed; caused by: Error: connect ECONNREFUSED <ip>',
  ],
  ['connect ECONNREFUSED ::1:5432', 'connect ECONNREFUSED <ip>'],
  ['connect ETIMEDOUT [fe80::1ff:fe23]:443', 'connect ETIMEDOUT <ip>'],
  [
    'Connect Timeout Error (attempted addresses: 10.0.0.1:443, 10.0.0.2:443, timeout: 10000ms)',
    'Connect Timeout Error (attempted addresses: <ip>, timeout: <duration>)',
  ],
  ['getaddrinfo ENOTFOUND api.example.com', 'getaddrinfo ENOTFOUND api.example.com'],
  [
    "ENOENT: no such file or directory, open '/var/data/2026/report 7.json'",
    "ENOENT: no such file or directory, open '<text>'",
  ],
  ["ENOENT: no such file or directory, open '/var/data/7.json'", "ENOENT: no such file or directory, open '<path>'"],
  ['EMFILE: too many open files, watch C:\\data\\inbox\\4711', 'EMFILE: too many open files, watch <path>'],
  ["Cannot read properties of undefined (reading 'x')", "Cannot read properties of undefined (reading 'x')"],
  ["Cannot find module 'left-pad'", "Cannot find module 'left-pad'"],
  ['Unexpected token < in JSON at position 17', 'Unexpected token < in JSON at position <n>'],
  ['Stream closed with error code ERR_HTTP2_STREAM_ERROR', 'Stream closed with error code ERR_HTTP2_STREAM_ERROR'],
  [
    'error:0A000126:SSL routines::unexpected eof while reading',
    'error:<hex>:SSL routines::unexpected eof while reading',
  ],
  // PostgreSQL
  [
    'duplicate key value violates unique constraint "users_email_key"',
    'duplicate key value violates unique constraint "users_email_key"',
  ],
  ['Key (email)=(ann@example.com) already exists.', 'Key (email)=(<email>) already exists.'],
  ['Key (name)=(ann) already exists.', 'Key (name)=(<text>) already exists.'],
  ['relation "users" does not exist', 'relation "users" does not exist'],
  ['invalid input syntax for type integer: "twelve"', 'invalid input syntax for type integer: "<text>"'],
  [
    'null value in column "id" of relation "orders" violates not-null constraint',
    'null value in column "id" of relation "orders" violates not-null constraint',
  ],
  [
    'deadlock detected; Process 123 waits for ShareLock on transaction 456; blocked by process 789.',
    'deadlock detected; Process <n> waits for ShareLock on transaction <n>; blocked by process <n>.',
  ],
  // Services and clients
  ["No such customer: 'cus_9s6XKzkNRiz8i3'", "No such customer: 'cus_<id>'"],
  ['Request req_8hJ3kS9dQ1 was throttled, retry in 2.5s', 'Request req_<id> was throttled, retry in <duration>'],
  ['Request failed with status code 503', 'Request failed with status code <n>'],
  ['timeout of 5000ms exceeded', 'timeout of <duration> exceeded'],
  ['Navigation timeout of 30 seconds exceeded', 'Navigation timeout of <duration> exceeded'],
  ['POST https://ann:pw@api.shop.example:8443/v1/orders/17?key=abc failed', 'POST https://api.shop.example/… failed'],
  ['GET http://10.1.2.3:8080/health gave 502', 'GET http://<ip>/… gave <n>'],
  ['token eyJhbGciOiJIUzI1NiJ9 expired at 2026-11-16T05:30:27.123Z', 'token <id> expired at <time>'],
  ['certificate expired on Mon, 16 Nov 2026 05:30:27 GMT', 'certificate expired on <time>'],
  ['The specified bucket does not exist in S3 (v1)', 'The specified bucket does not exist in S3 (v1)'],
  // Validation
  [
    '[{"code":"invalid_type","expected":"string","received":"undefined","path":["user",0,"email"],"message":"Required"}]',
    '[{"code":"invalid_type","expected":"string","received":"undefined","path":["user",<n>,"email"],"message":"<text>"}]',
  ],
  [
    'payload.items[3].price: Expected number, received string',
    'payload.items[<n>].price: Expected number, received string',
  ],
  // Our own words
  ['job 018f2f6e-7b1a-7c3d-9e4f-0123456789ab took 4.2s', 'job <id> took <duration>'],
  ['User "ann" not found', 'User "<text>" not found'],
  ['order A-17 of tenant acme lacks 1,234.56 EUR', 'order A-<n> of tenant acme lacks <n> EUR'],
  ['ids 1, 2, 3 are taken', 'ids <n> are taken'],
  ["can't open the user's box", "can't open the user's box"],
  ['checksum deadbeef01 of 0x7fff5fbff8a0 differs', 'checksum <hex> of <hex> differs'],
  ['two\n  lines\twith   space', 'two lines with space'],
  ['nichts gefunden: “Käse 7” für ann@käse.example', 'nichts gefunden: “<text>” für ann@käse.example'],
  ['エラー １２３ 番', 'エラー <n> 番'],
]

describe('a message is masked', () => {
  it.each(MESSAGES)('%s', (message, masked) => {
    expect(maskMessage(message)).toBe(masked)
  })

  it('the same when repeated', () => {
    for (const [, masked] of MESSAGES) expect(maskMessage(masked)).toBe(masked)
  })

  const tokens = [
    '5',
    '12ms',
    '"',
    "'",
    '`',
    '<n>',
    '<',
    '…',
    '=(',
    ')',
    'a_b',
    'cus_1',
    '/tmp/x',
    'http://a.b/c?d',
    '::1',
    '-',
    '@',
    ' ',
    'é',
    '𝒳',
  ]
  const messages = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 600 }),
    fc
      .array(fc.constantFrom(...tokens, ...MESSAGES.map(([message]) => message)), { maxLength: 80 })
      .map(all => all.join('')),
    fc.array(fc.constantFrom(...tokens), { maxLength: 400 }).map(all => all.join(' ')),
  )

  it('the same when repeated, for any text, and never too long', () => {
    fc.assert(
      fc.property(messages, message => {
        const masked = maskMessage(message)
        expect(maskMessage(masked)).toBe(masked)
        expect(masked.length).toBeLessThanOrEqual(MASKED_LENGTH_MAX)
        expect(masked).not.toMatch(/\p{Surrogate}/u)
      }),
      { numRuns: 1_000 },
    )
  })

  it('the same for all numbers in it', () => {
    const sentence = (n: number, id: string, ms: number) => `order ${n} (${id}) waited ${ms}ms for "${id}"`
    fc.assert(
      fc.property(fc.nat(), fc.uuid(), fc.nat(), (n, id, ms) => {
        expect(maskMessage(sentence(n, id, ms))).toBe('order <n> (<id>) waited <duration> for "<id>"')
      }),
    )
  })

  it('quickly, even a hostile one', () => {
    for (const piece of ['a', '1', '-', '"', "'", '/', ':', '.', '@a.', '[:', '=(', 'a1_', '::1', '\ud800']) {
      expect(maskMessage(piece.repeat(20_000)).length).toBeLessThanOrEqual(MASKED_LENGTH_MAX)
    }
  })
})

describe('a fingerprint', () => {
  const error = (message: string, more: Partial<StoredError> = {}): StoredError => ({ name: 'Error', message, ...more })
  const of = (stored: StoredError, name = 'charge-card') => fingerprintOf({ name, error: stored, kind: 'transient' })

  it('is 16 hex digits, and names its group', () => {
    expect(of(error('user 17 not found'))).toEqual({
      fingerprint: expect.stringMatching(/^[0-9a-f]{16}$/),
      title: 'user <n> not found',
    })
  })

  it('stays the same from one version to the next', () => {
    expect(of(error('user 17 not found')).fingerprint).toBe('309dfbdce547b4c9')
  })

  it('is the same for the same error with other values, from another line', () => {
    const one = of(error('user 17 not found', { stack: 'Error: …\n    at a.js:1:1' }))
    expect(of(error('user 4711 not found', { stack: 'Error: …\n    at a.js:2:9' }))).toEqual(one)
  })

  it.each<[string, { fingerprint: string }]>([
    ['message', of(error('order 17 not found'))],
    ['class', of(error('user 17 not found', { name: 'DbError' }))],
    ['code', of(error('user 17 not found', { code: 'E1' }))],
    ['status', of(error('user 17 not found', { status: 500 }))],
    ['job', of(error('user 17 not found'), 'send-mail')],
    ['kind', fingerprintOf({ name: 'charge-card', error: error('user 17 not found'), kind: 'permanent' })],
  ])('is another for another %s', (_, other) => {
    expect(other.fingerprint).not.toBe(of(error('user 17 not found')).fingerprint)
  })

  it('distinguishes the same text in different fields', () => {
    const fields = (name: string, code: string) => of({ name, code, message: 'x' }).fingerprint
    expect(fields('a', 'b')).not.toBe(fields('ab', ''))
    expect(fields('a","b', '')).not.toBe(fields('a', 'b'))
  })

  it('is the one that the user gives, if there is one', () => {
    expect(fingerprintOf({ name: 'x', error: error('card 4 declined'), own: 'declined' })).toEqual({
      fingerprint: 'declined',
      title: 'card <n> declined',
    })
  })

  it('has a title, whatever was thrown', () => {
    expect(of({ name: 'DbError', message: ' ' }).title).toBe('DbError')
    expect(of({ name: '', message: '' }).title).toBe('no message')
  })

  it.each([['declined'], ['stripe:card_declined.v2'], ['a'.repeat(64)]])('given by the user may be %s', value => {
    expect(() => read(fingerprint, value, 'fingerprint')).not.toThrow()
  })

  it.each([[''], ['a b'], ['a/b'], ['é'], ['a'.repeat(65)], ['0123456789abcdef'], [5], [null], [undefined]])(
    'given by the user may not be %j',
    value => {
      expect(() => read(fingerprint, value, 'job "x": fingerprint')).toThrow(
        /job "x": fingerprint: expected 1 to 64 letters, digits or : _ \. - .*, got /,
      )
    },
  )
})

describe('hash64', () => {
  it('distinguishes similar texts', () => {
    const texts = Array.from({ length: 100_000 }, (_, i) => `error ${i.toString(36)}`)
    expect(new Set(texts.map(hash64)).size).toBe(texts.length)
  })

  it('uses all its bits', () => {
    const counts = Array.from({ length: 64 }, () => 0)
    for (let i = 0; i < 4_000; i++) {
      const bits = BigInt(`0x${hash64(`${i}`)}`)
      for (let bit = 0; bit < 64; bit++) if ((bits >> BigInt(bit)) & 1n) counts[bit]!++
    }
    for (const count of counts) expect(Math.abs(count - 2_000)).toBeLessThan(200)
  })
})
