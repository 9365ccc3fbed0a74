import type { Job } from '../../core/job.js'
import type { Changed, PruneReport, PruneRequest, RunTime } from '../store.js'
import { REMOVED_KEY_MS } from '../store.js'
import { ids, isId, numbers, words } from './arrays.js'
import type { Ask, Database } from './pool.js'
import { rounds } from './rounds.js'
import { FACT_COUNT, JOB_COLUMNS, type JobRow, readJob } from './rows.js'

const FIND = `SELECT ${JOB_COLUMNS} FROM @jobs AS jobs WHERE id = ANY ($1::uuid[])`

export async function find(db: Database, id: string): Promise<Job | undefined> {
  if (!isId(id)) return undefined
  const [row] = await db.read<JobRow>(FIND, ids([id]))
  return row && readJob(row)
}

async function jobsById(ask: Ask, asked: readonly string[]): Promise<Map<string, Job>> {
  const rows = await ask<JobRow>(FIND, ids(asked))
  return new Map(rows.map(row => [row[0], readJob(row)]))
}

type Word = 'changed' | 'requested' | 'refused'

function answer(id: string, job: Job | undefined, status: Word): Changed {
  return job ? { id, status, job } : { id, status: 'not-found' }
}

// ---------------------------------------------------------------- cancel, reschedule

const CANCEL = `
  UPDATE @jobs SET
    state = CASE state WHEN 'waiting' THEN 'cancelled' ELSE state END,
    finished_at = CASE state WHEN 'waiting' THEN @now_ms() END,
    cancel_requested = cancel_requested OR state = 'running'
  WHERE id = ANY ($1::uuid[]) AND state IN ('waiting', 'running')
  RETURNING id, state`

export function cancel(db: Database, asked: readonly string[]): Promise<Changed[]> {
  return eachRound(db, asked, async (ask, part) => {
    const rows = await ask<[id: string, state: string]>(CANCEL, ids(part))
    const words = new Map<string, Word>(rows.map(([id, state]) => [id, state === 'running' ? 'requested' : 'changed']))
    const jobs = await jobsById(ask, part)
    return part.map(id => answer(id, jobs.get(id.toLowerCase()), words.get(id.toLowerCase()) ?? 'refused'))
  })
}

/** One id twice in a batch: the second finds what the first did. */
function eachRound(
  db: Database,
  asked: readonly string[],
  act: (ask: Ask, part: readonly string[]) => Promise<readonly Changed[]>,
): Promise<Changed[]> {
  return db.transaction('work', async ask => {
    const answers: Changed[] = []
    const entries = asked.map((id, index) => ({ id, index }))
    for (const round of rounds(entries, ({ id }) => [id.toLowerCase()])) {
      // Sorted as everybody locks them: two batches with the same jobs wait for each other in turn.
      const sorted = round.sort((a, b) => (a.id < b.id ? -1 : 1))
      const part = await act(
        ask,
        sorted.map(({ id }) => id),
      )
      for (const [place, { index }] of sorted.entries()) answers[index] = part[place]!
    }
    return answers
  })
}

const RESCHEDULE = `
  UPDATE @jobs SET run_at = coalesce($2::bigint, ceil(@now_ms() + $3::float8)::bigint)
  WHERE id = ANY ($1::uuid[]) AND state = 'waiting'
  RETURNING id`

export async function reschedule(db: Database, id: string, at: RunTime): Promise<Changed> {
  if (!isId(id)) return { id, status: 'not-found' }
  const time = 'at' in at ? [Math.ceil(at.at), null] : [null, at.delayMs]
  const [moved, found] = await db.write('work', [
    { sql: RESCHEDULE, values: [ids([id]), ...time] },
    { sql: FIND, values: [ids([id])] },
  ])
  const row = found![0] as JobRow | undefined
  return answer(id, row && readJob(row), moved!.length > 0 ? 'changed' : 'refused')
}

