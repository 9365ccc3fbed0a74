import { statSync } from 'node:fs'
import type { Clock } from '../../../core/values/clock.js'
import { ChronosError } from '../../../core/values/error.js'
import type { Migration } from '../../store.js'
import { checkOwner, currentVersion, migrate } from '../migrations.js'
import type { BusyRetry } from './busy-retry.js'
import { Connection } from './connection.js'
import { type Driver, loadDriver } from './driver.js'
import { failure, moved } from './failure.js'
import { FileClock } from './file-clock.js'

interface Opened {
  readonly connection: Connection
  readonly migration: Migration
}

/** The file of a store, opened and migrated on first use. If that fails, the next use tries again. */
export class StoreFile {
  readonly path: string
  /** When this process last committed. */
  wroteAt = 0
  readonly time: FileClock
  readonly #busyRetry: BusyRetry
  #driver: Driver | undefined
  #opening: Promise<Opened> | undefined
  #connection: Connection | undefined
  #closed = false
  /** The identity of the file that was opened. */
  #place: string | undefined

  constructor(path: string, clock: Clock, busyRetry: BusyRetry, driver: Driver | undefined) {
    this.path = path
    this.time = new FileClock(clock)
    this.#busyRetry = busyRetry
    this.#driver = driver
  }

  get isInMemory(): boolean {
    return this.path === ':memory:'
  }

  /** The connection; undefined before the first use, and after it broke. */
  get connection(): Connection | undefined {
    return this.#connection
  }

  get loadedDriver(): Driver | undefined {
    return this.#driver
  }

  async driver(): Promise<Driver> {
    this.#driver ??= await loadDriver()
    return this.#driver
  }

  async connect(): Promise<Connection> {
    return this.#connection ?? (await this.open()).connection
  }

  /** Opens another connection, which the caller closes. */
  async another(): Promise<Connection> {
    await this.connect()
    const driver = await this.driver()
    try {
      // To open a file that is missing would create it.
      this.checkPlace()
      return await this.#busyRetry.run(() => new Connection(driver, this.path))
    } catch (error) {
      throw failure(error, this.path)
    }
  }

  open(): Promise<Opened> {
    if (this.#closed) return Promise.reject(closed(this.path))
    this.#opening ??= this.#open().catch(error => {
      this.#opening = undefined
      throw failure(error, this.path)
    })
    return this.#opening
  }

  /**
   * Throws if the file was moved, deleted or replaced since it was opened. A commit to it would be acknowledged and
   * lost.
   */
  checkPlace(): void {
    if (this.#place !== undefined && placeOf(this.path) !== this.#place) throw moved()
  }

  /** Drops a broken connection; the next use opens another one. */
  drop(): void {
    const broken = this.#connection
    this.#connection = undefined
    this.#opening = undefined
    try {
      broken?.close()
    } catch {
      // A broken connection may fail to close; there is nothing left to do.
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#opening?.catch(() => undefined)
    this.drop()
  }

  async #open(): Promise<Opened> {
    const driver = await this.driver()
    // A missing file is created only once: an empty one in its place would hide the loss.
    if (this.#place !== undefined && placeOf(this.path) === undefined) throw moved()
    const connection = await this.#busyRetry.run(() => new Connection(driver, this.path))
    try {
      const migration = await this.#prepare(connection)
      await this.#busyRetry.run(() => this.time.catchUp(connection))
      if (!this.isInMemory) this.#place = placeOf(this.path)
      this.#connection = connection
      return { connection, migration }
    } catch (error) {
      connection.close()
      throw error
    }
  }

  /** Reads first, and writes only to a file that is new or belongs to Chronos. */
  async #prepare(connection: Connection): Promise<Migration> {
    const version = await this.#busyRetry.run(() => {
      checkOwner(connection)
      return currentVersion(connection)
    })
    await this.#busyRetry.run(() => connection.configure())
    if (version !== undefined) return { from: version, to: version }
    return this.#busyRetry.run(() => connection.transaction(() => migrate(connection, this.time.now())))
  }
}

function placeOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false })
  return found && `${found.dev} ${found.ino}`
}

function closed(path: string): ChronosError {
  return new ChronosError('CLOSED', `the store on ${path} is closed; open another`, { details: { path } })
}
