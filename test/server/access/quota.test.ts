import { describe, expect, it } from 'vitest'
import { TENANT_MAX } from '../../../src/server/access/quota.js'
import { startServer, type TestServer } from '../server.js'

async function tenantOf(t: TestServer, tenantId: string) {
  const { token } = await t.server.tokens.create({ name: tenantId, role: 'admin', tenantId })
  const headers = { Authorization: `Bearer ${token}` }
  return <T = unknown>(method: string, path: string, body?: unknown) => t.api<T>(method, path, body, headers)
}

interface Batch {
  readonly created: number
  readonly refused: number
}

const refused = (text: string) => ({
  status: 409,
  body: expect.objectContaining({ code: 'NOT_ALLOWED', detail: expect.stringContaining(text) }),
})

describe('the tokens of a tenant', () => {
  it.each([
    ['queue', 'queues'],
    ['dependsOn', 'dependencies'],
  ] as const)('name at most so many new values of %s, and go on with those that exist', async (field, what) => {
    await using t = await startServer({ asAdmin: true, chronos: { store: 'memory:' } })
    const acme = await tenantOf(t, 'acme')
    const globex = await tenantOf(t, 'globex')
    const jobs = Array.from({ length: TENANT_MAX[what] }, (_, number) => ({ name: 'work', [field]: `n${number}` }))
    const batch = await acme<Batch>('POST', '/jobs:batch', { jobs })
    expect(batch.body).toMatchObject({ created: TENANT_MAX[what], refused: 0 })
    const over = { name: 'work', [field]: 'one-more' }
    expect(await acme('POST', '/jobs', over)).toMatchObject(refused(`has created 1000 ${what}`))
    expect((await acme<Batch>('POST', '/jobs:batch', { jobs: [over, jobs[0]] })).body).toMatchObject({
      created: 1,
      refused: 1,
    })
    expect((await acme('POST', '/jobs', jobs[7])).status).toBe(201)
    expect((await globex('POST', '/jobs', over)).status).toBe(201)
    expect((await t.api('POST', '/jobs', over)).status).toBe(201)
  })

  it('create so many schedules and webhook endpoints', async () => {
    await using t = await startServer({ asAdmin: true, chronos: { store: 'memory:' } })
    const acme = await tenantOf(t, 'acme')
    const globex = await tenantOf(t, 'globex')
    const tenantId = 'acme'
    const schedule = { cron: '0 9 * * *', job: 'work' }
    const endpoint = { url: 'https://hooks.example/', events: ['job.dead'] }
    for (let n = 0; n < TENANT_MAX.schedules; n++) await t.chronos.schedules.put(`s${n}`, { ...schedule, tenantId })
    for (let n = 0; n < TENANT_MAX.webhooks; n++) await t.chronos.webhooks.create({ ...endpoint, tenantId } as never)
    expect(await acme('POST', '/schedules', schedule)).toMatchObject(refused('has 1000 schedules'))
    expect(await acme('PUT', '/schedules/new', schedule)).toMatchObject(refused('has 1000 schedules'))
    expect(await acme('POST', '/webhooks', endpoint)).toMatchObject(refused('has 100 webhook endpoints'))
    expect((await globex('POST', '/schedules', schedule)).status).toBe(201)
    await t.chronos.schedules.delete('s7')
    expect((await acme('POST', '/schedules', schedule)).status).toBe(201)
  })
})
