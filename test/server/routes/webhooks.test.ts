import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { hear, startReceiver } from '../../support/receiver.js'
import { tokenOf } from '../deaths.js'
import { startServer } from '../server.js'

interface Webhook {
  readonly id: string
  readonly secret?: string
}

interface Internal {
  readonly id: string
  readonly name: string
  readonly state: string
  readonly dependency?: string
  readonly tenantId?: string
}

const LOOPBACK = { chronos: { egress: { allow: ['loopback'] } } } as const
const HOOK = { url: 'http://127.0.0.1:9/hooks', events: ['job.dead', 'job.succeeded'] }

describe('webhooks', () => {
  it('are created, read, replaced, disabled, enabled and deleted', async () => {
    await using t = await startServer(LOOPBACK)
    const made = await t.api<Webhook>('POST', '/webhooks', { ...HOOK, queues: ['payments'] })
    expect([made.status, made.body]).toMatchObject([
      201,
      { url: HOOK.url, events: HOOK.events, queues: ['payments'], state: 'enabled', secret: expect.any(String) },
    ])
    const path = `/webhooks/${made.body.id}`
    const { secret: _, ...view } = made.body
    expect((await t.api('GET', path)).body).toEqual(view)
    expect((await t.api('GET', '/webhooks')).body).toEqual({ data: [view], page: {} })

    const put = await t.api('PUT', path, { ...HOOK, events: ['job.dead'] })
    expect([put.status, put.body]).toMatchObject([200, { events: ['job.dead'] }])
    expect(put.body).not.toHaveProperty('queues')
    const limited = await t.api('PATCH', `${path}/limits`, { concurrency: 3, rate: '5/s' })
    expect([limited.status, limited.body]).toMatchObject([200, { concurrency: 3, rate: '5/s', events: ['job.dead'] }])
    expect((await t.api('PATCH', `${path}/limits`, { rate: null })).body).toMatchObject({ concurrency: 3 })
    expect((await t.api('PATCH', `${path}/limits`, { concurrency: 0 })).status).toBe(422)
    expect((await t.api('GET', '/queues/chronos:deliveries')).body).toMatchObject({
      limits: { partitions: { concurrency: 10, override: { [`webhook:${made.body.id}`]: { concurrency: 3 } } } },
    })
    expect((await t.api('POST', `${path}/disable`)).body).toMatchObject({
      state: 'disabled',
      disabledReason: 'by-hand',
    })
    const test = await t.api('POST', `${path}/test`)
    expect([test.status, test.body]).toMatchObject([409, { code: 'NOT_ALLOWED' }])
    expect((await t.api('POST', `${path}/enable`)).body).toMatchObject({ state: 'enabled' })
    expect((await t.api('DELETE', path)).status).toBe(204)
    expect((await t.api('GET', path)).status).toBe(404)
  })

  it('are found by their state', async () => {
    await using t = await startServer(LOOPBACK)
    const [first, second] = [
      (await t.api<Webhook>('POST', '/webhooks', HOOK)).body,
      (await t.api<Webhook>('POST', '/webhooks', HOOK)).body,
    ]
    await t.api('POST', `/webhooks/${second.id}/disable`)
    const found = async (state: string): Promise<readonly string[]> =>
      (await t.api<{ data: Webhook[] }>('GET', `/webhooks?state=${state}&limit=1`)).body.data.map(({ id }) => id)
    expect([await found('enabled'), await found('disabled')]).toEqual([[first.id], [second.id]])
    expect((await t.api('GET', '/webhooks?state=gone')).status).toBe(422)
  })

  it('show their secret once, even to a repeated request', async () => {
    await using t = await startServer(LOOPBACK)
    const key = { 'Idempotency-Key': 'hook-1' }
    const first = await t.api<Webhook>('POST', '/webhooks', HOOK, key)
    const again = await t.api<Webhook>('POST', '/webhooks', HOOK, key)
    expect(first.body.secret).toMatch(/^whsec_/)
    expect([again.status, again.body.id, again.body.secret]).toEqual([201, first.body.id, undefined])
    const rotated = await t.api<Webhook>('POST', `/webhooks/${first.body.id}/rotate-secret`)
    expect(rotated.body.secret).toMatch(/^whsec_/)
    expect(rotated.body.secret).not.toBe(first.body.secret)
    const { body } = await t.api('GET', `/webhooks/${first.body.id}`)
    expect(body).toMatchObject({ secrets: [{}, { expiresAt: expect.any(String) }] })
    expect(JSON.stringify(body)).not.toContain('whsec_')
    expect((await t.api<Webhook>('POST', '/webhooks/per-job/rotate-secret')).body.secret).toMatch(/^whsec_/)
  })

  it('send a signed test message and list the delivery', async () => {
    await using t = await startServer(LOOPBACK)
    let heard: (message: Awaited<ReturnType<typeof hear>>) => void
    const message = new Promise<Awaited<ReturnType<typeof hear>>>(resolve => {
      heard = resolve
    })
    await using receiver = await startReceiver(async (request, response) => {
      heard(await hear(request))
      response.end()
    })
    const { body } = await t.api<Required<Webhook>>('POST', '/webhooks', { ...HOOK, url: `${receiver.origin}/hooks` })
    t.chronos.work([], { signals: false })
    const sent = await t.api<{ id: string }>('POST', `/webhooks/${body.id}/test`)
    expect([sent.status, sent.body]).toMatchObject([201, { name: 'chronos:delivery', queue: 'chronos:deliveries' }])
    const { headers, body: text } = await message
    const key = Buffer.from(body.secret.slice('whsec_'.length), 'base64')
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`
    const signature = createHmac('sha256', key).update(signed).digest('base64')
    expect(headers['webhook-signature']).toContain(`v1,${signature}`)
    const list = await t.api('GET', `/webhooks/${body.id}/deliveries`)
    expect(list.body).toMatchObject({ data: [{ id: sent.body.id }], page: {} })
  })

  it('redrive dead deliveries', async () => {
    await using t = await startServer(LOOPBACK)
    const { body } = await t.api<Webhook>('POST', '/webhooks', { ...HOOK, tenantId: 'acme' })
    const since = '2026-01-01T00:00:00.000Z'
    const made = await t.api('POST', `/webhooks/${body.id}/recover`, { since, rate: '50/s' })
    expect([made.status, made.body]).toMatchObject([
      201,
      { tenantId: 'acme', rate: '50/s', total: { value: 0 }, filter: { queue: 'chronos:deliveries', tag: body.id } },
    ])
  })

  it('refuse invalid requests and blocked addresses', async () => {
    await using t = await startServer()
    const wrong = { url: 5, events: ['job.born'], secret: 'mine' }
    const { status, body } = await t.api<{ errors: { pointer: string }[] }>('POST', '/webhooks', wrong)
    expect([status, body.errors.map(({ pointer }) => pointer).sort()]).toEqual([422, ['/events/0', '/secret', '/url']])
    const inside = await t.api('POST', '/webhooks', HOOK)
    expect([inside.status, inside.body]).toMatchObject([409, { code: 'NOT_ALLOWED' }])
    expect((await t.api('PUT', '/webhooks/none', HOOK)).status).toBe(404)
    expect((await t.api('POST', '/webhooks/none/recover', {})).status).toBe(422)
    expect((await t.api('GET', '/webhooks/none/deliveries')).status).toBe(404)
  })

  it('are hidden from other tenants', async () => {
    await using t = await startServer(LOOPBACK)
    const acme = await tokenOf(t, 'admin', 'acme')
    const globex = await tokenOf(t, 'admin', 'globex')
    const made = await t.api<Webhook>('POST', '/webhooks', HOOK, acme)
    expect(made.body).toMatchObject({ tenantId: 'acme' })
    const path = `/webhooks/${made.body.id}`
    expect((await t.api('GET', '/webhooks', undefined, globex)).body).toEqual({ data: [], page: {} })
    for (const [method, where, body] of [
      ['GET', path],
      ['PUT', path, HOOK],
      ['DELETE', path],
      ['POST', `${path}/test`, {}],
      ['POST', `${path}/rotate-secret`, {}],
      ['POST', `${path}/enable`, {}],
      ['POST', `${path}/disable`, {}],
      ['POST', `${path}/recover`, { since: '2026-01-01T00:00:00.000Z' }],
      ['GET', `${path}/deliveries`],
      ['POST', '/webhooks/per-job/rotate-secret', {}],
    ] as const) {
      expect([method, where, (await t.api(method, where, body, globex)).status]).toEqual([method, where, 404])
    }
    expect((await t.api('POST', '/webhooks', { ...HOOK, tenantId: 'acme' }, globex)).status).toBe(403)
    expect((await t.api('GET', path, undefined, acme)).body).toMatchObject({ state: 'enabled' })
  })

  it('keep the deliveries to the endpoints of the fleet from the tenant whose jobs they report', async () => {
    await using t = await startServer({ ...LOOPBACK, asAdmin: true })
    const acme = await tokenOf(t, 'admin', 'acme')
    const events = ['job.cancelled']
    const fleet = (await t.api<Webhook>('POST', '/webhooks', { ...HOOK, events })).body
    const own = (await t.api<Webhook>('POST', '/webhooks', { ...HOOK, events }, acme)).body
    const stop = await t.chronos.on('job.cancelled', () => undefined, { everywhere: true, as: 'billing' })
    await stop()
    const { id } = await t.chronos.enqueue('order', {}, { tenantId: 'acme', webhook: HOOK.url })
    expect((await t.api('POST', `/jobs/${id}/cancel`, undefined, acme)).status).toBe(200)

    const internal = async (headers?: Readonly<Record<string, string>>) =>
      (await t.api<{ data: Internal[] }>('GET', '/jobs?internal=true', undefined, headers)).body.data
    const all = await internal()
    const toOwn = `webhook:${own.id}`
    const toUrl = `webhook:${new URL(HOOK.url).origin}`
    expect((await internal(acme)).map(({ dependency }) => dependency).sort()).toEqual([toUrl, toOwn].sort())
    const others = all.filter(({ tenantId }) => tenantId === undefined)
    expect(others.map(({ name, dependency }) => dependency ?? name).sort()).toEqual([
      'chronos:event',
      `webhook:${fleet.id}`,
    ])
    for (const other of others) {
      for (const [method, path] of [
        ['GET', ''],
        ['GET', '/logs'],
        ['GET', '/history'],
        ['GET', '/explain'],
        ['POST', '/cancel'],
        ['DELETE', ''],
      ] as const) {
        const { status } = await t.api(method, `/jobs/${other.id}${path}`, undefined, acme)
        expect([method, path, status]).toEqual([method, path, 404])
      }
    }
    await t.api('POST', '/jobs:cancel', { filter: { internal: true } }, acme)
    expect((await internal()).filter(({ state }) => state === 'waiting').map(job => job.id)).toEqual(
      others.map(job => job.id),
    )
  })

  it('show a tenant that is given an endpoint only its own deliveries', async () => {
    await using t = await startServer({ ...LOOPBACK, asAdmin: true })
    const acme = await tokenOf(t, 'viewer', 'acme')
    const { id } = (await t.api<Webhook>('POST', '/webhooks', HOOK)).body
    const test = async () => (await t.api<{ id: string }>('POST', `/webhooks/${id}/test`)).body.id
    const seen = async (headers?: Readonly<Record<string, string>>) => {
      const { body } = await t.api<{ data: Internal[] }>('GET', `/webhooks/${id}/deliveries`, undefined, headers)
      return body.data.map(job => job.id)
    }
    const old = await test()
    expect(await seen()).toEqual([old])
    await t.api('PUT', `/webhooks/${id}`, { ...HOOK, tenantId: 'acme' })
    expect(await seen(acme)).toEqual([])
    const own = await test()
    expect(await seen(acme)).toEqual([own])
    await t.api('PUT', `/webhooks/${id}`, HOOK)
    expect(await seen()).toEqual([own, old])
  })
})
