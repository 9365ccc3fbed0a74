import { fromText } from '../../columns.js'
import { type Delta, DeltaDraft } from '../../delta.js'
import { foldInto, keysOf } from '../../fold.js'
import type { Connection } from '../file/connection.js'
import { findRecord, putRecord } from '../records.js'

/** Appends the delta in the transaction of the changes that it counts. */
export function append(db: Connection, delta: DeltaDraft, now: number): void {
  if (!delta.isEmpty) db.do('INSERT INTO deltas (body) VALUES (?)', delta.toText(now))
}

export function fold(db: Connection, limit: number, now: number): number {
  const rows = db.all<[pk: number, body: string]>('SELECT pk, body FROM deltas ORDER BY pk LIMIT ?', limit)
  const last = rows.at(-1)
  if (!last) return 0
  const deltas = rows.map(([, body]) => JSON.parse(body) as Delta)
  const current = keysOf(deltas).flatMap(({ kind, id }) => findRecord(db, kind, id) ?? [])
  for (const write of foldInto(deltas, current)) putRecord(db, write, now)
  db.run('DELETE FROM deltas WHERE pk <= ?', last[0])
  return rows.length
}

const SEED_STEP = 10_000

/** Adds the jobs that are older than the ledger, so that it balances. */
export function seedLedger(db: Connection, now: number): void {
  const delta = new DeltaDraft()
  const sql = 'SELECT pk, hex(id), queue FROM jobs WHERE pk > ? ORDER BY pk LIMIT ?'
  for (let last = 0, more = true; more; ) {
    const rows = db.all<[pk: number, id: string, queue: string]>(sql, last, SEED_STEP)
    for (const [, id, queue] of rows) delta.found({ id, queue: fromText(queue) })
    last = rows.at(-1)?.[0] ?? last
    more = rows.length === SEED_STEP
  }
  append(db, delta, now)
}
