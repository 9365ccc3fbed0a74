import type { PartialPolicy } from '../../../core/policy/policy.js'
import { fromText, toText } from '../../columns.js'
import type { PolicyRecord, QueueChange, QueueRecord } from '../../store.js'
import { texts } from '../arrays.js'
import type { Database } from './pool.js'

type QueueRow = [name: string, paused: boolean, retry: string | null]

function readQueue([name, paused, retry]: QueueRow): QueueRecord {
  const record = { name: fromText(name), paused }
  return retry === null ? record : { ...record, retry: JSON.parse(retry) as PartialPolicy }
}

/**
 * An enqueue also stores the name of its queue, but not in a caller's transaction, because other transactions would
 * wait for its end. Until one of its jobs is claimed, such a queue is known only from its jobs.
 */
const QUEUES = `
  WITH RECURSIVE seen AS (
    SELECT min(queue) AS name FROM @jobs WHERE state = 'waiting'
    UNION ALL
    SELECT (SELECT min(queue) FROM @jobs WHERE state = 'waiting' AND queue > seen.name) FROM seen
    WHERE seen.name IS NOT NULL
  )
  SELECT name, paused, retry FROM @queues
  UNION ALL
  SELECT name, false, NULL FROM seen
  WHERE name IS NOT NULL AND NOT EXISTS (SELECT 1 FROM @queues q WHERE q.name = seen.name)`

export async function queues(db: Database): Promise<readonly QueueRecord[]> {
  const records = (await db.readShort<QueueRow>(QUEUES)).map(readQueue)
  return records.sort((a, b) => (a.name < b.name ? -1 : 1))
}

const REMOVE_QUEUES = `
  DELETE FROM @queues q WHERE name = ANY ($1::text[]) AND ($2::boolean OR (NOT paused AND retry IS NULL))
    AND NOT EXISTS (SELECT 1 FROM @jobs j WHERE j.state = 'waiting' AND j.queue = q.name)
    AND NOT EXISTS (SELECT 1 FROM @jobs j WHERE j.state = 'running' AND j.queue = q.name)
  RETURNING name`

/** A queue that was removed meanwhile is stored again after this time, if it is still used. */
const KNOWN_MS = 600_000

/** Queues that this process knows to be stored. */
export class KnownQueues {
  readonly #db: Database
  /** When each was last stored, on this process's clock. */
  readonly #names = new Map<string, number>()

  constructor(db: Database) {
    this.#db = db
  }

  /** Stores the queues that are new. */
  async add(names: Iterable<string>): Promise<void> {
    const now = this.#db.clock.now()
    const isFresh = (name: string): boolean => now - (this.#names.get(name) ?? Number.NEGATIVE_INFINITY) >= KNOWN_MS
    const fresh = [...new Set(names)].filter(isFresh).sort()
    if (fresh.length === 0) return
    const sql = 'INSERT INTO @queues (name) SELECT unnest($1::text[]) ON CONFLICT (name) DO NOTHING'
    await this.#db.write('work', [{ sql, values: [texts(fresh)] }])
    for (const name of fresh) this.#names.set(name, now)
  }

  /** Removes the queues that have no waiting or running job. */
  async remove(names: readonly string[], which: 'any' | 'unset'): Promise<readonly string[]> {
    const [rows] = await this.#db.write('work', [{ sql: REMOVE_QUEUES, values: [texts(names), which === 'any'] }])
    const removed = rows!.map(([name]) => fromText(name as string))
    for (const name of removed) this.#names.delete(name)
    return removed
  }
}

const SET_QUEUE = `
  INSERT INTO @queues AS q (name, paused, retry) VALUES ($1, coalesce($2::boolean, false), $4::text)
  ON CONFLICT (name) DO UPDATE SET
    paused = coalesce($2::boolean, q.paused), retry = CASE WHEN $3::boolean THEN $4::text ELSE q.retry END
  RETURNING name, paused, retry`

export async function setQueue(db: Database, name: string, { paused, retry }: QueueChange): Promise<QueueRecord> {
  const values = [toText(name), paused ?? null, retry !== undefined, retry ? JSON.stringify(retry) : null]
  const [rows] = await db.write('work', [{ sql: SET_QUEUE, values }])
  return readQueue(rows![0] as unknown as QueueRow)
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
