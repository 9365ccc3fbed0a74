import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { type ChronosClient, createClient } from '../../src/client.js'
import { defineJob, PermanentError } from '../../src/index.js'
import { startServer, type TestServer } from '../server/server.js'

const total = defineJob({
  name: 'total',
  queue: 'sums',
  priority: 7,
  tags: ['sum'],
  partition: ({ cents }) => `cents:${cents}`,
  payload: z.object({ cents: z.number() }),
  run({ cents }, job) {
    job.log('adding')
    return { total: cents * 2 }
  },
})
const refused = defineJob({
  name: 'refused',
  queue: 'sums',
  delivery: 'at-most-once',
  run(_: null) {
    throw new PermanentError('card declined')
  },
})

const clientOf = ({ url }: TestServer): ChronosClient => createClient({ url })
const work = (t: TestServer): unknown => t.chronos.work([total, refused], { signals: false })

describe('chronos-jobs/client', () => {
  it('enqueues with what the definition says, waits for the result, and types both', async () => {
    await using t = await startServer()
    work(t)
    const client = clientOf(t)
    const { id, status } = await client.enqueue(total, { cents: 21 }, { key: 'sum:1' })
    expect(status).toBe('created')
    expect(await client.enqueue(total, { cents: 21 }, { key: 'sum:1' })).toEqual({ id, status: 'existing' })
    const result = await client.jobs.result(total, id, { within: '20s' })
    expectTypeOf(result).toEqualTypeOf<{ total: number }>()
    expect(result).toEqual({ total: 42 })
    expect(await client.jobs.get(total, id)).toMatchObject({
      queue: 'sums',
      priority: 7,
      tags: ['sum'],
      partition: 'cents:21',
      result,
    })
    expect(await t.chronos.jobs.get(id)).toEqual(await client.jobs.get(id))
    // @ts-expect-error: the payload is typed by the definition
    await expect(client.enqueue(total, { euros: 1 })).rejects.toMatchObject({ code: 'INVALID_PAYLOAD' })
  })

  it('replaces the payload of a unique value', async () => {
    await using t = await startServer()
    const client = clientOf(t)
    const debounce = { unique: 'sum', mode: 'debounce', for: '1h' } as const
    const { id } = await client.enqueue(total, { cents: 1 }, debounce)
    expect(await client.enqueue(total, { cents: 2 }, debounce)).toEqual({ id, status: 'replaced' })
    expect(await client.enqueueMany(total, [{ cents: 3 }, { cents: 4 }], debounce)).toEqual([
      { id, status: 'replaced' },
      { id, status: 'replaced' },
    ])
    expect(await client.jobs.get(id)).toMatchObject({ payload: { cents: 4 } })
    await expect(client.enqueue(total, { cents: 5 }, { unique: 'sum', mode: 'debounce' })).rejects.toMatchObject({
      code: 'INVALID_OPTION',
    })
  })

  it('throws the errors of the library', async () => {
    await using t = await startServer()
    work(t)
    const client = clientOf(t)
    const { id } = await client.enqueue(refused, null)
    const remote = await client.jobs.result(refused, id).catch((error: unknown) => error)
    const local = await t.chronos.jobs.result(refused, id).catch((error: unknown) => error)
    expect(remote).toMatchObject({ code: 'JOB_DEAD', details: { reason: 'failed', decision: { action: 'die' } } })
    expect((remote as Error).message).toBe((local as Error).message)
    await client.enqueue('mail', { to: 'ada' }, { key: 'k' })
    await expect(client.enqueue('mail', { to: 'bob' }, { key: 'k' })).rejects.toMatchObject({ code: 'KEY_CONFLICT' })
    await expect(client.jobs.cancel(id)).rejects.toMatchObject({ code: 'NOT_ALLOWED' })
    await expect(client.jobs.result('mail', '01890000-0000-7000-8000-000000000000')).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
    await expect(client.enqueue('mail', new Map())).rejects.toMatchObject({ code: 'INVALID_PAYLOAD' })
    await expect(client.enqueue('mail', 1, { delay: 'soon' as '1s' })).rejects.toMatchObject({
      code: 'INVALID_DURATION',
    })
    await expect(client.enqueue('mail', 1, { tx: {} as never })).rejects.toThrow('a client has no transactions')
    expect(await client.jobs.get('01890000-0000-7000-8000-000000000000')).toBeUndefined()
    const { id: later } = await client.enqueue('mail', 1, { delay: '1h' })
    await expect(client.jobs.result('mail', later, { within: 1 })).rejects.toMatchObject({ code: 'TIMED_OUT' })
  })

  it('enqueues many, and reports a key with another payload in its place', async () => {
    await using t = await startServer()
    const client = clientOf(t)
    const first = await client.enqueue('mail', { to: 'ada' }, { key: 'mail:0' })
    const results = await client.enqueueMany('mail', [{ to: 'bob' }, { to: 'eve' }], (_, i) => ({ key: `mail:${i}` }))
    expect(results).toEqual([
      { id: first.id, status: 'conflict' },
      { id: expect.any(String), status: 'created' },
    ])
    const many = await client.enqueueMany(
      'mail',
      Array.from({ length: 1_200 }, (_, i) => i),
    )
    expect(new Set(many.map(({ id }) => id)).size).toBe(1_200)
    expect(await client.enqueueMany('mail', [])).toEqual([])
  })

  it('lists, changes and follows jobs as the library does', async () => {
    await using t = await startServer()
    const client = clientOf(t)
    const { id } = await client.http({ url: 'https://api.example/a' }, { queue: 'calls', delay: '1h' })
    expect((await client.jobs.list({ queue: 'calls' })).data).toEqual(
      (await t.chronos.jobs.list({ queue: 'calls' })).data,
    )
    expect(await client.jobs.cancel(id)).toMatchObject({ state: 'cancelled' })
    expect(await client.jobs.retry(id)).toMatchObject({ state: 'waiting', generation: 2 })
    const { id: sum } = await client.enqueue(total, { cents: 1 })
    const types: string[] = []
    work(t)
    for await (const { type } of client.jobs.follow(sum)) types.push(type)
    expect(types).toEqual(['log', 'attempt', 'end'])
    expect((await client.jobs.history(sum)).data).toHaveLength(1)
    expect((await client.jobs.logs(sum)).data).toMatchObject([{ message: 'adding' }])
  })

  it('aborts a wait and a stream with the reason of the signal', async () => {
    await using t = await startServer()
    const client = clientOf(t)
    const { id } = await client.enqueue('mail', 1, { delay: '1h' })
    const stop = new AbortController()
    const waits = [
      client.jobs.result('mail', id, { signal: stop.signal }),
      client.jobs.follow(id, { signal: stop.signal }).next(),
    ].map(wait => wait.catch((error: unknown) => error))
    const reason = new Error('the page was closed')
    stop.abort(reason)
    expect(await Promise.all(waits)).toEqual([reason, reason])
  })

  it('needs a valid token where the server does', async () => {
    await using t = await startServer({ token: 'a-token-of-the-configuration' })
    await expect(clientOf(t).enqueue('mail', 1)).rejects.toThrow('give createClient a `token`')
    const { token } = await t.server.tokens.create({ name: 'shop', role: 'operator', tenantId: 'acme' })
    const { id } = await createClient({ url: t.url, token }).enqueue('mail', 1)
    expect(await t.chronos.jobs.get(id)).toMatchObject({ tenantId: 'acme' })
  })

  it.each([
    [{}, 'url: expected https://…, got undefined'],
    [{ url: 'jobs.example' }, 'url: expected https://…, got "jobs.example"'],
    [{ url: 'https://jobs.example', tokn: 'x' }, 'unknown option "tokn"; did you mean "token"?'],
  ])('refuses %j', (options, words) => {
    expect(() => createClient(options as never)).toThrow(words)
  })
})

