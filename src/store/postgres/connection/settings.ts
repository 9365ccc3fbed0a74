import { limitsAfter, type QueueLimits } from '../../../core/partition/limits.js'
import type { PartialPolicy } from '../../../core/policy/policy.js'
import { fromText, toText } from '../../columns.js'
import type { PolicyRecord, QueueChange, QueueRecord } from '../../store.js'
import { texts } from '../arrays.js'
import type { KnownLanes } from '../lanes/known.js'
import { noteLanes } from '../lanes/notes.js'
import { stateOf } from '../lanes/state.js'
import { ofBoth } from '../reads/both-indexes.js'
import type { Database } from './pool.js'

type QueueRow = [
  name: string,
  paused: boolean,
  retry: string | null,
  limits: string | null,
  openAt: number | null,
  turn: string | null,
]

function readQueue([name, paused, retry, limits, openAt, turn]: QueueRow): QueueRecord {
  return {
    name: fromText(name),
    paused,
    ...(retry !== null && { retry: JSON.parse(retry) as PartialPolicy }),
    ...(limits !== null && { limits: JSON.parse(limits) as QueueLimits }),
    ...(limits !== null && (openAt !== null || turn !== null) && { turn: stateOf(openAt, turn) }),
  }
}

const QUEUE_COLUMNS = 'name, paused, retry, limits, open_at, turn'

const firstQueue = (condition: string): string =>
  `(SELECT queue FROM (${ofBoth('queue', condition, 'queue', '1')}) AS next)`

/**
 * An enqueue also stores the name of its queue, but not in a caller's transaction, because other transactions would
 * wait for its end. Until one of its jobs is claimed, such a queue is known only from its jobs.
 */
const QUEUES = `
  WITH RECURSIVE seen AS (
    SELECT ${firstQueue('true')} AS name
    UNION ALL
    SELECT ${firstQueue('queue > seen.name')} FROM seen WHERE seen.name IS NOT NULL
  )
  SELECT ${QUEUE_COLUMNS} FROM @queues
  UNION ALL
  SELECT name, false, NULL, NULL, NULL, NULL FROM seen
  WHERE name IS NOT NULL AND NOT EXISTS (SELECT 1 FROM @queues q WHERE q.name = seen.name)`

/** The stored queues. The row without a name tells whether a job between two of their names waits in another one. */
const STORED = `
  WITH known AS MATERIALIZED (
    SELECT name, lead(name) OVER (ORDER BY name) AS next FROM (
      SELECT '' COLLATE "C" AS name UNION ALL SELECT name FROM @queues
    ) AS names
  )
  SELECT ${QUEUE_COLUMNS} FROM @queues
  UNION ALL
  SELECT NULL, EXISTS (SELECT 1 FROM known WHERE ${firstQueue('queue > known.name AND queue < known.next')} IS NOT NULL)
    OR ${firstQueue('queue > (SELECT max(name) FROM known)')} IS NOT NULL, NULL, NULL, NULL, NULL`

export async function queues(db: Database): Promise<readonly QueueRecord[]> {
  const found = await db.readShort<QueueRow | [name: null, hasOthers: boolean]>(STORED)
  const stored = found.filter((row): row is QueueRow => row[0] !== null)
  const hasOthers = found.some(([name, others]) => name === null && others)
  // All in one snapshot, because a queue may be stored between two statements.
  const rows = hasOthers ? await db.readShort<QueueRow>(QUEUES) : stored
  return rows.map(readQueue).sort((a, b) => (a.name < b.name ? -1 : 1))
}

const isIn = (state: string, lane: string): string =>
  `EXISTS (SELECT 1 FROM @jobs j WHERE j.state = '${state}' AND j.queue = q.name AND j.lane ${lane})`

const REMOVE_QUEUES = `
  WITH removed AS (
    DELETE FROM @queues q
    WHERE name = ANY ($1::text[]) AND ($2::boolean OR (NOT paused AND retry IS NULL AND limits IS NULL))
      AND NOT ${isIn('waiting', 'IS NULL')} AND NOT ${isIn('waiting', 'IS NOT NULL')}
      AND NOT EXISTS (SELECT 1 FROM @jobs j WHERE j.state = 'running' AND j.queue = q.name)
    RETURNING name
  ),
  partitions AS (DELETE FROM @partitions WHERE queue IN (SELECT name FROM removed)),
  notes AS (DELETE FROM @partition_notes WHERE queue IN (SELECT name FROM removed))
  SELECT name FROM removed`

const LANED = 'SELECT name, limits IS NOT NULL FROM @queues WHERE name = ANY ($1::text[]) AND laned'

/** A queue that was removed meanwhile is stored again after this time, if it is still used. */
const KNOWN_MS = 600_000

/** Queues that this process knows to be stored. */
export class KnownQueues {
  readonly #db: Database
  readonly #lanes: KnownLanes
  /** When each was last stored, on this process's clock. */
  readonly #names = new Map<string, number>()

  constructor(db: Database, lanes: KnownLanes) {
    this.#db = db
    this.#lanes = lanes
  }

