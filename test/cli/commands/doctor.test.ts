import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  type Check,
  checkSchema,
  nodeCheck,
  postgresChecks,
  retentionCheck,
  sqliteChecks,
} from '../../../src/cli/commands/doctor/checks.js'
import { bytesText } from '../../../src/cli/output/bytes.js'
import { present } from '../../../src/core/values/present.js'
import { createChronos, defineJob } from '../../../src/index.js'
import { sqlite } from '../../../src/sqlite.js'
import type { PostgresHealth } from '../../../src/store/postgres/connection/health.js'
import type { ListenResult } from '../../../src/store/postgres/connection/listen-check.js'
import type { SqliteHealth } from '../../../src/store/sqlite/file/health.js'
import type { StoreInfo } from '../../../src/store/store.js'
import { dropSchemas, freshSchema, postgresUrl } from '../../support/postgres.js'
import { say } from '../memory-io.js'

const INFO: StoreInfo = {
  kind: 'sqlite',
  now: 0,
  schemaVersion: 1,
  engine: 'SQLite 3.53.0',
  durability: 'power-loss',
  location: '/data/chronos.db',
}
const FILE: SqliteHealth = {
  path: '/data/chronos.db',
  version: '3.53.0',
  fileBytes: 1_000_000,
  walBytes: 0,
  freeBytes: 80_000_000_000,
  journalMode: 'wal',
  damage: [],
  expiredLeases: 0,
  deltas: 3,
}
const SERVER: PostgresHealth = {
  settings: { fsync: 'on', full_page_writes: 'on', synchronous_commit: 'on' },
  synchronousStandbys: '',
  deadRows: 10,
  expiredLeases: 0,
  deltas: 3,
}
const MINUTE_MS = 60_000

const named = (checks: readonly Check[], name: string): Check => checks.find(check => check.name === name)!
const bad = (checks: readonly Check[]): readonly Check[] => checks.filter(({ status }) => status !== 'ok')

describe('the check of Node', () => {
  it.each([
    ['20.20.2', 'Node 20.20.2: has had no security fixes since April 2026'],
    ['24.1.0', 'Node 24.1.0'],
  ])('shows how long %s is supported', (version, words) => {
    expect(nodeCheck(version)).toMatchObject({ status: 'ok', found: expect.stringContaining(words) })
  })
})

describe('a healthy store', () => {
  it('passes every check', () => {
    expect(bad(sqliteChecks(INFO, FILE))).toEqual([])
    expect(bad(postgresChecks(INFO, SERVER, 'heard'))).toEqual([])
    expect(bad(postgresChecks(INFO, { ...SERVER, oldestSnapshotMs: 2000, oldestDueMs: 100 }, 'off'))).toEqual([])
  })
})

describe('a check of SQLite', () => {
  it.each<[name: string, change: Partial<SqliteHealth>, status: Check['status'], found: RegExp]>([
    ['durability', { journalMode: 'delete' }, 'problem', /journal mode delete/],
    ['integrity', { damage: ['row 3 missing from index jobs_id', 'x'] }, 'problem', /jobs_id \(and 1 more\)/],
    ['size', { walBytes: 70_000_000 }, 'warning', /1\.0 MB, plus 70 MB write-ahead log/],
    ['disk', { freeBytes: 10_000_000 }, 'problem', /10 MB free/],
    ['disk', { freeBytes: 200_000_000 }, 'warning', /200 MB free/],
    ['disk', { freeBytes: 900_000_000, fileBytes: 20_000_000_000 }, 'warning', /900 MB free/],
    ['due jobs', { oldestDueMs: 5 * MINUTE_MS }, 'warning', /has waited 5m for a worker$/],
    ['leases', { expiredLeases: 1 }, 'warning', /^1 expired/],
    ['statistics', { deltas: 12_000 }, 'warning', /^12,000 batches/],
  ])('%s with %j is a %s', (name, change, status, found) => {
    const check = named(sqliteChecks(INFO, { ...FILE, ...change }), name)
    expect(check).toMatchObject({ status, found: expect.stringMatching(found), wayOut: expect.any(String) })
  })

  it('reports the durability that is really set', () => {
    expect(named(sqliteChecks({ ...INFO, durability: 'process-crash' }, FILE), 'durability').status).toBe('warning')
  })
})

