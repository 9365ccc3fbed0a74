import { execFileSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Driver, loadDriver } from '../../../src/store/sqlite/file/driver.js'
import { SCHEMA_VERSION } from '../../../src/store/sqlite/migrations.js'
import { Bench } from '../conformance/bench.js'
import { canMount, Folder } from './folder.js'

const folder = new Folder()
const bench = new Bench(async () => folder.store())
const job = (payload = '{}') => bench.job({ payload })
const bigJob = () => job(JSON.stringify('x'.repeat(30_000)))

describe('a new file', () => {
  it('is created with its -wal and -shm files, readable only for its owner', async () => {
    await folder.store().enqueue([job()])
    for (const suffix of ['', '-wal', '-shm']) expect(statSync(folder.file() + suffix).mode & 0o777).toBe(0o600)
  })

  it('reports its durability and location', async () => {
    const { version } = await loadDriver()
    expect(await folder.store().info()).toMatchObject({
      kind: 'sqlite',
      durability: 'power-loss',
      engine: `SQLite ${version}`,
      location: folder.file(),
      schemaVersion: SCHEMA_VERSION,
    })
    expect(await folder.store({ path: ':memory:' }).info()).toMatchObject({ durability: 'none', location: ':memory:' })
  })

  it('is migrated from version 0, and is up to date the next time', async () => {
    expect(await folder.store().migrate()).toEqual({ from: 0, to: SCHEMA_VERSION })
    expect(await folder.store().migrate()).toEqual({ from: SCHEMA_VERSION, to: SCHEMA_VERSION })
  })

  it('needs no migrate: the first operation migrates it', async () => {
    expect(await folder.store().count({}, 1)).toEqual({ value: 0, relation: 'exact' })
  })

  it('keeps its jobs when it is closed and reopened', async () => {
    const first = folder.store()
    const one = job()
    await first.enqueue([one])
    await first.close()
    expect(await folder.store().get(one.id)).toMatchObject({ id: one.id, state: 'waiting' })
  })

  it('is configured to survive a power loss, and for several writers', async () => {
    const driver = await loadDriver()
    let set: unknown
    const spy: Driver = {
      ...driver,
      open(path) {
        const database = driver.open(path)
        const read = (pragma: string) => Object.values(database.prepare(`PRAGMA ${pragma}`).get() as object)[0]
        set = () => [read('journal_mode'), read('synchronous'), read('foreign_keys'), read('busy_timeout')]
        return database
      },
    }
    await folder.store({ driver: spy }).migrate()
    expect((set as () => unknown)()).toEqual(['wal', 2, 0, 5])
  })

  it('can have spaces, percent signs and question marks in its path', async () => {
    const path = join(folder.path, 'a b%20?#é.db')
    await folder.store({ path }).enqueue([job()])
    expect(existsSync(path)).toBe(true)
  })
})

