import { expect, test } from 'vitest'
import { LINES_MAX } from '../../../src/store/reads/census.js'
import { type Database, type Driver, loadDriver } from '../../../src/store/sqlite/file/driver.js'
import { linesAfter } from '../../../src/store/sqlite/reads/lines.js'
import { PLAIN } from '../../../src/store/sqlite/rows.js'
import { Bench } from '../conformance/bench.js'
import { Folder } from './folder.js'

const folder = new Folder()
const bench = new Bench(async () => folder.store())

/** Counts the statements that read. */
function counting(driver: Driver, ran: { reads: number }): Driver {
  const watch = (database: Database): Database => ({
    exec: sql => database.exec(sql),
    close: () => database.close(),
    prepare(sql) {
      const statement = database.prepare(sql)
      const read =
        <Answer>(act: (...values: never[]) => Answer) =>
        (...values: readonly unknown[]): Answer => {
          ran.reads++
          return act.apply(statement, values as never[])
        }
      return {
        all: read(statement.all),
        get: read(statement.get),
        run: (...values) => statement.run(...values),
        setReturnArrays: enabled => statement.setReturnArrays(enabled),
      }
    },
  })
  return { ...driver, open: path => watch(driver.open(path)) }
}

test('queues without waiting jobs cost nothing, and one statement reads a thousand others', async () => {
  const ran = { reads: 0 }
  const store = folder.store({ driver: counting(await loadDriver(), ran) })
  await Promise.all(Array.from({ length: 1_000 }, (_, number) => store.setQueue(`q${number}`, {})))
  const readsOf = async (act: () => Promise<unknown>): Promise<number> => {
    ran.reads = 0
    await act()
    return ran.reads
  }
  const wave = () => store.wave({ windowMs: 1_000, buckets: 1, lookAt: 10 })
  const waiting = () => store.waiting({ lookAt: 10, limit: 10 })
  const census = () => store.census({ cap: 10 })
  const backlog = () => store.backlog({ exceptTag: 'alert', deadMax: 10 })
  expect(await readsOf(wave)).toBeLessThanOrEqual(2)
  expect(await readsOf(waiting)).toBeLessThanOrEqual(2)
  expect(await readsOf(census)).toBeLessThanOrEqual(5)
  await store.enqueue(Array.from({ length: 900 }, (_, number) => bench.job({ queue: `q${number}` })))
  expect(await census()).toHaveLength(1_000)
  expect(await readsOf(census)).toBeLessThanOrEqual(5)
  expect(await readsOf(backlog)).toBeLessThanOrEqual(3)
})

test('one statement counts the jobs of a hundred given queues', async () => {
  const ran = { reads: 0 }
  const store = folder.store({ driver: counting(await loadDriver(), ran) })
  const queues = Array.from({ length: 1_000 }, (_, number) => `q${number}`)
  await Promise.all(queues.map(queue => store.setQueue(queue, {})))
  ran.reads = 0
  expect(await store.census({ cap: 10, queues })).toHaveLength(1_000)
  expect(ran.reads).toBeLessThanOrEqual(10 + 5)
})

test('a wave and a forecast read a bounded number of queues, and say that they are incomplete', async () => {
  const ran = { reads: 0 }
  const store = folder.store({ driver: counting(await loadDriver(), ran) })
  const fill = (from: number, to: number): Promise<unknown> =>
    store.enqueue(Array.from({ length: to - from }, (_, number) => bench.job({ queue: `q${from + number}` })))
  const wave = () => store.wave({ windowMs: 1_000, buckets: 1, lookAt: 20_000 })
  const waiting = () => store.waiting({ lookAt: 50_000, limit: 10_000 })
  await fill(0, LINES_MAX)
  expect([(await wave()).complete, (await waiting()).complete]).toEqual([true, true])
  await fill(LINES_MAX, 2 * LINES_MAX)
  ran.reads = 0
  expect([(await wave()).complete, (await waiting()).complete]).toEqual([false, false])
  expect(ran.reads).toBeLessThanOrEqual(5 * LINES_MAX + 10)
  expect((await waiting()).groups).toHaveLength(LINES_MAX)
})

test('the walk from queue to queue passes over the jobs of a long queue', async () => {
  const store = folder.store()
  await store.migrate()
  const database = await folder.database()
  const plan = database.prepare(`EXPLAIN QUERY PLAN ${linesAfter(PLAIN, 10)} SELECT * FROM line`).all('', -1)
  const searches = plan
    .map(step => (step as { detail: string }).detail)
    .filter(detail => detail.includes('jobs_waiting'))
  expect(searches).toHaveLength(4)
  expect(searches.filter(detail => /\(queue=\? AND priority>\?\)/.test(detail))).toHaveLength(2)
  expect(searches.filter(detail => /\(queue>\?\)/.test(detail))).toHaveLength(2)
})
