import { describe, expect, it } from 'vitest'
import { defineJob } from '../../../src/index.js'
import { deadJobs, tokenOf } from '../deaths.js'
import { startServer } from '../server.js'

interface Redrive {
  readonly id: string
  readonly state: string
}

describe('redrives', () => {
  it('support dry run, start, rate change, pause, resume and abort', async () => {
    await using t = await startServer()
    await deadJobs(t, 3, { queue: 'payments' })
    const body = { filter: { queue: 'payments' }, rate: '20/s', canary: 1, stopWhenFailing: 0.5 }
    const trial = await t.api('POST', '/redrives', { ...body, dryRun: true })
    expect([trial.status, trial.body]).toEqual([
      200,
      { dryRun: true, count: { value: 3, relation: 'exact' }, skipped: 0 },
    ])
    const made = await t.api<Redrive>('POST', '/redrives', body)
    expect([made.status, made.body]).toMatchObject([
      201,
      { state: 'canary', rate: '20/s', canary: 1, total: { value: 3 }, filter: { queue: 'payments' } },
    ])
    const path = `/redrives/${made.body.id}`
    expect((await t.api('PATCH', path, { rate: '5/s' })).body).toMatchObject({ rate: '5/s' })
    expect((await t.api('POST', `${path}/pause`)).body).toMatchObject({ state: 'paused' })
    const twice = await t.api('POST', `${path}/pause`)
    expect([twice.status, twice.body]).toMatchObject([409, { code: 'NOT_ALLOWED' }])
    expect((await t.api('POST', `${path}/resume`)).body).toMatchObject({ state: 'canary' })
    expect((await t.api('POST', `${path}/abort`)).body).toMatchObject({ state: 'aborted' })
    expect((await t.api('GET', path)).body).toMatchObject({ state: 'aborted', finishedAt: expect.any(String) })
    expect((await t.api('GET', '/redrives')).body).toMatchObject({ data: [{ id: made.body.id }], page: {} })
  })

  it('are found by their state, and one that stopped can be aborted', async () => {
    await using t = await startServer()
    const [id] = await deadJobs(t, 1)
    const start = async (): Promise<string> =>
      (await t.api<Redrive>('POST', '/redrives', { filter: { ids: [id] } })).body.id
    const [done, stopped, paused] = [await start(), await start(), await start()]
    await t.api('POST', `/redrives/${paused}/pause`)
    const store = await t.chronos.store()
    for (const [redrive, state] of [[done, 'done'] as const, [stopped, 'stopped'] as const]) {
      const [stored] = await store.records('redrive', { ids: [redrive] })
      const body = JSON.stringify({ ...JSON.parse(stored!.body), state })
      await store.putRecords([{ kind: 'redrive', id: redrive, body }])
    }
    const found = async (query: string): Promise<readonly string[]> =>
      (await t.api<{ data: Redrive[] }>('GET', `/redrives?${query}`)).body.data.map(each => each.id)
    expect(await found('state=stopped')).toEqual([stopped])
    expect(await found('state=stopped&state=paused')).toEqual([paused, stopped])
    expect(await found('limit=1&state=done')).toEqual([done])
    expect((await t.api('GET', '/redrives?state=late')).status).toBe(422)
    expect((await t.api('POST', `/redrives/${done}/abort`)).status).toBe(409)
    expect((await t.api('POST', `/redrives/${stopped}/abort`)).body).toMatchObject({ state: 'aborted' })
    expect(await found('state=stopped')).toEqual([])
  })

  it('run dead jobs again until they succeed', async () => {
    await using t = await startServer()
    const ids = await deadJobs(t, 2)
    const served: string[] = []
    const done = new Promise<void>(resolve => {
      t.chronos.on('job.succeeded', ({ job }) => {
        served.push(job.id)
        if (served.length === ids.length) resolve()
      })
    })
    t.chronos.work([defineJob({ name: 'charge-card', run: async () => 'charged' })], { signals: false })
    const { body } = await t.api<Redrive>('POST', '/redrives', {
      filter: { name: 'charge-card' },
      canary: 0,
      rate: '100/s',
    })
    await done
    expect(served.sort()).toEqual([...ids].sort())
    expect((await t.api('GET', `/redrives/${body.id}`)).body).toMatchObject({ started: 2, succeeded: 2, failing: 0 })
  })

  it('are created once for one Idempotency-Key', async () => {
    await using t = await startServer()
    await deadJobs(t, 1)
    const key = { 'Idempotency-Key': 'redrive-1' }
    const first = await t.api<Redrive>('POST', '/redrives', { filter: {} }, key)
    const again = await t.api<Redrive>('POST', '/redrives', { filter: {} }, key)
    expect([again.status, again.body.id]).toEqual([201, first.body.id])
    expect((await t.api<{ data: unknown[] }>('GET', '/redrives')).body.data).toHaveLength(1)
  })

  it('may be limited by a time before 1970', async () => {
    await using t = await startServer()
    await deadJobs(t, 1)
    const filter = { createdAfter: '1969-12-31T23:59:59.999Z' }
    const { status, body } = await t.api('POST', '/redrives', { filter })
    expect([status, body]).toMatchObject([201, { filter: { createdAfter: -1 } }])
  })

  it('refuse invalid requests and unknown redrives', async () => {
    await using t = await startServer()
    const wrong = await t.api<{ errors: { pointer: string }[] }>('POST', '/redrives', { rate: {}, canary: -1, pace: 1 })
    expect(wrong.status).toBe(422)
    expect(wrong.body.errors.map(({ pointer }) => pointer).sort()).toEqual(['/canary', '/filter', '/pace', '/rate'])
    expect((await t.api('POST', '/redrives', { filter: {}, rate: 'fast' })).status).toBe(422)
    expect((await t.api('POST', '/redrives', { filter: { fingerprint: 'none' } })).status).toBe(404)
    expect((await t.api('GET', '/redrives/none')).status).toBe(404)
    expect((await t.api('PATCH', '/redrives/none', { rate: '1/s' })).status).toBe(404)
  })

  it('affect and show only the jobs of their tenant', async () => {
    await using t = await startServer({ asAdmin: true })
    const acme = await tokenOf(t, 'operator', 'acme')
    const globex = await tokenOf(t, 'operator', 'globex')
    await deadJobs(t, 2, { tenantId: 'acme' })
    await deadJobs(t, 1, { tenantId: 'globex' })
    const made = await t.api<Redrive>('POST', '/redrives', { filter: {} }, acme)
    expect(made.body).toMatchObject({ tenantId: 'acme', total: { value: 2 } })
    const path = `/redrives/${made.body.id}`
    expect((await t.api('GET', '/redrives', undefined, globex)).body).toEqual({ data: [], page: {} })
    expect((await t.api('GET', path, undefined, globex)).status).toBe(404)
    expect((await t.api('PATCH', path, { rate: '1/s' }, globex)).status).toBe(404)
    for (const verb of ['pause', 'resume', 'abort']) {
      expect((await t.api('POST', `${path}/${verb}`, {}, globex)).status).toBe(404)
    }
    expect((await t.api('GET', path, undefined, acme)).body).toMatchObject({ state: 'canary' })
  })

  it('do not reveal the errors of another tenant', async () => {
    await using t = await startServer({ asAdmin: true })
    const globex = await tokenOf(t, 'operator', 'globex')
    await deadJobs(t, 1, { tenantId: 'acme' })
    const { body } = await t.api<{ data: { fingerprint: string }[] }>('GET', '/dead/groups?tenantId=acme')
    const { fingerprint } = body.data[0]!
    expect((await t.api('POST', '/redrives', { filter: { fingerprint } }, globex)).status).toBe(404)
    expect((await t.api('POST', '/redrives', { filter: { fingerprint, tenantId: 'acme' } })).status).toBe(201)
  })
})
