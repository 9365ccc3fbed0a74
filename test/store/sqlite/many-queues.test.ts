import { expect, test } from 'vitest'
import { type Database, type Driver, loadDriver } from '../../../src/store/sqlite/file/driver.js'
import { Folder } from './folder.js'

const folder = new Folder()

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

test('one statement counts the jobs of a hundred queues', async () => {
  const ran = { reads: 0 }
  const store = folder.store({ driver: counting(await loadDriver(), ran) })
  await Promise.all(Array.from({ length: 1_000 }, (_, number) => store.setQueue(`q${number}`, {})))
  ran.reads = 0
  expect(await store.census({ cap: 10 })).toHaveLength(1_000)
  expect(ran.reads).toBeLessThanOrEqual(10 + 5)
  ran.reads = 0
  await store.backlog({ exceptTag: 'alert', deadMax: 10 })
  expect(ran.reads).toBeLessThanOrEqual(3)
})
