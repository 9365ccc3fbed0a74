import { describe, expect, it } from 'vitest'
import { tokenOf } from '../deaths.js'
import { startServer } from '../server.js'

interface Schedule {
  readonly id: string
  readonly version: number
}

const DIGEST = { cron: '0 9 * * MON', timeZone: 'Europe/Paris', job: 'digest', payload: { list: 'all' } }

describe('schedules', () => {
  it('are created, read, replaced, paused, run now and deleted', async () => {
    await using t = await startServer()
    const made = await t.api<Schedule>('POST', '/schedules', { id: 'weekly-digest', ...DIGEST })
    expect([made.status, made.headers.get('ETag')]).toEqual([201, '"1"'])
    expect(made.body).toMatchObject({ id: 'weekly-digest', version: 1, state: 'active', timeZone: 'Europe/Paris' })
    const path = '/schedules/weekly-digest'
    const read = await t.api('GET', path)
    expect(read.body).toEqual(made.body)

    const put = await t.api('PUT', path, { ...DIGEST, cron: '0 8 * * *' }, { 'If-Match': read.headers.get('ETag')! })
    expect([put.status, put.headers.get('ETag'), put.body]).toMatchObject([200, '"2"', { cron: '0 8 * * *' }])
    expect((await t.api('POST', `${path}/pause`)).body).toMatchObject({ state: 'paused', version: 3 })
    expect((await t.api('POST', `${path}/resume`)).body).toMatchObject({ state: 'active', version: 4 })

    const job = await t.api<{ id: string }>('POST', `${path}/run`)
    expect([job.status, job.body]).toMatchObject([
      201,
      { name: 'digest', scheduleId: 'weekly-digest', state: 'waiting', status: 'created' },
    ])
    const claim = await t.api<{ data: { token: string }[] }>('POST', '/leases:claim', { workerId: 'w' })
    await t.api('POST', `/leases/${job.body.id}/complete`, { token: claim.body.data[0]!.token })
    expect((await t.api('GET', `${path}/history`)).body).toMatchObject({
      data: [{ jobId: job.body.id, status: 'succeeded' }],
      page: {},
    })
    expect((await t.api('GET', '/schedules')).body).toMatchObject({ data: [{ id: 'weekly-digest' }], page: {} })
    expect((await t.api('DELETE', path)).status).toBe(204)
    expect((await t.api('GET', path)).status).toBe(404)
    expect((await t.api('DELETE', path)).status).toBe(404)
  })

  it('refuse an outdated If-Match with both versions', async () => {
    await using t = await startServer()
    await t.api('PUT', '/schedules/nightly', DIGEST)
    await t.api('PUT', '/schedules/nightly', { ...DIGEST, cron: '0 1 * * *' })
    const late = await t.api<{ detail: string }>('PUT', '/schedules/nightly', DIGEST, { 'If-Match': '"1"' })
    expect([late.status, late.body]).toMatchObject([412, { code: 'VERSION_CONFLICT' }])
    expect(late.body.detail).toContain('version 2, not 1')
    const odd = await t.api('PUT', '/schedules/nightly', DIGEST, { 'If-Match': '"abc"' })
    expect([odd.status, odd.body]).toMatchObject([412, { code: 'PRECONDITION_FAILED' }])
    expect((await t.api('PUT', '/schedules/other', DIGEST, { 'If-Match': '"1"' })).status).toBe(412)
    expect((await t.api('PUT', '/schedules/nightly', DIGEST, { 'If-Match': '*' })).status).toBe(200)
  })

  it('never answer 304, because occurrences change them too', async () => {
    await using t = await startServer()
    const { headers } = await t.api('PUT', '/schedules/nightly', DIGEST)
    const again = await t.api('GET', '/schedules/nightly', undefined, { 'If-None-Match': headers.get('ETag')! })
    expect(again.status).toBe(200)
  })

  it('get an id if none is given, and refuse one that is taken', async () => {
    await using t = await startServer()
    const made = await t.api<Schedule>('POST', '/schedules', DIGEST)
    expect(made.body.id).toMatch(/^[0-9a-f-]{36}$/)
    const again = await t.api('POST', '/schedules', { ...DIGEST, id: made.body.id })
    expect([again.status, again.body]).toMatchObject([409, { code: 'KEY_CONFLICT' }])
    expect((await t.api('PUT', '/schedules/new-one', DIGEST)).status).toBe(201)
  })

  it('name the field that is wrong', async () => {
    await using t = await startServer()
    const wrong = { cron: 5, job: 'digest', every: '1h', when: 'now', missed: { all: 1000 } }
    const { status, body } = await t.api<{ errors: { pointer: string }[] }>('POST', '/schedules', wrong)
    expect([status, body.errors.map(({ pointer }) => pointer).sort()]).toEqual([422, ['/cron', '/missed/all', '/when']])
    const both = await t.api('PUT', '/schedules/x', { ...DIGEST, every: '1h' })
    expect([both.status, both.body]).toMatchObject([422, { code: 'INVALID_OPTION' }])
    expect((await t.api('PUT', '/schedules/x', { ...DIGEST, cron: '61 * * * *' })).status).toBe(422)
    const inside = await t.api('PUT', '/schedules/x', { every: '1h', http: { url: 'http://169.254.169.254/' } })
    expect([inside.status, inside.body]).toMatchObject([409, { code: 'NOT_ALLOWED' }])
    expect((await t.api('POST', '/schedules/none/run')).status).toBe(404)
  })

  it('preview their occurrences, with changes of the clocks', async () => {
    await using t = await startServer()
    const asked = { cron: '30 3 * * *', timeZone: 'Europe/Paris', count: 3, from: '2026-03-27T12:00:00.000Z' }
    const { status, body } = await t.api('POST', '/schedules:preview', asked)
    expect(status).toBe(200)
    expect(body).toEqual({
      timeZone: 'Europe/Paris',
      data: [
        { at: '2026-03-28T02:30:00.000Z', local: '2026-03-28T03:30:00+01:00' },
        { at: '2026-03-29T01:30:00.000Z', local: '2026-03-29T03:30:00+02:00', clocks: '+1h' },
        { at: '2026-03-30T01:30:00.000Z', local: '2026-03-30T03:30:00+02:00' },
      ],
    })
    expect((await t.api('POST', '/schedules:preview', { cron: '0 0 30 2 *' })).status).toBe(422)
  })

  it('are hidden from other tenants', async () => {
    await using t = await startServer({ asAdmin: true })
    const acme = await tokenOf(t, 'operator', 'acme')
    const globex = await tokenOf(t, 'operator', 'globex')
    const made = await t.api<Schedule>('PUT', '/schedules/nightly', DIGEST, acme)
    expect(made.body).toMatchObject({ id: 'nightly@acme', tenantId: 'acme' })
    expect((await t.api('GET', '/schedules', undefined, globex)).body).toEqual({ data: [], page: {} })
    for (const id of ['nightly', 'nightly@acme']) {
      for (const [method, path, body] of [
        ['GET', `/schedules/${id}`],
        ['DELETE', `/schedules/${id}`],
        ['POST', `/schedules/${id}/pause`, {}],
        ['POST', `/schedules/${id}/resume`, {}],
        ['POST', `/schedules/${id}/run`, {}],
        ['GET', `/schedules/${id}/history`],
      ] as const) {
        expect([method, path, (await t.api(method, path, body, globex)).status]).toEqual([method, path, 404])
      }
    }
    expect((await t.api('PUT', '/schedules/mine', { ...DIGEST, tenantId: 'acme' }, globex)).status).toBe(403)
    expect((await t.api('GET', '/schedules/nightly', undefined, acme)).body).toMatchObject({ version: 1 })
    expect((await t.api('GET', '/schedules?tenantId=acme')).body).toMatchObject({ data: [{ id: 'nightly@acme' }] })
    const own = await t.api('PUT', '/schedules/nightly', { ...DIGEST, every: '1h', cron: undefined }, acme)
    expect([own.status, own.body]).toMatchObject([200, { id: 'nightly@acme', every: '1h', tenantId: 'acme' }])
  })

  it('have names per tenant: no answer tells which names others use', async () => {
    await using t = await startServer({ asAdmin: true })
    const acme = await tokenOf(t, 'operator', 'acme')
    const odd = await tokenOf(t, 'operator', 'Ödmjuk & Söner')
    await t.api('PUT', '/schedules/nightly', DIGEST)
    await t.chronos.schedules.put('hourly', { every: '1h', job: 'digest', tenantId: 'globex' })
    await t.api('POST', '/schedules', { id: 'daily', ...DIGEST }, acme)
    for (const id of ['nightly', 'hourly', 'daily', 'unused']) {
      const made = await t.api<Schedule>('POST', '/schedules', { id, ...DIGEST }, odd)
      expect([id, made.status, made.body]).toMatchObject([id, 201, { version: 1, tenantId: 'Ödmjuk & Söner' }])
      const put = await t.api<Schedule>('PUT', `/schedules/${id}`, { ...DIGEST, job: 'other' }, odd)
      expect([put.status, put.body]).toMatchObject([200, { id: made.body.id, version: 2, job: 'other' }])
      expect((await t.api('POST', '/schedules', { id, ...DIGEST }, odd)).status).toBe(409)
      expect((await t.api('GET', `/jobs/${id}`, undefined, odd)).body).toMatchObject({ id: made.body.id, job: 'other' })
    }
    for (const id of ['nightly@acme', 'daily@acme']) {
      const { status, body } = await t.api('PUT', `/schedules/${id}`, DIGEST, odd)
      expect([id, status, (body as { detail: string }).detail]).toEqual([id, 422, expect.stringContaining('expected')])
    }
    expect((await t.api('PUT', '/schedules/daily@acme', DIGEST)).status).toBe(422)
    expect((await t.api('GET', '/schedules/nightly')).body).toMatchObject({ version: 1, job: 'digest' })
    expect((await t.api('GET', '/schedules/hourly')).body).toMatchObject({ version: 1, tenantId: 'globex' })
    const globex = await tokenOf(t, 'operator', 'globex')
    const own = await t.api('PUT', '/schedules/hourly', { every: '2h', job: 'digest' }, globex)
    expect([own.status, own.body]).toMatchObject([200, { id: 'hourly', version: 2 }])
  })

  it('hide secret headers from viewers', async () => {
    await using t = await startServer({ asAdmin: true, chronos: { egress: { allow: ['loopback'] } } })
    const viewer = await tokenOf(t, 'viewer')
    const headers = { Authorization: 'Bearer secret', Accept: 'text/plain' }
    await t.api('PUT', '/schedules/ping', { every: '1h', http: { url: 'http://127.0.0.1:9/', headers } })
    const hidden = { payload: { headers: { Authorization: '•••', Accept: 'text/plain' } } }
    expect((await t.api('GET', '/schedules/ping', undefined, viewer)).body).toMatchObject(hidden)
    expect((await t.api('GET', '/schedules', undefined, viewer)).body).toMatchObject({ data: [hidden] })
    expect((await t.api('GET', '/jobs/ping', undefined, viewer)).body).toMatchObject(hidden)
    expect((await t.api('GET', '/schedules/ping')).body).toMatchObject({ payload: { headers } })
  })
})
