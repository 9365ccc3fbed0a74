import type { Connection } from '../file/connection.js'
import { ID } from '../rows.js'

/** More than a worker holds at once; jobs beyond the limit are looked up by id. */
const ROWIDS_MAX = 20_000

/**
 * The row keys of the jobs that this process claimed, so that settling a job needs no lookup by id. The cache is only
 * an optimization: every write is fenced by the token, so a key that was reused after a prune can't match.
 */
export class RowidCache {
  readonly #rowids = new Map<string, number>()

  add(id: string, pk: number): void {
    if (this.#rowids.size >= ROWIDS_MAX) this.#rowids.clear()
    this.#rowids.set(id, pk)
  }

  find(db: Connection, id: string): number | undefined {
    return this.#rowids.get(id) ?? db.get<[pk: number]>(`SELECT pk FROM jobs WHERE id = ${ID}`, id)?.[0]
  }

  forget(id: string): void {
    this.#rowids.delete(id)
  }
}
