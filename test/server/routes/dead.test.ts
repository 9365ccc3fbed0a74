import { describe, expect, it } from 'vitest'
import { deadJobs, tokenOf } from '../deaths.js'
import { startServer } from '../server.js'

interface Group {
  readonly fingerprint: string
  readonly dead: number
}
interface Groups {
  readonly data: readonly Group[]
  readonly page: { readonly next?: string; readonly total: number }
}

const pointersOf = (body: unknown): readonly string[] =>
  (body as { errors: { pointer: string }[] }).errors.map(({ pointer }) => pointer)

describe('dead letters', () => {
  it('are listed, grouped, acknowledged and discarded', async () => {
    await using t = await startServer()
    const ids = await deadJobs(t, 3, { queue: 'payments' })
    const list = await t.api<{ data: { id: string }[] }>('GET', '/dead?queue=payments&limit=2')
    expect(list.body).toMatchObject({ count: { value: 3, relation: 'exact' }, page: { next: expect.any(String) } })
    expect(list.body.data.map(({ id }) => id)).toEqual([ids[2], ids[1]])

    const groups = await t.api<Groups>('GET', '/dead/groups')
    expect(groups.body.data).toMatchObject([
      { title: expect.stringContaining('card declined'), dead: 3, state: 'open' },
    ])
    const { fingerprint } = groups.body.data[0]!
    const group = await t.api('GET', `/dead/groups/${fingerprint}`)
    expect(group.body).toMatchObject({ fingerprint, deaths: 3, jobs: [{ state: 'dead' }, {}, {}] })

    const seen = await t.api('POST', '/dead/acknowledge', { filter: { fingerprint } })
    expect(seen.body).toEqual({ matched: 3, changed: 3, dryRun: false })
    expect((await t.api('GET', '/dead?acknowledged=false')).body).toMatchObject({ data: [], count: { value: 0 } })
    const trial = await t.api('POST', '/dead/discard', { filter: { ids: [ids[0]] }, dryRun: true })
    expect(trial.body).toEqual({ matched: 1, changed: 0, dryRun: true })
    const given = await t.api('POST', '/dead/discard', { filter: { ids: [ids[0]] } })
    expect(given.body).toMatchObject({ matched: 1, changed: 1 })
    expect((await t.api('GET', `/jobs/${ids[0]}`)).body).toMatchObject({ state: 'dead', reason: 'discarded' })
  })

  it('are grouped by error, largest group first, page by page', async () => {
    await using t = await startServer()
    await deadJobs(t, 2, {}, 'card declined')
    await deadJobs(t, 1, {}, 'host not found')
    const first = await t.api<Groups>('GET', '/dead/groups?limit=1')
    expect(first.body.data).toMatchObject([{ dead: 2 }])
    const second = await t.api<Groups>(
      'GET',
      `/dead/groups?limit=1&cursor=${encodeURIComponent(first.body.page.next!)}`,
    )
    expect(second.body).toMatchObject({ data: [{ dead: 1 }], page: {} })
    expect([first.body.page.total, second.body.page.total]).toEqual([2, 2])
  })

  it('have groups that are unresolved: open or regressed, with dead letters', async () => {
    await using t = await startServer()
    const groupOf = async (message: string): Promise<string> => {
      await deadJobs(t, 1, {}, message)
      const { data } = await t.chronos.dead.groups({ all: true })
      return data.find(({ title }) => title.includes(message))!.fingerprint
    }
    const open = await groupOf('card declined')
    const set = (fingerprint: string, state: string) => t.api('PATCH', `/dead/groups/${fingerprint}`, { state })
    await set(await groupOf('host not found'), 'resolved')
    await set(await groupOf('disk full'), 'ignored')
    const regressed = await groupOf('no such bucket')
    await set(regressed, 'resolved')
    await deadJobs(t, 1, {}, 'no such bucket')
    const redriven = await groupOf('connection refused')
    await t.api('POST', '/jobs:retry', { filter: { fingerprint: redriven } })
    const { body } = await t.api<Groups>('GET', '/dead/groups?unresolved=true')
    expect(body.data.map(({ fingerprint }) => fingerprint)).toEqual([regressed, open])
    expect(body.page).toEqual({ total: 2 })
    const some = await t.api<Groups>('GET', '/dead/groups?unresolved=true&state=regressed')
    expect(some.body.data).toMatchObject([{ fingerprint: regressed }])
  })

  it('have groups that can be marked as resolved', async () => {
    await using t = await startServer()
    await deadJobs(t, 1)
    const { fingerprint } = (await t.api<Groups>('GET', '/dead/groups')).body.data[0]!
    const path = `/dead/groups/${fingerprint}`
    expect((await t.api('PATCH', path, { state: 'resolved' })).body).toMatchObject({ state: 'resolved' })
    expect((await t.api('GET', '/dead/groups?state=resolved')).body).toMatchObject({ data: [{ fingerprint }] })
    await deadJobs(t, 1)
    expect((await t.api('GET', path)).body).toMatchObject({ state: 'regressed', dead: 2 })
  })

  it('require all: true with an empty filter', async () => {
    await using t = await startServer()
    await deadJobs(t, 2)
    const refused = await t.api('POST', '/dead/discard', { filter: {} })
    expect([refused.status, refused.body]).toMatchObject([422, { code: 'INVALID_OPTION' }])
    expect((await t.api('POST', '/dead/discard', { filter: {}, all: true })).body).toMatchObject({ changed: 2 })
  })

  it.each(['/dead/discard', '/dead/acknowledge', '/redrives', '/jobs:retry', '/jobs:delete'])(
    '%s refuses to touch more than were confirmed',
    async path => {
      await using t = await startServer()
      await deadJobs(t, 2, { queue: 'own' })
      await deadJobs(t, 3, { queue: 'other', tenantId: 'acme' })
      const { fingerprint } = (await t.api<Groups>('GET', '/dead/groups')).body.data[0]!
      const filter = { fingerprint }
      const trial = await t.api('POST', path, { filter, dryRun: true })
      expect(trial.body).toMatchObject(path === '/redrives' ? { count: { value: 5 } } : { matched: 5, changed: 0 })
      const refused = await t.api('POST', path, { filter, atMost: 2 })
      expect([refused.status, refused.body]).toMatchObject([
        409,
        { code: 'TOO_MANY_MATCHES', details: { matched: 5, atMost: 2, changed: 0 } },
      ])
      const left = await t.api('GET', '/dead?acknowledged=false&reason=permanent')
      expect(left.body).toMatchObject({ count: { value: 5 } })
      const done = await t.api('POST', path, { filter, atMost: 5 })
      expect(done.body).toMatchObject(path === '/redrives' ? { total: { value: 5 } } : { matched: 5, changed: 5 })
    },
  )

  it('refuse unknown fields and unknown groups', async () => {
    await using t = await startServer()
    const wrong = await t.api('POST', '/dead/discard', { filter: { state: 'waiting' }, force: true })
    expect([wrong.status, pointersOf(wrong.body)]).toEqual([422, ['/filter/state', '/force']])
    expect((await t.api('GET', '/dead?state=dead')).status).toBe(422)
    expect((await t.api('PATCH', '/dead/groups/f', { state: 'regressed' })).status).toBe(422)
    expect((await t.api('GET', '/dead/groups/f')).body).toMatchObject({ status: 404, code: 'NOT_FOUND' })
  })

  it('are hidden from other tenants', async () => {
    await using t = await startServer({ asAdmin: true })
    const acme = await tokenOf(t, 'operator', 'acme')
    const globex = await tokenOf(t, 'operator', 'globex')
    const [id] = await deadJobs(t, 1, { tenantId: 'acme' })
    const { body } = await t.api<Groups>('GET', '/dead/groups', undefined, acme)
    const path = `/dead/groups/${body.data[0]!.fingerprint}`
    expect((await t.api('GET', path, undefined, acme)).body).toMatchObject({ tenantId: 'acme', jobs: [{ id }] })

    expect((await t.api('GET', '/dead', undefined, globex)).body).toMatchObject({ data: [], count: { value: 0 } })
    expect((await t.api('GET', '/dead/groups?all=true', undefined, globex)).body).toMatchObject({ data: [] })
    expect((await t.api('GET', path, undefined, globex)).status).toBe(404)
    expect((await t.api('PATCH', path, { state: 'ignored' }, globex)).status).toBe(404)
    const discarded = await t.api('POST', '/dead/discard', { filter: {}, all: true }, globex)
    expect(discarded.body).toMatchObject({ matched: 0, changed: 0 })
    expect((await t.api('GET', '/dead?tenantId=acme', undefined, globex)).status).toBe(403)
    expect((await t.api('GET', `${path}?tenantId=acme`)).body).toMatchObject({ dead: 1, state: 'open' })

    await deadJobs(t, 2, { tenantId: 'globex' })
    const tenants = [
      { tenantId: 'globex', dead: 2 },
      { tenantId: 'acme', dead: 1 },
    ]
    expect((await t.api('GET', '/dead/groups')).body).toMatchObject({ data: [{ dead: 3, tenants }] })
    const own = await t.api<{ data: object[] }>('GET', '/dead/groups', undefined, acme)
    expect(own.body.data).toMatchObject([{ tenantId: 'acme', dead: 1 }])
    expect(own.body.data[0]).not.toHaveProperty('tenants')
    expect((await t.api('PATCH', path, { state: 'ignored' }, acme)).body).toMatchObject({ state: 'ignored' })
    expect((await t.api('GET', path, undefined, globex)).body).toMatchObject({ state: 'open', dead: 2 })
  })
})
