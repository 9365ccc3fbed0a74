import { fromText, toText } from '../../columns.js'
import type { DeltaDraft } from '../../delta.js'
import type { Fired, Firing, LiveSchedule } from '../../store.js'
import type { Connection } from '../file/connection.js'
import { putRecord } from '../records.js'
import { enqueue } from './enqueue.js'

/** Writes the record of a schedule if its version still matches, and then enqueues its jobs. */
export function fire(db: Connection, { record, jobs }: Firing, now: number, delta: DeltaDraft): Fired {
  const put = putRecord(db, record, now)
  return put.status === 'conflict' ? put : { ...put, enqueued: enqueue(db, jobs, now, delta) }
}

export const LIVE_SCHEDULES = `
  SELECT schedule_id, count(*) FROM jobs INDEXED BY jobs_schedule_live
  WHERE schedule_id IN (SELECT value FROM json_each(?)) AND schedule_id IS NOT NULL AND finished_at IS NULL
  GROUP BY schedule_id`

export function liveSchedules(db: Connection, ids: readonly string[]): readonly LiveSchedule[] {
  const rows = db.all<[id: string, live: number]>(LIVE_SCHEDULES, JSON.stringify(ids.map(toText)))
  return rows.map(([id, live]) => ({ id: fromText(id), live }))
}
