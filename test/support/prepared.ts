import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock, systemDice } from '../../src/engine/time/system.js'
import { type Database, type Driver, loadDriver } from '../../src/store/sqlite/file/driver.js'
import { sqliteStore } from '../../src/store/sqlite/store.js'

// The migrations of an empty SQLite database take longer than most tests. They run once in each test process; every
// other database of the tests begins with what they made.

const driver = await loadDriver()
const folder = mkdtempSync(join(tmpdir(), 'chronos-prepared-'))
const model = join(folder, 'model.db')
const store = sqliteStore({ path: model, clock: systemClock, dice: systemDice })
await store.migrate()
await store.close()
const FILE = readFileSync(model)

/** The tables, rows and indexes of a database as SQL. */
function scriptOf(database: Database): string {
  const texts = (sql: string): readonly string[] => {
    const statement = database.prepare(sql)
    statement.setReturnArrays(true)
    return statement.all().map(row => String((row as unknown[])[0]))
  }
  const rowsOf = (table: string): readonly string[] => {
    const columns = texts(`SELECT name FROM pragma_table_info('${table}')`).map(name => `quote("${name}")`)
    return texts(`SELECT ${columns.join(" || ', ' || ")} FROM "${table}"`).map(
      values => `INSERT INTO "${table}" VALUES (${values})`,
    )
  }
  const made = `FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite~_%' ESCAPE '~'`
  return [
    'BEGIN',
    `PRAGMA application_id = ${texts('PRAGMA application_id')[0]}`,
    ...texts(`SELECT sql ${made} ORDER BY rowid`),
    ...texts(`SELECT name ${made} AND type = 'table'`).flatMap(rowsOf),
    'COMMIT',
  ].join(';\n')
}

const database = driver.open(model)
const SCRIPT = scriptOf(database)
database.close()
rmSync(folder, { recursive: true })

/** The driver of SQLite, whose new databases are migrated already. */
export const PREPARED: Driver = {
  ...driver,
  open(path) {
    if (path !== ':memory:' && !statSync(path, { throwIfNoEntry: false })?.size) writeFileSync(path, FILE)
    const opened = driver.open(path)
    if (path === ':memory:') opened.exec(SCRIPT)
    return opened
  },
}
