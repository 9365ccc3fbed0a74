import { closeSync, openSync } from 'node:fs'
import { ChronosError } from '../../../core/values/error.js'
import type { Database, Driver, Statement, Value } from './driver.js'
import { commitFailure } from './failure.js'

/**
 * An open file and its prepared statements; rows come back as arrays, in the order of their columns.
 *
 * The driver is synchronous, so a lock that somebody else holds would stop the whole process: SQLite waits for it
 * a few milliseconds only, and who asks waits for the rest without blocking (`patience.ts`).
 */
export class Connection {
  readonly path: string
  readonly #database: Database
  readonly #statements = new Map<string, Statement>()
  #isOurs = false

  constructor(driver: Driver, path: string) {
    this.path = path
    if (path !== ':memory:') createPrivately(path)
    this.#database = driver.open(path)
    try {
      this.exec('PRAGMA busy_timeout = 5')
    } catch (error) {
      this.close()
      throw error
    }
  }

  /** Once the file is known to be ours. */
  configure(): void {
    this.#isOurs = true
    const [mode] = this.get<[string]>('PRAGMA journal_mode = WAL')!
    if (mode !== 'wal' && this.path !== ':memory:') throw noWal(this.path, mode)
    this.exec(`
      PRAGMA synchronous = FULL;
      PRAGMA foreign_keys = OFF;
      PRAGMA trusted_schema = OFF;
      PRAGMA temp_store = MEMORY;
      -- 8 MB: a job is claimed and settled soon after another; what was read before is in the system's cache
      PRAGMA cache_size = -8000;
      -- pages; a checkpoint happens inside a commit, and 500 of them stop the process for a few ms only
      PRAGMA wal_autocheckpoint = 500;
      -- bytes to which a log is cut that had to grow while somebody else was reading
      PRAGMA journal_size_limit = 16000000;
    `)
  }

  exec(sql: string): void {
    this.#database.exec(sql)
  }

  all<Row>(sql: string, ...values: readonly Value[]): Row[] {
    return this.#statement(sql).all(...values) as Row[]
  }

  get<Row>(sql: string, ...values: readonly Value[]): Row | undefined {
    return this.#statement(sql).get(...values) as Row | undefined
  }

  /** Runs a statement whose count nobody needs: the driver makes an object of it, which a hot path can do without. */
  do(sql: string, ...values: readonly Value[]): void {
    this.#statement(sql).get(...values)
  }

  /** How many rows it changed. */
  run(sql: string, ...values: readonly Value[]): number {
    return Number(this.#statement(sql).run(...values).changes)
  }

  /** All or nothing. It takes the write lock at its start, so that it never has to give way half-way. */
  transaction<T>(act: () => T): T {
    this.run('BEGIN IMMEDIATE')
    try {
      const answer = act()
      this.#commit()
      return answer
    } catch (error) {
      this.#rollback()
      throw error
    }
  }

  /** From here to `endReading` every statement sees what is there now, whoever writes meanwhile. */
  beginReading(): void {
    this.exec('BEGIN')
    try {
      this.get('SELECT count(*) FROM sqlite_schema')
    } catch (error) {
      this.endReading()
      throw error
    }
  }

  endReading(): void {
    this.#rollback()
  }

  close(): void {
    this.#statements.clear()
    if (this.#isOurs) this.#checkpoint()
    this.#database.close()
  }

  /** `@photostructure/sqlite` really closes when the garbage collector comes by; until then all is in the one file. */
  #checkpoint(): void {
    try {
      this.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    } catch {
      // Another process uses the file, or it is broken: it is whole with its -wal, too.
    }
  }

  #commit(): void {
    try {
      this.run('COMMIT')
    } catch (error) {
      throw commitFailure(error, this.path)
    }
  }

  #rollback(): void {
    try {
      this.run('ROLLBACK')
    } catch {
      // There is nothing to roll back any more: SQLite does so itself when the disk is full.
    }
  }

  #statement(sql: string): Statement {
    const known = this.#statements.get(sql)
    if (known) return known
    const statement = this.#database.prepare(sql)
    statement.setReturnArrays(true)
    this.#statements.set(sql, statement)
    return statement
  }
}

function noWal(path: string, mode: string): ChronosError {
  return new ChronosError(
    'STORE_NOT_SUPPORTED',
    `${path} can't use a write-ahead log (it stays in "${mode}" mode); put it on a local disk, not a network share`,
    { details: { path, mode } },
  )
}

/** SQLite would let everybody read a new file; payloads are nobody's business. Its -wal and -shm follow its mode. */
function createPrivately(path: string): void {
  try {
    // Only ever a file that did not exist: closing another one here would drop the locks of this process on it.
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}
