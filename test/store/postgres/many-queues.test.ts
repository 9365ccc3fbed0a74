import { afterAll, expect, test } from 'vitest'
import { LINES_MAX } from '../../../src/store/reads/census.js'
import { dropSchemas, openStore } from '../../support/postgres.js'
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
