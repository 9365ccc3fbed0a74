import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { RecordWrite } from '../../../../src/store/record.js'
import type { Store } from '../../../../src/store/store.js'
import { dropSchemas, freshSchema, openStore, postgresUrl, sql } from '../../../support/postgres.js'

afterAll(dropSchemas)

let schema: string
let stores: Store[]

beforeEach(async () => {
  schema = freshSchema()
  stores = await Promise.all([1, 2, 3].map(() => openStore({ schema })))
  await stores[0]!.migrate()
})

afterEach(() => Promise.all(stores.map(store => store.close())))

const ids = Array.from({ length: 20 }, (_, index) => `dependency-${String(index).padStart(2, '0')}`)

/** Increments each record by compare-and-set, and retries on a conflict. */
async function addToAll(store: Store, order: readonly string[]): Promise<void> {
  let left = order
  while (left.length > 0) {
    const known = new Map((await store.records('dependency', { ids: left })).map(record => [record.id, record]))
    const writes = left.map((id): RecordWrite => {
      const { version = 0, body = '0' } = known.get(id) ?? {}
      return { kind: 'dependency', id, body: String(Number(body) + 1), expect: version }
    })
    const answers = await store.putRecords(writes)
    left = left.filter((_, index) => answers[index]!.status === 'conflict')
  }
}

describe('records that several processes write', () => {
  it('lose no increment, with concurrent creation and batches in any order', async () => {
    const orders = [ids, [...ids].reverse(), [...ids.slice(7), ...ids.slice(0, 7)]]
    const writers = stores.flatMap((store, index) => orders.map(order => [store, order, index] as const))
    for (let round = 0; round < 5; round++) {
      await Promise.all(writers.map(([store, order]) => addToAll(store, order)))
    }
    const records = await stores[0]!.records('dependency', { limit: 100 })
    expect(records.map(({ id }) => id)).toEqual(ids)
    for (const { body, version } of records) expect([body, version]).toEqual(['45', 45])
  })

  it('wait for each other without deadlocks', async () => {
    // A server counts deadlocks by database, and other tests cause some on purpose.
    const name = freshSchema()
    await sql(`CREATE DATABASE ${name}`)
    const url = new URL(await postgresUrl())
    url.pathname = `/${name}`
    const writers = await Promise.all([1, 2, 3].map(() => openStore({ url: url.href, schema })))
    await writers[0]!.migrate()
    const put = (order: readonly string[]) => order.map(id => ({ kind: 'dependency', id, body: '{}' }))
    for (let round = 0; round < 20; round++) {
      const answers = await Promise.all([
        writers[0]!.putRecords(put(ids)),
        writers[1]!.putRecords(put([...ids].reverse())),
        writers[2]!.putRecords([...put(ids.slice(5)), { kind: 'dependency', id: ids[round]!, body: null }]),
      ])
      expect(answers.flat().every(({ status }) => status === 'written')).toBe(true)
    }
    // A connection reports what it counted when it ends.
    await Promise.all(writers.map(store => store.close()))
    await expect.poll(() => connectionsTo(name)).toBe(0)
    const [counted] = await sql<{ deadlocks: string }>('SELECT deadlocks FROM pg_stat_database WHERE datname = $1', [
      name,
    ])
    expect(counted).toEqual({ deadlocks: '0' })
    await sql(`DROP DATABASE ${name}`)
  })

  async function connectionsTo(database: string): Promise<number> {
    const [row] = await sql<{ count: number }>(
      'SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = $1',
      [database],
    )
    return row!.count
  }

  it('are written by a fold only with their current version', async () => {
    const group = { kind: 'counts', id: '1h 2026-01-01T00:00Z q n', body: '{"enqueued":1}' }
    await stores[0]!.putRecords([group])
    const body = JSON.stringify({ at: 0, ledger: {}, counts: { 'q n': { enqueued: 1 } }, errors: [] })
    for (let round = 0; round < 30; round++) {
      await sql(`INSERT INTO ${schema}.deltas (at, body) VALUES ($1, $2)`, [Date.UTC(2026, 0, 1), body])
      await Promise.all([stores[1]!.fold(1), addEnqueued(stores[2]!, group.id)])
    }
    const [record] = await stores[0]!.records('counts', { ids: [group.id] })
    expect(JSON.parse(record!.body)).toEqual({ enqueued: 61 })
    expect(record!.version).toBe(61)
  })

  async function addEnqueued(store: Store, id: string): Promise<void> {
    for (;;) {
      const [record] = await store.records('counts', { ids: [id] })
      const { enqueued } = JSON.parse(record!.body) as { enqueued: number }
      const write = { kind: 'counts', id, body: JSON.stringify({ enqueued: enqueued + 1 }), expect: record!.version }
      const [answer] = await store.putRecords([write])
      if (answer!.status === 'written') return
    }
  }
})
