import { request } from 'node:http'
import { describe, expect, it } from 'vitest'
import { systemClock, systemDice } from '../../../src/engine/time/system.js'
import { ROLES, type Role } from '../../../src/server/access/caller.js'
import { Tokens } from '../../../src/server/access/tokens.js'
import { MovableClock, startServer, type TestServer } from '../server.js'

const TOKEN = 'a-token-of-the-configuration'
const bearer = (token: string): Record<string, string> => ({ Authorization: `Bearer ${token}` })

/** Sends headers that scripts can't set, as a browser does. */
async function raw(
  t: TestServer,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<{ status: number; body: string; cookie: string | undefined }> {
  const url = new URL(path.replace(/^\//, ''), t.url)
  return new Promise((resolve, reject) => {
    const call = request(url, { method, headers }, response => {
      let body = ''
      response.setEncoding('utf8').on('data', chunk => {
        body += chunk
      })
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body, cookie: response.headers['set-cookie']?.[0] }),
      )
    })
    call.on('error', reject)
    call.end(method === 'POST' ? '{}' : undefined)
  })
}

describe('access', () => {
  it('is open on loopback while there is no token', async () => {
    await using t = await startServer()
    expect((await t.api('GET', '/session')).body).toMatchObject({ role: 'admin', by: 'open', authRequired: false })
  })

  it('requires a token on loopback as soon as one exists, also if another process created it', async () => {
    const clock = new MovableClock()
    await using t = await startServer({ clock })
    expect((await t.api('GET', '/jobs')).status).toBe(200)
    const store = await t.chronos.store()
    const others = new Tokens(async () => store, systemClock, systemDice)
    const { id, token } = await others.create({ name: 'ann', role: 'admin' })
    clock.advance(3_000)
    expect((await t.api('GET', '/jobs')).status).toBe(401)
    expect((await t.api('GET', '/session', undefined, bearer(token))).body).toMatchObject({ authRequired: true })
    await others.revoke(id)
    clock.advance(3_000)
    expect((await t.api('GET', '/jobs')).status).toBe(200)
  })

  it('begins with the token of an admin, which signs in the browser that created it', async () => {
    await using t = await startServer()
    for (const token of [
      { name: 'ann', role: 'viewer' },
      { name: 'ann', role: 'admin', tenantId: 'acme' },
    ]) {
      const refused = await t.api('POST', '/tokens', token)
      expect([refused.status, refused.body]).toMatchObject([409, { code: 'NOT_ALLOWED' }])
    }
    expect((await t.api('GET', '/session')).body).toMatchObject({ authRequired: false })
    const made = await t.api('POST', '/tokens', { name: 'ann', role: 'admin' }, { 'Idempotency-Key': 'first' })
    expect((await t.api('GET', '/session')).status).toBe(401)
    const [Cookie = ''] = made.headers.get('Set-Cookie')!.split(';')
    expect((await t.api('GET', '/session', undefined, { Cookie })).body).toMatchObject({ name: 'ann', by: 'session' })
    // The stored response contains neither the token nor the secret of the session.
    const [reply] = await (await t.chronos.store()).records('reply', { limit: 1 })
    const { token } = made.body as { readonly token: string }
    expect(reply!.body).toContain('answered')
    for (const secret of [token, Cookie.split('=')[1]!]) expect(reply!.body).not.toContain(secret)
  })

  it('requires the configured token', async () => {
    await using t = await startServer({ token: TOKEN })
    const without = await t.api('GET', '/jobs')
    expect(without.status).toBe(401)
    expect(without.headers.get('WWW-Authenticate')).toContain('Bearer')
    expect(without.body).toMatchObject({ code: 'UNAUTHENTICATED' })
    expect((await t.api('GET', '/jobs', undefined, bearer(TOKEN))).status).toBe(200)
    expect((await t.api('GET', '/jobs', undefined, bearer(`${TOKEN}x`))).status).toBe(401)
    expect((await fetch(new URL('healthz', t.url))).status).toBe(200)
  })

  it('needs a token to listen on a public address', async () => {
    await expect(startServer({ host: '0.0.0.0' })).rejects.toMatchObject({ code: 'NOT_ALLOWED' })
    await using t = await startServer({ host: '0.0.0.0', token: TOKEN })
    const url = t.url.replace('0.0.0.0', '127.0.0.1')
    expect((await fetch(new URL('api/v1/jobs', url))).status).toBe(401)
  })

  it('stores only the hash of a token, and refuses a revoked token', async () => {
    await using t = await startServer({ token: TOKEN })
    const made = await t.server.tokens.create({ name: 'ci', role: 'operator' })
    const [stored] = await (await t.chronos.store()).records('token', { limit: 10 })
    expect(stored!.body).not.toContain(made.token.split('_')[2])
    expect((await t.api('GET', '/session', undefined, bearer(made.token))).body).toMatchObject({
      name: 'ci',
      role: 'operator',
    })
    await t.server.tokens.revoke(made.id)
    expect((await t.api('GET', '/session', undefined, bearer(made.token))).status).toBe(401)
  })

  it('signs a browser in with an HttpOnly cookie, and out again', async () => {
    await using t = await startServer({ token: TOKEN })
    const signedIn = await t.api('POST', '/session', { token: TOKEN })
    expect(signedIn.body).toMatchObject({ role: 'admin', by: 'session' })
    const cookie = signedIn.headers.get('Set-Cookie')!
    expect(cookie).toMatch(/HttpOnly; SameSite=Strict/)
    const session = { Cookie: cookie.split(';')[0]! }
    expect((await t.api('GET', '/jobs', undefined, session)).status).toBe(200)
    expect((await t.api('DELETE', '/session', undefined, session)).status).toBe(204)
    expect((await t.api('GET', '/jobs', undefined, session)).status).toBe(401)
  })

  it('ends the sessions of a revoked token', async () => {
    await using t = await startServer({ token: TOKEN })
    const { id, token } = await t.server.tokens.create({ name: 'ann', role: 'viewer' })
    const signedIn = await t.api('POST', '/session', { token })
    const session = { Cookie: signedIn.headers.get('Set-Cookie')!.split(';')[0]! }
    expect((await t.api('GET', '/jobs', undefined, session)).status).toBe(200)
    await t.server.tokens.revoke(id)
    expect((await t.api('GET', '/jobs', undefined, session)).status).toBe(401)
  })

  it('limits failed sign-ins', async () => {
    await using t = await startServer({ token: TOKEN })
    const statuses: number[] = []
    for (let guess = 0; guess < 12; guess++) {
      statuses.push((await t.api('POST', '/session', { token: `guess-number-${guess}` })).status)
    }
    expect(statuses).toEqual([...Array(10).fill(401), 429, 429])
    const refused = await t.api('GET', '/jobs', undefined, bearer('guess-number-13'))
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('Retry-After'))).toBeGreaterThan(0)
  })

  it('never refuses a valid token because of wrong ones from the same address', async () => {
    await using t = await startServer({ token: TOKEN })
    const { token } = await t.server.tokens.create({ name: 'ann', role: 'viewer' })
    for (let guess = 0; guess < 250; guess++) await t.api('GET', '/jobs', undefined, bearer(`guess-number-${guess}`))
    expect((await t.api('POST', '/session', { token: TOKEN })).status).toBe(200)
    expect((await t.api('GET', '/jobs', undefined, bearer(token))).status).toBe(200)
    // A valid token does not make room for more guesses.
    expect((await t.api('GET', '/jobs', undefined, bearer('another-guess-of-it'))).status).toBe(429)
  })

  it.each([
    ['another site', { 'Sec-Fetch-Site': 'cross-site' }],
    ['a sibling site', { 'Sec-Fetch-Site': 'same-site' }],
    ['another origin', { Origin: 'https://evil.example' }],
    ['the null origin', { Origin: 'null' }],
  ])('refuses browser requests from %s', async (_, headers) => {
    await using t = await startServer()
    const { status, body } = await raw(t, 'POST', '/api/v1/jobs', { 'Content-Type': 'application/json', ...headers })
    expect([status, JSON.parse(body).code]).toEqual([403, 'CROSS_SITE'])
    expect((await raw(t, 'GET', '/api/v1/jobs', headers)).status).toBe(403)
  })

  it('accepts known host names only', async () => {
    await using t = await startServer()
    expect((await raw(t, 'GET', '/api/v1/jobs', { Host: 'evil.example' })).status).toBe(421)
    expect((await raw(t, 'GET', '/', { Host: 'evil.example' })).status).toBe(421)
    expect((await raw(t, 'GET', '/healthz', { Host: '10.1.2.3' })).status).toBe(200)
    expect((await raw(t, 'GET', '/api/v1/jobs', { Host: 'localhost' })).status).toBe(200)
    await using named = await startServer({ allowedHosts: ['jobs.example'] })
    expect((await raw(named, 'GET', '/api/v1/jobs', { Host: 'jobs.example:443' })).status).toBe(200)
  })

  it('refuses changes on a read-only server', async () => {
    await using t = await startServer({ readOnly: true })
    expect((await t.api('GET', '/jobs')).status).toBe(200)
    expect((await t.api('POST', '/jobs', { name: 'mail' })).body).toMatchObject({ code: 'FORBIDDEN' })
  })

  it('signs in and out on a read-only server', async () => {
    await using t = await startServer({ readOnly: true, token: TOKEN })
    const signedIn = await t.api('POST', '/session', { token: TOKEN })
    expect([signedIn.status, signedIn.body]).toMatchObject([200, { role: 'admin', readOnly: true }])
    const session = { Cookie: signedIn.headers.get('Set-Cookie')!.split(';')[0]! }
    expect((await t.api('GET', '/jobs', undefined, session)).status).toBe(200)
    expect((await t.api('POST', '/jobs', { name: 'mail' }, session)).status).toBe(403)
    expect((await t.api('DELETE', '/session', undefined, session)).status).toBe(204)
  })

  it('writes sign-outs of sessions to the audit log, and no others', async () => {
    await using t = await startServer({ token: TOKEN })
    expect((await t.api('DELETE', '/session')).status).toBe(204)
    expect((await t.api('DELETE', '/session', undefined, { Cookie: 'chronos_session=guess' })).status).toBe(204)
    const signedIn = await t.api('POST', '/session', { token: TOKEN })
    await t.api('DELETE', '/session', undefined, { Cookie: signedIn.headers.get('Set-Cookie')!.split(';')[0]! })
    const { data } = (await t.api<{ data: object[] }>('GET', '/audit', undefined, bearer(TOKEN))).body
    expect(data).toMatchObject([
      { action: 'DELETE /session', facts: { name: 'admin' } },
      { action: 'POST /session', facts: { name: 'admin' } },
    ])
  })

  it('writes every change to the audit log, with the caller', async () => {
    await using t = await startServer({ token: TOKEN })
    const { token } = await t.server.tokens.create({ name: 'ann', role: 'operator' })
    const made = await t.api<{ id: string }>('POST', '/jobs', { name: 'mail', delay: '1h' }, bearer(token))
    await t.api('POST', `/jobs/${made.body.id}/run-now`, {}, bearer(token))
    await t.api('POST', `/jobs/${made.body.id}/cancel`, undefined, bearer(token))
    await t.api('POST', '/jobs:batch', { jobs: [{ name: 'mail' }, { name: 'mail' }] }, bearer(token))
    const { data } = (await t.api<{ data: object[] }>('GET', '/audit', undefined, bearer(TOKEN))).body
    expect(data.toReversed()).toMatchObject(
      expect.arrayContaining([
        expect.objectContaining({ actor: 'ann', action: 'POST /jobs/{id}/run-now', target: made.body.id }),
        expect.objectContaining({ actor: 'ann', action: 'POST /jobs/{id}/cancel', role: 'operator' }),
        expect.objectContaining({ actor: 'ann', action: 'POST /jobs', count: 1 }),
        expect.objectContaining({ actor: 'ann', action: 'POST /jobs:batch', count: 2 }),
      ]),
    )
    expect(data).toHaveLength(4)
  })

  it('does not let viewers find secrets of HTTP jobs by searching', async () => {
    await using t = await startServer({ token: TOKEN })
    const { token } = await t.server.tokens.create({ name: 'ann', role: 'viewer' })
    const headers = { Authorization: 'Bearer s3cret', 'X-Token-Id': 'id-17', Accept: 'text/plain' }
    const http = { url: 'https://api.example/pay?api_key=k3y&page=2', headers }
    const { id } = (await t.api<{ id: string }>('POST', '/jobs', { http, delay: '1h' }, bearer(TOKEN))).body
    const find = async (path: string, by: string) =>
      (await t.api<{ data: { id: string }[]; count: object }>('GET', path, undefined, bearer(by))).body
    const none = { data: [], page: {}, count: { value: 0, relation: 'exact' }, searched: { complete: true } }
    for (const q of ['s3c', 'k3y', 'id-17']) {
      expect(await find(`/jobs?q=${q}`, TOKEN)).toMatchObject({ data: [{ id }], count: { value: 1 } })
      expect(await find(`/jobs?q=${q}&limit=1`, token)).toMatchObject(none)
    }
    expect(await find('/jobs?q=api.example/pay', token)).toMatchObject({
      data: [
        {
          payload: {
            url: 'https://api.example/pay?api_key=•••&page=2',
            headers: { Authorization: '•••', 'X-Token-Id': '•••', Accept: 'text/plain' },
          },
        },
      ],
      count: { value: 1 },
    })
    await t.api('POST', `/jobs/${id}/cancel`, undefined, bearer(TOKEN))
    expect(await find('/dead?q=s3c', token)).toMatchObject(none)
  })

  it('gives viewers an ETag that does not depend on secrets', async () => {
    await using t = await startServer({ token: TOKEN })
    const { token } = await t.server.tokens.create({ name: 'ann', role: 'viewer' })
    const http = { url: 'https://api.example/', headers: { Authorization: 'Bearer s3cret' } }
    const { id } = (await t.api<{ id: string }>('POST', '/jobs', { http, delay: '1h' }, bearer(TOKEN))).body
    const tagFor = async (by: string) => (await t.api('GET', `/jobs/${id}`, undefined, bearer(by))).headers.get('ETag')
    expect(await tagFor(token)).not.toBe(await tagFor(TOKEN))
  })

  it('hides secret headers of HTTP jobs from viewers', async () => {
    await using t = await startServer({ token: TOKEN })
    const tokens = await Promise.all(ROLES.map(role => t.server.tokens.create({ name: role, role })))
    const http = { url: 'https://api.example/', headers: { Authorization: 'Bearer s3cret', Accept: 'text/plain' } }
    const { id } = (await t.api<{ id: string }>('POST', '/jobs', { http, delay: '1h' }, bearer(TOKEN))).body
    const seen = async (role: Role): Promise<unknown> => {
      const { token } = tokens.find(each => each.role === role)!
      return (await t.api<{ payload: typeof http }>('GET', `/jobs/${id}`, undefined, bearer(token))).body.payload
        .headers
    }
    expect(await seen('viewer')).toEqual({ Authorization: '•••', Accept: 'text/plain' })
    expect(await seen('operator')).toEqual(http.headers)
  })
})
