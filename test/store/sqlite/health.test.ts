import { existsSync, openSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { systemClock, systemDice } from '../../../src/engine/time/system.js'
import { VirtualClock } from '../../../src/engine/time/virtual.js'
import { loadDriver } from '../../../src/store/sqlite/file/driver.js'
import { health, versionOf } from '../../../src/store/sqlite/file/health.js'
import { SCHEMA_VERSION } from '../../../src/store/sqlite/migrations.js'
import { Bench } from '../conformance/bench.js'
import { Folder } from './folder.js'

const folder = new Folder()
const bench = new Bench(async () => folder.store())
const runtime = { clock: systemClock, dice: systemDice }
const MINUTE_MS = 60_000

describe('health', () => {
  it('reports the causes of a slow queue', async () => {
    const store = folder.store()
    const now = systemClock.now()
    await store.enqueue([
      bench.job({ queue: 'a', priority: 9, runAt: { at: now + MINUTE_MS } }),
      bench.job({ queue: 'a', priority: 2, runAt: { at: now - 5 * MINUTE_MS } }),
      bench.job({ queue: 'b', runAt: { at: now - 2 * MINUTE_MS } }),
      bench.job({ queue: 'c' }),
    ])
    await store.claim({ workerId: 'w', token: 'a'.repeat(32), queues: ['c'], limit: 1, leaseMs: -1000, policyIds: {} })
    const { version } = await loadDriver()
    const found = await health(folder.file(), { ...runtime, clock: new VirtualClock(now) }, 'damage')
    expect(found).toEqual({
      path: folder.file(),
      version,
      fileBytes: statSync(folder.file()).size,
      walBytes: statSync(`${folder.file()}-wal`).size,
      freeBytes: expect.any(Number),
      journalMode: 'wal',
      damage: [],
      oldestDueMs: 5 * MINUTE_MS,
      expiredLeases: 1,
      deltas: 1,
    })
    expect(found.freeBytes).toBeGreaterThan(0)
  })

  it('has no ages without waiting jobs, and checks for damage only on request', async () => {
    await folder.store().migrate()
    const found = await health(folder.file(), runtime, 'none')
    expect(found).not.toHaveProperty('oldestDueMs')
    expect(found).not.toHaveProperty('damage')
    expect(found.expiredLeases).toBe(0)
  })

  it('detects a damaged file', async () => {
    const store = folder.store()
    await store.enqueue(Array.from({ length: 500 }, () => bench.job({ payload: JSON.stringify('x'.repeat(500)) })))
    await store.close()
    const file = openSync(folder.file(), 'r+')
    const pages = Math.floor(statSync(folder.file()).size / 4096)
    for (let page = Math.floor(pages / 2); page < pages; page++)
      writeSync(file, Buffer.alloc(64, 0xff), 0, 64, page * 4096)
    const looked = health(folder.file(), runtime, 'damage')
    // The position of the damage decides whether the tables can be read at all.
    const damaged = await looked.then(
      ({ damage = [] }) => damage.length > 0,
      (error: { code: string }) => error.code === 'STORE_CORRUPT',
    )
    expect(damaged).toBe(true)
  })
})

describe('versionOf', () => {
  it('is 0 without a file, and does not create one', async () => {
    expect(await versionOf(folder.file(), runtime)).toBe(0)
    expect(existsSync(folder.file())).toBe(false)
  })

  it('is 0 for an empty file, which stays empty', async () => {
    writeFileSync(folder.file(), '')
    expect(await versionOf(folder.file(), runtime)).toBe(0)
    expect(statSync(folder.file()).size).toBe(0)
  })

  it('is the version of the last migration', async () => {
    await folder.store().migrate()
    expect(await versionOf(folder.file(), runtime)).toBe(SCHEMA_VERSION)
  })

  it('is read from a newer file too', async () => {
    await folder.store().migrate()
    const database = await folder.database()
    database.exec(`INSERT INTO migrations (version, applied_at) VALUES (${SCHEMA_VERSION + 1}, 0)`)
    expect(await versionOf(folder.file(), runtime)).toBe(SCHEMA_VERSION + 1)
  })

  it.each([['a file that is no database', 'this is just some text, and rather more of it than a header'.repeat(20)]])(
    'refuses %s',
    async (_, text) => {
      writeFileSync(folder.file(), text)
      await expect(versionOf(folder.file(), runtime)).rejects.toMatchObject({ code: 'STORE_NOT_A_DATABASE' })
    },
  )

  it('rejects a database of another application', async () => {
    const database = await folder.database()
    database.exec('CREATE TABLE songs (id INTEGER)')
    await expect(versionOf(folder.file(), runtime)).rejects.toMatchObject({ code: 'STORE_NOT_A_DATABASE' })
  })
})
