import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { Database, Statement } from '../../../src/store/sqlite/file/driver.js'
import { breaksConnection, commitFailure, failure, isBusy } from '../../../src/store/sqlite/file/failure.js'
import { Folder } from './folder.js'

const folder = new Folder()
const VERBS = ['all', 'get', 'run'] as const
type Verb = (typeof VERBS)[number]

function thrown(statement: Statement, verb: Verb): unknown {
  try {
    statement[verb]()
  } catch (error) {
    return error
  }
  throw new Error(`${verb} did not fail`)
}

const codeOf = (error: unknown): unknown => (failure(error, 'x.db') as { code?: unknown }).code

async function opened(): Promise<Database> {
  const database = await folder.database()
  database.exec(
    'PRAGMA journal_mode = WAL; CREATE TABLE t (a); CREATE UNIQUE INDEX i ON t (a); INSERT INTO t VALUES (1)',
  )
  return database
}

/** Through the driver that this version of Node uses: `@photostructure/sqlite` on Node 20, `node:sqlite` on others. */
describe.each(VERBS)('an error of the driver in %s', verb => {
  it('is recognised while another connection holds the lock', async () => {
    const database = await opened()
    database.exec('PRAGMA busy_timeout = 1')
    const insert = database.prepare('INSERT INTO t VALUES (2) RETURNING a')
    const other = await folder.database()
    other.exec('BEGIN IMMEDIATE')
    const error = thrown(insert, verb)
    expect([isBusy(error), codeOf(error)]).toEqual([true, 'STORE_UNAVAILABLE'])
  })

  it('is recognised when the file can not grow', async () => {
    const database = await opened()
    const insert = database.prepare('INSERT INTO t SELECT randomblob(1000000) RETURNING 1')
    database.exec('PRAGMA max_page_count = 1')
    expect(codeOf(thrown(insert, verb))).toBe('STORE_FULL')
  })

  it('is recognised when the file can not be written', async () => {
    const database = await opened()
    const insert = database.prepare('INSERT INTO t VALUES (3) RETURNING a')
    database.exec('PRAGMA query_only = ON')
    const error = thrown(insert, verb)
    expect([codeOf(error), breaksConnection(error)]).toEqual(['STORE_READ_ONLY', true])
  })

  it('is recognised when a constraint fails', async () => {
    const database = await opened()
    expect(codeOf(thrown(database.prepare('INSERT INTO t VALUES (1) RETURNING a'), verb))).toBe('INVALID_OPTION')
  })

  it('is recognised when the file is damaged', async () => {
    const database = await opened()
    database.exec('INSERT INTO t SELECT randomblob(3000) FROM json_each(json_array(1, 2, 3, 4, 5, 6, 7, 8))')
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    database.close()
    const bytes = readFileSync(folder.file())
    // The first page describes the tables; every other page is damaged.
    bytes.fill(0xff, 4096)
    writeFileSync(folder.file(), bytes)
    const damaged = await folder.database()
    const error = thrown(damaged.prepare('SELECT a FROM t NOT INDEXED ORDER BY a'), verb)
    expect([codeOf(error), breaksConnection(error)]).toEqual(['STORE_CORRUPT', true])
  })
})

it('a disk error during a commit says when repeating the write is safe', () => {
  const error = Object.assign(new Error('disk I/O error'), { errcode: 10 })
  expect(commitFailure(error, 'x.db')).toMatchObject({
    code: 'STORE_UNKNOWN',
    message: expect.stringContaining('repeating it is safe, except for an enqueue without a `key`'),
  })
})
