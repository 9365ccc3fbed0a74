import { describe, expect, it } from 'vitest'
import { SAVED_VIEWS_MAX, type SavedView } from '../../../src/core/saved-view/saved-view.js'
import { tokenOf } from '../deaths.js'
import { startServer } from '../server.js'

const PAYMENTS = { name: 'Failed payments', screen: 'jobs', query: 'state=dead&queue=payments' } as const

describe('saved views', () => {
  it('are shared, with the name of their owner, and deleted by any operator', async () => {
    await using t = await startServer()
    const [ann, bob, viewer] = [await tokenOf(t, 'operator'), await tokenOf(t, 'admin'), await tokenOf(t, 'viewer')]
    const made = await t.api<SavedView>('POST', '/saved-views', PAYMENTS, ann)
    expect(made).toMatchObject({ status: 201, body: { ...PAYMENTS, owner: 'operator of all' } })
    const list = await t.api<{ data: SavedView[] }>('GET', '/saved-views', undefined, viewer)
    expect(list.body.data).toEqual([made.body])
    expect((await t.api('POST', '/saved-views', PAYMENTS, viewer)).status).toBe(403)
    expect((await t.api('DELETE', `/saved-views/${made.body.id}`, undefined, bob)).status).toBe(204)
    expect((await t.api('DELETE', `/saved-views/${made.body.id}`, undefined, bob)).status).toBe(404)
    expect((await t.api<{ data: SavedView[] }>('GET', '/saved-views', undefined, viewer)).body.data).toEqual([])
  })

  it('belong to the tenant of the token that saved them', async () => {
    await using t = await startServer()
    const [acme, globex, fleet] = [
      await tokenOf(t, 'operator', 'acme'),
      await tokenOf(t, 'operator', 'globex'),
      await tokenOf(t, 'admin'),
    ]
    const { body } = await t.api<SavedView>('POST', '/saved-views', PAYMENTS, acme)
    for (const other of [globex, fleet]) {
      expect((await t.api<{ data: SavedView[] }>('GET', '/saved-views', undefined, other)).body.data).toEqual([])
      expect((await t.api('DELETE', `/saved-views/${body.id}`, undefined, other)).status).toBe(404)
      expect((await t.api('POST', '/saved-views', PAYMENTS, other)).status).toBe(201)
    }
    expect((await t.api<{ data: SavedView[] }>('GET', '/saved-views', undefined, acme)).body.data).toEqual([body])
  })

  it('have one name per screen, and a limit', async () => {
    await using t = await startServer()
    const save = (input: object) => t.api<{ detail: string }>('POST', '/saved-views', input)
    expect((await save(PAYMENTS)).status).toBe(201)
    const again = await save(PAYMENTS)
    expect([again.status, again.body.detail]).toEqual([
      409,
      'there is already a saved view named "Failed payments"; choose another name',
    ])
    expect((await save({ ...PAYMENTS, screen: 'dead' })).status).toBe(201)
    expect((await save({ ...PAYMENTS, screen: 'queues' })).status).toBe(422)
    expect((await save({ ...PAYMENTS, query: 'x'.repeat(2_001) })).status).toBe(422)
    for (let n = 2; n < SAVED_VIEWS_MAX; n++) {
      expect((await save({ ...PAYMENTS, name: `view ${n}` })).status).toBe(201)
    }
    const more = await save({ ...PAYMENTS, name: 'one more' })
    expect([more.status, more.body.detail]).toEqual([409, 'there are 100 saved views; delete one of them first'])
  })
})
