import type { JobChange } from '../../../core/job/changes.js'
import type { Job } from '../../../core/job/job.js'
import { type ChangePlan, planChanges } from '../../change.js'
import { toText } from '../../columns.js'
import { DeltaDraft } from '../../delta.js'
import { type ChangedColumn, changedColumns, type JobWrite } from '../../job-columns.js'
import { isLive } from '../../scope.js'
import type { Following } from '../../store.js'
import { ids, isId, numbers, texts, words } from '../arrays.js'
import type { Ask, Database } from '../connection/pool.js'
import type { KnownLanes } from '../lanes/known.js'
import { note } from '../lanes/notes.js'
import { type FactRow, hashOf, isKeptApart, JOB_COLUMNS, JOB_COUNT, KEPT_APART, readJob } from '../rows.js'
import { append } from './deltas.js'
import { enqueueAsking } from './enqueue.js'

/**
 * Every transaction locks jobs in the order of their ids, so that two batches with the same jobs wait for each other
 * instead of deadlocking.
 */
const LOCK = `
  SELECT count(*) FROM (SELECT 1 FROM @jobs WHERE id = ANY ($1::uuid[]) ORDER BY id FOR UPDATE) AS locked`

/** A second statement sees what was committed while the first one waited for its locks. */
const READ = `SELECT ${JOB_COLUMNS}, (SELECT @now_ms()) FROM @jobs AS jobs WHERE id = ANY ($1::uuid[])`

const LIVE_UNIQUE = `
  SELECT encode(unique_hash, 'hex'), id FROM @jobs
  WHERE unique_hash = ANY ($1::bytea[]) AND unique_hash IS NOT NULL AND finished_at IS NULL
  ORDER BY coalesce(unique_slot, 0)`

/** `now` is the database's time when the jobs were locked; `isNoted`: jobs in lanes may start because of the change. */
export type Changes = ChangePlan & { readonly now: number; readonly isNoted: boolean }

/** A running job that shall be cancelled keeps its slot until it ends. */
const lanesOf = ({ before, next }: JobWrite): readonly Job[] => (next.state === 'running' ? [] : [before, next])

/** The whole transaction is retried if another one takes the same `unique` value concurrently. */
export function change(
  db: Database,
  asked: readonly string[],
  decide: JobChange,
  lanes: KnownLanes,
  following?: Following,
): Promise<Changes> {
  return db.transaction('work', async ask => {
    const rows = asked.some(isId) ? await lock(ask, ids(asked)) : []
    const jobs = new Map(rows.map(row => [row[0], readJob(row)]))
    const now = rows.length > 0 ? (rows[0]![JOB_COUNT] as number) : 0
    const live = await findLive(ask, [...jobs.values()])
    const locked = {
      now,
      find: (id: string) => jobs.get(id.toLowerCase()),
      liveUnique: (job: Job) => live.get(uniqueHash(job)),
    }
    const delta = new DeltaDraft()
    const plan = planChanges(asked, decide, following, locked, delta)
    await write(ask, plan.writes)
    await append(ask, delta)
    const isNoted = await note(ask, plan.writes.flatMap(lanesOf))
    if (plan.following.length > 0) await enqueueAsking(ask, plan.following, lanes)
    return { ...plan, now, isNoted }
  })
}

async function lock(ask: Ask, wanted: string): Promise<FactRow[]> {
  await ask(LOCK, wanted)
  return ask<FactRow>(READ, wanted)
}

const uniqueHash = ({ tenantId, name, unique }: Job): string => hashOf(tenantId, name, unique)

/** Live job ids by hash. Only a job that has ended can conflict with another job's `unique` value. */
async function findLive(ask: Ask, jobs: readonly Job[]): Promise<Map<string, string>> {
  const hashes = jobs.filter(job => job.unique !== undefined && !isLive(job)).map(uniqueHash)
  if (hashes.length === 0) return new Map()
  const rows = await ask<[hash: string, id: string]>(LIVE_UNIQUE, words(hashes))
  return new Map(rows.map(([hash, id]) => [`\\x${hash}`, id]))
}

async function write(ask: Ask, writes: readonly JobWrite[]): Promise<void> {
  const columns = changedColumns(writes)
  const jobs = writes.map(({ next }) => next)
  if (columns.length > 0) await ask(updateText(columns), idsOf(jobs), ...columns.map(column => arrayOf(column, jobs)))
  const payloads = writes.filter(({ before, next }) => next.payload !== before.payload).map(({ next }) => next)
  if (payloads.length > 0) await writePayloads(ask, payloads)
}

const idsOf = (jobs: readonly Job[]): string => ids(jobs.map(({ id }) => id))

const TYPES = { number: 'float8', text: 'text', flag: 'boolean' } as const

/** One statement for all jobs, with the columns that differ in at least one of them. */
function updateText(columns: readonly ChangedColumn[]): string {
  const sets = columns.map(({ column }) => `${column} = given.${column}`)
  const arrays = columns.map(({ type }, index) => `$${index + 2}::${TYPES[type]}[]`)
  const names = columns.map(({ column }) => column)
  return `
    UPDATE @jobs j SET ${sets.join(', ')}
    FROM unnest($1::uuid[], ${arrays.join(', ')}) AS given (id, ${names.join(', ')})
    WHERE j.id = ANY ($1::uuid[]) AND j.id = given.id`
}

function arrayOf({ type, value }: ChangedColumn, jobs: readonly Job[]): string {
  const values = jobs.map(value)
  if (type === 'number') return numbers(values as (number | null)[])
  return type === 'text' ? words(values as (string | null)[]) : `{${values.join(',')}}`
}

const SET_PAYLOADS = `
  UPDATE @jobs j SET payload = given.payload FROM unnest($1::uuid[], $2::text[]) AS given (id, payload)
  WHERE j.id = ANY ($1::uuid[]) AND j.id = given.id`
const FORGET_PAYLOADS = 'DELETE FROM @payloads WHERE id = ANY ($1::uuid[])'
const KEEP_PAYLOADS = `
  INSERT INTO @payloads (id, body) SELECT id, body FROM unnest($1::uuid[], $2::text[]) AS given (id, body)`

async function writePayloads(ask: Ask, jobs: readonly Job[]): Promise<void> {
  const inJob = jobs.map(({ payload }) => (isKeptApart(payload) ? KEPT_APART : toText(payload)))
  await ask(SET_PAYLOADS, idsOf(jobs), words(inJob))
  await ask(FORGET_PAYLOADS, idsOf(jobs))
  const apart = jobs.filter(({ payload }) => isKeptApart(payload))
  if (apart.length > 0) await ask(KEEP_PAYLOADS, idsOf(apart), texts(apart.map(({ payload }) => payload)))
}

const OVERDUE = `
  SELECT id FROM @jobs WHERE deadline IS NOT NULL AND state = 'waiting' AND deadline <= (SELECT @now_ms())
  ORDER BY deadline, pk LIMIT $1`

export async function overdue(db: Database, limit: number): Promise<readonly string[]> {
  return (await db.readShort<[id: string]>(OVERDUE, limit)).map(([id]) => id)
}
