import type { Job } from '../../../core/job/job.js'
import { DeltaDraft } from '../../delta.js'
import type { Changed, Following, PruneReport, PruneRequest, RunTime } from '../../store.js'
import { REMOVED_KEY_MS } from '../../store.js'
import { ids, isId, numbers, words } from '../arrays.js'
import { rounds } from '../connection/batch-rounds.js'
import type { Ask, Database } from '../connection/pool.js'
import { FACT_COUNT, JOB_COLUMNS, type JobRow, KNOWN_COLUMNS, type KnownRow, readJob, readKnown } from '../rows.js'
import { append, appendEnded } from './deltas.js'
import { enqueueAsking } from './enqueue.js'

const FIND = `SELECT ${JOB_COLUMNS} FROM @jobs AS jobs WHERE id = ANY ($1::uuid[])`

export async function find(db: Database, id: string): Promise<Job | undefined> {
  if (!isId(id)) return undefined
  const [row] = await db.read<JobRow>(FIND, ids([id]))
  return row && readJob(row)
}

export async function jobsById(ask: Ask, asked: readonly string[]): Promise<Map<string, Job>> {
  const rows = await ask<JobRow>(FIND, ids(asked))
  return new Map(rows.map(row => [row[0], readJob(row)]))
}

type Word = 'changed' | 'requested' | 'refused'

export function answer(id: string, job: Job | undefined, status: Word): Changed {
  return job ? { id, status, job } : { id, status: 'not-found' }
}

// ---------------------------------------------------------------- cancel, reschedule

const CANCEL = `
  UPDATE @jobs SET
    state = CASE state WHEN 'waiting' THEN 'cancelled' ELSE state END,
    finished_at = CASE state WHEN 'waiting' THEN @now_ms() END,
    pass = CASE state WHEN 'waiting' THEN NULL ELSE pass END,
    cancel_requested = cancel_requested OR state = 'running'
  WHERE id = ANY ($1::uuid[]) AND state IN ('waiting', 'running')
  RETURNING id, state`

export function cancel(db: Database, asked: readonly string[], following?: Following): Promise<Changed[]> {
  return db.transaction('work', async ask => {
    const answers: Changed[] = []
    const delta = new DeltaDraft()
    const entries = asked.map((id, index) => ({ id, index }))
    // One id twice in a batch: the second finds what the first did.
    for (const round of rounds(entries, ({ id }) => [id.toLowerCase()])) {
      const part = await cancelRound(ask, inOrder(round.map(({ id }) => id)))
      for (const { id, index } of round) answers[index] = part(id)
    }
    for (const answer of answers) if (answer.status === 'changed') delta.ended(answer.job)
    await append(ask, delta)
    await follow(ask, answers, following)
    return answers
  })
}

export async function follow(ask: Ask, answers: readonly Changed[], following: Following = () => []): Promise<void> {
  const jobs = answers.flatMap(one => (one.status === 'changed' ? following(one.job) : []))
  if (jobs.length > 0) await enqueueAsking(ask, jobs)
}

/** As everybody locks them: two batches with the same jobs wait for each other in turn. */
export function inOrder(asked: readonly string[]): string[] {
  return [...asked].sort((a, b) => (a < b ? -1 : 1))
}

async function cancelRound(ask: Ask, part: readonly string[]): Promise<(id: string) => Changed> {
  const rows = await ask<[id: string, state: string]>(CANCEL, ids(part))
  const words = new Map<string, Word>(rows.map(([id, state]) => [id, state === 'running' ? 'requested' : 'changed']))
  const jobs = await jobsById(ask, part)
  return id => answer(id, jobs.get(id.toLowerCase()), words.get(id.toLowerCase()) ?? 'refused')
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

// ---------------------------------------------------------------- remove, prune, deadlines

/** Jobs and all that belongs to them; their keys stay for `$3` milliseconds. */
const FORGET = `
  WITH remembered AS (
    UPDATE @keys SET expires_at = ceil(@now_ms() + $3::float8)::bigint
    WHERE job_id = ANY ($2::uuid[]) AND expires_at IS NULL
  ),
  attempts AS (DELETE FROM @attempts WHERE job = ANY ($1::bigint[])),
  logs AS (DELETE FROM @job_logs WHERE job = ANY ($1::bigint[])),
  effects AS (DELETE FROM @effects WHERE job = ANY ($1::bigint[])),
  payloads AS (DELETE FROM @payloads WHERE id = ANY ($2::uuid[]))
  DELETE FROM @jobs WHERE id = ANY ($2::uuid[])`

const FIND_TO_REMOVE = `
  SELECT ${JOB_COLUMNS}, pk FROM @jobs AS jobs WHERE id = ANY ($1::uuid[]) ORDER BY id FOR UPDATE OF jobs`

export function remove(db: Database, asked: readonly string[]): Promise<Changed[]> {
  return db.transaction('work', async ask => {
    const rows = await ask<[...JobRow, pk: number]>(FIND_TO_REMOVE, ids(asked))
    const jobs = new Map(rows.map(row => [row[0], readJob(row as unknown as JobRow)]))
    const gone = rows.filter(row => row[FACT_COUNT] !== 'running')
    const delta = new DeltaDraft()
    for (const row of gone) delta.removed(jobs.get(row[0])!)
    await append(ask, delta)
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
  SELECT ${KNOWN_COLUMNS}, pk
  FROM clock, unnest($1::text[], $2::float8[]) AS kept (ended, ms),
    LATERAL (
      SELECT ${KNOWN_COLUMNS}, pk, finished_at FROM @jobs
      WHERE state = kept.ended AND finished_at IS NOT NULL AND finished_at <= clock.now - kept.ms
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
    const rows = await ask<[...KnownRow, pk: number]>(OLD, states, numbers(kept.map(([, ms]) => ms)), limit)
    const pks = numbers(rows.map(row => row.at(-1) as number))
    if (rows.length > 0) await ask(FORGET, pks, ids(rows.map(([id]) => id)), keyMs)
    const delta = new DeltaDraft()
    for (const row of rows) {
      delta.removed(readKnown(row))
      pruned[row[1] as keyof typeof pruned] += 1
    }
    await append(ask, delta)
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
    UPDATE @jobs AS jobs SET state = 'dead', reason = 'expired', pass = NULL,
      finished_at = (SELECT now FROM clock)
    WHERE id = ANY (ARRAY(SELECT id FROM late))
    RETURNING ${JOB_COLUMNS}, pk
  ),
  counted AS (${appendEnded('ended')})
  SELECT * FROM ended ORDER BY deadline, pk`

export function expireDeadlines(db: Database, limit: number, following: Following): Promise<readonly Job[]> {
  return db.transaction('control', async ask => {
    const jobs = (await ask<JobRow>(EXPIRE, limit)).map(readJob)
    const next = jobs.flatMap(following)
    if (next.length > 0) await enqueueAsking(ask, next)
    return jobs
  })
}
