import { afterAll, expect, test } from 'vitest'
import { LINES_MAX } from '../../../src/store/reads/census.js'
import { dropSchemas, freshSchema, openStore, sql } from '../../support/postgres.js'
import { job } from './bench.js'

afterAll(dropSchemas)

test('a wave and a forecast read a bounded number of queues, and say that they are incomplete', async () => {
  const store = await openStore()
  await store.migrate()
  const fill = (from: number, to: number): Promise<unknown> =>
    store.enqueue(Array.from({ length: to - from }, (_, number) => job({ queue: `q${from + number}` })))
  const complete = async () => [
    (await store.wave({ windowMs: 1_000, buckets: 1, lookAt: 20_000 })).complete,
    (await store.waiting({ lookAt: 50_000, limit: 10_000 })).complete,
  ]
  await fill(0, LINES_MAX)
  expect(await complete()).toEqual([true, true])
  await fill(LINES_MAX, 2 * LINES_MAX)
  expect(await complete()).toEqual([false, false])
  const { groups } = await store.waiting({ lookAt: 50_000, limit: 10_000 })
  expect(groups.length).toBeLessThanOrEqual(LINES_MAX + 1)
})

test('the oldest due jobs of very many queues are those of few', async () => {
  const store = await openStore()
  await store.migrate()
  const late = (queue: string, ms: number) => job({ queue, runAt: { delayMs: -ms } })
  const few = [late('a', 5_000), late('a', 60_000), job({ queue: 'b', runAt: { delayMs: 60_000 } }), late('c', 1_000)]
  await store.enqueue(few)
  await store.enqueue([job({ queue: 'a', runAt: { delayMs: -90_000 }, deadline: { delayMs: -1_000 } })])
  const request = { exceptTag: 'none', deadMax: 10 }
  const before = await store.backlog(request)
  expect(before.map(({ queue }) => queue)).toEqual(['a', 'c'])
  await store.enqueue(Array.from({ length: LINES_MAX + 1 }, (_, number) => late(`q${number}`, 1_000)))
  const after = await store.backlog(request)
  expect(after.slice(0, 2)).toEqual(before)
  expect(after).toHaveLength(2 + LINES_MAX + 1)
  expect((await store.queues()).length).toBe(3 + LINES_MAX + 1)
})

test('queues that are known only from their jobs are listed before, between and behind the others', async () => {
  const schema = freshSchema()
  const store = await openStore({ schema })
  await store.migrate()
  await store.enqueue(['a', 'b', 'c', 'd', 'e'].map(queue => job({ queue })))
  const names = async () => (await store.queues()).map(({ name }) => name)
  for (const forgotten of [['a'], ['b', 'c'], ['e'], ['d']]) {
    await sql(`DELETE FROM ${schema}.queues WHERE name = ANY ($1)`, [forgotten])
    expect(await names()).toEqual(['a', 'b', 'c', 'd', 'e'])
  }
})
