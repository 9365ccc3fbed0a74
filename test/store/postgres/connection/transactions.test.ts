import pg from 'pg'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Transaction } from '../../../../src/index.js'
import type { PostgresTransaction } from '../../../../src/postgres.js'
import type { Store } from '../../../../src/store/store.js'
import { dropSchemas, openStore, postgresUrl } from '../../../support/postgres.js'
import { job, request } from '../bench.js'

afterAll(dropSchemas)

let store: Store
let client: pg.Client

beforeEach(async () => {
  store = await openStore()
  await store.migrate()
  client = new pg.Client(await postgresUrl())
  await client.connect()
})

afterEach(async () => {
  await client.end()
  await store.close()
})

const count = async () => (await store.count({}, 100)).value

describe("enqueue in a caller's transaction", () => {
  it('becomes visible with the commit', async () => {
    await client.query('BEGIN')
    const [answer] = await store.enqueue([job()], client)
    expect(answer).toMatchObject({ status: 'created' })
    expect(await count(), 'not before').toBe(0)
    await client.query('COMMIT')
    expect(await count()).toBe(1)
    expect((await store.claim(request())).jobs).toMatchObject([{ id: answer!.id }])
  })

  it('leaves nothing after a rollback, not even its key', async () => {
    const keyed = { key: 'k', payloadHash: 'h', unique: 'u', queue: 'fresh' }
    await client.query('BEGIN')
    expect(await store.enqueue([job(keyed), job()], client)).toMatchObject([
      { status: 'created' },
      { status: 'created' },
    ])
    await client.query('ROLLBACK')
    expect(await count()).toBe(0)
    expect(await store.queues()).toEqual([])
    expect(await store.enqueue([job(keyed)])).toMatchObject([{ status: 'created' }])
  })

  it("is atomic with the caller's own writes", async () => {
    await client.query('CREATE TEMPORARY TABLE orders (id integer PRIMARY KEY)')
    const order = async (id: number) => {
      await client.query('BEGIN')
      try {
        await store.enqueue([job()], client)
        await client.query('INSERT INTO orders VALUES ($1)', [id])
        await client.query('COMMIT')
      } catch {
        await client.query('ROLLBACK')
      }
    }
    await order(1)
    await order(1)
    await order(2)
    expect(await count()).toBe(2)
  })

  it('detects duplicate keys of its own and of other transactions', async () => {
    const keyed = { key: 'k', payloadHash: 'h' }
    const [first] = await store.enqueue([job(keyed)])
    await client.query('BEGIN')
    expect(await store.enqueue([job(keyed)], client)).toEqual([{ status: 'existing', id: first!.id }])
    const [second] = await store.enqueue([job({ ...keyed, key: 'other' })], client)
    expect(await store.enqueue([job({ ...keyed, key: 'other' })], client)).toEqual([
      { status: 'existing', id: second!.id },
    ])
    await client.query('COMMIT')
    expect(await count()).toBe(2)
  })

  it('does not block other transactions: neither the queue nor workers nor other keys', async () => {
    await store.enqueue([job({ key: 'old', payloadHash: 'h' })])
    await client.query('BEGIN')
    const within = [job({ queue: 'new' }), job({ key: 'a', payloadHash: 'h' }), job({ key: 'old', payloadHash: 'h' })]
    await store.enqueue(within, client)
    expect(await store.enqueue([job({ queue: 'new' })])).toMatchObject([{ status: 'created' }])
    expect(await store.enqueue([job({ key: 'b', payloadHash: 'h' })])).toMatchObject([{ status: 'created' }])
    expect(await store.enqueue([job({ key: 'old', payloadHash: 'h' })])).toMatchObject([{ status: 'existing' }])
    expect(await store.setQueue('new', { paused: true })).toEqual({ name: 'new', paused: true })
    expect((await store.claim(request({ queues: ['default', 'new'] }))).jobs).toHaveLength(2)
    await client.query('COMMIT')
    expect((await store.claim(request())).jobs).toHaveLength(1)
  })

  it('makes an enqueue with the same key wait for its end, and both return the same job', async () => {
    const keyed = { key: 'k', payloadHash: 'h' }
    await client.query('BEGIN')
    const [first] = await store.enqueue([job(keyed)], client)
    const second = store.enqueue([job(keyed)])
    await client.query('COMMIT')
    expect(await second).toEqual([{ status: 'existing', id: first!.id }])
    await client.query('BEGIN')
    await store.enqueue([job({ ...keyed, key: 'x' })], client)
    const third = store.enqueue([job({ ...keyed, key: 'x' })])
    await client.query('ROLLBACK')
    expect(await third).toMatchObject([{ status: 'created' }])
  })

  it('uses the time of the statement, not of the start of a long transaction', async () => {
    await client.query('BEGIN')
    const { now } = await store.info()
    const [answer] = await store.enqueue([job()], client)
    await client.query('COMMIT')
    expect((await store.get(answer!.id))!.createdAt).toBeGreaterThanOrEqual(now)
  })

  it('does not change the settings of the transaction', async () => {
    const settings = `SELECT current_setting('statement_timeout'), current_setting('lock_timeout'), current_setting('search_path')`
    await client.query('BEGIN')
    const before = await client.query(settings)
    await store.enqueue([job(), job({ key: 'k', payloadHash: 'h' })], client)
    expect((await client.query(settings)).rows).toEqual(before.rows)
    await client.query('ROLLBACK')
  })

  it('works with an adapter that has only a query method and returns rows as objects', async () => {
    const tx: PostgresTransaction = { query: (text, values) => client.query(text, values) }
    await client.query('BEGIN')
    const keyed = { key: 'k', payloadHash: 'h', unique: 'u' }
    const [first] = await store.enqueue([job(keyed)], tx)
    expect(await store.enqueue([job(keyed)], tx)).toEqual([{ status: 'existing', id: first!.id }])
    expect(await store.enqueue([job({ unique: 'u' })], tx)).toEqual([{ status: 'existing', id: first!.id }])
    await client.query('COMMIT')
    expect(await count()).toBe(1)
  })

  it('refuses a client without an open transaction, and enqueues nothing', async () => {
    const tx: Transaction = client
    await expect(store.enqueue([job()], tx)).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringContaining(
        'enqueue: `tx` is a client without an open transaction; execute BEGIN on it first',
      ),
    })
    expect(await count()).toBe(0)
    const begun = client.query('BEGIN')
    await store.enqueue([job()], tx)
    await begun
    await client.query('COMMIT')
    expect(await count()).toBe(1)
  })

  it('rejects only with a ChronosError, whatever the state of the transaction or the library', async () => {
    await client.query('BEGIN')
    await expect(client.query('SELECT 1 / 0')).rejects.toThrow('division by zero')
    await expect(store.enqueue([job()], client)).rejects.toMatchObject({
      name: 'ChronosError',
      message: expect.stringContaining('current transaction is aborted'),
    })
    await client.query('ROLLBACK')
    const broken: Transaction = { query: async () => Promise.reject(new TypeError('not a query')) }
    await expect(store.enqueue([job()], broken)).rejects.toMatchObject({
      name: 'ChronosError',
      code: 'STORE_UNAVAILABLE',
    })
  })

  it('translates an error of the database', async () => {
    await client.query('BEGIN')
    await expect(store.enqueue([job({ priority: 77 })], client)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    await client.query('ROLLBACK')
  })
})
