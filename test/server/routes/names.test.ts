import { describe, expect, it } from 'vitest'
import { deadJobs, tokenOf } from '../deaths.js'
import { startServer } from '../server.js'

describe('job names', () => {
  it('are listed and shown with their figures', async () => {
    await using t = await startServer()
    await deadJobs(t, 2, { queue: 'payments' })
    const { name } = (await t.api<{ data: { name: string }[] }>('GET', '/jobs?limit=1')).body.data[0]!
    const list = await t.api('GET', '/names?queue=payments')
    expect(list.body).toMatchObject({
      total: 1,
      data: [{ name, queues: ['payments'], started: 2, failed: 2, dead: 2, failureShare: 1 }],
    })
    const shown = await t.api('GET', `/names/${encodeURIComponent(name)}`)
    expect(shown.body).toMatchObject({ name, started: 2, errors: [{ failures: 2 }], queues: [{ queue: 'payments' }] })
    expect((await t.api('GET', '/names/nothing-like-it')).status).toBe(404)
    expect((await t.api('GET', '/names?from=yesterday')).status).toBe(422)
  })

  it('are refused to the token of a tenant, because statistics have no tenants', async () => {
    await using t = await startServer()
    const acme = await tokenOf(t, 'viewer', 'acme')
    const answer = await t.api<{ detail: string }>('GET', '/names', undefined, acme)
    expect(answer.status).toBe(403)
    expect(answer.body.detail).toContain('tenant')
  })
})
