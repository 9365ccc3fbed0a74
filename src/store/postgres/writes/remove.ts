import type { Job } from '../../../core/job/job.js'
import { fromText } from '../../columns.js'
import { DeltaDraft } from '../../delta.js'
import type { Changed, PruneReport, PruneRequest, Removable } from '../../store.js'
import { isRemovable, REMOVED_KEY_MS } from '../../store.js'
import { ids, isId, numbers, words } from '../arrays.js'
import type { Ask, Database, Row } from '../connection/pool.js'
import { note } from '../lanes/notes.js'
import { FORGET_PARTITIONS } from '../lanes/statements.js'
import { type FactRow, JOB_COLUMNS, KNOWN_COLUMNS, type KnownRow, readJob, readKnown } from '../rows.js'
import { append } from './deltas.js'
import { forgetErrors } from './errors.js'

const FIND = `SELECT ${JOB_COLUMNS} FROM @jobs AS jobs WHERE id = ANY ($1::uuid[])`

export async function find(db: Database, id: string): Promise<Job | undefined> {
  if (!isId(id)) return undefined
  const [row] = await db.read<FactRow>(FIND, ids([id]))
  return row && readJob(row)
}

/**
 * Removes jobs and the data that belongs to them; their keys are kept for `$3` milliseconds. Returns the hashes of their
 * errors.
 */
const FORGET = `
  WITH remembered AS (
    UPDATE @keys SET expires_at = ceil(@now_ms() + $3::float8)::bigint
    WHERE job_id = ANY ($2::uuid[]) AND expires_at IS NULL
  ),
  attempts AS (DELETE FROM @attempts WHERE job = ANY ($1::bigint[]) RETURNING error_hash),
  logs AS (DELETE FROM @job_logs WHERE job = ANY ($1::bigint[])),
  effects AS (DELETE FROM @effects WHERE job = ANY ($1::bigint[])),
  payloads AS (DELETE FROM @payloads WHERE id = ANY ($2::uuid[])),
  jobs AS (DELETE FROM @jobs WHERE id = ANY ($2::uuid[]))
  SELECT DISTINCT error_hash FROM attempts WHERE error_hash IS NOT NULL`

/** The rows begin with the id of a job and end with its `pk`. */
async function forget(ask: Ask, rows: readonly Row[], keyMs: number): Promise<string[]> {
  if (rows.length === 0) return []
  const pks = numbers(rows.map(row => row.at(-1) as number))
  const hashes = await ask<[string]>(FORGET, pks, ids(rows.map(row => row[0] as string)), keyMs)
  return hashes.map(([hash]) => hash)
}

const FIND_TO_REMOVE = `
  SELECT ${JOB_COLUMNS}, pk FROM @jobs AS jobs WHERE id = ANY ($1::uuid[]) ORDER BY id FOR UPDATE OF jobs`

/** `isNoted`: jobs in lanes may start because of the removal. */
export async function remove(
  db: Database,
  asked: readonly string[],
  which?: Removable,
): Promise<{ readonly answers: Changed[]; readonly isNoted: boolean }> {
  const { answers, errors, isNoted } = await db.transaction('work', async ask => {
    const rows = await ask<FactRow>(FIND_TO_REMOVE, ids(asked))
    const jobs = new Map(rows.map(row => [row[0], readJob(row)]))
    const gone = rows.filter(row => isRemovable(jobs.get(row[0])!, which))
    const delta = new DeltaDraft()
    for (const row of gone) delta.removed(jobs.get(row[0])!)
    await append(ask, delta)
    const isNoted = await note(
      ask,
      gone.map(row => jobs.get(row[0])!),
    )
    const errors = await forget(ask, gone, REMOVED_KEY_MS)
    const answers = asked.map((id): Changed => {
      const job = jobs.get(id.toLowerCase())
      if (!job) return { id, status: 'not-found' }
      if (!isRemovable(job, which)) return { id, status: 'refused', job }
      jobs.delete(job.id)
      return { id, status: 'changed', job }
    })
    return { answers, errors, isNoted }
  })
  await forgetErrors(db, errors)
  return { answers, isNoted }
}

const OLD = `
  WITH clock AS MATERIALIZED (SELECT @now_ms() AS now)
  SELECT ${KNOWN_COLUMNS}, lane, pk
  FROM clock, unnest($1::text[], $2::float8[]) AS kept (ended, ms),
    LATERAL (
      SELECT ${KNOWN_COLUMNS}, lane, pk, finished_at FROM @jobs
      WHERE state = kept.ended AND finished_at IS NOT NULL AND finished_at <= floor(clock.now - kept.ms)::bigint
      ORDER BY finished_at, pk LIMIT $3 FOR UPDATE SKIP LOCKED
    ) AS old
  ORDER BY old.finished_at, old.pk LIMIT $3`

const FORGET_KEYS = `
  DELETE FROM @keys WHERE hash = ANY (ARRAY(
    SELECT hash FROM @keys WHERE expires_at <= (SELECT @now_ms()) ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED
  ))
  RETURNING 1`

/** `isNoted`: jobs in lanes may start, because a dead letter that stopped them is gone. */
export async function prune(
  db: Database,
  { olderThanMs, keyMs, limit }: PruneRequest,
): Promise<{ readonly report: PruneReport; readonly isNoted: boolean }> {
  const { report, errors, isNoted } = await db.transaction('work', async ask => {
    const pruned = { succeeded: 0, dead: 0, cancelled: 0 }
    const kept = Object.entries(olderThanMs).filter(([, ms]) => ms !== undefined)
    const states = words(kept.map(([state]) => state))
    const rows = await ask<[...KnownRow, lane: string | null, pk: number]>(
      OLD,
      states,
      numbers(kept.map(([, ms]) => ms)),
      limit,
    )
    const errors = await forget(ask, rows, keyMs)
    const delta = new DeltaDraft()
    for (const row of rows) {
      delta.removed(readKnown(row))
      pruned[row[1] as keyof typeof pruned] += 1
    }
    await append(ask, delta)
    const dead = rows.filter(([, state]) => state === 'dead')
    const isNoted = await note(
      ask,
      dead.map(row => ({ queue: fromText(row[2]), ...(row[7] !== null && { lane: fromText(row[7]) }) })),
    )
    await ask(FORGET_PARTITIONS, limit)
    const keys = await ask(FORGET_KEYS, limit)
    return { report: { pruned, keys: keys.length }, errors, isNoted }
  })
  await forgetErrors(db, errors)
  return { report, isNoted }
}
