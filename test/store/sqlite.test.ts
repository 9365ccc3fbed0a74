import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as vitest from 'vitest'
import { systemDice } from '../../src/engine/time/system.js'
import { loadDriver } from '../../src/store/sqlite/file/driver.js'
import { sqliteStore } from '../../src/store/sqlite/store.js'
import { PREPARED } from '../support/prepared.js'
import type { Sql } from './conformance/bench.js'
import { conformance } from './conformance/index.js'

/** Files in a memory file system if there is one, because a disk only adds waiting time. */
const directory = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'chronos-sqlite-'))
vitest.afterAll(() => rmSync(directory, { recursive: true, force: true }))

let count = 0
const path = () => join(directory, `${count}.db`)

const sql: Sql = async (text, ...ids) => {
  const database = (await loadDriver()).open(path())
  database.prepare(text.replaceAll('@', '').replaceAll('?', "unhex(?, '-')")).run(...ids)
  database.close()
}

conformance(
  vitest,
  'SQLite',
  async clock => {
    rmSync(path(), { force: true })
    count += 1
    return sqliteStore({ path: path(), clock, dice: systemDice, driver: PREPARED })
  },
  sql,
)
conformance(vitest, 'SQLite in memory', async clock =>
  sqliteStore({ path: ':memory:', clock, dice: systemDice, driver: PREPARED }),
)
