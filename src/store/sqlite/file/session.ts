import type { Clock, Dice } from '../../../core/values/clock.js'
import { DeltaDraft } from '../../delta.js'
import type { Steps } from '../reads/search.js'
import { append } from '../writes/deltas.js'
import { BusyRetry } from './busy-retry.js'
import type { Connection } from './connection.js'
import type { Driver } from './driver.js'
import { breaksConnection, failure } from './failure.js'
import { StoreFile } from './file.js'
import { Writer } from './writer.js'

/**
 * The number of read steps that run without a pause. A longer read yields to the event loop after each further step.
 */
const STEPS_AT_ONCE = 4

/** The access of one store to its file: writes share commits, and reads run between them. */
export class Session {
  readonly #clock: Clock
  readonly file: StoreFile
  /** The texts of errors that were stored lately. */
  readonly seenErrors = new Set<string>()
  readonly #busyRetry: BusyRetry
  readonly #writer: Writer
  /** Calls of several steps that have not been answered. */
  readonly #underWay = new Set<Promise<unknown>>()

  constructor(path: string, clock: Clock, dice: Dice, driver: Driver | undefined) {
    this.#clock = clock
    this.#busyRetry = new BusyRetry(clock, dice)
    this.file = new StoreFile(path, clock, this.#busyRetry, driver)
    this.#writer = new Writer(clock, this.file, this.#busyRetry)
  }

  now(): number {
    return this.file.time.now()
  }

  /** `rows` is roughly the number of rows that the write touches. */
  write<T>(rows: number, act: (db: Connection, now: number) => T): Promise<T> {
    return this.#writer.write(rows, act)
  }

  each<T, R>(inputs: readonly T[], act: (db: Connection, input: T, now: number) => R): Promise<R[]> {
    return this.write(inputs.length, (db, now) => inputs.map(input => act(db, input, now)))
  }

  /** Runs a write that changes counters, and appends one delta for it. */
  counted<T>(rows: number, act: (db: Connection, now: number, delta: DeltaDraft) => T): Promise<T> {
    return this.write(rows, (db, now) => {
      const delta = new DeltaDraft()
      const answer = act(db, now, delta)
      append(db, delta, now)
      return answer
    })
  }

  countedEach<T, R>(
    inputs: readonly T[],
    act: (db: Connection, input: T, now: number, delta: DeltaDraft) => R,
  ): Promise<R[]> {
    return this.counted(inputs.length, (db, now, delta) => inputs.map(input => act(db, input, now, delta)))
  }

  /** Reads on the connection of the writes, so that a read sees every acknowledged write. */
  async read<T>(act: (db: Connection) => T): Promise<T> {
    const db = this.file.connection ?? (await this.file.connect())
    try {
      return await this.#busyRetry.run(() => act(db))
    } catch (error) {
      if (breaksConnection(error)) this.file.drop()
      throw failure(error, this.file.path)
    }
  }

  /** Runs a call whose reads need several steps. Other calls run between them. */
  inSteps<T>(act: (steps: Steps) => Promise<T>): Promise<T> {
    let taken = 0
    const answer = act(async step => {
      taken += 1
      if (taken > STEPS_AT_ONCE) await this.#turn()
      return this.read(step)
    })
    const forget = () => this.#underWay.delete(answer)
    this.#underWay.add(answer)
    answer.then(forget, forget)
    return answer
  }

  /**
   * Runs steps that all see the same snapshot. Between steps the event loop runs and other writes happen, so a
   * snapshot uses a separate connection. A database in memory has only one connection; its steps run without a pause.
   */
  async snapshot<T>(read: (db: Connection, now: number) => Generator<void, T>): Promise<T> {
    if (this.file.isInMemory) return this.read(db => atOnce(read(db, this.now())))
    const db = await this.file.another()
    try {
      await this.#busyRetry.run(() => db.beginReading())
      const steps = read(db, this.now())
      for (let step = steps.next(); ; step = steps.next()) {
        if (step.done) return step.value
        await this.#turn()
      }
    } catch (error) {
      throw failure(error, this.file.path)
    } finally {
      db.endReading()
      db.close()
    }
  }

  #turn(): Promise<void> {
    return new Promise(resolve => this.#clock.soon(resolve))
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#underWay)
    await this.#writer.idle()
    await this.file.close()
  }
}

function atOnce<T>(steps: Generator<void, T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}
