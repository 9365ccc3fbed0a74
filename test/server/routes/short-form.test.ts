import { describe, expect, it } from 'vitest'
import type { Events } from '../../../src/core/job/event.js'
import type { Explanation } from '../../../src/core/job/explain.js'
import type { JobView } from '../../../src/core/job/view.js'
import type { JobSchedule } from '../../../src/engine/schedules/view.js'
import type { Chronos } from '../../../src/index.js'
import { startReceiver } from '../../support/receiver.js'
import { startServer, type TestServer } from '../server.js'

/** Once a year, so that only actions make occurrences. */
const YEARLY = '0 0 0 1 1 *'

type Made = JobSchedule & { readonly status: string; readonly attempts: readonly object[] }

function next<Name extends keyof Events>(chronos: Chronos, name: Name): Promise<Events[Name]> {
  return new Promise(resolve => {
    const stop = chronos.on(name, event => {
      stop()
      resolve(event)
    })
  })
}

/**
 * A server with a worker and a schedule in the short form whose calls get these statuses, and then 200. A failed call is
 * to be repeated after an hour, so that no retry runs by itself during a test.
 */
async function posted(statuses: readonly number[], form: object = {}, hold?: Promise<unknown>) {
  const heard: string[] = []
  const receiver = await startReceiver(async (request, response) => {
    heard.push(`${request.method} ${request.url}`)
    await hold
    response.writeHead(statuses[heard.length - 1] ?? 200, { 'Retry-After': '3600' }).end()
  })
  const t = await startServer({ chronos: { egress: { allow: ['loopback'] } } })
  t.chronos.work([], { signals: false })
  const api = `${receiver.origin}/webhook`
  const body = { schedule: YEARLY, api, type: 'AT_LEAST_ONCE', isRecurring: true, maxRetryCount: 3, ...form }
  const made = await t.api<Made>('POST', '/jobs', body)
  expect(made.status).toBe(201)
  const { id } = made.body
  const of = (verb = '') => `/jobs/${id}${verb}`
  const get = async (): Promise<Made> => (await t.api<Made>('GET', of())).body
  const entry = async (action: string) =>
    (await t.api<{ data: readonly { action: string }[] }>('GET', '/audit')).body.data.find(one => one.action === action)
  return {
    t,
    api,
    body,
    made: made.body,
    id,
    of,
    get,
    heard,
    entry,
    async [Symbol.asyncDispose]() {
      await t[Symbol.asyncDispose]()
      await receiver.close()
    },
  }
}

/** Runs it now, and waits until its call has failed and its retry is stored. */
async function failing({ t, of }: { t: TestServer; of: (verb?: string) => string }) {
  const retrying = next(t.chronos, 'job.retrying')
  expect((await t.api('POST', of('/run-now'))).status).toBe(200)
  return retrying
}

