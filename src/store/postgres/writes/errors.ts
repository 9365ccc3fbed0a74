import { createHash } from 'node:crypto'
import type { StoredError } from '../../../core/job/job.js'
import { toErrorJson } from '../../columns.js'
import { words } from '../arrays.js'
import type { Database } from '../connection/pool.js'

// In an outage, many runs fail with the same error. Its text is stored once, under its hash.

/**
 * A settlement that refers to a text has this lock in shared mode, so that the text is not removed meanwhile. The name of
 * the table in it is that of the store's schema.
 */
const LOCK_KEY = `hashtextextended('chronos @errors', 0)`
export const KEEP_ERRORS = `pg_advisory_xact_lock_shared(${LOCK_KEY})`

/** The different errors of a batch. */
export class ErrorBodies {
  readonly #bodies = new Map<string, string>()
  #last: readonly [body: string, hash: string] | undefined

  get hashes(): readonly string[] {
    return [...this.#bodies.keys()]
  }

  get bodies(): readonly string[] {
    return [...this.#bodies.values()]
  }

  hashOf(error: StoredError | undefined): string | null {
    const body = toErrorJson(error)
    if (body === null) return null
    if (this.#last?.[0] !== body) {
      this.#last = [body, createHash('sha256').update(body).digest('hex').slice(0, 32)]
      this.#bodies.set(this.#last[1], body)
    }
    return this.#last[1]
  }
}

const FORGET_ERRORS = `
  DELETE FROM @errors e WHERE hash = ANY ($1::uuid[])
    AND NOT EXISTS (SELECT 1 FROM @attempts a WHERE a.error_hash = e.hash)`

/** Removes the texts to which no attempt refers any more. */
export async function forgetErrors(db: Database, hashes: readonly string[]): Promise<void> {
  if (hashes.length === 0) return
  const lock = { sql: `SELECT 1 FROM pg_advisory_xact_lock(${LOCK_KEY})` }
  await db.write('work', [lock, { sql: FORGET_ERRORS, values: [words(hashes)] }])
}
