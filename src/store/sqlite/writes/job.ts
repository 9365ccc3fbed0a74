import type { Job } from '../../../core/job/job.js'
import { toText } from '../../columns.js'
import { changedColumns, type JobWrite } from '../../job-columns.js'
import type { Lease } from '../../store.js'
import type { Connection } from '../file/connection.js'
import type { Value } from '../file/driver.js'
import { type FactRow, ID, JOB_COLUMNS, readJob } from '../rows.js'

/** In characters. A longer payload is stored in its own table, so that claim and settle do not rewrite it. */
export const INLINE_PAYLOAD_MAX = 400

/** The live jobs of a `unique` value, newest first: only modes allow more than one. */
export const LIVE_UNIQUE = `SELECT hex(id) FROM jobs
  WHERE "unique" = ? AND name = ? AND ifnull(tenant_id, 0) = ? AND finished_at IS NULL
  ORDER BY ifnull(unique_slot, 0) DESC`

/**
 * The key of a claimed job's row, so that it is settled without a lookup by id. Every write is fenced by the token: a key
 * that was used again after a prune can't match.
 */
export const KEY = Symbol('key')
export interface Keyed {
  [KEY]?: number
}

export function keyOf(db: Connection, lease: Lease & Keyed): number | undefined {
  return lease[KEY] ?? db.get<[pk: number]>(`SELECT pk FROM jobs WHERE id = ${ID}`, lease.id)?.[0]
}

export function findRow(db: Connection, id: string): FactRow | undefined {
  return db.get<FactRow>(`SELECT ${JOB_COLUMNS} FROM jobs WHERE id = ${ID}`, id)
}

export function find(db: Connection, id: string): Job | undefined {
  const row = findRow(db, id)
  return row && readJob(row)
}

/** Writes what differs between the job before and after a change. */
export function writeJob(db: Connection, pk: number, write: JobWrite): void {
  const { before, next } = write
  const sets: string[] = []
  const values: Value[] = []
  const set = (column: string, value: Value) => {
    sets.push(`${column} = ?`)
    values.push(value)
  }
  for (const { column, value } of changedColumns([write])) {
    const written = value(next)
    set(column, typeof written === 'boolean' ? Number(written) : written)
  }
  if (next.payload !== before.payload) set('payload', writePayload(db, pk, next.payload))
  if (sets.length > 0) db.run(`UPDATE jobs SET ${sets.join(', ')} WHERE pk = ?`, ...values, pk)
  if (next.queue !== before.queue)
    db.run('INSERT INTO queues (name) VALUES (?) ON CONFLICT (name) DO NOTHING', toText(next.queue))
}

/** Returns the value of the job's payload column: NULL if the payload is too long and stored in its own table. */
function writePayload(db: Connection, pk: number, payload: string): string | null {
  const text = toText(payload)
  db.run('DELETE FROM payloads WHERE job = ?', pk)
  if (text.length <= INLINE_PAYLOAD_MAX) return text
  db.run('INSERT INTO payloads (job, payload) VALUES (?, ?)', pk, text)
  return null
}
