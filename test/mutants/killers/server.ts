import assert from 'node:assert/strict'
import { Chronos } from '../../../src/engine/client/chronos.js'
import { seededDice, VirtualClock } from '../../../src/engine/time/virtual.js'
import { createChronos } from '../../../src/index.js'
import { Access } from '../../../src/server/access/access.js'
import { type Caller, ROLES } from '../../../src/server/access/caller.js'
import { Quota, TENANT_MAX } from '../../../src/server/access/quota.js'
import { Tokens } from '../../../src/server/access/tokens.js'
import { AuditLog } from '../../../src/server/audit-log.js'
import { EventStream } from '../../../src/server/events/stream.js'
import { Health } from '../../../src/server/health.js'
import { BodyBudget } from '../../../src/server/http/body.js'
import { Idempotency, repeatId } from '../../../src/server/http/idempotency.js'
import { isOwn, ownTenant } from '../../../src/server/routes/tenancy.js'
import { ChronosServer } from '../../../src/server/server.js'
import type { ServerOptions } from '../../../src/server/settings.js'
import { memoryStore } from '../../../src/store/memory.js'
import type { Store } from '../../../src/store/store.js'
import { HandClock, quiet } from './clock.js'

// Each check passes with the original code, and throws with the bug that it is for.

const DAY_MS = 86_400_000
const ACME: Caller = { id: 'a', name: 'a', role: 'operator', by: 'token', tenantId: 'acme' }

/** The credentials of a request from one address. */
const from = (given: { readonly authorization?: string; readonly session?: string }) => {
  const headers = given.session === undefined ? {} : { 'Sec-Fetch-Site': 'same-origin' }
  return { address: '10.0.0.1', request: new Request('http://127.0.0.1/api/v1/jobs', { headers }), ...given }
}

function parts() {
  const clock = new HandClock()
  const opened = memoryStore({ clock })
  const store = async (): Promise<Store> => opened
  const dice = seededDice(1)
  const tokens = new Tokens(store, clock, dice)
  const access = new Access({ store, tokens, clock, dice, requireToken: false, open: false })
  return { clock, opened, store, dice, tokens, access, log: quiet }
}

