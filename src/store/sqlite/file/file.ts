import type { Clock } from '../../../core/values/clock.js'
import { ChronosError } from '../../../core/values/error.js'
import type { Migration } from '../../store.js'
import { checkOwner, currentVersion, migrate } from '../migrations.js'
import type { Patience } from './busy-retry.js'
import { Connection } from './connection.js'
import { type Driver, loadDriver } from './driver.js'
import { failure } from './failure.js'

interface Opened {
  readonly connection: Connection
  readonly migration: Migration
}

/** The file of a store, opened and migrated at its first use. A failure is not remembered: the next use tries again. */
export class StoreFile {
  readonly path: string
  /** When this process last committed something itself. */
  wroteAt = 0
  readonly #clock: Clock
  readonly #patience: Patience
  #driver: Driver | undefined
  #opening: Promise<Opened> | undefined
  #connection: Connection | undefined
  #closed = false

  constructor(path: string, clock: Clock, patience: Patience, driver: Driver | undefined) {
    this.path = path
    this.#clock = clock
    this.#patience = patience
    this.#driver = driver
  }

  get isInMemory(): boolean {
    return this.path === ':memory:'
  }

  /** The connection while there is one; undefined before the first use, and after it broke. */
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

  /** Another connection, for who asks to close. */
  async another(): Promise<Connection> {
    await this.connect()
    const driver = await this.driver()
    return this.#patience.until(() => new Connection(driver, this.path))
  }

  open(): Promise<Opened> {
    if (this.#closed) return Promise.reject(closed(this.path))
    this.#opening ??= this.#open().catch(error => {
      this.#opening = undefined
      throw failure(error, this.path)
    })
    return this.#opening
  }

  /** The connection is broken: the next use opens another. */
  drop(): void {
    const broken = this.#connection
    this.#connection = undefined
    this.#opening = undefined
    try {
      broken?.close()
    } catch {
      // nothing more can be done with it
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#opening?.catch(() => undefined)
    this.drop()
  }

  async #open(): Promise<Opened> {
    const driver = await this.driver()
    const connection = await this.#patience.until(() => new Connection(driver, this.path))
    try {
      const migration = await this.#prepare(connection)
      this.#connection = connection
      return { connection, migration }
    } catch (error) {
      connection.close()
      throw error
    }
  }

  /** Looks first, and writes only to a file that is new or ours. */
  async #prepare(connection: Connection): Promise<Migration> {
    const version = await this.#patience.until(() => {
      checkOwner(connection)
      return currentVersion(connection)
    })
    await this.#patience.until(() => connection.configure())
    if (version !== undefined) return { from: version, to: version }
    return this.#patience.until(() => connection.transaction(() => migrate(connection, this.#clock.now())))
  }
}

function closed(path: string): ChronosError {
  return new ChronosError('CLOSED', `the store on ${path} is closed; open another`, { details: { path } })
}
