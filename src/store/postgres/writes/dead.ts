import { toText, toTextOrNull } from '../../columns.js'
import { DeltaDraft } from '../../delta.js'
import type { Changed, Following, RedriveOptions, Tally } from '../../store.js'
import { ids, numbers, words } from '../arrays.js'
import type { Ask, Database } from '../connection/pool.js'
import { KNOWN_COLUMNS, type KnownRow, readKnown } from '../rows.js'
import { append } from './deltas.js'
import { answer, follow, inOrder, jobsById } from './manual.js'

// What people do with dead letters.

const LOCK = `
  SELECT ${KNOWN_COLUMNS}, encode(unique_hash, 'hex'), redrive_id FROM @jobs
  WHERE id = ANY ($1::uuid[]) ORDER BY id FOR UPDATE`

type LockedRow = [...KnownRow, unique: string | null, redriveId: string | null]

const LIVE_UNIQUE = `
  SELECT encode(unique_hash, 'hex'), id FROM @jobs
  WHERE unique_hash = ANY ($1::bytea[]) AND unique_hash IS NOT NULL AND finished_at IS NULL`

/** A deadline that has passed would end the job again at once; whoever redrives it wants it to run. */
const NEXT_GENERATION = `
  WITH clock AS MATERIALIZED (SELECT @now_ms() AS now)
  UPDATE @jobs j SET state = 'waiting', generation = generation + 1, run_at = ceil(clock.now + told.delay_ms)::bigint,
    attempt = 0, counters = NULL, begun = false, cancel_requested = false, reason = NULL, first_started_at = NULL,
    started_at = NULL, finished_at = NULL, deadline = CASE WHEN deadline > clock.now THEN deadline END,
    progress = NULL, result = NULL, pass = NULL, acknowledged_at = NULL, redrive_id = $3::text
  FROM clock, unnest($1::uuid[], $2::float8[]) AS told (id, delay_ms)
  WHERE j.id = ANY ($1::uuid[]) AND j.id = told.id`

/** A job with the same `unique` value that comes to life at this moment makes it start over. */
export function redrive(db: Database, asked: readonly string[], options: RedriveOptions = {}): Promise<Changed[]> {
  const { redriveId, delaysMs = [] } = options
  return db.transaction('work', async ask => {
    const rows = await ask<LockedRow>(LOCK, ids(asked))
    const plan = planRedrive(asked, rows, await liveUnique(ask, rows), toTextOrNull(redriveId))
    const starts = [...plan.starts]
    if (starts.length > 0) {
      const delays = numbers(starts.map(([, index]) => delaysMs[index] ?? 0))
      await ask(NEXT_GENERATION, ids(starts.map(([id]) => id)), delays, toTextOrNull(redriveId))
    }
    const delta = new DeltaDraft()
    for (const row of rows) if (plan.starts.has(row[0])) delta.leftDead(readKnown(row))
    await append(ask, delta)
    const jobs = await jobsById(ask, asked)
    return asked.map((id, index): Changed => {
      const job = jobs.get(id.toLowerCase())
      const conflictId = plan.conflicts.get(index)
      if (!job || conflictId === undefined) return answer(id, job, plan.changed.has(index) ? 'changed' : 'refused')
      return { id, status: 'refused', job, conflictId }
    })
  })
}

async function liveUnique(ask: Ask, rows: readonly LockedRow[]): Promise<Map<string, string>> {
  const hashes = rows.flatMap(row => row[7] ?? [])
  if (hashes.length === 0) return new Map()
  return new Map(await ask<[string, string]>(LIVE_UNIQUE, words(hashes.map(hash => `\\x${hash}`))))
}

interface RedrivePlan {
  /** Ids, and their places in the batch. */
  readonly starts: ReadonlyMap<string, number>
  /** Places in the batch. */
  readonly changed: ReadonlySet<number>
  readonly conflicts: ReadonlyMap<number, string>
}

/** One after the other: of two dead jobs with the same `unique` value the first one lives. */
function planRedrive(
  asked: readonly string[],
  rows: readonly LockedRow[],
  live: Map<string, string>,
  redriveId: string | null,
): RedrivePlan {
  const known = new Map(rows.map(row => [row[0], row]))
  const starts = new Map<string, number>()
  const changed = new Set<number>()
  const conflicts = new Map<number, string>()
  for (const [index, asking] of asked.entries()) {
    const row = known.get(asking.toLowerCase())
    if (!row) continue
    const [id, state, unique, earlier] = [row[0], row[1], row[7], row[8]]
    const isDone = redriveId !== null && (earlier === redriveId || starts.has(id))
    if (isDone) changed.add(index)
    if (isDone || starts.has(id) || (state !== 'dead' && state !== 'cancelled')) continue
    const twin = unique === null ? undefined : live.get(unique)
    if (twin !== undefined) {
      conflicts.set(index, twin)
      continue
    }
    starts.set(id, index)
    changed.add(index)
    if (unique !== null) live.set(unique, id)
  }
  return { starts, changed, conflicts }
}

const ACKNOWLEDGE = `
  UPDATE @jobs SET acknowledged_at = coalesce(acknowledged_at, @now_ms())
  WHERE id = ANY ($1::uuid[]) AND state = 'dead'
  RETURNING id`

export function acknowledge(db: Database, asked: readonly string[]): Promise<Changed[]> {
  return db.transaction('work', async ask => {
    const rows = await ask<[string]>(ACKNOWLEDGE, ids(inOrder(asked)))
    return answers(ask, asked, new Set(rows.map(([id]) => id)))
  })
}

async function answers(ask: Ask, asked: readonly string[], changed: ReadonlySet<string>): Promise<Changed[]> {
  const jobs = await jobsById(ask, asked)
  return asked.map(id => {
    const name = id.toLowerCase()
    return answer(id, jobs.get(name), changed.has(name) ? 'changed' : 'refused')
  })
}

const DISCARD = `
  UPDATE @jobs SET reason = 'discarded', acknowledged_at = coalesce(acknowledged_at, @now_ms())
  WHERE id = ANY ($1::uuid[])`

export function discard(db: Database, asked: readonly string[], following?: Following): Promise<Changed[]> {
  return db.transaction('work', async ask => {
    const rows = (await ask<LockedRow>(LOCK, ids(asked))).map(readKnown)
    const dead = rows.filter(({ state }) => state === 'dead')
    const delta = new DeltaDraft()
    for (const job of dead) delta.leftDead(job)
    await append(ask, delta)
    const changed = dead.map(({ id }) => id)
    if (changed.length > 0) await ask(DISCARD, ids(changed))
    const told = await answers(ask, asked, new Set(changed))
    await follow(ask, told, following)
    return told
  })
}

const TALLY = `
  SELECT CASE state WHEN 'waiting' THEN CASE WHEN attempt > 0 THEN 'retrying' ELSE 'pending' END ELSE state END,
    count(*)
  FROM @jobs WHERE redrive_id = $1 GROUP BY 1`

const NOTHING: Tally = { pending: 0, running: 0, retrying: 0, succeeded: 0, dead: 0, cancelled: 0 }

export async function tally(db: Database, redriveId: string): Promise<Tally> {
  const rows = await db.read<[word: keyof Tally, count: number]>(TALLY, toText(redriveId))
  return { ...NOTHING, ...Object.fromEntries(rows) }
}
