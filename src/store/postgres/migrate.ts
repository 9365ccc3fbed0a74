import { ChronosError } from '../../core/values/error.js'
import type { Migration } from '../store.js'
import { sqlState } from './connection/failure.js'
import type { Ask, Database } from './connection/pool.js'
import { MIGRATIONS, SCHEMA_VERSION } from './migrations.js'

const SERVER_MIN = 130_000
/** Another process may be migrating, and a large table takes long. */
const TIMEOUT_MS = 600_000

/**
 * Runs in one transaction under an advisory lock, so that one of many processes migrates and the others find the
 * result. A schema that is up to date is only read, which needs no right to change it.
 */
export function migrate(db: Database): Promise<Migration> {
  return db.transaction('work', ask => steps(db, ask), TIMEOUT_MS)
}

async function steps(db: Database, ask: Ask): Promise<Migration> {
  await checkServer(db, ask)
  const known = await currentVersion(db, ask)
  if (known === SCHEMA_VERSION) return { from: known, to: known }
  await ask(`SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, `chronos migrate ${db.schema}`)
  const from = (await currentVersion(db, ask)) ?? (await create(db, ask))
  for (const [index, sql] of MIGRATIONS.slice(from).entries()) {
    await step(db, ask, sql)
    await ask('INSERT INTO @migrations (version, applied_at) VALUES ($1, @now_ms())', from + index + 1)
  }
  return { from, to: SCHEMA_VERSION }
}

/** Returns undefined if there is no schema yet. */
async function currentVersion(db: Database, ask: Ask): Promise<number | undefined> {
  if (!(await isThere(ask, TABLE, db.schema))) return undefined
  const [row] = await ask<[number]>('SELECT coalesce(max(version), 0) FROM @migrations')
  const version = row![0]
  if (version > SCHEMA_VERSION) throw newer(db, version)
  return version
}

/**
 * The catalog is read as tables because `to_regclass` returns a cached answer, even if the schema changed while this
 * transaction waited.
 */
const SCHEMA = 'SELECT 1 FROM pg_catalog.pg_namespace n WHERE n.nspname = $1'
const TABLE = `
  SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = $1 AND c.relname = 'migrations'`

async function isThere(ask: Ask, sql: string, schema: string): Promise<boolean> {
  return (await ask(sql, schema)).length > 0
}

async function create(db: Database, ask: Ask): Promise<number> {
  if (!(await isThere(ask, SCHEMA, db.schema))) await ask(`CREATE SCHEMA "${db.schema}"`)
  await step(db, ask, 'CREATE TABLE @migrations (version integer PRIMARY KEY, applied_at bigint NOT NULL)')
  return 0
}

async function step(db: Database, ask: Ask, sql: string): Promise<void> {
  try {
    await ask(sql)
  } catch (error) {
    if (sqlState(error) !== '42P07') throw error
    throw new ChronosError(
      'STORE_NOT_A_DATABASE',
      `${db.location}: schema "${db.schema}" has tables of another application (${String(error)}); ` +
        'choose another schema for the store',
      { cause: error, details: { schema: db.schema } },
    )
  }
}

async function checkServer(db: Database, ask: Ask): Promise<void> {
  const [server] = await ask<[version: number, name: string, encoding: string]>(
    `SELECT current_setting('server_version_num')::integer, current_setting('server_version'),
       current_setting('server_encoding')`,
  )
  const [version, name, encoding] = server!
  if (version < SERVER_MIN) throw unsupported(db, `runs PostgreSQL ${name}; Chronos needs 13 or newer`)
  if (encoding !== 'UTF8')
    throw unsupported(
      db,
      `has the encoding ${encoding}, which can't store every character; use a database with the encoding UTF8`,
    )
}

function unsupported(db: Database, words: string): ChronosError {
  return new ChronosError('STORE_NOT_SUPPORTED', `${db.location} ${words}`, { details: { location: db.location } })
}

function newer(db: Database, version: number): ChronosError {
  return new ChronosError(
    'STORE_NEWER',
    `${db.location} was migrated by a newer Chronos (schema "${db.schema}" has version ${version}, ` +
      `this version supports ${SCHEMA_VERSION}); update chronos-jobs here`,
    { details: { location: db.location, schema: db.schema, version, known: SCHEMA_VERSION } },
  )
}
