import { describe, expect, it, onTestFinished } from 'vitest'
import { type Chronos, createChronos } from '../../../src/index.js'
import { type Authorize, createServer, type ServerOptions } from '../../../src/server.js'
import { startServer } from '../server.js'

type Ask = (method: string, path: string, headers?: Record<string, string>, body?: unknown) => Promise<Response>

/** A server inside another one, reached as its host application would pass requests on. */
function mounted(options: ServerOptions & { readonly authorize: Authorize }): Ask
function mounted(options: ServerOptions): Ask
function mounted(options: ServerOptions): Ask {
  const chronos = chronosOf()
  const server = createServer(chronos, { log: false, dashboard: false, basePath: '/chronos', ...options } as {
    open: true
  })
  onTestFinished(() => server.close())
  return (method, path, headers = {}, body) =>
    server.fetch(
      new Request(`https://shop.example/chronos/api/v1${path}`, {
        method,
        headers: { ...headers, ...(body !== undefined && { 'Content-Type': 'application/json' }) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    )
}

function chronosOf(): Chronos {
  const chronos = createChronos({ store: 'memory:', log: false })
  onTestFinished(() => chronos.close())
  return chronos
}

describe('a server inside another server', () => {
  it('is refused unless it is told how to authenticate', () => {
    const server = createServer(chronosOf(), { log: false, dashboard: false })
    // @ts-expect-error the compiler refuses it too
    expect(() => server.fetch).toThrow(/must be told how to authenticate; give `authorize\(request\)`/)
  })

  it('takes one way to authenticate', () => {
    const chronos = chronosOf()
    expect(() => createServer(chronos, { open: true, tokens: true })).toThrow('open and tokens exclude each other')
    expect(() => createServer(chronos, { authorize: 'yes' as never })).toThrow('authorize: expected a function')
    expect(() => createServer(chronos, { open: 'yes' as never })).toThrow('createServer: open: expected true or false')
  })

  it('makes every caller an admin if it is open, whatever headers the application sends', async () => {
    const ask = mounted({ open: true })
    expect((await ask('GET', '/jobs')).status).toBe(200)
    const response = await ask('GET', '/session', { Authorization: 'Bearer eyJhbGciOi.of.the-host' })
    expect([response.status, await response.json()]).toMatchObject([200, { role: 'admin', by: 'open' }])
  })

  it('requires tokens of the store, also while there is none', async () => {
    const ask = mounted({ tokens: true })
    expect((await ask('GET', '/jobs')).status).toBe(401)
  })

  it('asks the application who calls, and writes that name to the audit log', async () => {
    const users: Record<string, ReturnType<Authorize>> = {
      ann: { name: 'ann@shop.example', role: 'admin' },
      bob: { name: 'bob@shop.example', role: 'viewer' },
      eve: null,
    }
    const ask = mounted({ authorize: request => users[request.headers.get('Cookie')!.slice(4)] ?? null })
    const by = (user: string): Record<string, string> => ({
      Cookie: `sid=${user}`,
      Authorization: 'Basic c2hvcDpzaG9w',
    })
    expect((await ask('GET', '/jobs', by('eve'))).status).toBe(401)
    expect((await ask('GET', '/jobs', by('bob'))).status).toBe(200)
    expect((await ask('POST', '/jobs', by('bob'), { name: 'mail' })).status).toBe(403)
    expect((await ask('POST', '/tokens', by('ann'), { name: 'ci', role: 'viewer' })).status).toBe(201)
    expect(await (await ask('GET', '/audit', by('ann'))).json()).toMatchObject({
      data: [{ actor: 'ann@shop.example', action: 'POST /tokens' }],
    })
    expect(await (await ask('GET', '/session', by('ann'))).json()).toMatchObject({
      by: 'authorize',
      authRequired: true,
    })
  })

  it('limits the caller to the tenant that the application names', async () => {
    const ask = mounted({
      authorize: async request => ({ name: 'ann', role: 'operator', tenantId: request.headers.get('X-Shop')! }),
    })
    const { id } = (await (await ask('POST', '/jobs', { 'X-Shop': 'acme' }, { name: 'mail' })).json()) as { id: string }
    expect((await ask('GET', `/jobs/${id}`, { 'X-Shop': 'acme' })).status).toBe(200)
    expect((await ask('GET', `/jobs/${id}`, { 'X-Shop': 'other' })).status).toBe(404)
  })

  it('refuses a caller of the application that is misspelt, instead of opening all tenants', async () => {
    const ask = mounted({ authorize: () => ({ name: 'ann', role: 'admin', tenantid: 'acme' }) as never })
    expect((await ask('GET', '/jobs')).status).toBe(500)
  })

  it('refuses requests of other sites, which carry the cookies of the application', async () => {
    const ask = mounted({ authorize: () => ({ name: 'ann', role: 'admin' }) })
    expect((await ask('POST', '/jobs', { 'Sec-Fetch-Site': 'cross-site' }, { name: 'mail' })).status).toBe(403)
  })

  it('does not sign in with tokens if the application decides', async () => {
    const ask = mounted({ authorize: () => null })
    expect((await ask('POST', '/session', {}, { token: 'a-token-of-chronos' })).status).toBe(409)
  })

  it('shows no page of the dashboard to a caller that the application refuses', async () => {
    const options = { log: false, basePath: '/chronos', authorize: () => null } as const
    const server = createServer(chronosOf(), options)
    onTestFinished(() => server.close())
    expect((await server.fetch(new Request('https://shop.example/chronos/jobs'))).status).toBe(401)
    expect((await server.fetch(new Request('https://shop.example/chronos/healthz'))).status).toBe(200)
  })

  it('checks the host name, if names are given', async () => {
    const ask = mounted({ open: true, allowedHosts: ['other.example'] })
    expect((await ask('GET', '/jobs', { Host: 'shop.example' })).status).toBe(421)
  })
})

describe('the Authorization header of another application', () => {
  const token = 'a-token-of-the-configuration'

  it.each(['Basic c2hvcDpzaG9w', 'Bearer eyJhbGciOi.of.the-host'])('does not sign a page out: %s', async header => {
    await using t = await startServer({ token })
    const signedIn = await t.api('POST', '/session', { token })
    const Cookie = signedIn.headers.get('Set-Cookie')!.split(';')[0]!
    const asked = await t.api('GET', '/session', undefined, { Cookie, Authorization: header })
    expect(asked.body).toMatchObject({ by: 'session', role: 'admin' })
    const foreign = { Cookie, Authorization: header, 'Sec-Fetch-Site': 'cross-site' }
    expect((await t.api('GET', '/session', undefined, foreign)).status).toBe(403)
  })
})
