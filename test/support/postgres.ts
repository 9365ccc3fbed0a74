import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import pg from 'pg'
import { inject } from 'vitest'
import type { Clock } from '../../src/core/values/clock.js'
import { systemClock, systemDice } from '../../src/engine/time/system.js'
import { type PostgresOptions, type PostgresStore, postgresStore } from '../../src/store/postgres/store.js'
import type { Migration, Store } from '../../src/store/store.js'
import { endKeptPools, KeptPool } from './kept-pool.js'

const GIVEN = 'CHRONOS_TEST_POSTGRES_URL'

let asked: Promise<string> | undefined

/** The server of this run, or the one that `CHRONOS_TEST_POSTGRES_URL` names. */
export function postgresUrl(): Promise<string> {
  asked ??= askForUrl()
  return asked
}

async function askForUrl(): Promise<string> {
  const given = process.env[GIVEN]
  if (given) return given
  const port = inject('postgresPort')
  if (port === undefined) throw new Error('vitest.config.ts: test/support/postgres-setup.ts is missing in globalSetup')
  const answer = await text(connect(port, '127.0.0.1'))
  if (!answer.startsWith('postgres://')) throw new Error(answer)
  return answer
}

let pool: pg.Pool | undefined

/** Queries the database directly, beside the stores. */
export async function sql<Row extends pg.QueryResultRow>(query: string, values: unknown[] = []): Promise<Row[]> {
  if (!pool) {
    pool = new pg.Pool({ connectionString: await postgresUrl(), max: 4, allowExitOnIdle: true })
    pool.on('error', () => undefined)
  }
  const { rows } = await pool.query<Row>(query, values)
  return rows
}

let count = 0
const schemas: string[] = []

/** The name of an unused schema. */
export function freshSchema(): string {
  count += 1
  const schema = `t${process.pid}_${count}_${systemDice.token().slice(0, 8)}`
  schemas.push(schema)
  return schema
}

/** Drops the schemas that were made on a server that stays; call it in `afterAll`. */
export async function dropSchemas(): Promise<void> {
  if (!process.env[GIVEN]) schemas.length = 0
  for (const schema of schemas.splice(0)) await sql(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
  await Promise.all([pool?.end(), endKeptPools()])
  pool = undefined
}

/** A store on the test server, in a new schema unless one is named. */
export async function openStore(options: Partial<PostgresOptions> = {}): Promise<PostgresStore> {
  const url = options.pool || options.connection ? {} : { url: await postgresUrl() }
  return postgresStore({ ...url, schema: freshSchema(), clock: systemClock, dice: systemDice, ...options })
}

/** Emptied schemas with a clock table, for the next test: making one takes longer than most tests. */
const spare: string[] = []

/**
 * A store whose database uses the time of this clock. Its time function is replaced by one that reads a table, and
 * every verb first writes the time there. `told` is called with the name of its schema.
 */
export async function openStoreAt(clock: Clock, told?: (schema: string) => void): Promise<Store> {
  const used = spare.pop()
  const schema = used ?? freshSchema()
  told?.(schema)
  const store = await openStore({ schema, pool: new KeptPool({ connectionString: await postgresUrl() }) })
  let written: number | undefined

  async function tellTime(): Promise<void> {
    const now = clock.now()
    await sql(`UPDATE ${schema}.test_clock SET now = $1`, [now])
    written = now
  }
  async function migrate(): Promise<Migration> {
    const migration = await store.migrate()
    if (written === undefined && used === undefined) await shiftTime(schema)
    await tellTime()
    return migration
  }
  async function close(): Promise<void> {
    await store.close()
    if (written === undefined) return
    written = undefined
    await empty(schema)
    spare.push(schema)
  }
  return new Proxy(store, {
    get(_, name: keyof typeof store) {
      const member = name === 'migrate' ? migrate : name === 'close' ? close : store[name]
      if (typeof member !== 'function' || member === migrate || member === close) return member
      const call = (...args: never[]) => (member as (...args: never[]) => unknown).apply(store, args)
      if (name === 'watch' || written === undefined || written === clock.now()) return call
      return (...args: never[]) => tellTime().then(() => call(...args))
    },
  })
}

async function shiftTime(schema: string): Promise<void> {
  await sql(`
    CREATE TABLE ${schema}.test_clock AS SELECT 0::bigint AS now;
    CREATE OR REPLACE FUNCTION ${schema}.now_ms() RETURNS bigint LANGUAGE sql VOLATILE
      AS 'SELECT now FROM ${schema}.test_clock'`)
}

async function empty(schema: string): Promise<void> {
  const tables = [
    'jobs',
    'payloads',
    'errors',
    'attempts',
    'job_logs',
    'effects',
    'keys',
    'policies',
    'queues',
    'partitions',
    'partition_notes',
    'deltas',
    'records',
  ]
  await sql(tables.map(table => `DELETE FROM ${schema}.${table}`).join(';'))
}
