import type { Clock, Dice } from '../../../core/values/clock.js'
import { DeltaDraft } from '../../delta.js'
import type { Steps } from '../reads/search.js'
import { append } from '../writes/deltas.js'
import { Held } from '../writes/rowid-cache.js'
import { Patience } from './busy-retry.js'
import type { Connection } from './connection.js'
import type { Driver } from './driver.js'
import { breaksConnection, failure } from './failure.js'
import { StoreFile } from './file.js'
import { Writer } from './writer.js'

/** Steps of a read that follow each other at once; a longer one lets the event loop turn after each. */
const STEPS_AT_ONCE = 4

/** How the verbs of one store reach its file: writes share commits, reads go between them. */
export class Session {
  readonly clock: Clock
  readonly file: StoreFile
  readonly held = new Held()
  readonly #patience: Patience
  readonly #writer: Writer

  constructor(path: string, clock: Clock, dice: Dice, driver: Driver | undefined) {
    this.clock = clock
    this.#patience = new Patience(clock, dice)
    this.file = new StoreFile(path, clock, this.#patience, driver)
    this.#writer = new Writer(clock, this.file, this.#patience)
  }

  /** `rows` is roughly how many it touches. */
  write<T>(rows: number, act: (db: Connection, now: number) => T): Promise<T> {
    return this.#writer.write(rows, act)
  }

  each<T, R>(inputs: readonly T[], act: (db: Connection, input: T, now: number) => R): Promise<R[]> {
    return this.write(inputs.length, (db, now) => inputs.map(input => act(db, input, now)))
  }

  /** For what changes counts: one delta tells of all of it. */
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

  /** On the same connection as the writes, so that it sees every one that was acknowledged. */
  async read<T>(act: (db: Connection) => T): Promise<T> {
    const db = this.file.connection ?? (await this.file.connect())
    try {
      return await this.#patience.until(() => act(db))
    } catch (error) {
      if (breaksConnection(error)) this.file.drop()
      throw failure(error, this.file.path)
    }
  }

  steps(): Steps {
    let taken = 0
    return async step => {
      taken += 1
      if (taken > STEPS_AT_ONCE) await this.#turn()
      return this.read(step)
    }
  }

  /**
   * Steps that all see the same moment. Between them the event loop turns and others write: so they have a connection of
   * their own, except in memory, where there is only the one, and they follow each other at once.
   */
  async snapshot<T>(read: (db: Connection, now: number) => Generator<void, T>): Promise<T> {
    if (this.file.isInMemory) return this.read(db => atOnce(read(db, this.clock.now())))
    const db = await this.file.another()
    try {
      await this.#patience.until(() => db.beginReading())
      const steps = read(db, this.clock.now())
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
    return new Promise(resolve => this.clock.soon(resolve))
  }

  async close(): Promise<void> {
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