describe('a check of PostgreSQL', () => {
  const settings = (change: Partial<PostgresHealth['settings']>) => ({ settings: { ...SERVER.settings, ...change } })
  it.each<[name: string, change: Partial<PostgresHealth>, status: Check['status'], found: RegExp]>([
    ['durability', settings({ fsync: 'off' }), 'problem', /fsync is off/],
    ['durability', settings({ full_page_writes: 'off' }), 'problem', /full_page_writes is off/],
    ['durability', settings({ synchronous_commit: 'off' }), 'warning', /synchronous_commit is off/],
    ['durability', { ...settings({ synchronous_commit: 'local' }), synchronousStandbys: 'b' }, 'warning', /local/],
    ['transactions', { oldestSnapshotMs: 10 * MINUTE_MS }, 'warning', /open for 10m/],
    ['dead rows', { deadRows: 600_000 }, 'warning', /^600,000 dead rows$/],
    ['due jobs', { oldestDueMs: 61_000 }, 'warning', /has waited 1m 1s for a worker$/],
    ['leases', { expiredLeases: 3 }, 'warning', /^3 expired/],
  ])('%s with %j is a %s', (name, change, status, found) => {
    const check = named(postgresChecks(INFO, { ...SERVER, ...change }, 'heard'), name)
    expect(check).toMatchObject({ status, found: expect.stringMatching(found), wayOut: expect.any(String) })
  })

  it.each<[standbys: string, promise: string]>([
    ['', 'a failover to a standby may lose the last commits'],
    ['ANY 1 (b, c)', 'also survives a failover'],
  ])('describes what its settings guarantee with the standbys %j', (synchronousStandbys, promise) => {
    expect(named(postgresChecks(INFO, { ...SERVER, synchronousStandbys }, 'heard'), 'durability').found).toContain(
      promise,
    )
  })

  it.each<[ListenResult, Check['status']]>([
    ['heard', 'ok'],
    ['off', 'ok'],
    ['deaf', 'warning'],
  ])('wake-ups that are %s are %s', (listen, status) => {
    expect(named(postgresChecks(INFO, SERVER, listen), 'wake-ups').status).toBe(status)
  })
})

it.each([
  [0, 'no Chronos tables at /x'],
  [1, 'version 1; this chronos needs 2'],
  [3, 'version 3; this chronos supports up to 2'],
])('a schema of version %i is a problem where 2 is known', (version, found) => {
  expect(checkSchema({ location: '/x', version, known: 2 })).toMatchObject({ status: 'problem', found })
})

it.each([
  [0, '0 bytes'],
  [999, '999 bytes'],
  [1000, '1.0 kB'],
  [9_960, '10 kB'],
  [82_000, '82 kB'],
  [999_600, '1.0 MB'],
  [82_000_000_000, '82 GB'],
])('%i bytes are %j', (bytes, text) => {
  expect(bytesText(bytes)).toBe(text)
})

