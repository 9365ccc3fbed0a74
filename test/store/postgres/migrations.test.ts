import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { redrive } from '../../../src/core/job/changes.js'
import { MIGRATIONS, SCHEMA_VERSION } from '../../../src/store/postgres/migrations.js'
import type { RunEnd } from '../../../src/store/store.js'
import { dropSchemas, freshSchema, openStore, postgresUrl, sql } from '../../support/postgres.js'
import { expectBalance, job, request, settlement } from './bench.js'

afterAll(dropSchemas)

describe('migrate', () => {
  it('is safe from ten processes at once', async () => {
    const schema = freshSchema()
    const stores = await Promise.all(Array.from({ length: 10 }, () => openStore({ schema })))
    const migrations = await Promise.all(stores.map(store => store.migrate()))
    expect(migrations.filter(({ from }) => from === 0)).toHaveLength(1)
    expect(migrations.every(({ to }) => to === SCHEMA_VERSION)).toBe(true)
    await Promise.all(stores.map(store => store.enqueue([job()])))
    expect(await stores[0]!.count({}, 100)).toEqual({ value: 10, relation: 'exact' })
    await Promise.all(stores.map(store => store.close()))
  })

  it('rejects a schema that a newer Chronos has migrated', async () => {
    const schema = freshSchema()
    const old = await openStore({ schema })
    await old.migrate()
    await old.close()
    await sql(`INSERT INTO ${schema}.migrations VALUES (${SCHEMA_VERSION + 1}, 0)`)
    const store = await openStore({ schema })
    await expect(store.migrate()).rejects.toMatchObject({
      code: 'STORE_NEWER',
      message: expect.stringContaining(`version ${SCHEMA_VERSION + 1}`),
    })
    await store.close()
  })

  it('does not change tables of another application', async () => {
    const schema = freshSchema()
    await sql(`CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.jobs (mine text)`)
    const store = await openStore({ schema })
    await expect(store.migrate()).rejects.toMatchObject({ code: 'STORE_NOT_A_DATABASE' })
    await store.close()
    expect(await sql(`SELECT mine FROM ${schema}.jobs`)).toEqual([])
    const tables = await sql(`SELECT 1 FROM pg_tables WHERE schemaname = '${schema}'`)
    expect(tables, 'nothing of a failed migration stays').toHaveLength(1)
  })

  it('uses a schema created by an administrator, and needs no rights once it is up to date', async () => {
    const schema = freshSchema()
    const user = `${schema}_user`
    await sql(`CREATE ROLE ${user} LOGIN; CREATE SCHEMA ${schema}`)
    const owner = await openStore({ schema })
    await owner.migrate()
    await owner.close()
    await sql(`
      GRANT USAGE ON SCHEMA ${schema} TO ${user};
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${user}`)
    const url = new URL(await postgresUrl())
    url.username = user
    const store = await openStore({ schema, url: url.href })
    expect(await store.migrate()).toEqual({ from: SCHEMA_VERSION, to: SCHEMA_VERSION })
    expect(await store.enqueue([job()])).toMatchObject([{ status: 'created' }])
    await store.close()
    const other = await openStore({ url: url.href })
    await expect(other.migrate()).rejects.toMatchObject({ code: 'STORE_READ_ONLY' })
    await other.close()
    await sql(`DROP OWNED BY ${user}; DROP ROLE ${user}`)
  })

  it('names the remedy if the schema was not migrated', async () => {
    const store = await openStore()
    const refusal = { code: 'STORE_NOT_A_DATABASE', message: expect.stringContaining('chronos migrate') }
    await expect(store.enqueue([job()])).rejects.toMatchObject(refusal)
    await expect(store.info()).rejects.toMatchObject(refusal)
    await store.close()
  })

  it("rejects a database that can't store every character", async () => {
    const name = freshSchema()
    await sql(`CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'`)
    const url = new URL(await postgresUrl())
    url.pathname = name
    const store = await openStore({ url: url.href })
    await expect(store.migrate()).rejects.toMatchObject({
      code: 'STORE_NOT_SUPPORTED',
      message: expect.stringContaining('LATIN1'),
    })
    await store.close()
    await sql(`DROP DATABASE ${name}`)
  })

  it.each(['', 'a"b', 'x;y', 'ä', 'x'.repeat(49)])('rejects %j as the name of a schema', async schema => {
    await expect(openStore({ schema })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  })
})

type Ended = Extract<RunEnd, { kind: 'ended' }>

describe('migrate from version 1', () => {
  const TOKEN = 'a'.repeat(32)
  const idOf = (number: number) => `01890000-0000-7000-8000-${String(number).padStart(12, '0')}`

  /** Inserts jobs in every state, with their attempts, as version 1 stored them. */
  async function versionOne(schema: string): Promise<void> {
    await sql(`CREATE SCHEMA ${schema}`)
    await sql(`CREATE TABLE ${schema}.migrations (version integer PRIMARY KEY, applied_at bigint NOT NULL)`)
    await sql(MIGRATIONS[0]!.replaceAll(/@(?=[a-z])/g, `${schema}.`))
    await sql(`INSERT INTO ${schema}.migrations VALUES (1, 0)`)
    await sql(`
      INSERT INTO ${schema}.jobs (id, name, queue, priority, state, run_at, created_at, payload, run, attempt, token,
        worker_id, lease_until, lease_ms, started_at, finished_at, reason)
      SELECT ('01890000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'send-mail', 'queue-' || n % 2, 5, state, 0,
        0, '{}', run, run, CASE state WHEN 'running' THEN '${TOKEN}' END, 'worker-1',
        CASE state WHEN 'running' THEN 4e12 END, 30000, 0, CASE WHEN state IN ('succeeded', 'dead', 'cancelled') THEN 9 END,
        CASE state WHEN 'dead' THEN 'exhausted' END
      FROM unnest(ARRAY['waiting', 'waiting', 'running', 'succeeded', 'dead', 'cancelled'], ARRAY[0, 1, 1, 1, 2, 0])
        WITH ORDINALITY AS told (state, run, n)`)
    await sql(`
      INSERT INTO ${schema}.attempts (job, run, generation, attempt, status, started_at, finished_at, worker_id, token)
      SELECT pk, number, 1, number, CASE state WHEN 'succeeded' THEN state ELSE 'failed' END, 0, 9, 'worker-1', 'b'
      FROM ${schema}.jobs, generate_series(1, 2) AS number
      WHERE number <= run AND state <> 'running'`)
  }

  it('is safe from ten processes at once, and the integrity check passes right after it', async () => {
    const schema = freshSchema()
    await versionOne(schema)
    const stores = await Promise.all(Array.from({ length: 10 }, () => openStore({ schema })))
    const migrations = await Promise.all(stores.map(store => store.migrate()))
    expect(migrations.filter(({ from }) => from === 1)).toEqual([{ from: 1, to: SCHEMA_VERSION }])
    await expectBalance(stores[0]!)
    expect(await stores[0]!.fold(100)).toBe(2)
    await expectBalance(stores[0]!)
    expect((await stores[0]!.audit()).queues).toMatchObject([
      { queue: 'queue-0', ledger: { enqueued: 3 }, rows: { waiting: 1, succeeded: 1, cancelled: 1 } },
      { queue: 'queue-1', ledger: { enqueued: 3 }, rows: { waiting: 1, running: 1, dead: 1 } },
    ])
    await Promise.all(stores.map(store => store.close()))
  })

  it('lets every job continue', async () => {
    const schema = freshSchema()
    await versionOne(schema)
    const store = await openStore({ schema })
    await store.migrate()
    const facts = { name: 'send-mail', queue: 'queue-1', generation: 1, run: 1, attempt: 1, workerId: 'worker-1' }
    const held = { ...settlement({ ...(await store.get(idOf(3)))!, ...facts, token: TOKEN, leaseUntil: 4e12 }) }
    expect(await store.settle([held])).toMatchObject([{ status: 'settled', state: 'succeeded' }])
    const { jobs } = await store.claim(request({ queues: ['queue-0', 'queue-1'] }))
    expect(jobs.map(({ id, run }) => [id, run])).toEqual([
      [idOf(1), 1],
      [idOf(2), 2],
    ])
    expect(await store.change([idOf(5), idOf(6)], redrive())).toMatchObject([
      { status: 'changed' },
      { status: 'changed' },
    ])
    expect(await store.remove([idOf(4)])).toMatchObject([{ status: 'changed' }])
    await expectBalance(store)
    await store.close()
  })

  it('also migrates from version 2, and lists successes with and without a row', async () => {
    const schema = freshSchema()
    await versionOne(schema)
    await sql(MIGRATIONS[1]!.replaceAll(/@(?=[a-z])/g, `${schema}.`))
    await sql(`INSERT INTO ${schema}.migrations VALUES (2, 0)`)
    const store = await openStore({ schema })
    expect(await store.migrate()).toEqual({ from: 2, to: SCHEMA_VERSION })
    const facts = { name: 'send-mail', queue: 'queue-1', generation: 1, run: 1, attempt: 1, workerId: 'worker-1' }
    const held = settlement({ ...(await store.get(idOf(3)))!, ...facts, token: TOKEN, leaseUntil: 4e12 })
    const decision = { action: 'succeed', why: 'succeeded at the first run' } as const
    const end = { ...held.end, transition: { ...(held.end as Ended).transition, decision } } as Ended
    expect(await store.settle([{ ...held, end }])).toMatchObject([{ status: 'settled', state: 'succeeded' }])
    for (const id of [idOf(3), idOf(4)]) {
      const { data } = await store.history(id, { limit: 5 })
      expect(data).toMatchObject([
        { jobId: id, run: 1, attempt: 1, status: 'succeeded', workerId: 'worker-1', decision },
      ])
    }
    const rows = await sql(
      `SELECT 1 FROM ${schema}.attempts a JOIN ${schema}.jobs j ON j.pk = a.job WHERE state = 'succeeded'`,
    )
    expect(rows).toHaveLength(1)
    await expectBalance(store)
    await store.close()
  })

  it('fails after a short wait if another transaction has locked the table, and changes nothing', async () => {
    const schema = freshSchema()
    await versionOne(schema)
    const keeper = new pg.Client(await postgresUrl())
    await keeper.connect()
    await keeper.query(`BEGIN; LOCK TABLE ${schema}.jobs IN ACCESS SHARE MODE`)
    const store = await openStore({ schema })
    await expect(store.migrate()).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      details: { sqlState: '55P03' },
    })
    await keeper.query('COMMIT')
    await keeper.end()
    expect(await store.migrate()).toEqual({ from: 1, to: SCHEMA_VERSION })
    await store.close()
  })
})

describe('info', () => {
  it('reports the durability from the actual settings', async () => {
    const store = await openStore()
    await store.migrate()
    const settings = await sql<{ name: string; setting: string }>(
      `SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit')`,
    )
    const off = settings.some(({ setting }) => setting === 'off')
    expect(await store.info()).toMatchObject({
      kind: 'postgres',
      engine: expect.stringMatching(/^PostgreSQL \d+/),
      durability: off ? 'process-crash' : 'power-loss',
      location: expect.stringMatching(/^postgres:\/\/.*schema/),
    })
    await store.close()
  })

  it('never shows a password', async () => {
    const url = new URL(await postgresUrl())
    url.password = 'secret'
    const store = await openStore({ url: url.href })
    await store.migrate()
    expect(JSON.stringify(await store.info())).not.toContain('secret')
    await store.close()
  })
})
