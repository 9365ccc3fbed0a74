import { fromText, toText } from '../../columns.js'
import type { Enqueued, Fired, Firing, LiveSchedule } from '../../store.js'
import { words } from '../arrays.js'
import type { Database } from '../connection/pool.js'
import type { KnownLanes } from '../lanes/known.js'
import { putRecordsAsking } from '../records.js'
import { enqueueAsking } from './enqueue.js'

/** Writes the records of schedules whose version still matches, and then enqueues their jobs. */
export function fire(db: Database, firings: readonly Firing[], lanes: KnownLanes): Promise<readonly Fired[]> {
  if (firings.length === 0) return Promise.resolve([])
  return db.transaction('work', async ask => {
    const puts = await putRecordsAsking(
      ask,
      firings.map(({ record }) => record),
    )
    const jobs = firings.flatMap((firing, index) => (puts[index]!.status === 'written' ? firing.jobs : []))
    const enqueued = jobs.length === 0 ? [] : await enqueueAsking(ask, jobs, lanes)
    return fired(firings, puts, enqueued)
  })
}

function fired(
  firings: readonly Firing[],
  puts: Awaited<ReturnType<typeof putRecordsAsking>>,
  enqueued: readonly Enqueued[],
): readonly Fired[] {
  let taken = 0
  return puts.map((put, index): Fired => {
    if (put.status === 'conflict') return put
    const { length } = firings[index]!.jobs
    taken += length
    return { ...put, enqueued: enqueued.slice(taken - length, taken) }
  })
}

/** Counts each schedule separately through an index that contains only live jobs. */
const LIVE_SCHEDULES = `
  SELECT given.id, found.live FROM unnest($1::text[]) AS given (id),
    LATERAL (SELECT count(*)::int AS live FROM @jobs j
      WHERE j.schedule_id = given.id AND j.schedule_id IS NOT NULL AND j.finished_at IS NULL) AS found
  WHERE found.live > 0`

export async function liveSchedules(db: Database, ids: readonly string[]): Promise<readonly LiveSchedule[]> {
  const rows = await db.read<[id: string, live: number]>(LIVE_SCHEDULES, words([...new Set(ids)].map(toText)))
  return rows.map(([id, live]) => ({ id: fromText(id), live }))
}
