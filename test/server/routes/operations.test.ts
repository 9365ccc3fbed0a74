import { describe, expect, it } from 'vitest'
import { defineJob } from '../../../src/index.js'
import { ENDPOINTS } from '../../../src/server/routes/all.js'
import { deadJobs, tokenOf } from '../deaths.js'
import { startServer } from '../server.js'

interface Entries {
  readonly data: readonly { readonly action: string; readonly actor: string }[]
  readonly page: { readonly next?: string }
}

describe('operations', () => {
  it('report statistics and series', async () => {
    await using t = await startServer()
    await deadJobs(t, 2, { queue: 'payments' })
    await t.api('POST', '/jobs', { name: 'mail' })
    const stats = await t.api('GET', '/stats')
    expect(stats.body).toMatchObject({
      jobs: { queued: { value: 1, relation: 'exact' }, dead: { value: 2 } },
      failedRuns: 2,
      failedJobs: 2,
      lastHour: { enqueued: 3, failed: 2, dead: 2 },
    })
    const series = await t.api<{ points: { enqueued: number; dead: number }[] }>('GET', '/stats/series?queue=payments')
    expect(series.body.points.reduce((sum, { dead }) => sum + dead, 0)).toBe(2)
    expect(series.body.points.reduce((sum, { enqueued }) => sum + enqueued, 0)).toBe(2)
    const hours = await t.api('GET', '/stats/series?from=2026-11-01T00:00:00Z&to=2026-11-02T00:00:00Z&step=1h')
    expect(hours.body).toMatchObject({ step: '1h', points: { length: 24 } })
  })

  it.each([
    '/stats/series?step=90s',
    '/stats/series?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z',
    '/stats/series?from=2026-01-01T00:00:00Z&to=2026-11-01T00:00:00Z&step=1m',
    '/stats/series?from=yesterday',
    '/stats?queue=mail',
  ])('refuse %s', async path => {
    await using t = await startServer()
    expect((await t.api('GET', path)).status).toBe(422)
  })

  it('report workers, the system and the integrity check', async () => {
    await using t = await startServer({
      env: { name: 'staging' },
      token: 'a-secret-of-the-configuration',
      maintenance: false,
    })
    const admin = { Authorization: 'Bearer a-secret-of-the-configuration' }
    const done = new Promise<void>(resolve => void t.chronos.on('job.succeeded', () => resolve()))
    const mail = defineJob({ name: 'mail', run: async () => 'sent' })
    const worker = t.chronos.work([mail], { signals: false, concurrency: 3 })
    await t.chronos.enqueue(mail)
    await done
    const workers = await t.api('GET', '/workers', undefined, admin)
    expect(workers.body).toMatchObject({
      data: [{ names: expect.arrayContaining(['mail']), concurrency: 3, state: 'alive' }],
    })
    const system = await t.api('GET', '/system', undefined, admin)
    expect(system.body).toMatchObject({
      node: process.versions.node,
      store: {
        kind: 'sqlite',
        durability: 'power-loss',
        promise: expect.stringContaining('survive a crash and a power failure'),
      },
      workers: 1,
      maintenance: true,
      events: { listeners: 0 },
      ready: true,
      settings: { authRequired: true, readOnly: false, env: { name: 'staging' } },
    })
    expect(JSON.stringify(system.body)).not.toContain('a-secret-of')
    await worker.stop()
    expect((await t.api('GET', '/system', undefined, admin)).body).toMatchObject({ workers: 0, maintenance: false })
    expect((await t.api('GET', '/system/verify', undefined, admin)).body).toMatchObject({
      isSound: true,
      queues: [{ queue: 'default', enqueued: 1, rows: { succeeded: 1 }, isBalanced: true }],
      findings: [],
    })
  })

  it('say in the audit log what was done, and nothing about dry runs', async () => {
    await using t = await startServer({ maintenance: false })
    const [id] = await deadJobs(t, 3, { tenantId: 'acme' })
    const [group] = (await t.chronos.dead.groups()).data
    const { fingerprint } = group!
    const filter = { fingerprint, tenantId: 'acme' }
    for (const path of ['/dead/acknowledge', '/dead/discard', '/redrives', '/jobs:delete'])
      await t.api('POST', path, { filter, dryRun: true })
    await t.api('POST', '/dead/discard', { filter, atMost: 2 })
    await t.api('POST', '/dead/acknowledge', { filter: { ids: [id] } })
    await t.api('POST', '/dead/discard', { filter })
    await t.api('POST', '/alerts/silences', { rule: 'dead-letters', labels: { queue: 'mail' }, for: '1h' })
    await t.api('PATCH', `/dead/groups/${fingerprint}?tenantId=acme`, { state: 'ignored' })
    await t.api('POST', `/jobs/${id}/retry`)
    await t.api('POST', '/jobs:cancel', { filter: {}, all: true })
    await deadJobs(t, 2, { queue: 'mail' }, 'host not found')
    await t.api('POST', '/redrives', { filter: { queue: 'mail', q: 'host' } })
    const { data } = (await t.api<{ data: { action: string; summary?: string }[] }>('GET', '/audit')).body
    const said = data.filter(({ action }) => action !== 'POST /jobs' && !action.includes('/leases'))
    expect(said.map(({ summary }) => summary).toReversed()).toEqual([
      'acknowledged 1 dead letter (1 job by id)',
      `discarded 3 dead letters (error group ${fingerprint}, tenant acme)`,
      'silenced alert dead-letters (queue=mail) for 1h',
      `set error group ${fingerprint} of tenant acme to ignored`,
      `retried job ${id}`,
      'cancelled 1 job (all)',
      'started a redrive of 2 dead letters (queue mail, search host)',
    ])
  })

  it('have words for every change in the audit log', () => {
    const silent = ENDPOINTS.filter(
      ({ method, audit, did }) => (audit ?? (method === 'get' ? 'none' : 'entry')) !== 'none' && did === undefined,
    )
    expect(silent.map(({ method, path }) => `${method} ${path}`)).toEqual([])
  })

  it('list the audit log newest first and page by page', async () => {
    await using t = await startServer({ asAdmin: true })
    const operator = await tokenOf(t, 'operator')
    await t.api('PUT', '/queues/mail', { retry: { maxRetries: 1 } })
    await t.api('POST', '/queues/mail/pause', {}, operator)
    await t.api('GET', '/queues', undefined, operator)
    await t.api('POST', '/queues/none/pause', {}, operator)
    const first = await t.api<Entries>('GET', '/audit?limit=1')
    expect(first.body.data).toMatchObject([
      { action: 'POST /queues/{name}/pause', actor: 'operator of all', role: 'operator', target: 'mail' },
    ])
    const rest = await t.api<Entries>('GET', `/audit?cursor=${first.body.page.next}`)
    expect(rest.body).toMatchObject({
      data: [{ action: 'PUT /queues/{name}', target: 'mail', facts: { retry: { maxRetries: 1 } } }],
      page: {},
    })
    expect((await t.api('GET', '/audit', undefined, operator)).status).toBe(403)
  })
})
