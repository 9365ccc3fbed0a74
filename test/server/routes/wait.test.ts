import { describe, expect, it } from 'vitest'
import { defineJob, PermanentError } from '../../../src/index.js'
import { startServer, type TestServer } from '../server.js'

interface Job {
  readonly id: string
  readonly state: string
  readonly status?: string
  readonly result?: unknown
}

const total = defineJob({ name: 'total', run: ({ cents }: { cents: number }) => ({ total: cents * 2 }) })
const refused = defineJob({
  name: 'refused',
  run() {
    throw new PermanentError('card declined')
  },
})

const work = (t: TestServer): unknown => t.chronos.work([total, refused], { signals: false })
const wait = (seconds: number): Record<string, string> => ({ Prefer: `wait=${seconds}` })

describe('Prefer: wait', () => {
  it('answers a new job with its result, or with the error that it died of', async () => {
    await using t = await startServer()
    work(t)
    const done = await t.api<Job>('POST', '/jobs', { name: 'total', payload: { cents: 21 } }, wait(20))
    expect(done.status).toBe(201)
    expect(done.headers.get('Preference-Applied')).toBe('wait')
    expect(done.body).toMatchObject({ status: 'created', state: 'succeeded', result: { total: 42 } })
    const dead = await t.api<Job>('POST', '/jobs', { name: 'refused' }, wait(20))
    expect(dead.body).toMatchObject({ state: 'dead', reason: 'permanent', lastError: 'card declined' })
  })

  it('answers 202 with the job when the time is over, and leaves the job alone', async () => {
    await using t = await startServer()
    const late = await t.api<Job>('POST', '/jobs', { name: 'total', payload: { cents: 1 } }, wait(0))
    expect(late.status).toBe(202)
    expect(late.headers.get('Preference-Applied')).toBe('wait')
    expect(late.body).toMatchObject({ status: 'created', state: 'waiting' })
    work(t)
    const done = await t.api<Job>('GET', `/jobs/${late.body.id}`, undefined, wait(20))
    expect(done.status).toBe(200)
    expect(done.body).toMatchObject({ state: 'succeeded', result: { total: 2 }, attempts: [{ status: 'succeeded' }] })
  })

  it('never waits beyond the time of a request', async () => {
    await using t = await startServer({ requestTimeout: '1001ms' })
    const late = await t.api<Job>('POST', '/jobs', { name: 'total', payload: { cents: 1 } }, wait(600))
    expect(late.status).toBe(202)
  })

  it.each(['wait', 'wait=soon', 'wait=-1', 'respond-async', 'return=minimal'])('ignores "%s"', async Prefer => {
    await using t = await startServer()
    const made = await t.api<Job>('POST', '/jobs', { name: 'total', payload: { cents: 1 } }, { Prefer })
    expect(made.status).toBe(201)
    expect(made.headers.get('Preference-Applied')).toBeNull()
  })

  it('waits again when the request is repeated with its Idempotency-Key', async () => {
    await using t = await startServer()
    const key = { 'Idempotency-Key': 'one' }
    const body = { name: 'total', payload: { cents: 5 } }
    const late = await t.api<Job>('POST', '/jobs', body, { ...wait(0), ...key })
    work(t)
    const done = await t.api<Job>('POST', '/jobs', body, { ...wait(20), ...key })
    expect(done.body).toMatchObject({ id: late.body.id, state: 'succeeded', result: { total: 10 } })
    expect(done.headers.get('Idempotency-Replayed')).toBe('true')
  })

  it('is not applied when too many requests are waiting, and each is answered when its job has ended', async () => {
    await using t = await startServer({ maxListeners: 1 })
    const { id } = await t.chronos.enqueue('total', { cents: 1 })
    const first = t.api<Job>('GET', `/jobs/${id}`, undefined, wait(20))
    let second = await t.api<Job>('POST', '/jobs', { name: 'total', delay: '1h' }, wait(0))
    while (second.headers.has('Preference-Applied')) {
      second = await t.api<Job>('POST', '/jobs', { name: 'total', delay: '1h' }, wait(0))
    }
    expect(second.status).toBe(202)
    await t.chronos.jobs.cancel(id)
    expect((await first).body).toMatchObject({ id, state: 'cancelled' })
  })

  it('ends when the server closes', async () => {
    await using t = await startServer({ maxListeners: 1 })
    const { id } = await t.chronos.enqueue('total', { cents: 1 })
    const open = t.api<Job>('GET', `/jobs/${id}`, undefined, wait(20))
    while ((await t.api('GET', `/jobs/${id}`, undefined, wait(0))).headers.has('Preference-Applied')) {}
    await t.server.close()
    expect((await open).body).toMatchObject({ id, state: 'waiting' })
  })

  it('a schedule is answered at once', async () => {
    await using t = await startServer()
    const body = { schedule: '0 9 * * *', api: 'https://api.example/report' }
    expect((await t.api('POST', '/jobs', body, wait(20))).status).toBe(201)
  })
})
