import type { Clock } from '../../../core/values/clock.js'
import { HOUR_MS } from '../../../core/values/duration.js'
import type { Connection } from './connection.js'

/** How far the stored time may lag behind the newest write. A process that starts later can be behind by this much. */
const MARK_EVERY_MS = 1_000
/** A time further ahead than this is a mistake of a clock, and must not stay in the file. */
const AHEAD_MAX_MS = 24 * HOUR_MS

const READ = `SELECT body FROM records WHERE kind = 'clock' AND id = 'now'`
const WRITE = `
  INSERT INTO records (kind, id, version, body, updated_at) VALUES ('clock', 'now', 1, ?1, ?1)
  ON CONFLICT (kind, id) DO UPDATE SET version = version + 1, body = excluded.body, updated_at = excluded.updated_at`

/**
 * One clock for all processes on a file: it is never behind the latest time that another process has written to the
 * file. Otherwise a process that starts after the system clock was set back would disagree with the others about
 * leases, and healthy jobs would look lost.
 */
export class FileClock {
  readonly #clock: Clock
  #aheadMs = 0
  #markedAt = Number.NEGATIVE_INFINITY

  constructor(clock: Clock) {
    this.#clock = clock
  }

  now(): number {
    return this.#clock.now() + this.#aheadMs
  }

  /** The same moment on this process's own clock. */
  toOwn(time: number): number {
    return time - this.#aheadMs
  }

  /** Catches up with the file. Needed only after another process has written to it. */
  catchUp(db: Connection): void {
    const row = db.get<[string]>(READ)
    const behindMs = row === undefined ? 0 : Number(row[0]) - this.now()
    if (behindMs > 0 && behindMs <= AHEAD_MAX_MS) this.#aheadMs += behindMs
  }

  /** Stores the time together with other changes of a transaction, about once per second. */
  mark(db: Connection, now: number, changesBefore: number): void {
    if (now - this.#markedAt < MARK_EVERY_MS || changesOf(db) === changesBefore) return
    db.run(WRITE, now)
    this.#markedAt = now
  }

  /** The number of changed rows, to find out whether a transaction writes at all; 0 if no mark is due. */
  changes(db: Connection, now: number): number {
    return now - this.#markedAt < MARK_EVERY_MS ? 0 : changesOf(db)
  }
}

function changesOf(db: Connection): number {
  return db.get<[number]>('SELECT total_changes()')![0]
}
