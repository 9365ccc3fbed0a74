import type { Connection } from './connection.js'
import { ID } from './rows.js'

/** More than any worker holds at once; past it they are looked up again. */
const HELD_MAX = 20_000

export interface Place {
  readonly pk: number
  /** Can't change while the job runs. */
  readonly runAt: number
}

/**
 * Where the jobs are that this process claimed, so that settling one needs no look into the index of ids. Only a hint:
 * every write is fenced by the token, and a key that a pruned job left to another can't match one.
 */
export class Held {
  readonly #places = new Map<string, Place>()

  add(id: string, pk: number, runAt: number): void {
    if (this.#places.size >= HELD_MAX) this.#places.clear()
    this.#places.set(id, { pk, runAt })
  }

  find(db: Connection, id: string): Place | undefined {
    const known = this.#places.get(id)
    if (known) return known
    const row = db.get<[pk: number, runAt: number]>(`SELECT pk, run_at FROM jobs WHERE id = ${ID}`, id)
    return row && { pk: row[0], runAt: row[1] }
  }

  forget(id: string): void {
    this.#places.delete(id)
  }
}
