import { describe, expect, it } from 'vitest'
import { defineJob } from '../../../src/index.js'
import { type StartOptions, startServer } from '../server.js'

const start = (options: StartOptions = {}) =>
  startServer({ ...options, chronos: { store: 'memory:', ...options.chronos } })

type Page = { data: { name: string; blockedBy?: string }[]; page: { next?: string } }

describe('the limits of a queue over REST', () => {
  it('are set, shown, versioned and removed', async () => {
    await using t = await start({ asAdmin: true })
    const put = await t.api('PUT', '/queues/crm', { limit: { concurrency: 40 }, partitions: { rate: '20/s' } })
    const limits = { limit: { concurrency: 40 }, partitions: { rate: '20/s' }, from: 'operator' }
    expect([put.status, put.body]).toMatchObject([200, { name: 'crm', limits }])
    const tag = put.headers.get('ETag')!
    const kept = await t.api('PUT', '/queues/crm', { limit: { concurrency: 4 } }, { 'If-Match': tag })
    expect(kept.body).toMatchObject({ limits: { ...limits, limit: { concurrency: 4 } } })
    expect((await t.api('PUT', '/queues/crm', { limit: null }, { 'If-Match': tag })).status).toBe(412)
    const none = await t.api('PUT', '/queues/crm', { limit: null, partitions: null })
    expect(none.body).not.toHaveProperty('limits')
    const log = await t.api<{ data: { summary: string }[] }>('GET', '/audit')
    expect(log.body.data.map(({ summary }) => summary)).toEqual([
      'removed the limits of queue crm',
      'set the limits of queue crm',
      'set the limits of queue crm',
    ])
  })

  it('are refused with a sentence if they are wrong', async () => {
    await using t = await start()
    const wrong = await t.api<{ detail: string }>('PUT', '/queues/crm', { partitions: { onDead: 'stop' } })
    expect(wrong.status).toBe(422)
    expect(wrong.body.detail).toContain('onDead needs order "fifo"; give it, or leave onDead out')
  })

  it('are listed by partition, in pages', async () => {
    await using t = await start()
    const partitions = { concurrency: 1, rate: '6/m', override: { b: { concurrency: 3 } } }
    await t.api('PUT', '/queues/crm', { partitions })
    for (const partition of ['a', 'b', 'c', undefined]) {
      await t.api('POST', '/jobs', {
        name: 'sync',
        queue: 'crm',
        units: { tokens: 5 },
        ...(partition && { partition }),
      })
    }
    const first = await t.api<Page>('GET', '/queues/crm/partitions?limit=3')
    const waiting = { value: 1, relation: 'exact' }
    const limit = { concurrency: 1, rate: '6/m' }
    expect(first.body.data).toEqual([
      { name: '', running: 0, waiting, limit },
      { name: 'a', running: 0, waiting, limit },
      { name: 'b', running: 0, waiting, limit: { ...limit, concurrency: 3 }, override: true },
    ])
    const rest = await t.api<Page>(
      'GET',
      `/queues/crm/partitions?limit=3&cursor=${encodeURIComponent(first.body.page.next!)}`,
    )
    expect(rest.body.data.map(({ name }) => name)).toEqual(['c'])
    expect(rest.body.page).toEqual({})
    expect((await t.api<Page>('GET', '/queues/crm/partitions?which=stopped')).body.data).toEqual([])
    expect((await t.api('GET', '/queues/mail/partitions')).status).toBe(404)
    const { body } = await t.api<{ data: unknown[] }>('GET', '/jobs?queue=crm')
    expect(body.data.at(-1)).toMatchObject({ partition: 'a', units: { tokens: 5 } })
  })

  it('say why a partition waits, and until when', async () => {
    await using t = await start()
    const ran = new Promise<void>(resolve => t.chronos.on('job.succeeded', () => resolve()))
    const dead = new Promise<string>(resolve => t.chronos.on('job.dead', ({ job }) => resolve(job.id)))
    const ask = defineJob({ name: 'ask', queue: 'ai', partition: 'gpt', run: () => undefined })
    const feed = defineJob({
      name: 'feed',
      queue: 'feed',
      partition: 'acme',
      retry: { maxRetries: 0 },
      run() {
        throw new Error('no')
      },
    })
    await t.api('PUT', '/queues/ai', { partitions: { rate: '1/h', burst: 1 } })
    await t.api('PUT', '/queues/feed', { partitions: { order: 'fifo', onDead: 'stop' } })
    await t.chronos.enqueueMany(ask, [undefined, undefined])
    await t.chronos.enqueueMany(feed, [undefined, undefined])
    const worker = t.chronos.work([ask, feed], { signals: false })
    const [stoppedBy] = await Promise.all([dead, ran])
    const gpt = async () => (await t.api<Page>('GET', '/queues/ai/partitions')).body.data[0]
    // The next claim finds that the rate is used up.
    while ((await gpt())?.blockedBy === undefined);
    expect(await gpt()).toMatchObject({
      name: 'gpt',
      waiting: { value: 1 },
      blockedBy: 'rate',
      openAt: expect.any(String),
      words: expect.stringContaining('the rate of its partition "gpt" is used up; it may start in'),
    })
    await worker.stop()
    const stopped = await t.api<Page>('GET', '/queues/feed/partitions?which=stopped')
    expect(stopped.body.data).toMatchObject([{ name: 'acme', blockedBy: 'stopped', stoppedBy }])
  })

  it('are none of a tenant’s business, and its jobs stay in its own partition', async () => {
    await using t = await start({ asAdmin: true })
    const { token } = await t.server.tokens.create({ name: 'acme', role: 'admin', tenantId: 'acme' })
    const headers = { Authorization: `Bearer ${token}` }
    expect((await t.api('GET', '/queues/crm/partitions', undefined, headers)).status).toBe(403)
    const other = await t.api<{ detail: string }>('POST', '/jobs', { name: 'sync', partition: 'globex' }, headers)
    expect([other.status, other.body.detail]).toEqual([
      403,
      'partition: the jobs of this token share the partition acme; leave it out',
    ])
    const own = await t.api('POST', '/jobs', { name: 'sync', partition: 'acme' }, headers)
    expect([own.status, own.body]).toMatchObject([201, { partition: 'acme' }])
  })
})
