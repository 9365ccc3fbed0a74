import { describe, expect, it } from 'vitest'
import { tokenOf } from '../deaths.js'
import { startServer } from '../server.js'

interface Token {
  readonly id: string
  readonly token?: string
}

describe('tokens', () => {
  it('are created, shown once, used and revoked', async () => {
    await using t = await startServer({ asAdmin: true })
    const made = await t.api<Token>('POST', '/tokens', { name: 'deploy', role: 'operator', expiresIn: '90d' })
    expect([made.status, made.body]).toMatchObject([
      201,
      { name: 'deploy', role: 'operator', expiresAt: expect.any(String), token: expect.stringMatching(/^chr_/) },
    ])
    const { token, ...view } = made.body
    const list = await t.api<{ data: Token[] }>('GET', '/tokens')
    expect(list.body).toEqual({ data: [view], page: {} })
    const bearer = { Authorization: `Bearer ${token}` }
    expect((await t.api('GET', '/session', undefined, bearer)).body).toMatchObject({ name: 'deploy', role: 'operator' })
    expect((await t.api('DELETE', `/tokens/${made.body.id}`)).status).toBe(204)
    expect((await t.api('GET', '/session', undefined, bearer)).status).toBe(401)
    expect((await t.api('DELETE', `/tokens/${made.body.id}`)).status).toBe(404)
  })

  it('are not shown again to a repeated request, and not in the audit log', async () => {
    await using t = await startServer({ asAdmin: true })
    const key = { 'Idempotency-Key': 'token-1' }
    const first = await t.api<Required<Token>>('POST', '/tokens', { name: 'ci', role: 'viewer' }, key)
    const again = await t.api<Token>('POST', '/tokens', { name: 'ci', role: 'viewer' }, key)
    expect([again.status, again.body.id, again.body.token]).toEqual([201, first.body.id, undefined])
    const entries = await t.api<{ data: unknown[] }>('GET', '/audit')
    expect(entries.body.data).toMatchObject([
      { action: 'POST /tokens', facts: { tokenId: first.body.id, name: 'ci', role: 'viewer' } },
    ])
    expect(JSON.stringify(entries.body)).not.toContain(first.body.token)
  })

  it('are created by admins of all tenants only', async () => {
    await using t = await startServer({ asAdmin: true })
    const operator = await tokenOf(t, 'operator')
    const tenant = await tokenOf(t, 'admin', 'acme')
    for (const headers of [operator, tenant]) {
      expect((await t.api('POST', '/tokens', { name: 'x', role: 'admin' }, headers)).status).toBe(403)
      expect((await t.api('GET', '/tokens', undefined, headers)).status).toBe(403)
    }
    const wrong = { name: '', role: 'owner', secret: 'mine' }
    const { status, body } = await t.api<{ errors: { pointer: string }[] }>('POST', '/tokens', wrong)
    expect([status, body.errors.map(({ pointer }) => pointer).sort()]).toEqual([422, ['/name', '/role', '/secret']])
    expect((await t.api('POST', '/tokens', { name: 'x', role: 'viewer', expiresIn: '10ms' })).status).toBe(422)
  })
})
