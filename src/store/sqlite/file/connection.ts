import { closeSync, openSync } from 'node:fs'
import { ChronosError } from '../../../core/values/error.js'
import type { Database, Driver, Statement, Value } from './driver.js'
import { commitFailure } from './failure.js'

/**
 * An open file and its prepared statements. Rows are arrays in the order of their columns.
 *
 * The driver is synchronous, so waiting for a lock blocks the whole process: SQLite waits only a few milliseconds, and
 * the caller then retries without blocking (`busy-retry.ts`).
 */
export class Connection {
  readonly path: string
  readonly #database: Database
  readonly #statements = new Map<string, Statement>()
  #isOurs = false
  /** What the transaction has read about queues with lanes; see `lanedQueues`. */
  laned: ReadonlyMap<string, boolean> | undefined

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

  /** Called once the file is known to belong to Chronos. */
  configure(): void {
    this.#isOurs = true
    const [mode] = this.get<[string]>('PRAGMA journal_mode = WAL')!
    if (mode !== 'wal' && this.path !== ':memory:') throw noWal(this.path, mode)
    this.exec(`
      PRAGMA synchronous = FULL;
      PRAGMA foreign_keys = OFF;
      PRAGMA trusted_schema = OFF;
      PRAGMA temp_store = MEMORY;
      -- 8 MB are enough: a job is claimed and settled soon after it was enqueued, and older pages are in the system's
      -- cache
      PRAGMA cache_size = -8000;
      -- in pages; a checkpoint runs inside a commit, and 500 pages block the process for only a few milliseconds
      PRAGMA wal_autocheckpoint = 500;
      -- in bytes; the log is truncated to this size after it had to grow during a long read
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

  /**
   * Runs a statement without returning its row count: the driver would allocate an object for it, which matters on the
   * hot path.
   */
  do(sql: string, ...values: readonly Value[]): void {
    this.#statement(sql).get(...values)
  }

  /** Returns the number of changed rows. */
  run(sql: string, ...values: readonly Value[]): number {
    return Number(this.#statement(sql).run(...values).changes)
  }

  /**
   * Runs `act` in a transaction. It takes the write lock at its start, so that it never fails half-way because of a
   * lock.
   */
  transaction<T>(act: () => T): T {
    this.run('BEGIN IMMEDIATE')
    this.laned = undefined
    try {
      const answer = act()
      this.#commit()
      return answer
    } catch (error) {
      this.#rollback()
      throw error
    }
  }

  /** From here to `endReading`, every statement sees the same snapshot, even while other connections write. */
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

  /**
   * `@photostructure/sqlite` closes a database only when it is garbage-collected; the checkpoint moves all data into
   * the main file before that.
   */
  #checkpoint(): void {
    try {
      this.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    } catch {
      // Another process uses the file, or it is broken: the file is complete together with its -wal.
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
      // There is nothing left to roll back: SQLite rolls back by itself when the disk is full.
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

/** SQLite would create a world-readable file, and payloads are private. The -wal and -shm files inherit its mode. */
function createPrivately(path: string): void {
  try {
    // This must only open a file that did not exist: closing an existing one would release this process's locks on it.
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}
