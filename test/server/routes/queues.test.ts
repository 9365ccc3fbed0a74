import { describe, expect, it } from 'vitest'
import { deadJobs } from '../deaths.js'
import { startServer } from '../server.js'

describe('queues', () => {
  it('report their jobs and retry wave', async () => {
    await using t = await startServer()
    await t.api('POST', '/jobs', { name: 'mail', queue: 'mail' })
    await t.api('POST', '/jobs', { name: 'mail', queue: 'mail', delay: '5m' })
    await deadJobs(t, 1, { queue: 'payments' })
    const list = await t.api<{ data: { name: string }[] }>('GET', '/queues')
    expect(list.body.data.map(({ name }) => name)).toEqual(['mail', 'payments'])
    expect((await t.api('GET', '/queues/mail')).body).toMatchObject({
      name: 'mail',
      paused: false,
      counts: { scheduled: { value: 1, relation: 'exact' }, queued: { value: 1 }, dead: { value: 0 } },
      oldestDueAt: expect.any(String),
    })
    expect((await t.api('GET', '/queues/payments')).body).toMatchObject({
      counts: { dead: { value: 1 } },
      lastHour: { enqueued: 1, failed: 1, dead: 1 },
    })
    const wave = await t.api<{ scheduled: number[] }>('GET', '/queues/mail/retry-wave?window=10m&buckets=10')
    expect(wave.body).toMatchObject({ queue: 'mail', bucketMs: 60_000, due: 0, beyond: 0, complete: true })
    expect(wave.body.scheduled).toHaveLength(10)
    expect(wave.body.scheduled.reduce((sum, each) => sum + each)).toBe(1)
  })

  it('are paused and resumed, with names that contain slashes', async () => {
    await using t = await startServer()
    await t.api('POST', '/jobs', { name: 'mail', queue: 'eu/mail:bulk' })
    const path = `/queues/${encodeURIComponent('eu/mail:bulk')}`
    expect((await t.api('POST', `${path}/pause`)).body).toMatchObject({ name: 'eu/mail:bulk', paused: true })
    expect((await t.api('GET', path)).body).toMatchObject({ paused: true })
    expect((await t.api('POST', `${path}/resume`)).body).toMatchObject({ paused: false })
    const missing = await t.api<{ detail: string }>('POST', '/queues/eu%2Fmail:bulc/pause')
    expect(missing.status).toBe(404)
    expect(missing.body.detail).toContain('did you mean "eu/mail:bulk"?')
    expect((await t.api<{ data: unknown[] }>('GET', '/queues')).body.data).toHaveLength(1)
  })

  it('accept a policy, and refuse an outdated If-Match', async () => {
    await using t = await startServer()
    const made = await t.api('PUT', '/queues/mail', { retry: { maxRetries: 7 } })
    expect([made.status, made.body]).toMatchObject([200, { name: 'mail', retry: { maxRetries: 7 } }])
    const read = await t.api('GET', '/queues/mail')
    const tag = read.headers.get('ETag')!
    expect(tag).toBe(made.headers.get('ETag'))
    const put = await t.api('PUT', '/queues/mail', { retry: 'patient' }, { 'If-Match': tag })
    expect([put.status, put.body]).toMatchObject([200, { retry: { maxRetries: 20 } }])
    const late = await t.api<{ detail: string }>('PUT', '/queues/mail', { retry: null }, { 'If-Match': tag })
    expect([late.status, late.body]).toMatchObject([412, { code: 'PRECONDITION_FAILED' }])
    expect(late.body.detail).toContain(put.headers.get('ETag'))
    expect((await t.api('PUT', '/queues/none', { paused: true }, { 'If-Match': '*' })).status).toBe(412)
    expect((await t.api('POST', '/jobs', { name: 'mail', queue: 'mail' })).body).toMatchObject({ maxRetries: 20 })
    const without = await t.api('PUT', '/queues/mail', { retry: null })
    expect(without.body).not.toHaveProperty('retry')
  })

  it('are listed in pages, by a part of their name and the busiest first', async () => {
    await using t = await startServer()
    for (const queue of ['a/1', 'a/2', 'b/1']) await t.api('POST', '/jobs', { name: 'mail', queue })
    await t.api('POST', '/jobs', { name: 'mail', queue: 'b/1' })
    interface Listed {
      readonly data: readonly { readonly name: string }[]
      readonly page: { readonly next?: string }
    }
    const list = async (query: string) => {
      const { data, page } = (await t.api<Listed>('GET', `/queues?${query}`)).body
      return [data.map(({ name }) => name), page.next] as const
    }
    expect(await list('limit=2')).toEqual([['a/1', 'a/2'], 'b/1'])
    expect(await list('limit=2&cursor=b/1')).toEqual([['b/1'], undefined])
    expect(await list('q=A/')).toEqual([['a/1', 'a/2'], undefined])
    expect((await list('sort=busiest&limit=1'))[1]).toBeUndefined()
    expect((await t.api('GET', '/queues?sort=size')).status).toBe(422)
  })

  it('are deleted only without jobs', async () => {
    await using t = await startServer()
    const { body } = await t.api<{ id: string }>('POST', '/jobs', { name: 'mail', queue: 'mail' })
    const refused = await t.api('DELETE', '/queues/mail')
    expect([refused.status, refused.body]).toMatchObject([
      409,
      { code: 'NOT_ALLOWED', detail: expect.stringContaining('has 1 job') },
    ])
    await t.api('POST', `/jobs/${body.id}/cancel`)
    await t.api('DELETE', `/jobs/${body.id}`)
    expect((await t.api('DELETE', '/queues/mail')).status).toBe(204)
    expect((await t.api('GET', '/queues/mail')).status).toBe(404)
    expect((await t.api('DELETE', '/queues/mail')).status).toBe(404)
  })

  it('refuse invalid requests and unknown queues', async () => {
    await using t = await startServer()
    const wrong = await t.api('PUT', '/queues/mail', { retry: { maxRetry: 1 }, speed: 1 })
    expect([wrong.status, wrong.body]).toMatchObject([422, { code: 'INVALID_REQUEST' }])
    expect((await t.api('PUT', '/queues/-mail', { paused: true })).status).toBe(422)
    expect((await t.api('GET', '/queues/mail')).status).toBe(404)
    expect((await t.api('GET', '/queues/mail/retry-wave')).status).toBe(404)
    await t.api('PUT', '/queues/mail', { paused: true })
    expect((await t.api('GET', '/queues/mail/retry-wave?buckets=1000')).status).toBe(422)
    expect((await t.api('GET', '/queues/mail/retry-wave?window=1y')).status).toBe(422)
  })
})
