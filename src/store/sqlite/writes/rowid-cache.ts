import type { Connection } from '../file/connection.js'
import { ID } from '../rows.js'

/** More than any worker holds at once; past it they are looked up again. */
const HELD_MAX = 20_000

/**
 * Where the jobs are that this process claimed, so that settling one needs no look into the index of ids. Only a hint:
 * every write is fenced by the token, and a key that a pruned job left to another can't match one.
 */
export class Held {
  readonly #keys = new Map<string, number>()

  add(id: string, pk: number): void {
    if (this.#keys.size >= HELD_MAX) this.#keys.clear()
    this.#keys.set(id, pk)
  }

  find(db: Connection, id: string): number | undefined {
    return this.#keys.get(id) ?? db.get<[pk: number]>(`SELECT pk FROM jobs WHERE id = ${ID}`, id)?.[0]
  }

  forget(id: string): void {
    this.#keys.delete(id)
  }
}
