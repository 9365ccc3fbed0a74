import { afterAll, describe, expect, it } from 'vitest'
import { SCHEMA_VERSION } from '../../src/store/postgres/migrations.js'
import { dropSchemas, freshSchema, openStore, postgresUrl, sql } from '../support/postgres.js'
import { job } from './bench.js'

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

  it('refuses a schema that a newer Chronos has migrated', async () => {
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

  it('leaves tables of another application alone', async () => {
    const schema = freshSchema()
    await sql(`CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.jobs (mine text)`)
    const store = await openStore({ schema })
    await expect(store.migrate()).rejects.toMatchObject({ code: 'STORE_NOT_A_DATABASE' })
    await store.close()
    expect(await sql(`SELECT mine FROM ${schema}.jobs`)).toEqual([])
    const tables = await sql(`SELECT 1 FROM pg_tables WHERE schemaname = '${schema}'`)
    expect(tables, 'nothing of a failed migration stays').toHaveLength(1)
  })

  it('uses a schema that somebody made for it, and needs no rights once it is up to date', async () => {
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

  it('says what to do where nothing was migrated', async () => {
    const store = await openStore()
    const refusal = { code: 'STORE_NOT_A_DATABASE', message: expect.stringContaining('chronos migrate') }
    await expect(store.enqueue([job()])).rejects.toMatchObject(refusal)
    await expect(store.info()).rejects.toMatchObject(refusal)
    await store.close()
  })

  it('refuses a database that can not keep every character', async () => {
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

  it.each(['', 'a"b', 'x;y', 'ä', 'x'.repeat(49)])('refuses %j as the name of a schema', async schema => {
    await expect(openStore({ schema })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  })
})

describe('info', () => {
  it('says what an acknowledged write survives, by what is really set', async () => {
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
