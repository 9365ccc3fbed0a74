import { afterAll, describe, expect, it } from 'vitest'
import { Line } from '../support/line.js'
import { dropSchemas, freshSchema, openStore, postgresUrl } from '../support/postgres.js'
import { startServer } from './server.js'

afterAll(dropSchemas)

interface Readiness {
  readonly status: string
  readonly checks: readonly { readonly name: string; readonly isOk: boolean; readonly detail: string }[]
}

async function ready(url: string): Promise<{ status: number; body: Readiness }> {
  const response = await fetch(new URL('readyz', url))
  return { status: response.status, body: (await response.json()) as Readiness }
}

describe('health', () => {
  it('is alive and ready', async () => {
    await using t = await startServer()
    expect(await (await fetch(new URL('healthz', t.url))).json()).toEqual({ status: 'alive' })
    expect(await ready(t.url)).toMatchObject({ status: 200, body: { status: 'ready' } })
  })

  it('reports that it is draining, and still answers', async () => {
    await using t = await startServer()
    t.server.drain()
    expect(await ready(t.url)).toMatchObject({
      status: 503,
      body: {
        checks: [
          { name: 'server', isOk: false, detail: 'is shutting down' },
          { name: 'store', isOk: true },
        ],
      },
    })
    expect((await t.api('POST', '/jobs', { name: 'mail' })).status).toBe(201)
  })

  it('stays up while the store is down, reports it, and recovers by itself', async () => {
    const url = await postgresUrl()
    const line = await Line.to(url)
    const store = await openStore({ schema: freshSchema(), url: line.url(url) })
    await using t = await startServer({ chronos: { store } })
    expect((await t.api('POST', '/jobs', { name: 'mail' })).status).toBe(201)

    line.goDown()
    const refused = await t.api('POST', '/jobs', { name: 'mail' })
    expect([refused.status, refused.body]).toMatchObject([503, { retryable: true }])
    expect(Number(refused.headers.get('Retry-After'))).toBeGreaterThan(0)
    expect((await t.api('GET', '/jobs')).status).toBe(503)
    const outage = await ready(t.url)
    expect(outage).toMatchObject({ status: 503, body: { checks: [{ isOk: true }, { isOk: false }] } })
    expect(outage.body.checks[1]).toEqual({ name: 'store', isOk: false, detail: 'unavailable' })
    expect((await fetch(new URL('healthz', t.url))).status).toBe(200)

    line.comeUp()
    await expect.poll(async () => (await t.api('POST', '/jobs', { name: 'mail' })).status).toBe(201)
    await expect.poll(async () => (await ready(t.url)).status).toBe(200)
    line.close()
  })

  it('answers 503 when the store does not answer in time', async () => {
    const url = await postgresUrl()
    const line = await Line.to(url)
    const store = await openStore({ schema: freshSchema(), url: line.url(url) })
    await using t = await startServer({ chronos: { store }, requestTimeout: '300ms', maintenance: false })
    // The first answers of a busy machine may be late as well.
    await expect.poll(async () => (await t.api('GET', '/jobs')).status).toBe(200)
    line.fallSilent()
    const late = await t.api('GET', '/jobs')
    expect([late.status, late.body]).toMatchObject([503, { code: 'TIMED_OUT', retryable: true }])
    line.speakAgain()
    line.close()
  })

  it('does not time out a claim that waits for work', async () => {
    await using t = await startServer({ requestTimeout: '10ms' })
    const { status, body } = await t.api('POST', '/leases:claim', { workerId: 'w', wait: '50ms' })
    expect([status, body]).toEqual([200, { data: [] }])
  })
})
