import { describe, expect, it } from 'vitest'
import { startServer } from '../server.js'

interface Job {
  readonly id: string
  readonly state: string
  readonly status?: string
}

describe('jobs', () => {
  it('are created, read and listed', async () => {
    await using t = await startServer()
    const made = await t.api<Job>('POST', '/jobs', { name: 'charge-card', payload: { orderId: 'A-17' }, tags: ['vip'] })
    expect(made.status).toBe(201)
    expect(made.body).toMatchObject({ name: 'charge-card', state: 'waiting', phase: 'queued', status: 'created' })
    const { id } = made.body
    expect((await t.api('GET', `/jobs/${id}`)).body).toMatchObject({ id, attempts: [], payload: { orderId: 'A-17' } })
    expect((await t.api('GET', '/jobs?tag=vip&limit=5')).body).toMatchObject({
      data: [{ id }],
      page: {},
      count: { value: 1, relation: 'exact' },
    })
  })

  it('are the same job for the same key, and a conflict for another payload', async () => {
    await using t = await startServer()
    const body = { name: 'mail', payload: { to: 'ann' }, key: 'mail:1' }
    const first = await t.api<Job>('POST', '/jobs', body)
    const again = await t.api<Job>('POST', '/jobs', body)
    expect([first.status, again.status]).toEqual([201, 200])
    expect(again.body).toMatchObject({ id: first.body.id, status: 'existing' })
    const other = await t.api('POST', '/jobs', { ...body, payload: { to: 'bob' } })
    expect(other.status).toBe(409)
    expect(other.body).toMatchObject({ code: 'KEY_CONFLICT', retryable: false })
    expect(other.headers.get('Content-Type')).toBe('application/problem+json')
  })

  it('take the newest payload of a unique value, also with an Idempotency-Key, and are moved once by a repeat', async () => {
    await using t = await startServer()
    const debounced = { name: 'index', unique: 'doc:42', mode: 'debounce', for: '1h', maxWait: '5h' }
    const first = await t.api<Job>('POST', '/jobs', { ...debounced, payload: 1 })
    expect([first.status, first.body.status]).toEqual([201, 'created'])
    const { id } = first.body
    const headers = { 'Idempotency-Key': 'second' }
    const second = await t.api<Job>('POST', '/jobs', { ...debounced, payload: 2 }, headers)
    expect(second).toMatchObject({ status: 200, body: { id, status: 'replaced', payload: 2, phase: 'scheduled' } })
    const third = await t.api<Job>('POST', '/jobs', { ...debounced, payload: 3 })
    expect(third).toMatchObject({ status: 200, body: { id, status: 'replaced', payload: 3 } })
    expect((await t.api('POST', '/jobs', { ...debounced, payload: 2 }, headers)).status).toBe(200)
    expect((await t.api('GET', `/jobs/${id}`)).body).toMatchObject({ payload: 3 })
    expect((await t.api('GET', '/jobs?name=index')).body).toMatchObject({ count: { value: 1 } })
  })

  it('are throttled by a unique value, alone and in a batch', async () => {
    await using t = await startServer()
    const job = { name: 'report', unique: 'daily', mode: 'throttle', for: '1d' }
    const first = await t.api<Job>('POST', '/jobs', job)
    const again = await t.api<Job>('POST', '/jobs', job)
    expect([first.status, again.status, again.body.status]).toEqual([201, 200, 'existing'])
    const replaced = { name: 'index', unique: 'doc:42', mode: 'replace', delay: '1h' }
    const jobs = [job, { ...replaced, payload: 1 }, { ...replaced, payload: 2 }, { ...job, mode: 'debounce', for: 0 }]
    const { body } = await t.api<{ data: Job[] }>('POST', '/jobs:batch', { jobs })
    const { id } = body.data[1]!
    expect(body).toMatchObject({
      data: [
        { id: first.body.id, status: 'existing' },
        { id, status: 'created' },
        { id, status: 'replaced' },
        { status: 'refused' },
      ],
      created: 1,
      refused: 1,
    })
    expect((await t.api('GET', `/jobs/${id}`)).body).toMatchObject({ payload: 2 })
    const wrong = await t.api('POST', '/jobs', { name: 'report', mode: 'replace' })
    expect(wrong).toMatchObject({
      status: 422,
      body: { detail: expect.stringContaining('enqueue "report": mode "replace" needs a unique value') },
    })
  })

  it('take the short names of a policy, and a name with spaces', async () => {
    await using t = await startServer()
    const short = { maxRetries: 5, retryDelay: 30_000, useExponentialBackoff: true }
    const made = await t.api<Job>('POST', '/jobs', { name: 'Critical Task', ...short })
    expect(made.status).toBe(201)
    const retry = { maxRetries: 5, backoff: { type: 'exponential', base: 30_000 } }
    expect(made.body).toMatchObject({ name: 'Critical Task', retryCount: 0, maxRetries: 5, retry })
    expect((await t.api('GET', '/jobs?name=Critical%20Task')).body).toMatchObject({ data: [{ id: made.body.id }] })
    const both = await t.api('POST', '/jobs', { name: 'mail', ...short, retry: 'conservative' })
    expect(both.status).toBe(422)
    expect(both.body).toMatchObject({
      detail: 'enqueue "mail": give retry or maxRetries, retryDelay, useExponentialBackoff, not both',
    })
  })

  it('name every invalid field', async () => {
    await using t = await startServer()
    const { status, body } = await t.api('POST', '/jobs', { name: 'mail', priority: 12, colour: 'red', delay: true })
    expect(status).toBe(422)
    expect(body).toMatchObject({ code: 'INVALID_REQUEST', status: 422 })
    const pointers = (body as { errors: { pointer: string }[] }).errors.map(({ pointer }) => pointer)
    expect(pointers.sort()).toEqual(['/colour', '/delay', '/priority'])
  })

  it('refuse an integer that would be rounded, with its place', async () => {
    await using t = await startServer()
    const response = await fetch(new URL('api/v1/jobs', t.url), {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: '{"name":"mail","payload":{"ids":[1,9007199254740993]}}',
    })
    expect(response.status).toBe(422)
    const detail = '9007199254740993 would be rounded to 9007199254740992; send it as a string'
    expect(await response.json()).toMatchObject({
      code: 'INVALID_REQUEST',
      errors: [{ pointer: '/payload/ids/1', detail }],
    })
    expect((await t.chronos.jobs.list()).data).toEqual([])
  })

  it('warn that an at-most-once job ignores maxRetries', async () => {
    await using t = await startServer()
    const job = { name: 'mail', delivery: 'at-most-once', retry: { maxRetries: 5 } }
    const made = await t.api<Job>('POST', '/jobs', job)
    const warnings = ['an at-most-once job runs once and is never retried, so maxRetries 5 has no effect']
    expect(made.body).toMatchObject({ status: 'created', warnings, maxRetries: 0, maxAttempts: 1 })
    const batch = await t.api<{ data: object[] }>('POST', '/jobs:batch', { jobs: [job, { name: 'mail' }] })
    expect(batch.body.data).toMatchObject([{ warnings }, { status: 'created' }])
    expect(batch.body.data[1]).not.toHaveProperty('warnings')
  })

  it('accept the short form of a schedule', async () => {
    await using t = await startServer({ chronos: { egress: { allow: ['loopback'] } } })
    const form = {
      schedule: '*/10 * * * * *',
      api: 'http://127.0.0.1:9/ping',
      type: 'AT_MOST_ONCE',
      isRecurring: true,
      maxRetryCount: 3,
    }
    const made = await t.api<{ id: string; warnings: string[] }>('POST', '/jobs', form)
    expect(made.status).toBe(201)
    expect(made.body).toMatchObject({ cron: '*/10 * * * * *', delivery: 'at-most-once', job: 'http' })
    expect(made.body.warnings).toHaveLength(1)
    expect((await t.api('GET', `/jobs/${made.body.id}`)).body).toMatchObject({ id: made.body.id, state: 'active' })
    expect((await t.api('GET', `/jobs/${made.body.id}/history?limit=10`)).body).toEqual({ data: [], page: {} })
  })
})