// ---------------------------------------------------------------- redrive

const LOCK = `
  SELECT id, state, encode(unique_hash, 'hex') FROM @jobs WHERE id = ANY ($1::uuid[]) ORDER BY id FOR UPDATE`

const LIVE_UNIQUE = `
  SELECT encode(unique_hash, 'hex'), id FROM @jobs
  WHERE unique_hash = ANY ($1::bytea[]) AND unique_hash IS NOT NULL AND finished_at IS NULL`

/** A deadline that has passed would end the job again at once; whoever redrives it wants it to run. */
const NEXT_GENERATION = `
  WITH clock AS MATERIALIZED (SELECT @now_ms() AS now)
  UPDATE @jobs SET state = 'waiting', generation = generation + 1, run_at = clock.now, attempt = 0, counters = NULL,
    begun = false, cancel_requested = false, reason = NULL, first_started_at = NULL, started_at = NULL,
    finished_at = NULL, deadline = CASE WHEN deadline > clock.now THEN deadline END, progress = NULL, result = NULL
  FROM clock WHERE id = ANY ($1::uuid[])`

/** A job with the same `unique` value that comes to life at this moment makes it start over. */
export function redrive(db: Database, asked: readonly string[]): Promise<Changed[]> {
  return db.transaction('work', async ask => {
    const rows = await ask<[id: string, state: string, unique: string | null]>(LOCK, ids(asked))
    const hashes = rows.flatMap(([, , unique]) => unique ?? [])
    const twins = await ask<[string, string]>(LIVE_UNIQUE, words(hashes.map(hash => `\\x${hash}`)))
    const plan = planRedrive(asked, rows, new Map(twins))
    if (plan.chosen.size > 0) await ask(NEXT_GENERATION, ids([...plan.chosen]))
    const jobs = await jobsById(ask, asked)
    return asked.map((id, index): Changed => {
      const job = jobs.get(id.toLowerCase())
      const conflictId = plan.conflicts.get(index)
      if (!job || conflictId === undefined) return answer(id, job, plan.starts.has(index) ? 'changed' : 'refused')
      return { id, status: 'refused', job, conflictId }
    })
  })
}

interface RedrivePlan {
  readonly chosen: ReadonlySet<string>
  /** Places in the batch. */
  readonly starts: ReadonlySet<number>
  readonly conflicts: ReadonlyMap<number, string>
}

/** One after the other: of two dead jobs with the same `unique` value the first one lives. */
function planRedrive(
  asked: readonly string[],
  rows: readonly (readonly [id: string, state: string, unique: string | null])[],
  live: Map<string, string>,
): RedrivePlan {
  const known = new Map(rows.map(row => [row[0], row]))
  const chosen = new Set<string>()
  const starts = new Set<number>()
  const conflicts = new Map<number, string>()
  for (const [index, asking] of asked.entries()) {
    const [id, state, unique] = known.get(asking.toLowerCase()) ?? []
    if (id === undefined || chosen.has(id) || (state !== 'dead' && state !== 'cancelled')) continue
    const twin = unique == null ? undefined : live.get(unique)
    if (twin !== undefined) {
      conflicts.set(index, twin)
      continue
    }
    chosen.add(id)
    starts.add(index)
    if (unique != null) live.set(unique, id)
  }
  return { chosen, starts, conflicts }
}

// ---------------------------------------------------------------- remove, prune, deadlines

/** Jobs and all that belongs to them; their keys stay for `$3` milliseconds. */
const FORGET = `
  WITH remembered AS (
    UPDATE @keys SET expires_at = ceil(@now_ms() + $3::float8)::bigint
    WHERE job_id = ANY ($2::uuid[]) AND expires_at IS NULL
  ),
  attempts AS (DELETE FROM @attempts WHERE job = ANY ($1::bigint[])),
  logs AS (DELETE FROM @job_logs WHERE job = ANY ($1::bigint[])),
  effects AS (DELETE FROM @effects WHERE job = ANY ($1::bigint[]))
  DELETE FROM @jobs WHERE id = ANY ($2::uuid[])`