describe('a schedule in the short form', () => {
  it('shows the posted fields as posted, beside its own, and the time of its next run', async () => {
    const more = { method: 'put', headers: { 'X-Shop': 'north' }, body: { ping: 1 }, timeout: '5s', key: 'ping' }
    await using p = await posted([503], more)
    const shown = await p.get()
    expect(shown).toMatchObject({ ...p.body, kind: 'schedule', id: p.id, state: 'active', job: 'http', attempts: [] })
    expect(shown.nextRunAt).toBe(shown.nextOccurrenceAt)
    expect(shown.nextRunAt).toMatch(/^\d{4}-01-01T00:00:00\.000Z$/)
    const { job } = await failing(p)
    const retried = await p.get()
    expect(retried).toMatchObject({
      ...p.body,
      occurrence: { kind: 'job', id: job.id, scheduleId: p.id, phase: 'retrying', retryCount: 1 },
      attempts: [{ jobId: job.id, label: 'Initial', status: 'failed' }],
    })
    expect(retried.nextRunAt).toBe(retried.occurrence?.runAt)
    expect(retried.nextRunAt).not.toBe(retried.nextOccurrenceAt)
    expect(p.heard).toEqual(['PUT /webhook'])
  })

  it('is listed once, before the jobs, unless only jobs are wanted', async () => {
    await using p = await posted([503])
    const { job } = await failing(p)
    const list = async (query: string) => {
      const { body } = await p.t.api<{ data: { id: string }[]; count: object; page: { next?: string } }>(
        'GET',
        `/jobs${query}`,
      )
      return { ids: body.data.map(({ id }) => id), count: body.count, next: body.page.next }
    }
    const two = { value: 2, relation: 'exact' }
    expect(await list('')).toEqual({ ids: [p.id, job.id], count: two, next: undefined })
    expect(await list(`?scheduleId=${p.id}`)).toMatchObject({ ids: [p.id, job.id] })
    const first = await list('?limit=1')
    expect(first).toMatchObject({ ids: [p.id], count: two })
    expect(await list(`?limit=1&cursor=${first.next}`)).toMatchObject({ ids: [job.id], count: two })
    expect(await list('?kind=schedule')).toMatchObject({ ids: [p.id], count: { value: 1 } })
    expect(await list('?kind=job')).toMatchObject({ ids: [job.id], count: { value: 1 } })
    expect(await list('?phase=retrying')).toMatchObject({ ids: [job.id], count: { value: 1 } })
    expect(await list('?queue=other')).toMatchObject({ ids: [], count: { value: 0 } })
    await p.t.api('PUT', '/schedules/plain', { cron: YEARLY, job: 'mail' })
    expect(await list('')).toMatchObject({ ids: [p.id, job.id] })
  })

  it('is cancelled: it ends, and its waiting occurrence too', async () => {
    await using p = await posted([503])
    const { job } = await failing(p)
    const { status, body } = await p.t.api<Made>('POST', p.of('/cancel'))
    expect(status).toBe(200)
    expect(body).toMatchObject({ kind: 'schedule', state: 'ended', occurrence: { id: job.id, state: 'cancelled' } })
    expect(body.nextRunAt).toBeUndefined()
    expect(await p.entry('POST /jobs/{id}/cancel')).toMatchObject({
      target: p.id,
      facts: { scheduleId: p.id, jobId: job.id },
    })
    const again = await p.t.api('POST', p.of('/cancel'))
    expect(again.status).toBe(409)
    expect(again.body).toMatchObject({ code: 'NOT_ALLOWED', detail: expect.stringContaining('it has ended') })
    expect((await p.t.api('POST', `/schedules/${p.id}/resume`)).body).toMatchObject({ state: 'active' })
    expect(await p.entry('POST /jobs')).toMatchObject({ facts: { scheduleId: p.id } })
  })

  it('is cancelled while a call runs: the call is aborted', async () => {
    let release = (): void => {}
    const hold = new Promise<void>(resolve => {
      release = resolve
    })
    await using p = await posted([200], {}, hold)
    const started = next(p.t.chronos, 'job.started')
    await p.t.api('POST', p.of('/run-now'))
    await started
    const refused = await p.t.api('DELETE', p.of())
    expect(refused.body).toMatchObject({ code: 'NOT_ALLOWED', detail: expect.stringContaining('cancel it first') })
    expect((await p.t.api('POST', p.of('/run-now'))).status).toBe(409)
    const cancelled = next(p.t.chronos, 'job.cancelled')
    expect((await p.t.api('POST', p.of('/cancel'))).body).toMatchObject({ state: 'ended' })
    await cancelled
    release()
    expect(await p.get()).toMatchObject({ state: 'ended', occurrence: { state: 'cancelled' } })
  })

  it('is retried: its last dead occurrence starts again', async () => {
    await using p = await posted([503], { maxRetryCount: 0 })
    const none = await p.t.api('POST', p.of('/retry'))
    expect(none.body).toMatchObject({ code: 'NOT_ALLOWED', detail: expect.stringContaining('dead or cancelled') })
    const died = next(p.t.chronos, 'job.dead')
    await p.t.api('POST', p.of('/run-now'))
    const { job } = await died
    const succeeded = next(p.t.chronos, 'job.succeeded')
    const { body } = await p.t.api<Made>('POST', p.of('/retry'))
    expect(body).toMatchObject({ kind: 'schedule', state: 'active', occurrence: { id: job.id, generation: 2 } })
    expect((await succeeded).job.id).toBe(job.id)
    const { body: history } = await p.t.api<{ data: object[] }>('GET', p.of('/history?order=oldest'))
    expect(history.data).toMatchObject([
      { status: 'failed', generation: 1 },
      { status: 'succeeded', generation: 2 },
    ])
  })

  it('runs now: first a new occurrence, then its waiting retry', async () => {
    await using p = await posted([503])
    const { job } = await failing(p)
    const succeeded = next(p.t.chronos, 'job.succeeded')
    await p.t.api('POST', p.of('/run-now'))
    expect((await succeeded).job).toMatchObject({ id: job.id, attempt: 2 })
    expect(p.heard).toHaveLength(2)
  })

  it('is replayed: a job in addition to its occurrences', async () => {
    await using p = await posted([])
    const succeeded = next(p.t.chronos, 'job.succeeded')
    const { status, body } = await p.t.api<JobView>('POST', p.of('/replay'))
    expect([status, body.scheduleId]).toEqual([201, p.id])
    expect((await succeeded).job.id).toBe(body.id)
    expect(await p.entry('POST /jobs/{id}/replay')).toMatchObject({ facts: { scheduleId: p.id, newJobId: body.id } })
  })

  it('is edited, with its waiting occurrence', async () => {
    await using p = await posted([503])
    const { job } = await failing(p)
    const etag = (await p.t.api('GET', p.of())).headers.get('ETag')!
    const call = { api: `${p.api}?v=2`, headers: { 'X-Shop': 'south' }, timeout: '9s' }
    const changes = { schedule: '0 0 0 2 1 *', ...call, maxRetryCount: 7, isRecurring: false }
    const edited = await p.t.api<Made>('PATCH', p.of(), changes, { 'If-Match': etag })
    expect(edited.status).toBe(200)
    expect(edited.body).toMatchObject({
      ...p.body,
      ...changes,
      cron: '0 0 0 2 1 *',
      version: 2,
      occurrence: { id: job.id, payload: { url: call.api, headers: call.headers, timeout: '9s' }, maxRetries: 7 },
    })
    for (const old of [etag, '"unknown"']) {
      expect((await p.t.api('PATCH', p.of(), { maxRetryCount: 1 }, { 'If-Match': old })).status).toBe(412)
    }
    expect(await p.entry('PATCH /jobs/{id}')).toMatchObject({
      facts: { scheduleId: p.id, fields: Object.keys(changes) },
    })
    const succeeded = next(p.t.chronos, 'job.succeeded')
    expect((await p.t.api('PATCH', p.of(), { delay: 0 })).status).toBe(200)
    await succeeded
    expect(p.heard).toEqual(['POST /webhook', 'POST /webhook?v=2'])
    const late = await p.t.api('PATCH', p.of(), { delay: '1h' })
    expect(late.body).toMatchObject({ code: 'NOT_ALLOWED', detail: expect.stringContaining('is waiting') })
  })

  it.each([
    [{}, 'nothing to change'],
    [{ schedule: 'daily' }, 'cron'],
    [{ api: 'ftp://x' }, 'http: or https:'],
    [{ deadline: '1h' }, 'unknown key'],
    [{ maxRetryCount: 2, retry: 'none' }, 'not both'],
    [{ api: 'https://x.example', payload: {} }, 'give payload or api, not both'],
  ])('refuses the change %j', async (changes, why) => {
    await using p = await posted([])
    const { status, body } = await p.t.api('PATCH', p.of(), changes)
    expect([status, JSON.stringify(body)]).toEqual([422, expect.stringContaining(why)])
    expect(await p.get()).toMatchObject({ ...p.body, version: 1 })
  })

  it('leaves jobs with their own fields: those of a schedule are refused', async () => {
    await using p = await posted([])
    const { body: job } = await p.t.api<JobView>('POST', '/jobs', { name: 'mail', delay: '1h' })
    const { status, body } = await p.t.api('PATCH', `/jobs/${job.id}`, { api: p.api })
    expect(status).toBe(422)
    expect(body).toMatchObject({ detail: expect.stringContaining('unknown key "api"') })
  })

  it('is deleted with its ended occurrences', async () => {
    await using p = await posted([])
    const succeeded = next(p.t.chronos, 'job.succeeded')
    await p.t.api('POST', p.of('/run-now'))
    const { job } = await succeeded
    expect((await p.t.api('DELETE', p.of())).status).toBe(204)
    for (const gone of [p.of(), `/jobs/${job.id}`, `/schedules/${p.id}`]) {
      expect((await p.t.api('GET', gone)).status).toBe(404)
    }
    expect(await p.entry('DELETE /jobs/{id}')).toMatchObject({ facts: { scheduleId: p.id } })
    expect((await p.t.api('DELETE', p.of())).status).toBe(404)
  })

  it('has a timeline and an explanation: first of what is to come, then of its occurrence', async () => {
    await using p = await posted([503, 503], { maxRetryCount: 1 })
    const { nextOccurrenceAt } = p.made
    const told = async () => (await p.t.api<Explanation>('GET', p.of('/explain'))).body
    const drawn = async () => (await p.t.api<{ job: JobView }>('GET', p.of('/timeline'))).body
    expect(await told()).toMatchObject({
      summary: expect.stringMatching(/^Waiting: its next occurrence is /),
      next: { at: nextOccurrenceAt },
      nextOccurrenceAt,
      details: ['It has not run yet.'],
    })
    expect(await drawn()).toMatchObject({
      nextOccurrenceAt,
      attempts: [],
      job: { phase: 'scheduled', scheduleId: p.id },
    })
    const { job } = await failing(p)
    expect(await told()).toMatchObject({
      summary: expect.stringContaining('retry'),
      last: { words: expect.stringContaining('answered 503') },
      nextOccurrenceAt,
    })
    expect(await drawn()).toMatchObject({ nextOccurrenceAt, attempts: [{ label: 'Initial' }], job: { id: job.id } })
    const died = next(p.t.chronos, 'job.dead')
    await p.t.api('POST', p.of('/run-now'))
    await died
    expect(await told()).toMatchObject({
      summary: expect.stringMatching(/^Waiting: its next occurrence is /),
      details: expect.arrayContaining([expect.stringMatching(/^Its last occurrence: Dead \(exhausted\)/)]),
    })
    await p.t.api('POST', p.of('/cancel'))
    expect(await told()).toMatchObject({ summary: expect.stringMatching(/^Dead \(exhausted\)/) })
    expect((await p.t.api<{ data: object[] }>('GET', p.of('/logs'))).body.data.length).toBeGreaterThan(0)
  })

  it('is the same for the same key or Idempotency-Key, and a conflict for other fields', async () => {
    await using t = await startServer()
    const form = { schedule: YEARLY, api: 'https://api.example/ping', key: 'ping' }
    const first = await t.api<Made>('POST', '/jobs', form)
    const again = await t.api<Made>('POST', '/jobs', form)
    expect([first.status, again.status]).toEqual([201, 200])
    expect(again.body).toMatchObject({ id: first.body.id, status: 'existing', key: 'ping' })
    expect((await t.api('POST', '/jobs', { ...form, maxRetryCount: 9 })).body).toMatchObject({ code: 'KEY_CONFLICT' })
    const other = await t.api<Made>('POST', '/jobs', { ...form, tenantId: 'acme' })
    expect([other.status, other.body.tenantId]).toEqual([201, 'acme'])
    const { key: _, ...plain } = form
    const header = { 'Idempotency-Key': 'abc' }
    const [one, two] = [
      await t.api<Made>('POST', '/jobs', plain, header),
      await t.api<Made>('POST', '/jobs', plain, header),
    ]
    expect(two.body.id).toBe(one.body.id)
  })

  it('belongs to its tenant: for others it does not exist', async () => {
    await using t = await startServer({ asAdmin: true })
    const as = async (tenantId: string, role: 'operator' | 'viewer' = 'operator') => {
      const { token } = await t.server.tokens.create({ name: `${tenantId} ${role}`, role, tenantId })
      return { Authorization: `Bearer ${token}` }
    }
    const [acme, globex, viewer] = [await as('acme'), await as('globex'), await as('acme', 'viewer')]
    const headers = { Authorization: 'Bearer secret' }
    const form = { schedule: YEARLY, api: 'https://api.example/ping?token=open-sesame', headers }
    const { body: made } = await t.api<Made>('POST', '/jobs', form, acme)
    expect(made).toMatchObject({ tenantId: 'acme', ...form })
    expect((await t.api('POST', '/jobs', { ...form, tenantId: 'acme' }, globex)).status).toBe(403)
    const calls = ['cancel', 'retry', 'run-now', 'replay'].map(verb => ['POST', `/jobs/${made.id}/${verb}`] as const)
    const reads = ['', '/history', '/logs', '/explain', '/timeline'].map(
      part => ['GET', `/jobs/${made.id}${part}`] as const,
    )
    for (const [method, path] of [
      ...calls,
      ...reads,
      ['DELETE', `/jobs/${made.id}`],
      ['PATCH', `/jobs/${made.id}`],
    ] as const) {
      const { status, body } = await t.api(method, path, method === 'PATCH' ? { maxRetryCount: 1 } : undefined, globex)
      expect([path, status, body]).toEqual([path, 404, expect.objectContaining({ code: 'NOT_FOUND' })])
    }
    expect((await t.api('GET', '/jobs', undefined, globex)).body).toMatchObject({ data: [], count: { value: 0 } })
    for (const path of [`/jobs/${made.id}`, '/jobs']) {
      const shown = JSON.stringify((await t.api('GET', path, undefined, viewer)).body)
      expect(shown).toContain(made.id)
      expect(shown).not.toMatch(/secret|sesame/)
    }
    expect((await t.api('POST', `/jobs/${made.id}/cancel`, undefined, viewer)).status).toBe(403)
    expect((await t.api('GET', `/jobs/${made.id}`, undefined, acme)).body).toMatchObject({ state: 'active', ...form })
  })
})