describe('an existing file', () => {
  it('is rejected and not changed when it belongs to another application', async () => {
    const other = await folder.database()
    other.exec('CREATE TABLE customers (name TEXT)')
    other.close()
    const before = readFileSync(folder.file())
    const store = folder.store()
    await expect(store.migrate()).rejects.toMatchObject({
      code: 'STORE_NOT_A_DATABASE',
      message: expect.stringContaining(folder.file()),
    })
    await expect(store.enqueue([job()])).rejects.toMatchObject({ code: 'STORE_NOT_A_DATABASE' })
    expect(readFileSync(folder.file())).toEqual(before)
    expect(existsSync(`${folder.file()}-wal`)).toBe(false)
  })

  it('is not checkpointed while another application uses it', async () => {
    const other = await folder.database()
    other.exec('PRAGMA journal_mode = WAL; CREATE TABLE customers (name TEXT)')
    const before = readFileSync(`${folder.file()}-wal`)
    await expect(folder.store().migrate()).rejects.toMatchObject({ code: 'STORE_NOT_A_DATABASE' })
    expect(readFileSync(`${folder.file()}-wal`)).toEqual(before)
  })

  it('is rejected when it has the application id of another application', async () => {
    const other = await folder.database()
    other.exec('PRAGMA application_id = 7; PRAGMA user_version = 1')
    other.close()
    await expect(folder.store().migrate()).rejects.toMatchObject({ code: 'STORE_NOT_A_DATABASE' })
  })

  it.each([
    ['text', 'hello'],
    ['a page of text', 'hello '.repeat(2000)],
  ])('is rejected when it is %s', async (_name, text) => {
    writeFileSync(folder.file(), text)
    await expect(folder.store().migrate()).rejects.toMatchObject({
      code: 'STORE_NOT_A_DATABASE',
      message: expect.stringContaining(folder.file()),
    })
    expect(readFileSync(folder.file(), 'utf8')).toBe(text)
  })

  it('is used when it is empty', async () => {
    writeFileSync(folder.file(), '')
    expect(await folder.store().migrate()).toMatchObject({ from: 0 })
  })

  it('is rejected when a newer Chronos wrote it', async () => {
    const store = folder.store()
    await store.migrate()
    await store.close()
    const other = await folder.database()
    other.exec(`INSERT INTO migrations (version, applied_at) VALUES (${SCHEMA_VERSION + 1}, 0)`)
    other.close()
    await expect(folder.store().migrate()).rejects.toMatchObject({
      code: 'STORE_NEWER',
      message: expect.stringContaining('update chronos-jobs'),
      details: { version: SCHEMA_VERSION + 1, known: SCHEMA_VERSION },
    })
  })
})

describe('an unusable file', () => {
  it('is reported when its directory does not exist, and works once it does', async () => {
    const path = join(folder.path, 'missing', 'chronos.db')
    const store = folder.store({ path })
    await expect(store.enqueue([job()])).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining(`mkdir -p ${dirname(path)}`),
    })
    await expect(store.count({}, 1)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    mkdirSync(dirname(path))
    expect(await store.enqueue([job()])).toMatchObject([{ status: 'created' }])
  })

  it('is reported when it is a directory', async () => {
    mkdirSync(folder.file())
    await expect(folder.store().migrate()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  })

  it('is reported when it is damaged', async () => {
    const store = folder.store()
    await store.enqueue(Array.from({ length: 500 }, () => job()))
    await store.close()
    const bytes = readFileSync(folder.file())
    bytes.fill(0xff, 4096)
    writeFileSync(folder.file(), bytes)
    await expect(folder.store().list({}, { limit: 10 })).rejects.toMatchObject({ code: 'STORE_CORRUPT' })
  })

  it('acknowledges nothing after it was deleted, and is used again when it is back', async () => {
    const store = folder.store()
    const [first] = await store.enqueue([job()])
    const away = folder.file('away.db')
    for (const suffix of ['', '-wal', '-shm']) renameSync(folder.file() + suffix, away + suffix)
    const gone = { code: 'STORE_UNAVAILABLE', message: expect.stringContaining('was moved or deleted') }
    await expect(store.audit()).rejects.toMatchObject(gone)
    await expect(store.enqueue([job()])).rejects.toMatchObject(gone)
    await expect(store.audit()).rejects.toMatchObject(gone)
    await expect(store.enqueue([job()])).rejects.toMatchObject(gone)
    expect(existsSync(folder.file())).toBe(false)
    for (const suffix of ['', '-wal', '-shm'])
      if (existsSync(away + suffix)) renameSync(away + suffix, folder.file() + suffix)
    expect(await store.enqueue([job()])).toMatchObject([{ status: 'created' }])
    expect(await store.get(first!.id)).toBeDefined()
  })

  it('is opened again after it was repaired', async () => {
    writeFileSync(folder.file(), 'hello '.repeat(100))
    const store = folder.store()
    await expect(store.enqueue([job()])).rejects.toMatchObject({ code: 'STORE_NOT_A_DATABASE' })
    truncateSync(folder.file(), 0)
    expect(await store.enqueue([job()])).toMatchObject([{ status: 'created' }])
  })
})

