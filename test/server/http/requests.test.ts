import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { ChronosError } from '../../../src/core/values/error.js'
import { systemClock } from '../../../src/engine/time/system.js'
import { memoryStore } from '../../../src/store/memory.js'
import type { Store } from '../../../src/store/store.js'
import { tokenOf } from '../deaths.js'
import { MovableClock, startServer } from '../server.js'

interface Job {
  readonly id: string
}

/** A store that fails once to keep the response of a request. */
function forgetfulStore(): Store {
  const store = memoryStore({ clock: systemClock })
  const { putRecords } = store
  let hasFailed = false
  store.putRecords = async records => {
    if (hasFailed || !records.some(({ kind, body }) => kind === 'reply' && body?.includes('answered'))) {
      return putRecords.call(store, records)
    }
    hasFailed = true
    throw new ChronosError('STORE_UNAVAILABLE', 'the disk is gone')
  }
  return store
}

describe('requests', () => {
  it('with the same Idempotency-Key take effect once', async () => {
    await using t = await startServer()
    const body = { name: 'mail', payload: 1 }
    const key = { 'Idempotency-Key': 'order-17' }
    const first = await t.api<Job>('POST', '/jobs', body, key)
    const again = await t.api<Job>('POST', '/jobs', body, key)
    expect(again.status).toBe(201)
    expect(again.body).toEqual(first.body)
    expect([first, again].map(({ headers }) => headers.get('Idempotency-Replayed'))).toEqual([null, 'true'])
    expect((await t.chronos.jobs.count()).value).toBe(1)
    const other = await t.api('POST', '/jobs', { ...body, payload: 2 }, key)
    expect([other.status, other.body]).toMatchObject([422, { code: 'IDEMPOTENCY_KEY_REUSED' }])
  })

  it('with the same Idempotency-Key at the same time create one job', async () => {
    await using t = await startServer()
    const replies = await Promise.all(
      Array.from({ length: 10 }, () => t.api<Job>('POST', '/jobs', { name: 'mail' }, { 'Idempotency-Key': 'k' })),
    )
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([201, 409]))
    expect((await t.chronos.jobs.count()).value).toBe(1)
  })

  it('that failed leave their Idempotency-Key unused', async () => {
    await using t = await startServer()
    const key = { 'Idempotency-Key': 'k' }
    expect(
      (
        await t.api(
          'POST',
          '/jobs',
          { name: 'mail', retry: { maxRetries: 1, backoff: { type: 'fixed', delay: '1 parsec' } } },
          key,
        )
      ).status,
    ).toBe(422)
    expect((await t.api('POST', '/jobs', { name: 'mail' }, key)).status).toBe(201)
  })

  it('with the same Idempotency-Key of two callers are independent', async () => {
    await using t = await startServer({ asAdmin: true })
    // Both tokens have the same name.
    const callers = [await tokenOf(t, 'operator'), await tokenOf(t, 'operator')]
    const replies = await Promise.all(
      callers.map(caller => t.api<Job>('POST', '/jobs', { name: 'mail' }, { ...caller, 'Idempotency-Key': 'k' })),
    )
    expect(replies.map(({ status }) => status)).toEqual([201, 201])
    expect(new Set(replies.map(({ body }) => body.id)).size).toBe(2)
  })

  it.each([
    ['a job', '/jobs', { name: 'mail' }],
    ['a schedule', '/jobs', { schedule: '0 0 1 1 *', api: 'https://api.example/ping', isRecurring: true }],
  ])('whose response could not be stored create %s once', async (_, path, body) => {
    const clock = new MovableClock()
    await using t = await startServer({ clock, chronos: { store: forgetfulStore() } })
    const key = { 'Idempotency-Key': 'k' }
    const first = await t.api<Job>('POST', path, body, key)
    expect(first.status).toBe(201)
    expect((await t.api('POST', path, body, key)).body).toMatchObject({ code: 'IDEMPOTENCY_KEY_IN_USE' })
    clock.advance(61_000)
    const again = await t.api<Job>('POST', path, body, key)
    expect(again.body.id).toBe(first.body.id)
  })

  it('whose response could not be stored are not repeated if that could create something twice', async () => {
    const clock = new MovableClock()
    await using t = await startServer({ clock, chronos: { store: forgetfulStore() } })
    const body = { url: 'https://hooks.example/chronos', events: ['job.dead'] }
    const key = { 'Idempotency-Key': 'k' }
    expect((await t.api('POST', '/webhooks', body, key)).status).toBe(201)
    clock.advance(61_000)
    const again = await t.api('POST', '/webhooks', body, key)
    expect([again.status, again.body]).toMatchObject([409, { code: 'IDEMPOTENCY_OUTCOME_UNKNOWN' }])
    expect((await t.api<{ data: unknown[] }>('GET', '/webhooks')).body.data).toHaveLength(1)
    clock.advance(86_400_000)
    expect((await t.api('POST', '/webhooks', body, key)).status).toBe(201)
  })

  it('return their request id, or a new one', async () => {
    await using t = await startServer()
    expect((await t.api('GET', '/jobs', undefined, { 'X-Request-Id': 'r-1' })).headers.get('X-Request-Id')).toBe('r-1')
    const { headers, body } = await t.api<{ requestId: string }>('GET', '/jobs/nope', undefined, {
      'X-Request-Id': 'a b',
    })
    expect(headers.get('X-Request-Id')).toMatch(/^[0-9a-f]{32}$/)
    expect(body.requestId).toBe(headers.get('X-Request-Id'))
  })

  it.each([
    ['text that is no JSON', 400, 'NOT_JSON', '{"name":', 'application/json'],
    ['bytes that are no text', 400, 'NOT_JSON', new Uint8Array([0x22, 0xff, 0xfe, 0x22]), 'application/json'],
    ['a form', 415, 'UNSUPPORTED_MEDIA_TYPE', 'name=mail', 'application/x-www-form-urlencoded'],
    ['plain text', 415, 'UNSUPPORTED_MEDIA_TYPE', '{"name":"mail"}', 'text/plain'],
    ['nothing', 400, 'NOT_JSON', '', 'application/json'],
    ['an array', 422, 'INVALID_REQUEST', '[]', 'application/json'],
    ['null', 422, 'INVALID_REQUEST', 'null', 'application/json'],
  ])('with %s are refused', async (_, status, code, body, type) => {
    await using t = await startServer()
    const response = await fetch(new URL('api/v1/jobs', t.url), {
      method: 'POST',
      headers: { 'Content-Type': type },
      body,
    })
    expect([response.status, await response.json()]).toMatchObject([status, { code }])
  })

  it('that are too large are refused, with or without Content-Length', async () => {
    await using t = await startServer({ maxBody: 2048 })
    const said = await t.api('POST', '/jobs', { name: 'mail', payload: 'x'.repeat(3000) })
    expect([said.status, said.body]).toMatchObject([413, { code: 'BODY_TOO_LARGE' }])
    const chunks = new ReadableStream({
      pull(controller) {
        controller.enqueue(new TextEncoder().encode('"'.repeat(1000)))
      },
    })
    const silent = await fetch(new URL('api/v1/jobs', t.url), {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: chunks,
      duplex: 'half',
    } as RequestInit)
    expect(silent.status).toBe(413)
  })

  it('without authentication have small bodies only', async () => {
    await using t = await startServer({ token: 'a-token-of-the-configuration' })
    const large = await t.api('POST', '/session', { token: 'x'.repeat(2_000) })
    expect([large.status, large.body]).toMatchObject([413, { code: 'BODY_TOO_LARGE' }])
    expect((await t.api('POST', '/jobs', { name: 'mail', payload: 'x'.repeat(2_000_000) })).status).toBe(401)
  })

  it('to an unknown path or with a wrong method are answered with what exists', async () => {
    await using t = await startServer()
    const nowhere = await fetch(new URL('api/v1/nowhere', t.url))
    expect([nowhere.status, await nowhere.json()]).toMatchObject([404, { code: 'NO_SUCH_ROUTE' }])
    const wrong = await fetch(new URL('api/v1/jobs', t.url), { method: 'PUT' })
    expect([wrong.status, wrong.headers.get('Allow')]).toEqual([405, 'POST, GET'])
  })

  it('that are not HTTP are ignored', async () => {
    await using t = await startServer()
    const { port, hostname } = new URL(t.url)
    const answer = await new Promise<string>(resolve => {
      let text = ''
      const socket = connect(Number(port), hostname, () => socket.write('\x16\x03\x01 this is not HTTP\r\n\r\n'))
      socket.setEncoding('utf8').on('data', chunk => {
        text += chunk
      })
      socket.on('close', () => resolve(text))
    })
    expect(answer).toMatch(/^HTTP\/1\.1 400/)
    expect((await t.api('GET', '/jobs')).status).toBe(200)
  })

  it('work below a base path', async () => {
    await using t = await startServer({ basePath: '/tools/chronos' })
    expect(t.url).toMatch(/\/tools\/chronos\/$/)
    expect((await t.api('POST', '/jobs', { name: 'mail' })).status).toBe(201)
    expect((await fetch(new URL('healthz', t.url))).status).toBe(200)
    expect((await fetch(new URL('/healthz', t.url))).status).toBe(404)
  })

  it('page through jobs of the same millisecond without gaps', async () => {
    await using t = await startServer()
    const jobs = Array.from({ length: 25 }, (_, i) => ({ name: 'mail', payload: i }))
    const made = await t.api<{ data: Job[]; created: number }>('POST', '/jobs:batch', { jobs })
    expect(made.body.created).toBe(25)
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const { body } = await t.api<{ data: Job[]; page: { next?: string } }>(
        'GET',
        `/jobs?limit=4${cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
      )
      seen.push(...body.data.map(({ id }) => id))
      cursor = body.page.next
    } while (cursor !== undefined)
    expect(seen).toEqual(made.body.data.map(({ id }) => id).toReversed())
  })

  it('in a batch get one result each', async () => {
    await using t = await startServer()
    const { status, body } = await t.api('POST', '/jobs:batch', {
      jobs: [
        { name: 'mail' },
        { name: 'mail', priority: 99 },
        { http: { url: 'ftp://nowhere' } },
        { schedule: '* * * * *', api: 'https://a.example' },
      ],
    })
    expect(status).toBe(200)
    expect(body).toMatchObject({
      created: 1,
      refused: 3,
      data: [
        { status: 'created' },
        { status: 'refused', code: 'INVALID_REQUEST' },
        { status: 'refused' },
        { status: 'refused' },
      ],
    })
  })
})
