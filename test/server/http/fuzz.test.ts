import { connect } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openApiDocument } from '../../../src/server/openapi.js'
import { ENDPOINTS } from '../../../src/server/routes/all.js'
import { ADMIN_TOKEN, startServer, type TestServer } from '../server.js'
import { Fuzzer, type Schema } from './fuzzer.js'

const REQUESTS = Number(process.env['CHRONOS_FUZZ'] ?? 20_000)
const SEED = Number(process.env['CHRONOS_FUZZ_SEED'] ?? 20_261_116)
const AT_ONCE = 16
const SLOW_MS = 1_000
const HEAP_GROWTH_MAX = 50 * 1024 * 1024

/** Event streams and long polls are tested elsewhere. */
const ENDLESS = new Set(['GET /events', 'GET /jobs/{id}/events', 'POST /leases:claim'])

interface Operation {
  readonly method: string
  readonly path: string
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly schema: Schema }[]
  readonly body: Schema | undefined
}

function operations(document: Document): readonly Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .map(([method, { parameters = [], requestBody }]) => ({
        method: method.toUpperCase(),
        path,
        parameters,
        body: requestBody?.content['application/json']?.schema,
      }))
      .filter(({ method }) => !ENDLESS.has(`${method} ${path}`)),
  )
}

interface Document {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          {
            readonly parameters?: Operation['parameters']
            readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
          }
        >
      >
    >
  >
}

/** Makes the same request every time. */
function requestFor(t: TestServer, fuzzer: Fuzzer, { method, path, parameters, body }: Operation): () => Request {
  const filled = path.replaceAll(/\{\w+\}/g, () => encodeURIComponent(fuzzer.text()) || 'x')
  const url = new URL(`api/v1${filled}`, t.url)
  for (const { name, in: place, schema } of parameters) {
    if (place !== 'query' || fuzzer.chance(0.6)) continue
    const value = fuzzer.value(schema)
    url.searchParams.append(name, typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))
  }
  if (fuzzer.chance(0.05)) url.searchParams.append(fuzzer.text(), fuzzer.text())
  const text = body === undefined ? undefined : fuzzer.body(body)
  const headers = new Headers({
    Host: 'localhost',
    Authorization: `Bearer ${ADMIN_TOKEN}`,
    'Content-Type': fuzzer.chance(0.97) ? 'application/json' : 'text/plain',
  })
  if (fuzzer.chance(0.1)) headers.set('Idempotency-Key', fuzzer.header())
  if (fuzzer.chance(0.05)) headers.set('If-Match', fuzzer.header())
  if (fuzzer.chance(0.05)) headers.set('X-Request-Id', fuzzer.header())
  return () => new Request(url, { method, headers, ...(text !== undefined && { body: text }) })
}

/** What a server knows about the client; some know nothing. */
const PLACE = { incoming: { socket: { remoteAddress: '127.0.0.1', remotePort: 4100, remoteFamily: 'IPv4' } } }

/** One server for all parts of the run, so that what leaks in one part is still there in the next. */
class FuzzedServer {
  readonly statuses = new Map<number, number>()
  readonly failures: string[] = []
  readonly #t: TestServer
  readonly #fuzzer: Fuzzer
  readonly #operations: readonly Operation[]
  #asked = 0

  constructor(t: TestServer) {
    const document = openApiDocument(ENDPOINTS, '') as Document
    this.#t = t
    this.#fuzzer = new Fuzzer(SEED, document.components.schemas)
    this.#operations = operations(document)
  }

