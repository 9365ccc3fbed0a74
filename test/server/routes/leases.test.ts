import { request } from 'node:http'
import { describe, expect, it } from 'vitest'
import { fixed } from '../../../src/index.js'
import { startServer, type TestServer } from '../server.js'

interface Lease {
  readonly token: string
  readonly key: string
  readonly expiresAt: string
  readonly job: { readonly id: string; readonly attempt: number; readonly payload: unknown }
}
interface Problem {
  readonly code: string
  readonly detail: string
}

const retry = fixed({ delay: '50ms', maxRetries: 2, jitter: 'none' })
const STALE = '0'.repeat(32)

async function enqueue(t: TestServer, more: Readonly<Record<string, unknown>> = {}): Promise<string> {
  return (await t.api<{ id: string }>('POST', '/jobs', { name: 'resize', payload: { image: 1 }, ...more })).body.id
}

async function claim(t: TestServer, more: Readonly<Record<string, unknown>> = {}): Promise<readonly Lease[]> {
  const { status, body } = await t.api<{ data: Lease[] }>('POST', '/leases:claim', { workerId: 'w', ...more })
  expect(status).toBe(200)
  return body.data
}

describe('leases', () => {
  it('R55: store the notes of a pull worker with its runs', async () => {
    await using t = await startServer({ chronos: { retry } })
    const id = await enqueue(t)
    const [first] = await claim(t)
    await t.api('POST', `/leases/${id}/fail`, { token: first!.token, error: { message: 'full' }, note: 'disk 2' })
    const [second] = await claim(t, { wait: '10s' })
    const done = { token: second!.token, note: 'Image resized' }
    expect((await t.api('POST', `/leases/${id}/complete`, done)).body).toMatchObject({ state: 'succeeded' })
    expect((await t.api('POST', `/leases/${id}/complete`, done)).body).toMatchObject({ repeated: true })
    const { body } = await t.api<{ data: { note?: string }[] }>('GET', `/jobs/${id}/history`)
    expect(body.data.map(({ note }) => note)).toEqual(['Image resized', 'disk 2'])
    const oldest = await t.api<typeof body>('GET', `/jobs/${id}/history?order=oldest`)
    expect(oldest.body.data.map(({ note }) => note)).toEqual(['disk 2', 'Image resized'])
    expect((await t.api('GET', `/jobs/${id}/history?order=first`)).status).toBe(422)
  })

  it('carry a job from its claim through a failure to its result', async () => {
    await using t = await startServer({ chronos: { retry } })
    const id = await enqueue(t, { key: 'image:1' })
    const [first] = await claim(t)
    expect(first).toMatchObject({ key: 'image:1', job: { id, attempt: 1, maxAttempts: 3, payload: { image: 1 } } })

    const extended = await t.api('POST', `/leases/${id}/extend`, {
      token: first!.token,
      lease: '1m',
      progress: { percent: 10 },
      log: [{ message: 'began', data: { image: 1 } }],
    })
    expect(extended.body).toMatchObject({ cancelRequested: false })
    const failed = await t.api('POST', `/leases/${id}/fail`, {
      token: first!.token,
      error: { name: 'OSError', message: 'disk full', code: 'ENOSPC' },
    })
    expect(failed.body).toMatchObject({ state: 'waiting', status: 'failed', delayMs: 50, decision: { retry: 1 } })

    const [second] = await claim(t, { wait: '10s' })
    expect(second).toMatchObject({ job: { id, attempt: 2 } })
    const body = { token: second!.token, result: { width: 80 } }
    const done = await t.api('POST', `/leases/${id}/complete`, body)
    expect(done.body).toMatchObject({ state: 'succeeded', attempt: 2 })
    // The worker repeats the call, as if the response was lost.
    expect((await t.api('POST', `/leases/${id}/complete`, body)).body).toMatchObject({ repeated: true })
    const { body: job } = await t.api('GET', `/jobs/${id}`)
    expect(job).toMatchObject({
      state: 'succeeded',
      result: { width: 80 },
      progress: { percent: 10 },
      attempts: [{ status: 'succeeded' }, { status: 'failed', workerId: 'w', error: { code: 'ENOSPC' } }],
    })
    expect((await t.api('GET', `/jobs/${id}/logs`)).body).toMatchObject({ data: [{ message: 'began' }] })
  })

  it('are handed back by snooze and release, without costing an attempt', async () => {
    await using t = await startServer()
    const id = await enqueue(t)
    const [first] = await claim(t)
    const snoozed = await t.api('POST', `/leases/${id}/snooze`, { token: first!.token, delay: '20ms', note: 'not yet' })
    expect(snoozed.body).toMatchObject({ state: 'waiting', status: 'snoozed', attempt: 0 })
    const [second] = await claim(t, { wait: '10s' })
    expect(second!.job.attempt).toBe(1)
    const released = await t.api('POST', `/leases/${id}/release`, { token: second!.token, started: false })
    expect(released.body).toMatchObject({ state: 'waiting', status: 'released', attempt: 0 })
    expect(await claim(t)).toMatchObject([{ job: { id, attempt: 1 } }])
  })

  it('are answered with 409 when lost, and 404 without a job', async () => {
    await using t = await startServer()
    const id = await enqueue(t)
    await claim(t)
    for (const verb of ['extend', 'complete', 'release']) {
      const lost = await t.api<Problem>('POST', `/leases/${id}/${verb}`, { token: STALE })
      expect([lost.status, lost.body.code]).toEqual([409, 'LEASE_LOST'])
      const none = await t.api<Problem>('POST', `/leases/unknown/${verb}`, { token: STALE })
      expect([none.status, none.body.code]).toEqual([404, 'NOT_FOUND'])
    }
  })

  it('tell the worker about a cancellation', async () => {
    await using t = await startServer()
    const id = await enqueue(t)
    const [lease] = await claim(t)
    await t.api('POST', `/jobs/${id}/cancel`)
    const { token } = lease!
    expect((await t.api('POST', `/leases/${id}/extend`, { token })).body).toMatchObject({ cancelRequested: true })
    expect((await t.api('POST', `/leases/${id}/release`, { token })).body).toMatchObject({ state: 'cancelled' })
  })

  it.each([
    ['/leases:claim', {}, '/workerId'],
    ['/leases:claim', { workerId: 'w', limit: 101 }, '/limit'],
    ['/leases:claim', { workerId: 'w', colour: 'red' }, '/colour'],
    ['/leases/x/complete', {}, '/token'],
    ['/leases/x/fail', { token: STALE, error: {} }, '/error/message'],
    ['/leases/x/fail', { token: STALE, error: { message: 'no', status: 7 } }, '/error/status'],
    ['/leases/x/fail', { token: STALE, error: { message: 'no', retriable: true } }, '/error/retriable'],
    ['/leases/x/snooze', { token: STALE }, '/delay'],
  ])('name the invalid field: %s %j', async (path, body, pointer) => {
    await using t = await startServer()
    const reply = await t.api('POST', path, body)
    expect(reply.status).toBe(422)
    expect(reply.body).toMatchObject({ errors: [{ pointer }] })
  })

  it.each([{ wait: '31s' }, { lease: '500ms' }, { queues: ['chronos:deliveries'] }])('refuse %j', async given => {
    await using t = await startServer()
    expect((await t.api('POST', '/leases:claim', { workerId: 'w', ...given })).status).toBe(422)
  })

  it('are refused to the token of one tenant, because queues hold jobs of all tenants', async () => {
    await using t = await startServer({ token: 'a-token-of-the-configuration' })
    const { token } = await t.server.tokens.create({ name: 'acme', role: 'operator', tenantId: 'acme' })
    const reply = await t.api('POST', '/leases:claim', { workerId: 'w' }, { Authorization: `Bearer ${token}` })
    expect(reply.status).toBe(403)
  })

  it('wait for work, and are granted as soon as there is some', async () => {
    await using t = await startServer()
    const waiting = claim(t, { wait: '20s' })
    // The enqueue happens in this process, so the claim must not wait for a poll.
    const id = await enqueue(t)
    expect(await waiting).toMatchObject([{ job: { id } }])
  })

  it('go to the next worker if one disconnects while it waits', async () => {
    await using t = await startServer()
    const call = request(new URL('api/v1/leases:claim', t.url), {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
    })
    call.on('error', () => undefined)
    call.end(JSON.stringify({ workerId: 'gone', wait: '20s' }))
    const seen = async (): Promise<boolean> => (await t.chronos.workers()).some(({ id }) => id === 'gone')
    while (!(await seen())) await new Promise(setImmediate)
    call.destroy()
    await new Promise(resolve => call.once('close', resolve))
    const id = await enqueue(t)
    expect(await claim(t, { wait: '10s' })).toMatchObject([{ job: { id, attempt: 1 } }])
  })

  it('that are still waited for do not keep the server from closing', async () => {
    const t = await startServer({ closeTimeout: '20s' })
    const waiting = claim(t, { wait: '25s' })
    while ((await t.chronos.workers()).length === 0) await new Promise(setImmediate)
    await t[Symbol.asyncDispose]()
    expect(await waiting).toEqual([])
  })

  it('list their holder as a worker', async () => {
    await using t = await startServer()
    await claim(t, { workerId: 'ml-7:1', queues: ['images'], host: 'ml-7', pid: 1 })
    while ((await t.chronos.workers()).length === 0) await new Promise(setImmediate)
    expect(await t.chronos.workers()).toMatchObject([
      { id: 'ml-7:1', kind: 'pull', host: 'ml-7', pid: 1, queues: ['images'], names: ['*'], state: 'alive' },
    ])
  })
})
