import { hash64 } from '../../../core/values/hash.js'
import type { Connection } from '../file/connection.js'

/** Enough for the errors of an outage. An error that is not among them is stored again, which costs only space. */
const SEEN_MAX = 200

const INSERT = 'INSERT INTO errors (hash, uses, body) VALUES (?, 1, ?) RETURNING pk'
const FIND = 'SELECT pk FROM errors WHERE hash = ? AND body = ?'
const COUNT = 'UPDATE errors SET uses = uses + ?, hash = ifnull(hash, ?) WHERE pk = ?'

interface Used {
  readonly pk: number
  /** The references of this transaction that the row does not count yet. */
  uncounted: number
}

/**
 * The texts of errors in one transaction: attempts that failed with the same error refer to one text. The first
 * attempt with a text does not look for it, because most texts that are new occur once.
 */
export class ErrorTexts {
  readonly #db: Connection
  readonly #seen: Set<string>
  readonly #used = new Map<string, Used>()

  /** `seen` are texts that this process has stored before. */
  constructor(db: Connection, seen: Set<string>) {
    this.#db = db
    this.#seen = seen
  }

  /** The key of the row with this text, for one more attempt. */
  refer(body: string | null): number | null {
    if (body === null) return null
    const known = this.#used.get(body)
    if (known) {
      known.uncounted += 1
      return known.pk
    }
    const used = this.#seen.has(body) ? this.#shared(body) : this.#added(body, null)
    this.#used.set(body, used)
    return used.pk
  }

  /** Counts the references of this transaction. It is called once, at the end. */
  count(): void {
    for (const [body, { pk, uncounted }] of this.#used) {
      // A text that was used twice will be used again, so that other transactions must find it.
      if (uncounted > 0) this.#db.do(COUNT, uncounted, hash64(body), pk)
      if (this.#seen.size >= SEEN_MAX) this.#seen.clear()
      this.#seen.add(body)
    }
  }

  #shared(body: string): Used {
    const hash = hash64(body)
    const row = this.#db.get<[pk: number]>(FIND, hash, body)
    return row ? { pk: row[0], uncounted: 1 } : this.#added(body, hash)
  }

  #added(body: string, hash: string | null): Used {
    return { pk: this.#db.get<[pk: number]>(INSERT, hash, body)![0], uncounted: 0 }
  }
}

const REFERENCES = `SELECT error, count(*) FROM attempts
  WHERE job IN (SELECT value FROM json_each(?)) AND error IS NOT NULL GROUP BY error`
const RELEASE = `UPDATE errors SET uses = uses - (each.value ->> 1) FROM json_each(?) AS each WHERE pk = each.value ->> 0`
const REMOVE = `DELETE FROM errors WHERE pk IN (SELECT value ->> 0 FROM json_each(?)) AND uses <= 0`

/** Removes the texts to which only attempts of these jobs refer. The attempts are removed after it. */
export function releaseErrors(db: Connection, jobs: string): void {
  const references = db.all<[error: number, count: number]>(REFERENCES, jobs)
  if (references.length === 0) return
  const list = JSON.stringify(references)
  db.run(RELEASE, list)
  db.run(REMOVE, list)
}