  async send(requests: number): Promise<void> {
    let left = requests
    const slow: (() => Request)[] = []
    const client = async (): Promise<void> => {
      while (left-- > 0) {
        const request = requestFor(this.#t, this.#fuzzer, this.#fuzzer.oneOf(this.#operations))
        if ((await this.#ask(request())) > SLOW_MS) slow.push(request)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, client))
    // Any request may wait on a busy machine; one that computes this long stops all others.
    for (const request of slow) {
      const { method, url } = request()
      const before = process.cpuUsage()
      await this.#ask(request())
      const { user, system } = process.cpuUsage(before)
      const ms = (user + system) / 1_000
      if (ms > SLOW_MS) this.failures.push(`${method} ${url} takes ${Math.round(ms)} ms of CPU by itself`)
    }
  }

  async #ask(request: Request): Promise<number> {
    const { method, url } = request
    const started = performance.now()
    const response = await this.#t.server.fetch(request, this.#asked++ % 10 === 0 ? undefined : PLACE)
    const body = await response.text()
    this.statuses.set(response.status, (this.statuses.get(response.status) ?? 0) + 1)
    if (response.status >= 500 || (response.status >= 400 && !isProblem(response, body))) {
      this.failures.push(`${method} ${url.slice(0, 300)} → ${response.status}: ${body.slice(0, 300)}`)
    }
    return performance.now() - started
  }
}

const PARTS = [1, 2, 3, 4, 5] as const

describe(`${REQUESTS} fuzzed requests (seed ${SEED})`, () => {
  let t: TestServer
  let fuzzed: FuzzedServer
  let heapBefore = 0
  beforeAll(async () => {
    t = await startServer({ maxBody: 256 * 1024, asAdmin: true })
    fuzzed = new FuzzedServer(t)
  })
  afterAll(() => t[Symbol.asyncDispose]())

  it.each(PARTS)('are answered, part %i', async part => {
    await fuzzed.send(REQUESTS / PARTS.length)
    expect(fuzzed.failures.slice(0, 5)).toEqual([])
    if (part === 1) heapBefore = heapInUse()
  })

  it('leave the server healthy', async () => {
    const { statuses } = fuzzed
    // A run in which every request is refused proves nothing.
    expect(statuses.get(200) ?? 0).toBeGreaterThan(REQUESTS / 50)
    expect(statuses.get(201) ?? 0).toBeGreaterThan(REQUESTS / 500)
    expect(statuses.get(422) ?? 0).toBeGreaterThan(REQUESTS / 10)
    expect(heapInUse() - heapBefore).toBeLessThan(HEAP_GROWTH_MAX)
    expect((await t.api('POST', '/jobs', { name: 'mail' })).status).toBe(201)
  })
})

describe('fuzzed requests', () => {
  it('that are not HTTP close their connection and nothing else', async () => {
    await using t = await startServer()
    const fuzzer = new Fuzzer(SEED, {})
    const { port, hostname } = new URL(t.url)
    const say = (bytes: Buffer): Promise<string> =>
      new Promise(resolve => {
        let heard = ''
        const socket = connect(Number(port), hostname, () => socket.end(bytes))
        socket.setEncoding('latin1').on('data', chunk => {
          heard += chunk
        })
        socket.on('error', () => {})
        socket.on('close', () => resolve(heard))
      })
    const answers: string[] = []
    for (let i = 0; i < 400; i++) answers.push(await say(fuzzer.bytes()))
    const statuses = answers
      .map(answer => /^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1])
      .filter(status => status !== undefined)
    expect(statuses.length).toBeGreaterThan(100)
    expect(statuses.filter(status => Number(status) >= 500)).toEqual([])
    expect((await t.api('GET', '/jobs')).status).toBe(200)
  })

  it.each(Fuzzer.HOSTILE.map(text => [text]))('return hostile text as data: %j', async text => {
    await using t = await startServer()
    const { status, body } = await t.api<{ id: string }>('POST', '/jobs', {
      name: 'mail',
      payload: { [text]: text },
      tags: [text.slice(0, 60)],
      key: text,
    })
    expect(status).toBe(201)
    const { body: seen, headers } = await t.api(`GET`, `/jobs/${body.id}`)
    expect(seen).toMatchObject({ payload: { [text]: text }, key: text })
    expect(headers.get('Content-Type')).toBe('application/json')
    const found = await t.api<{ data: object[] }>(
      'GET',
      `/jobs?key=${encodeURIComponent(text)}&q=${encodeURIComponent(text)}`,
    )
    expect(found.body.data).toHaveLength(1)
    const none = await t.api<{ detail: string }>('GET', `/jobs/${encodeURIComponent(text)}`)
    expect(none.status).toBe(404)
    expect(none.headers.get('Content-Type')).toBe('application/problem+json')
  })
})

/** Heap size after a garbage collection. */
function heapInUse(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}

function isProblem(response: Response, body: string): boolean {
  if (response.headers.get('Content-Type') !== 'application/problem+json') return false
  const { code, detail, requestId } = JSON.parse(body) as Record<string, unknown>
  return typeof code === 'string' && typeof detail === 'string' && typeof requestId === 'string'
}
