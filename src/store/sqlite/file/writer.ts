import { type Clock, pause } from '../../../core/values/clock.js'
import type { BusyRetry } from './busy-retry.js'
import type { Connection } from './connection.js'
import { breaksConnection, failure } from './failure.js'
import type { StoreFile } from './file.js'

/** One write operation that waits for the next commit. */
interface Operation {
  readonly rows: number
  readonly act: (db: Connection, now: number) => unknown
  readonly resolve: (answer: never) => void
  readonly reject: (error: unknown) => void
}

/** Large enough to share a commit well, small enough not to block the event loop or other processes for long. */
const ROWS_PER_COMMIT = 2_000
const ROWS_PER_COMMIT_SHARED = 200
const SHARED_GAP_MS = 1

/**
 * Group commit: writes requested at the same time share one transaction and one flush to disk, in the order of the
 * requests. Each promise resolves after the commit.
 */
export class Writer {
  readonly #clock: Clock
  readonly #file: StoreFile
  readonly #busyRetry: BusyRetry
  readonly #queue: Operation[] = []
  #draining: Promise<void> | undefined
  #dataVersion = 0
  #isShared = false

  constructor(clock: Clock, file: StoreFile, busyRetry: BusyRetry) {
    this.#clock = clock
    this.#file = file
    this.#busyRetry = busyRetry
  }

  /**
   * `rows` is roughly the number of rows that the write touches. `act` may run more than once; only the committed run
   * counts.
   */
  write<T>(rows: number, act: (db: Connection, now: number) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ rows, act, resolve, reject })
      this.#draining ??= this.#drain()
    })
  }

  /** Resolves when every requested write is done. */
  async idle(): Promise<void> {
    await this.#draining
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      await this.#nextTurn()
      await this.#commit(this.#take(this.#isShared ? ROWS_PER_COMMIT_SHARED : ROWS_PER_COMMIT))
    }
    this.#draining = undefined
  }

  /**
   * Waits until all callbacks that are ready now have run. If other processes write too, it waits long enough after
   * its own commit for one of them to get the lock.
   */
  #nextTurn(): Promise<void> {
    const hasJustWritten = this.#clock.now() - this.#file.wroteAt <= SHARED_GAP_MS
    if (this.#isShared && hasJustWritten) return pause(this.#clock, SHARED_GAP_MS)
    return new Promise(resolve => this.#clock.soon(resolve))
  }

  #take(rowsMax: number): Operation[] {
    let count = 0
    let rows = 0
    for (const operation of this.#queue) {
      rows += operation.rows
      if (count > 0 && rows > rowsMax) break
      count += 1
    }
    return this.#queue.splice(0, count)
  }

  async #commit(batch: readonly Operation[]): Promise<void> {
    try {
      const db = await this.#file.connect()
      const answers = await this.#busyRetry.run(() => this.#transaction(db, batch))
      this.#file.wroteAt = this.#clock.now()
      for (const [index, operation] of batch.entries()) operation.resolve(answers[index] as never)
    } catch (error) {
      // One failed operation must not fail the others in its batch.
      if (error instanceof OperationError && batch.length > 1) for (const one of batch) await this.#commit([one])
      else this.#fail(batch, error instanceof OperationError ? error.cause : error)
    }
  }

  #transaction(db: Connection, batch: readonly Operation[]): unknown[] {
    return db.transaction(() => {
      const time = this.#file.time
      if (this.#checkShared(db)) time.catchUp(db)
      const now = time.now()
      const before = time.changes(db, now)
      const answers = batch.map(({ act }) => blame(() => act(db, now)))
      time.mark(db, now, before)
      this.#file.checkPlace()
      return answers
    })
  }

  /** Checks whether another connection has committed since the last transaction. */
  #checkShared(db: Connection): boolean {
    const [version] = db.get<[number]>('PRAGMA data_version')!
    this.#isShared = this.#dataVersion !== 0 && this.#dataVersion !== version
    this.#dataVersion = version
    return this.#isShared
  }

  #fail(batch: readonly Operation[], error: unknown): void {
    if (breaksConnection(error)) this.#file.drop()
    const reason = failure(error, this.#file.path)
    for (const { reject } of batch) reject(reason)
  }
}

/** An operation of a batch failed, not the store. */
class OperationError extends Error {}

function blame<T>(act: () => T): T {
  try {
    return act()
  } catch (cause) {
    throw new OperationError('an operation of a shared transaction failed', { cause })
  }
}
