import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Caller, mayAct, ROLES } from '../../../src/server/access/caller.js'
import type { Endpoint } from '../../../src/server/endpoint.js'
import { ENDPOINTS } from '../../../src/server/routes/all.js'
import { startServer, type TestServer } from '../server.js'

const TOKEN = 'a-token-of-the-configuration'

type Who = Pick<Caller, 'role' | 'tenantId'> | undefined

/** All kinds of callers: each role, for all tenants and for one, and no authentication. */
const CALLERS: readonly Who[] = [undefined, ...ROLES.flatMap(role => [{ role }, { role, tenantId: 'acme' }])]

const nameOf = (who: Who): string =>
  who ? `${who.role}${who.tenantId === undefined ? '' : ' of a tenant'}` : 'an unauthenticated caller'

/** The status that refuses this caller; undefined if the call is allowed. */
function refusal({ role, tenants, isOpen }: Endpoint, who: Who): number | undefined {
  if (isOpen) return undefined
  if (!who) return 401
  if (!mayAct(who.role, role)) return 403
  return who.tenantId !== undefined && tenants === 'none' ? 403 : undefined
}

let t: TestServer
const tokens = new Map<string, string>()

beforeAll(async () => {
  t = await startServer({ token: TOKEN })
  for (const who of CALLERS) {
    if (who) tokens.set(nameOf(who), (await t.server.tokens.create({ name: nameOf(who), ...who })).token)
  }
})

afterAll(() => t[Symbol.asyncDispose]())

async function statusOf({ method, path }: Endpoint, who: Who): Promise<number> {
  const abort = new AbortController()
  const token = tokens.get(nameOf(who))
  const response = await fetch(new URL(`api/v1${path.replaceAll(/\{\w+\}/g, 'nothing-of-that-name')}`, t.url), {
    method: method.toUpperCase(),
    headers: { 'Content-Type': 'application/json', ...(token !== undefined && { Authorization: `Bearer ${token}` }) },
    ...(method !== 'get' && { body: '{"unknown":"field"}' }),
    signal: abort.signal,
  })
  // Event streams don't end by themselves.
  abort.abort()
  return response.status
}

describe('roles and tenants', () => {
  it('are declared by every endpoint', () => {
    expect(ENDPOINTS.length).toBeGreaterThan(60)
    expect(ENDPOINTS.filter(({ isOpen }) => isOpen).map(({ method, path }) => `${method} ${path}`)).toEqual([
      'post /session',
      'delete /session',
    ])
    const writes = ENDPOINTS.filter(({ method, isOpen }) => method !== 'get' && !isOpen)
    const byViewers = writes.filter(({ role }) => role === 'viewer').map(({ path }) => path)
    expect(byViewers.sort()).toEqual(['/policies:preview', '/policies:simulate', '/schedules:preview'])
  })

  for (const who of CALLERS) {
    it(`are enforced for ${nameOf(who)} at every endpoint`, async () => {
      const wrong: string[] = []
      for (const endpoint of ENDPOINTS) {
        const expected = refusal(endpoint, who)
        const status = await statusOf(endpoint, who)
        const isRight = expected === undefined ? status !== 401 && status !== 403 && status < 500 : status === expected
        // Signing in with a wrong token is 401 for every caller.
        if (!isRight && !endpoint.isOpen)
          wrong.push(`${endpoint.method} ${endpoint.path}: ${status}, expected ${expected}`)
      }
      expect(wrong).toEqual([])
    })
  }
})