describe('doctor', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'chronos-cli-'))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))
  afterAll(dropSchemas)

  it('checks a file, and does not create a missing one', async () => {
    const store = `sqlite:${join(folder, 'chronos.db')}`
    const missing = await say(['doctor', '--store', store])
    expect(missing.code).toBe(8)
    expect(missing.stdout).toMatch(
      /✗ schema {2}problem: no Chronos tables at \S+\n +→ create them with `chronos migrate`\n/,
    )
    const chronos = createChronos({ store, log: false })
    await chronos.enqueue('hello', null, { runAt: 0 })
    await chronos.close()
    const { code, stdout } = await say(['doctor', '--store', store], {
      isTTY: true,
      columns: 80,
      env: { NO_COLOR: '1' },
    })
    expect(code).toBe(0)
    expect(stdout.split('\n').filter(line => line.length > 80)).toEqual([])
    expect(stdout).toMatch(/✓ integrity +no damage found\n/)
    expect(stdout).toMatch(/! due jobs +warning: the oldest has waited \d+d/)
    expect(stdout).toContain('No problems, 1 warning.\n')
    const { stdout: json } = await say(['doctor', '--store', store, '--json', '--no-integrity'])
    const { ok, checks } = JSON.parse(json) as { ok: boolean; checks: Check[] }
    expect(ok).toBe(true)
    expect(checks.map(({ name }) => name)).toEqual([
      'schema',
      'node',
      'engine',
      'durability',
      'size',
      'disk',
      'due jobs',
      'leases',
      'statistics',
      'records',
      'retention',
    ])
  })

  it('names damaged records, which count as absent', async () => {
    const path = join(folder, 'chronos.db')
    const chronos = createChronos({ store: `sqlite:${path}`, log: false })
    await chronos.schedules.put('digest', { cron: '0 9 * * *', job: 'mail' })
    await chronos.close()
    const store = sqlite(path)
    await store.putRecords([{ kind: 'schedule', id: 'digest', body: '{"id":' }])
    await store.close()
    const { code, stdout } = await say(['doctor', '--store', `sqlite:${path}`])
    expect(code).toBe(8)
    expect(stdout).toContain('records     problem: schedule digest is damaged and counts as absent')
    expect(stdout).toContain('restore a backup, or create it again under the same id')
  })

  it('warns of jobs that no live worker has a handler for', async () => {
    const store = `sqlite:${join(folder, 'chronos.db')}`
    await using chronos = createChronos({ store, log: false })
    const resize = defineJob({ name: 'resize', run: async (_: unknown) => undefined })
    chronos.work([resize], { signals: false })
    await chronos.enqueue('resise', 1)
    await expect.poll(async () => (await chronos.stats()).unhandled.length, { timeout: 30_000 }).toBe(1)
    const { stdout } = await say(['doctor', '--store', store, '--json'])
    const { checks } = JSON.parse(stdout) as { readonly checks: readonly Check[] }
    expect(named(checks, 'handlers')).toMatchObject({
      status: 'warning',
      found: '1 job "resise" in queue "default": no live worker has a handler for this name (did you mean "resize"?)',
    })
  })

  it.each([
    [true, 5_000_000, 'ok', 'ended jobs are pruned'],
    [false, 99_999, 'ok', 'no job is ever pruned; 99,999 ended jobs'],
    [false, 100_000, 'warning', 'no job is ever pruned; 100,000 ended jobs'],
    [undefined, 100_000, 'warning', 'no worker has said whether it prunes; 100,000 ended jobs'],
  ])('warns when nothing is ever pruned: pruning %s, %i ended jobs', (isPruning, value, status, found) => {
    expect(retentionCheck(isPruning, { value, relation: 'exact' })).toMatchObject({ name: 'retention', status, found })
  })

  it('learns from the worker whether it prunes', async () => {
    const store = `sqlite:${join(folder, 'chronos.db')}`
    for (const [retention, found] of [
      [false, 'no job is ever pruned; 0 ended jobs'],
      [undefined, 'ended jobs are pruned'],
    ] as const) {
      await using chronos = createChronos({ store, log: false, ...present({ retention }) })
      chronos.work([], { signals: false })
      const said = async () => {
        const { stdout } = await say(['doctor', '--store', store, '--json', '--no-integrity'])
        return named((JSON.parse(stdout) as { readonly checks: readonly Check[] }).checks, 'retention')?.found
      }
      await expect.poll(said).toBe(found)
    }
  })

  it('checks a server, and receives its own notification', async () => {
    const url = new URL(await postgresUrl())
    url.searchParams.set('schema', freshSchema())
    await say(['migrate', '--store', url.href])
    const keeper = new pg.Client(await postgresUrl())
    await keeper.connect()
    await keeper.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1')
    const { stdout } = await say(['doctor', '--store', url.href])
    await keeper.end()
    expect(stdout).toMatch(/engine +PostgreSQL \d+/)
    expect(stdout).toMatch(/durability +.*(synchronous_commit is on|fsync is off)/)
    expect(stdout).toMatch(/✓ wake-ups +LISTEN works/)
    expect(stdout).toMatch(/transactions +the oldest has been open for \d+/)
  })

  it('exits with 6 if the server is unavailable', async () => {
    const { code, stderr } = await say(['doctor', '--store', 'postgres://app:secret@127.0.0.1:1/none'])
    expect(code).toBe(6)
    expect(stderr).toContain("can't be reached")
    expect(stderr).not.toContain('secret')
  })
})
