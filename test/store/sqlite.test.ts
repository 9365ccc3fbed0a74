import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { systemDice } from '../../src/engine/system.js'
import { sqliteStore } from '../../src/store/sqlite/store.js'
import { conformance } from './conformance/index.js'

const directory = mkdtempSync(join(tmpdir(), 'chronos-sqlite-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

let count = 0
conformance('SQLite', async clock => {
  count += 1
  return sqliteStore({ path: join(directory, `${count}.db`), clock, dice: systemDice })
})
conformance('SQLite in memory', async clock => sqliteStore({ path: ':memory:', clock, dice: systemDice }))