const FIND_TO_REMOVE = `
  SELECT ${JOB_COLUMNS}, pk FROM @jobs AS jobs WHERE id = ANY ($1::uuid[]) ORDER BY id FOR UPDATE OF jobs`

export function remove(db: Database, asked: readonly string[]): Promise<Changed[]> {
  return db.transaction('work', async ask => {
    const rows = await ask<[...JobRow, pk: number]>(FIND_TO_REMOVE, ids(asked))
    const jobs = new Map(rows.map(row => [row[0], readJob(row as unknown as JobRow)]))
    const gone = rows.filter(row => row[FACT_COUNT] !== 'running')
    await ask(FORGET, numbers(gone.map(row => row.at(-1) as number)), ids(gone.map(row => row[0])), REMOVED_KEY_MS)
    return asked.map(id => {
      const job = jobs.get(id.toLowerCase())
      if (job && job.state !== 'running') jobs.delete(job.id)
      return answer(id, job, job?.state === 'running' ? 'refused' : 'changed')
    })
  })
}

const OLD = `
  WITH clock AS MATERIALIZED (SELECT @now_ms() AS now)
  SELECT old.pk, old.id, old.state
  FROM clock, unnest($1::text[], $2::float8[]) AS kept (state, ms),
    LATERAL (
      SELECT pk, id, state, finished_at FROM @jobs
      WHERE state = kept.state AND finished_at IS NOT NULL AND finished_at <= clock.now - kept.ms
      ORDER BY finished_at, pk LIMIT $3 FOR UPDATE SKIP LOCKED
    ) AS old
  ORDER BY old.finished_at, old.pk LIMIT $3`

const FORGET_KEYS = `
  DELETE FROM @keys WHERE hash = ANY (ARRAY(
    SELECT hash FROM @keys WHERE expires_at <= (SELECT @now_ms()) ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED
  ))
  RETURNING 1`

export function prune(db: Database, { olderThanMs, keyMs, limit }: PruneRequest): Promise<PruneReport> {
  return db.transaction('work', async ask => {
    const pruned = { succeeded: 0, dead: 0, cancelled: 0 }
    const kept = Object.entries(olderThanMs).filter(([, ms]) => ms !== undefined)
    const states = words(kept.map(([state]) => state))
    const rows = await ask<[pk: number, id: string, state: keyof typeof pruned]>(
      OLD,
      states,
      numbers(kept.map(([, ms]) => ms)),
      limit,
    )
    if (rows.length > 0) await ask(FORGET, numbers(rows.map(([pk]) => pk)), ids(rows.map(([, id]) => id)), keyMs)
    for (const [, , state] of rows) pruned[state] += 1
    const keys = await ask(FORGET_KEYS, limit)
    return { pruned, keys: keys.length }
  })
}

const EXPIRE = `
  WITH clock AS MATERIALIZED (SELECT @now_ms() AS now),
  late AS MATERIALIZED (
    SELECT jobs.id FROM @jobs AS jobs
    WHERE deadline IS NOT NULL AND state = 'waiting' AND deadline <= (SELECT now FROM clock)
    ORDER BY deadline, pk LIMIT $1 FOR UPDATE SKIP LOCKED
  ),
  ended AS (
    UPDATE @jobs AS jobs SET state = 'dead', reason = 'expired', finished_at = (SELECT now FROM clock)
    WHERE id = ANY (ARRAY(SELECT id FROM late))
    RETURNING ${JOB_COLUMNS}, pk
  )
  SELECT * FROM ended ORDER BY deadline, pk`

export async function expireDeadlines(db: Database, limit: number): Promise<readonly Job[]> {
  const [rows] = await db.write('control', [{ sql: EXPIRE, values: [limit] }])
  return (rows as unknown as JobRow[]).map(readJob)
}