type Behave = (request: IncomingMessage, response: ServerResponse, ask: () => Promise<Response>) => unknown

const badGateway: Behave = (_, response) => {
  response.writeHead(502, { 'content-type': 'text/html' })
  response.end('<h1>Bad gateway</h1>')
}

const pass: Behave = async (_, response, ask) => {
  const answer = await ask()
  response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' })
  for await (const chunk of answer.body ?? []) response.write(chunk)
  response.end()
}

/** A gateway in front of a server that fails as the test says: each request takes the next behaviour. */
async function gateway(t: TestServer, behaviours: Behave[]) {
  const keys: unknown[] = []
  const server = createHttpServer(async (request, response) => {
    const chunks: Uint8Array[] = []
    for await (const chunk of request) chunks.push(chunk as Uint8Array)
    if (request.headers['idempotency-key'] !== undefined) keys.push(request.headers['idempotency-key'])
    const ask = (): Promise<Response> => {
      const { method = 'GET', url = '/' } = request
      const headers = request.headers as Record<string, string>
      const body = method === 'GET' ? {} : { body: Buffer.concat(chunks) }
      const kept = Object.fromEntries(
        ['content-type', 'idempotency-key', 'prefer', 'last-event-id'].flatMap(name =>
          headers[name] === undefined ? [] : [[name, headers[name]]],
        ),
      )
      return fetch(new URL(url, t.url), { method, headers: kept, ...body })
    }
    await (behaviours.shift() ?? pass)(request, response, ask)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    keys,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

const HEAD = 'HTTP/1.1 201 Created\r\nContent-Type: application/json\r\n'

/** Performs the request, and sends only this part of a response before the connection ends. */
const cut =
  (part: string): Behave =>
  async (request, _, ask) => {
    await ask()
    request.socket.end(part)
  }

const LOSSES: readonly (readonly [string, Behave])[] = [
  ['never comes, because the connection ends', cut('')],
  [
    'never comes, because the connection is reset',
    async (request, _, ask) => {
      await ask()
      request.socket.resetAndDestroy()
    },
  ],
  ['is cut in the status line', cut('HTTP/1.1 20')],
  ['is cut in the headers', cut(HEAD)],
  ['is cut before its body', cut(`${HEAD}Content-Length: 20\r\n\r\n`)],
  ['is cut in its body', cut(`${HEAD}Content-Length: 20\r\n\r\n{"id"`)],
  ['is cut in a chunk', cut(`${HEAD}Transfer-Encoding: chunked\r\n\r\n14\r\n{"id"`)],
  ['is cut before its last chunk', cut(`${HEAD}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n`)],
]

describe('a client behind a gateway that fails', () => {
  it('repeats an enqueue with the same key: one job, however often the answer is lost', async () => {
    await using t = await startServer()
    const loseAnswer: Behave = async (request, _, ask) => {
      await ask()
      request.socket.destroy()
    }
    await using g = await gateway(t, [loseAnswer, badGateway])
    const { id } = await createClient({ url: g.url }).enqueue('mail', { to: 'ada' })
    expect((await t.chronos.jobs.list()).data.map(job => job.id)).toEqual([id])
    expect(g.keys).toHaveLength(3)
    expect(new Set(g.keys).size).toBe(1)
  })

  it.each(LOSSES)('repeats an enqueue whose response %s', async (_, lose) => {
    await using t = await startServer()
    await using g = await gateway(t, [lose])
    const { id } = await createClient({ url: g.url }).enqueue('mail', { to: 'ada' })
    expect((await t.chronos.jobs.list()).data.map(job => job.id)).toEqual([id])
    expect(g.keys).toHaveLength(2)
    expect(new Set(g.keys).size).toBe(1)
  })

  it('repeats an enqueue when a runtime throws an error of its own kind, and keeps the error at the end', async () => {
    await using t = await startServer()
    const broken = Object.assign(new Error('The socket connection was closed unexpectedly'), {
      code: 'ConnectionClosed',
    })
    let failures = 0
    const send: typeof fetch = (input, init) => (failures-- > 0 ? Promise.reject(broken) : fetch(input, init))
    const client = createClient({ url: t.url, fetch: send })
    failures = 2
    const { id } = await client.enqueue('mail', 1, { delay: '1h' })
    expect((await t.chronos.jobs.list()).data.map(job => job.id)).toEqual([id])
    failures = 1
    await expect(client.jobs.cancel(id)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('(ConnectionClosed)'),
      cause: broken,
    })
  })

  it('gives up after some tries, and says that the server is unavailable', async () => {
    await using t = await startServer()
    await using g = await gateway(
      t,
      Array.from({ length: 20 }, () => badGateway),
    )
    const error = await createClient({ url: g.url })
      .enqueue('mail', 1)
      .catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', message: expect.stringContaining('502') })
    expect(g.keys).toHaveLength(5)
  })

  it('does not repeat a change that may have been made', async () => {
    await using t = await startServer()
    const { id } = await t.chronos.enqueue('mail', 1, { delay: '1h' })
    await using g = await gateway(t, [request => request.socket.destroy()])
    await expect(createClient({ url: g.url }).jobs.cancel(id)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(await t.chronos.jobs.get(id)).toMatchObject({ state: 'waiting' })
  })

  it('continues a stream that broke off after the last update', async () => {
    await using t = await startServer()
    work(t)
    const { id } = await t.chronos.enqueue(total, { cents: 1 })
    await t.chronos.jobs.ended(id)
    let cut = 0
    const breakOff: Behave = async (request, response) => {
      cut++
      const headers = { 'last-event-id': request.headers['last-event-id'] as string }
      const answer = await fetch(new URL(request.url!, t.url), { headers: cut === 1 ? {} : headers })
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const text = await answer.text()
      const first = text.indexOf('\n\n')
      response.write(text.slice(0, first + 2), () => request.socket.destroy())
    }
    await using g = await gateway(t, [breakOff, breakOff])
    const types: string[] = []
    for await (const { type } of createClient({ url: g.url }).jobs.follow(id)) types.push(type)
    expect(types).toEqual(['log', 'attempt', 'end'])
    expect(cut).toBe(2)
  })
})