function serve(options: ServerOptions = {}) {
  const clock = new HandClock()
  const store = memoryStore({ clock })
  const chronos = new Chronos(async () => store, clock, seededDice(1), { log: false })
  const known = options.token === undefined ? ({ tokens: true } as const) : {}
  const server = new ChronosServer(
    chronos,
    { log: false, dashboard: false, ...known, ...options },
    clock,
    seededDice(2),
  )
  const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    server.fetch(
      new Request(`http://127.0.0.1/api/v1${path}`, {
        method,
        headers: { ...headers, ...(body !== undefined && { 'Content-Type': 'application/json' }) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    )
  const bearer = (token: string) => ({ Authorization: `Bearer ${token}` })
  return { chronos, server, call, bearer, clock }
}

// ---------------------------------------------------------------- the audit log

export async function auditLogIsKept(): Promise<void> {
  const { clock, store, dice, log } = parts()
  const audit = new AuditLog({ store, clock, dice, log })
  await audit.add({ caller: ACME, action: 'POST /jobs', requestId: '1' })
  clock.advance(DAY_MS)
  await audit.prune()
  assert.equal((await audit.list()).data.length, 1, 'an entry of yesterday is gone')
  clock.advance(91 * DAY_MS)
  await audit.prune()
  assert.equal((await audit.list()).data.length, 0, 'an entry of three months ago is kept')
}

export async function auditLogIsOfOneTenant(): Promise<void> {
  const { clock, store, dice, log } = parts()
  const audit = new AuditLog({ store, clock, dice, log })
  await audit.add({ caller: ACME, action: 'POST /jobs', requestId: '1' })
  await audit.add({ caller: { ...ACME, tenantId: 'beta' }, action: 'POST /jobs', requestId: '2' })
  const { data } = await audit.list({ tenantId: 'acme' })
  assert.deepEqual(
    data.map(({ tenantId }) => tenantId),
    ['acme'],
    'a tenant reads entries of another',
  )
}

export async function signingOutAnonymouslyIsNoChange(): Promise<void> {
  const { server, call, bearer } = serve()
  const { token } = await server.tokens.create({ name: 'admin', role: 'admin' })
  await call('DELETE', '/session', undefined, { 'Sec-Fetch-Site': 'same-origin' })
  const response = await call('GET', '/audit', undefined, bearer(token))
  assert.equal(response.status, 200)
  const { data } = (await response.json()) as { data: unknown[] }
  assert.deepEqual(data, [], 'a sign-out without a session is in the audit log')
  await server.close()
}

// ---------------------------------------------------------------- tokens and sessions

export async function validTokensAreNotRefused(): Promise<void> {
  const { tokens, access } = parts()
  const { token } = await tokens.create({ name: 'ci', role: 'operator' })
  for (let wrong = 0; wrong < 40; wrong++) {
    await access.callerOf(from({ authorization: 'Bearer wrong' })).catch(() => {})
  }
  const caller = await access.callerOf(from({ authorization: `Bearer ${token}` }))
  assert.equal(caller.name, 'ci')
}

export async function wrongTokensAreLimited(): Promise<void> {
  const { access } = parts()
  const statuses = new Set<number>()
  for (let wrong = 0; wrong < 40; wrong++) {
    const asked = access.callerOf(from({ authorization: 'Bearer wrong' }))
    await asked.catch((error: { status: number }) => statuses.add(error.status))
  }
  assert.ok(statuses.has(429), 'wrong tokens are never limited')
}

export async function anyTokenClosesTheServer(): Promise<void> {
  const { tokens, access } = parts()
  await tokens.create({ name: 'ci', role: 'viewer' })
  const asked = access.callerOf(from({}))
  await assert.rejects(asked, { status: 401 }, 'a server with tokens is open')
}

export async function revokedTokensEnd(): Promise<void> {
  const { clock, store, dice, tokens, access } = parts()
  const { id, token } = await tokens.create({ name: 'ci', role: 'viewer' })
  const credentials = from({ authorization: `Bearer ${token}` })
  assert.equal(await access.isValid(credentials), true)
  // By another process, which shares nothing with this one but the store.
  await new Tokens(store, clock, dice).revoke(id)
  clock.advance(5_000)
  assert.equal(await access.isValid(credentials), false, 'a revoked token is still good after five seconds')
}

export async function sessionsHaveTheRoleOfTheirToken(): Promise<void> {
  const { tokens, access } = parts()
  for (const role of ROLES) {
    const { token } = await tokens.create({ name: role, role, ...(role !== 'admin' && { tenantId: 'acme' }) })
    const { secret } = await access.open(token, '10.0.0.1')
    const caller = await access.callerOf(from({ session: secret }))
    assert.deepEqual([caller.role, caller.tenantId], [role, role === 'admin' ? undefined : 'acme'])
  }
}

export async function sessionsEnd(): Promise<void> {
  const { clock, tokens, access } = parts()
  const { token } = await tokens.create({ name: 'ci', role: 'viewer' })
  const { secret } = await access.open(token, '10.0.0.1')
  clock.advance(DAY_MS)
  await assert.rejects(access.callerOf(from({ session: secret })), { status: 401 })
}

export async function streamsEndWithTheirToken(): Promise<void> {
  const clock = new VirtualClock()
  const ignore = (): void => {}
  const stream = new EventStream({ clock, isValid: async () => false, onRoom: ignore, onClosed: ignore })
  await clock.advance(5_000)
  assert.ok(stream.isClosed, 'a stream is open five seconds after its token was revoked')
}

export async function viewersChangeNothing(): Promise<void> {
  const { server, call, bearer } = serve()
  const { token } = await server.tokens.create({ name: 'ci', role: 'viewer' })
  const response = await call('POST', '/jobs', { name: 'a', payload: {} }, bearer(token))
  assert.equal(response.status, 403, 'a viewer enqueues')
  await server.close()
}

export async function readOnlyServersAllowSigningIn(): Promise<void> {
  const { server, call } = serve({ readOnly: true, token: 'the-token-of-the-admin' })
  const response = await call('POST', '/session', { token: 'the-token-of-the-admin' })
  assert.equal(response.status, 200, 'a read-only server refuses to sign in')
  await server.close()
}

// ---------------------------------------------------------------- tenants

export async function tenantsActForThemselves(): Promise<void> {
  assert.equal(ownTenant<{ tenantId?: string }>(ACME, {}).tenantId, 'acme', 'a request is not of its tenant')
  assert.throws(() => ownTenant(ACME, { tenantId: 'beta' }), { status: 403 })
}

export async function tenantsSeeTheirOwn(): Promise<void> {
  assert.equal(isOwn(ACME, { tenantId: 'beta' }), false, 'a tenant sees what is of another')
  assert.equal(isOwn(ACME, {}), false, 'a tenant sees what is of no tenant')
  const { server, call, bearer, chronos } = serve()
  const { id } = await chronos.enqueue('a', {}, { tenantId: 'beta' })
  const { token } = await server.tokens.create({ name: 'ci', role: 'operator', tenantId: 'acme' })
  assert.equal((await call('GET', `/jobs/${id}`, undefined, bearer(token))).status, 404)
  assert.equal((await call('POST', `/jobs/${id}/cancel`, undefined, bearer(token))).status, 404)
  await server.close()
}

export async function aTenantCreatesSoManyQueues(): Promise<void> {
  const chronos = { queues: { list: async () => [] } } as unknown as Chronos
  const quota = new Quota(chronos, new HandClock())
  for (let queue = 0; queue < TENANT_MAX.queues; queue++) await quota.job(ACME, `queue-${queue}`, undefined)
  await quota.job(ACME, 'queue-0', undefined)
  await assert.rejects(quota.job(ACME, 'one-more', undefined), { code: 'NOT_ALLOWED' })
}

export async function scheduleIdsAreOfOneTenant(): Promise<void> {
  const { server, call, bearer } = serve()
  for (const tenantId of ['acme', 'beta']) {
    const { token } = await server.tokens.create({ name: tenantId, role: 'operator', tenantId })
    const schedule = { every: '1h', job: 'report' }
    const response = await call('PUT', '/schedules/nightly', schedule, bearer(token))
    assert.equal(response.status, 201, 'a tenant learns which schedules another one has')
  }
  await server.close()
}

// ---------------------------------------------------------------- requests

export async function bodiesShareABound(): Promise<void> {
  const budget = new BodyBudget(10)
  budget.take(6)
  assert.throws(() => budget.take(6), { status: 503 }, 'each request may take all of the memory')
  budget.give(6)
  budget.take(6)
}

export async function integersAreNotRounded(): Promise<void> {
  const token = 'the-token-of-the-admin'
  const { server, bearer } = serve({ token })
  const headers = { ...bearer(token), 'Content-Type': 'application/json' }
  const body = '{"name":"a","payload":{"id":9007199254740993}}'
  const response = await server.fetch(new Request('http://127.0.0.1/api/v1/jobs', { method: 'POST', headers, body }))
  assert.equal(response.status, 422, 'an integer is rounded')
  await server.close()
}

export async function probesDoNotNameTheStore(): Promise<void> {
  const info = () => Promise.reject(new Error('chronos@db.internal refused the login'))
  const health = new Health({ info } as unknown as Chronos, new HandClock())
  const { isReady, checks } = await health.publicReadiness()
  assert.equal(isReady, false)
  assert.ok(!JSON.stringify(checks).includes('db.internal'), 'strangers learn the host of the store')
}

export async function anAddressIsShownWithoutItsPassword(): Promise<void> {
  const open = () => createChronos({ store: 'postgers://me:open-sesame@db/jobs' as 'memory:' })
  assert.throws(open, error => !String(error).includes('open-sesame'), 'an error shows a password')
}

export async function bodiesBeforeAuthenticationAreSmall(): Promise<void> {
  const { server, call } = serve({ token: 'the-token-of-the-admin' })
  const response = await call('POST', '/session', { token: 'x'.repeat(1_000_000) })
  assert.equal(response.status, 413, 'a large body is read before authentication')
  await server.close()
}

export async function viewersDoNotSearchSecrets(): Promise<void> {
  const { server, call, bearer, chronos } = serve()
  await chronos.http({ url: 'https://api.example/', headers: { authorization: 'Bearer open-sesame' } })
  const { token } = await server.tokens.create({ name: 'ci', role: 'viewer' })
  const response = await call('GET', '/jobs?q=sesame', undefined, bearer(token))
  const { data } = (await response.json()) as { data: unknown[] }
  assert.deepEqual(data, [], 'a viewer finds a job by its secret')
  await server.close()
}

export async function keysAreOfOneCaller(): Promise<void> {
  assert.notEqual(repeatId('a', 'post /jobs', 'k'), repeatId('b', 'post /jobs', 'k'), 'two callers share a key')
}

export async function aKeyOutlivesALostReply(): Promise<void> {
  const { clock, opened } = parts()
  let puts = 0
  const failing = {
    ...opened,
    putRecords: (writes: Parameters<Store['putRecords']>[0]) =>
      ++puts === 2 ? Promise.reject(new Error('no store')) : opened.putRecords(writes),
  } as Store
  const idempotency = new Idempotency(async () => failing, clock)
  let acts = 0
  const act = async () => ({ body: ++acts })
  const request = { id: 'k', body: '{}', isKeyed: false }
  await idempotency.once(request, act)
  await idempotency.once(request, act).catch(() => {})
  assert.equal(acts, 1, 'a request whose reply could not be stored runs again')
}

export async function anAnswerIsRepeated(): Promise<void> {
  const { clock, store } = parts()
  const idempotency = new Idempotency(store, clock)
  let acts = 0
  const act = async () => ({ body: ++acts })
  const request = { id: 'k', body: '{}', isKeyed: true }
  await idempotency.once(request, act)
  const again = await idempotency.once(request, act)
  assert.equal(again.body, 1)
  await assert.rejects(idempotency.once({ ...request, body: '{"other":1}' }, act), { status: 422 })
}