describe('a full disk', () => {
  it('rejects writes that do not fit, keeps the earlier ones, and resumes when there is space', async () => {
    const driver = await loadDriver()
    let setPages: ((pages: number) => void) | undefined
    const small: Driver = {
      ...driver,
      open(path) {
        const database = driver.open(path)
        setPages = pages => database.exec(`PRAGMA max_page_count = ${pages}`)
        return database
      },
    }
    const store = folder.store({ driver: small })
    await store.migrate()
    setPages?.(100)
    let kept = 0
    const fill = async () => {
      for (;;) {
        await store.enqueue([bigJob()])
        kept += 1
      }
    }
    await expect(fill()).rejects.toMatchObject({ code: 'STORE_FULL', message: expect.stringContaining(folder.file()) })
    expect(kept).toBeGreaterThan(1)
    expect(await store.count({}, 1000)).toEqual({ value: kept, relation: 'exact' })
    setPages?.(100_000)
    expect(await store.enqueue([bigJob()])).toMatchObject([{ status: 'created' }])
  })
})

describe.runIf(canMount)('a file system of its own', () => {
  let mounted = ''
  const file = () => join(mounted, 'chronos.db')
  const mount = (...options: string[]) => execFileSync('mount', [...options, mounted], { stdio: 'pipe' })
  beforeEach(() => {
    mounted = join(folder.path, 'mounted')
    mkdirSync(mounted)
    mount('-t', 'tmpfs', '-o', 'size=1m', 'tmpfs')
  })
  afterEach(() => {
    execFileSync('umount', ['-l', mounted])
  })

  it('can be full, and writes resume once there is space', async () => {
    const store = folder.store({ path: file() })
    await store.migrate()
    const ballast = join(mounted, 'ballast')
    const [first] = await store.enqueue([bigJob()])
    writeFileSync(ballast, Buffer.alloc(300_000))
    const fill = async () => {
      for (;;) await store.enqueue([bigJob()])
    }
    await expect(fill()).rejects.toMatchObject({ code: 'STORE_FULL' })
    await expect(store.enqueue([bigJob()])).rejects.toMatchObject({ code: 'STORE_FULL' })
    expect(await store.get(first!.id)).toBeDefined()
    truncateSync(ballast, 0)
    expect(await store.enqueue([bigJob()])).toMatchObject([{ status: 'created' }])
  })

  it('can be too full to create a file', async () => {
    writeFileSync(join(mounted, 'ballast'), Buffer.alloc(1024 * 1024 - 4096))
    await expect(folder.store({ path: file() }).migrate()).rejects.toMatchObject({ code: 'STORE_FULL' })
  })

  it('can be read-only, and writes resume once it is writable', async () => {
    const first = folder.store()
    const one = job()
    await first.enqueue([one])
    await first.close()
    copyFileSync(folder.file(), file())
    mount('-o', 'remount,ro')
    const store = folder.store({ path: file() })
    await expect(store.enqueue([job()])).rejects.toMatchObject({
      code: 'STORE_READ_ONLY',
      message: expect.stringContaining(file()),
    })
    mount('-o', 'remount,rw')
    expect(await store.enqueue([job()])).toMatchObject([{ status: 'created' }])
    expect(await store.get(one.id)).toBeDefined()
  })

  it('can be read-only before the file exists', async () => {
    mount('-o', 'remount,ro')
    const store = folder.store({ path: file() })
    await expect(store.enqueue([job()])).rejects.toMatchObject({ code: 'STORE_READ_ONLY' })
    mount('-o', 'remount,rw')
    expect(await store.enqueue([job()])).toMatchObject([{ status: 'created' }])
  })
})