  /** Stores the queues that are new, and learns which of them have limits. */
  async add(names: Iterable<string>): Promise<void> {
    const now = this.#db.clock.now()
    const isFresh = (name: string): boolean => now - (this.#names.get(name) ?? Number.NEGATIVE_INFINITY) >= KNOWN_MS
    const fresh = [...new Set(names)].filter(isFresh).sort()
    if (fresh.length === 0) return
    const sql = 'INSERT INTO @queues (name) SELECT unnest($1::text[]) ON CONFLICT (name) DO NOTHING'
    const [, laned] = await this.#db.write('work', [
      { sql, values: [texts(fresh)] },
      { sql: LANED, values: [texts(fresh)] },
    ])
    this.#lanes.learn(
      fresh,
      laned!.map(([name, isLimited]) => ({ name: fromText(name as string), isLimited: isLimited as boolean })),
    )
    for (const name of fresh) this.#names.set(name, now)
  }

  /** Removes the queues that have no waiting or running job. */
  async remove(names: readonly string[], which: 'any' | 'unset'): Promise<readonly string[]> {
    const [rows] = await this.#db.write('work', [{ sql: REMOVE_QUEUES, values: [texts(names), which === 'any'] }])
    const removed = rows!.map(([name]) => fromText(name as string))
    for (const name of removed) this.#names.delete(name)
    this.#lanes.learn(removed, [])
    return removed
  }
}

const SET_QUEUE = `
  INSERT INTO @queues AS q (name, paused, retry) VALUES ($1, coalesce($2::boolean, false), $4::text)
  ON CONFLICT (name) DO UPDATE SET
    paused = coalesce($2::boolean, q.paused), retry = CASE WHEN $3::boolean THEN $4::text ELSE q.retry END
  RETURNING ${QUEUE_COLUMNS}`

/** A queue stays laned after its limits were removed, until no job is left in a lane: see `FORGET_LANED`. */
const SET_LIMITS = `
  UPDATE @queues SET limits = $2::text, open_at = NULL, turn = NULL, laned = laned OR $2::text IS NOT NULL,
    bound = $3::boolean, ordered = $4::boolean, stops = $5::boolean
  WHERE name = $1
  RETURNING ${QUEUE_COLUMNS}`

/** Every partition with waiting jobs has a row or a note. */
const NOTE_ALL = noteLanes('(SELECT queue, name AS lane FROM @partitions WHERE queue = $1) AS known')

/** `isOpened`: jobs in lanes may start because of the change. */
export async function setQueue(
  db: Database,
  lanes: KnownLanes,
  name: string,
  change: QueueChange,
): Promise<{ readonly record: QueueRecord; readonly isOpened: boolean }> {
  const { paused, retry, limits } = change
  const values = [toText(name), paused ?? null, retry !== undefined, retry ? JSON.stringify(retry) : null]
  if (limits === undefined) {
    const [rows] = await db.write('work', [{ sql: SET_QUEUE, values }])
    return { record: readQueue(rows![0] as unknown as QueueRow), isOpened: false }
  }
  return db.transaction('work', async ask => {
    const [row] = await ask<QueueRow>(SET_QUEUE, ...values)
    const record = readQueue(row!)
    const [clock] = await ask<[now: number]>('SELECT @now_ms()')
    const next = limitsAfter(record.limits, limits, clock![0])
    const isSame = JSON.stringify(next) === JSON.stringify(record.limits)
    if (next || !isSame) lanes.learn([name], [{ name, isLimited: next !== undefined }])
    if (isSame) return { record, isOpened: false }
    const { limit, partitions } = next ?? {}
    const rules = [limit !== undefined, partitions?.order === 'fifo', partitions?.onDead === 'stop']
    const [changed] = await ask<QueueRow>(SET_LIMITS, toText(name), next ? JSON.stringify(next) : null, ...rules)
    await ask(NOTE_ALL, toText(name))
    return { record: readQueue(changed!), isOpened: true }
  })
}

const PUT_POLICIES = `
  INSERT INTO @policies (id, policy) SELECT id, policy FROM unnest($1::text[], $2::text[]) AS given (id, policy)
  ORDER BY id ON CONFLICT (id) DO NOTHING`

export async function putPolicies(db: Database, records: readonly PolicyRecord[]): Promise<void> {
  if (records.length === 0) return
  const values = [texts(records.map(({ id }) => id)), texts(records.map(({ policy }) => policy))]
  await db.write('work', [{ sql: PUT_POLICIES, values }])
}

export async function policies(db: Database, asked: readonly string[]): Promise<readonly PolicyRecord[]> {
  const unique = [...new Set(asked)]
  const sql = 'SELECT id, policy FROM @policies WHERE id = ANY ($1::text[])'
  const rows = await db.read<[id: string, policy: string]>(sql, texts(unique))
  const found = new Map(rows.map(([id, policy]) => [fromText(id), fromText(policy)]))
  return unique.flatMap(id => {
    const policy = found.get(id)
    return policy === undefined ? [] : [{ id, policy }]
  })
}
