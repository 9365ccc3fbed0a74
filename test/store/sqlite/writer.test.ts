import { describe, expect, it } from 'vitest'
import { cancel } from '../../../src/core/job/changes.js'
import { type Database, type Driver, loadDriver } from '../../../src/store/sqlite/file/driver.js'
import { Bench, succeeded } from '../conformance/bench.js'
import { Folder } from './folder.js'

const folder = new Folder()
const bench = new Bench(async () => folder.store())

/** A driver that records every statement, and can fail one on request. */
async function recorded() {
  const driver = await loadDriver()
  const ran: string[] = []
  const fail = { when: (_sql: string): unknown => undefined }
  const watched: Driver = { ...driver, open: path => watch(driver.open(path), ran, fail) }
  const store = folder.store({ driver: watched })
  await store.migrate()
  ran.length = 0
  return { store, ran, fail, commits: () => ran.filter(sql => sql === 'COMMIT').length }
}

function watch(database: Database, ran: string[], fail: { when(sql: string): unknown }): Database {
  return {
    exec: sql => database.exec(sql),
    close: () => database.close(),
    prepare(sql) {
      const statement = database.prepare(sql)
      return {
        all: (...values) => statement.all(...values),
        get: (...values) => statement.get(...values),
        setReturnArrays: enabled => statement.setReturnArrays(enabled),
        run(...values) {
          ran.push(sql)
          const error = fail.when(sql)
          if (error) throw error
          return statement.run(...values)
        },
      }
    },
  }
}

const sqliteError = (errcode: number, message: string) => Object.assign(new Error(message), { errcode })

describe('group commit', () => {
  it('shares one commit among the writes requested at the same time', async () => {
    const { store, commits } = await recorded()
    await store.enqueue([bench.job()])
    const { jobs } = await store.claim(bench.request())
    const before = commits()
    await Promise.all([
      store.settle(jobs.map(job => bench.settlement(job, succeeded()))),
      ...Array.from({ length: 20 }, () => store.enqueue([bench.job()])),
      store.claim(bench.request()),
      store.setQueue('q', { paused: true }),
    ])
    expect(commits() - before).toBe(1)
  })

  it('runs writes in the order of the requests', async () => {
    const { store } = await recorded()
    const job = bench.job()
    const [, claim, cancelled] = await Promise.all([
      store.enqueue([job]),
      store.claim(bench.request()),
      store.change([job.id], cancel),
    ])
    expect(claim.jobs).toHaveLength(1)
    expect(cancelled).toMatchObject([{ status: 'requested' }])
  })

  it('limits one transaction to a few thousand rows', async () => {
    const { store, commits } = await recorded()
    await Promise.all(Array.from({ length: 6 }, () => store.enqueue(Array.from({ length: 900 }, () => bench.job()))))
    expect(commits()).toBe(3)
    expect(await store.count({}, 10_000)).toMatchObject({ value: 5400 })
  })

  it('fails only the write that caused the error', async () => {
    const { store } = await recorded()
    const bad = bench.job({ priority: 12 })
    const answers = await Promise.allSettled([
      store.enqueue([bench.job()]),
      store.enqueue([bench.job(), bad]),
      store.enqueue([bench.job()]),
    ])
    expect(answers).toMatchObject([
      { status: 'fulfilled' },
      { status: 'rejected', reason: { code: 'INVALID_OPTION', message: expect.stringContaining('priority') } },
      { status: 'fulfilled' },
    ])
    expect(await store.count({}, 10)).toEqual({ value: 2, relation: 'exact' })
  })

  it('rejects an id that is not a UUID', async () => {
    const { store } = await recorded()
    await expect(store.enqueue([bench.job({ id: 'nonsense' })])).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    expect(await store.count({}, 10)).toMatchObject({ value: 0 })
  })

  it('retries when the file is locked during the commit', async () => {
    const { store, fail } = await recorded()
    let times = 0
    fail.when = sql => {
      if (sql !== 'COMMIT' || times === 2) return undefined
      times += 1
      return sqliteError(5, 'database is locked')
    }
    expect(await store.enqueue([bench.job()])).toMatchObject([{ status: 'created' }])
    expect(times).toBe(2)
    expect(await store.count({}, 10)).toMatchObject({ value: 1 })
  })

  it('rejects every write of a failed commit, with an unknown outcome after a disk error', async () => {
    const { store, fail } = await recorded()
    fail.when = sql => (sql === 'COMMIT' ? sqliteError(1034, 'disk I/O error') : undefined)
    const answers = await Promise.allSettled([store.enqueue([bench.job()]), store.enqueue([bench.job()])])
    const unknown = { status: 'rejected', reason: { code: 'STORE_UNKNOWN' } }
    expect(answers).toMatchObject([unknown, unknown])
    fail.when = () => undefined
    expect(await store.enqueue([bench.job()])).toMatchObject([{ status: 'created' }])
    expect(await store.count({}, 10)).toMatchObject({ value: 1 })
  })

  it.each([
    [13, 'STORE_FULL'],
    [8, 'STORE_READ_ONLY'],
    [11, 'STORE_CORRUPT'],
    [26, 'STORE_NOT_A_DATABASE'],
    [14, 'STORE_UNAVAILABLE'],
    [10, 'STORE_UNAVAILABLE'],
    [4874, 'STORE_FULL'],
    [1032, 'STORE_UNAVAILABLE'],
  ])('translates the SQLite result code %i, and recovers when it is over', async (errcode, code) => {
    const { store, fail } = await recorded()
    fail.when = sql => (sql === 'BEGIN IMMEDIATE' ? sqliteError(errcode, 'the reason') : undefined)
    await expect(store.enqueue([bench.job()])).rejects.toMatchObject({
      code,
      message: expect.stringContaining(folder.file()),
      details: { path: folder.file() },
    })
    fail.when = () => undefined
    expect(await store.enqueue([bench.job()])).toMatchObject([{ status: 'created' }])
  })
})
