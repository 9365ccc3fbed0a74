import { describe, expect, it } from 'vitest'
import type { Forecast } from '../../../src/core/forecast/forecast.js'
import { tokenOf } from '../deaths.js'
import { startServer, type TestServer } from '../server.js'

/** Enqueues a job and lets its first run fail, so that it waits for a retry. */
async function failing({ api }: TestServer, job: Readonly<Record<string, unknown>>): Promise<void> {
  const { body: made } = await api<{ id: string; queue: string }>('POST', '/jobs', { name: 'charge-card', ...job })
  const { body } = await api<{ data: { token: string }[] }>('POST', '/leases:claim', {
    workerId: 'w',
    queues: [made.queue],
  })
  const error = { name: 'Error', message: 'connect ECONNREFUSED' }
  await api('POST', `/leases/${made.id}/fail`, { token: body.data[0]!.token, error })
}

describe('the forecast', () => {
  it('is about the jobs of the caller, by queue', async () => {
    await using t = await startServer({ asAdmin: true })
    const retry = { maxRetries: 2, backoff: { type: 'fixed', delay: '10m' }, jitter: 'none' }
    await failing(t, { tenantId: 'acme', retry })
    await failing(t, { tenantId: 'globex', retry })
    await failing(t, { tenantId: 'globex', queue: 'mail', retry })
    await t.api('POST', '/jobs', { name: 'charge-card', queue: 'mail', delay: '1h', retry })
    const acme = await tokenOf(t, 'viewer', 'acme')
    const all = (await t.api<Forecast>('GET', '/forecast')).body
    expect(all).toMatchObject({ jobs: { value: 3, relation: 'exact' }, dying: 3, held: 0 })
    expect(all.places.map(({ queue, jobs }) => [queue, jobs])).toEqual([
      ['default', 2],
      ['mail', 1],
    ])
    expect((await t.api<Forecast>('GET', '/forecast', undefined, acme)).body).toMatchObject({ dying: 1 })
    expect((await t.api('GET', '/forecast?tenantId=globex', undefined, acme)).status).toBe(403)
    expect((await t.api<Forecast>('GET', '/forecast?queue=mail&all=true')).body).toMatchObject({ dying: 2 })
    expect((await t.api<Forecast>('GET', '/forecast?policy=none')).body.instead).toMatchObject({ policy: 'none' })
    await t.api('POST', '/queues/mail/pause')
    const held = (await t.api<Forecast>('GET', '/forecast?queue=mail')).body
    expect(held).toMatchObject({ dying: 0, held: 1, places: [{ held: 'queue-paused' }] })
    expect(held).not.toHaveProperty('first')
  })

  it('refuses a policy that is no preset', async () => {
    await using t = await startServer()
    expect((await t.api('GET', '/forecast?policy=eternal')).status).toBe(422)
  })
})
