import { createHash } from 'node:crypto'
import { byBytes, fromText, toText } from '../columns.js'
import type { RecordKey } from '../fold.js'
import type { Put, RecordQuery, RecordWrite, StoredRecord } from '../record.js'
import { numbers, words } from './arrays.js'
import { rounds } from './connection/batch-rounds.js'
import { OvertakenError } from './connection/failure.js'
import type { Ask, Database } from './connection/pool.js'
import { INDEXED_MAX } from './migrations.js'

const COLUMNS = 'kind, id, long_id, version, body, updated_at'

type RecordRow = [kind: string, id: string, longId: string | null, version: number, body: string, updatedAt: number]

function readRecord([kind, id, longId, version, body, updatedAt]: RecordRow): StoredRecord {
  return { kind: fromText(kind), id: fromText(longId ?? id), version, body: fromText(body), updatedAt }
}

/** Longer ids may be too long for an index. */
const ID_BYTES_MAX = 2_000

/** The stored form of the id. For a very long id it is the beginning, which is enough for ranges, and a hash. */
function placeOf(id: string): string {
  const text = toText(id)
  if (text.length * 3 <= ID_BYTES_MAX || Buffer.byteLength(text) <= ID_BYTES_MAX) return text
  return `${[...text].slice(0, INDEXED_MAX).join('')} ${createHash('sha256').update(text).digest('hex')}`
}

/** Looks up each record by its primary key, with every plan. */
const BY_ID = `
  SELECT found.* FROM unnest($1::text[], $2::text[]) AS given (kind, id),
    LATERAL (SELECT ${COLUMNS} FROM @records r WHERE r.kind = given.kind AND r.id = given.id) AS found`

/** The same, with locks in the order of the keys, which is the same for every transaction. */
const LOCK = BY_ID.replace(') AS found', ' FOR UPDATE) AS found')

export async function records(db: Database, kind: string, query: RecordQuery): Promise<readonly StoredRecord[]> {
  const rows = await ('ids' in query ? byIds(db, kind, query.ids) : byRange(db, kind, query))
  const found = rows.map(readRecord).sort((a, b) => byBytes(a.id, b.id))
  return 'order' in query && query.order === 'down' ? found.reverse() : found
}

function byIds(db: Database, kind: string, ids: readonly string[]): Promise<RecordRow[]> {
  const places = [...new Set(ids)].map(placeOf)
  return db.readShort<RecordRow>(BY_ID, words(places.map(() => toText(kind))), words(places))
}

type Range = Exclude<RecordQuery, { ids: readonly string[] }>

function byRange(db: Database, kind: string, { from, to, limit, order = 'up' }: Range): Promise<RecordRow[]> {
  const bounds = [from, to].map(bound => (bound === undefined ? null : placeOf(bound)))
  return db.readShort<RecordRow>(
    `SELECT ${COLUMNS} FROM @records
    WHERE kind = $1 AND id >= coalesce($2::text, '') ${to === undefined ? 'AND $3::text IS NULL' : 'AND id < $3::text'}
    ORDER BY id ${order === 'up' ? 'ASC' : 'DESC'} LIMIT $4`,
    toText(kind),
    ...bounds,
    limit,
  )
}

// ---------------------------------------------------------------- writes

/**
 * Locks these records until the transaction ends. `writeRecords` detects the concurrent creation of records that do
 * not exist yet.
 */
export async function lockRecords(ask: Ask, keys: readonly RecordKey[]): Promise<StoredRecord[]> {
  const sorted = sortedByKey(keys)
  const rows = await ask<RecordRow>(LOCK, words(sorted.map(kindOf)), words(sorted.map(({ id }) => placeOf(id))))
  return rows.map(readRecord)
}

const kindOf = ({ kind }: RecordKey): string => toText(kind)

function sortedByKey<K extends RecordKey>(keys: readonly K[]): readonly K[] {
  return [...keys].sort((a, b) => (a.kind === b.kind ? (a.id < b.id ? -1 : 1) : a.kind < b.kind ? -1 : 1))
}

/** The new state of a record: `version` is one more than what `lockRecords` found. */
export interface NextRecord extends RecordKey {
  readonly version: number
  readonly body: string
}

const WRITE = `
  INSERT INTO @records AS r (kind, id, long_id, version, body, updated_at)
  SELECT kind, id, long_id, version, body, @now_ms()
  FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[])
    WITH ORDINALITY AS given (kind, id, long_id, version, body, place)
  ORDER BY place
  ON CONFLICT (kind, id) DO UPDATE SET version = excluded.version, body = excluded.body,
    updated_at = excluded.updated_at
  WHERE r.version = excluded.version - 1
  RETURNING 1`

export async function writeRecords(ask: Ask, next: readonly NextRecord[]): Promise<void> {
  if (next.length === 0) return
  const sorted = sortedByKey(next)
  const written = await ask(
    WRITE,
    words(sorted.map(kindOf)),
    words(sorted.map(({ id }) => placeOf(id))),
    words(sorted.map(({ id }) => (placeOf(id) === toText(id) ? null : toText(id)))),
    numbers(sorted.map(({ version }) => version)),
    words(sorted.map(({ body }) => toText(body))),
  )
  if (written.length < sorted.length) throw new OvertakenError('records')
}

const REMOVE = `
  DELETE FROM @records r USING unnest($1::text[], $2::text[]) AS given (kind, id)
  WHERE r.kind = given.kind AND r.id = given.id AND r.kind = ANY ($1::text[]) AND r.id = ANY ($2::text[])`

interface Entry {
  readonly index: number
  readonly write: RecordWrite
}

export function putRecords(db: Database, writes: readonly RecordWrite[]): Promise<Put[]> {
  if (writes.length === 0) return Promise.resolve([])
  return db.transaction('work', ask => putRecordsAsking(ask, writes))
}

/** Writes records inside a larger transaction. */
export async function putRecordsAsking(ask: Ask, writes: readonly RecordWrite[]): Promise<Put[]> {
  const answers: Put[] = []
  const entries = writes.map((write, index) => ({ index, write }))
  // If a record occurs twice in a batch, the second write sees the effect of the first.
  for (const round of rounds(entries, ({ write }) => [nameOf(write)])) await putRound(ask, round, answers)
  return answers
}

const nameOf = ({ kind, id }: RecordKey): string => JSON.stringify([kind, id])

async function putRound(ask: Ask, round: readonly Entry[], answers: Put[]): Promise<void> {
  const found = await lockRecords(
    ask,
    round.map(({ write }) => write),
  )
  const known = new Map(found.map(record => [nameOf(record), record]))
  const next: NextRecord[] = []
  const gone: RecordKey[] = []
  for (const { index, write } of round) {
    const { kind, id, body, expect } = write
    const current = known.get(nameOf(write))
    const version = current?.version ?? 0
    if (expect !== undefined && expect !== version) {
      answers[index] = current ? { status: 'conflict', current } : { status: 'conflict' }
    } else if (body === null) {
      gone.push(write)
      answers[index] = { status: 'written', version: 0 }
    } else {
      next.push({ kind, id, body, version: version + 1 })
      answers[index] = { status: 'written', version: version + 1 }
    }
  }
  await writeRecords(ask, next)
  if (gone.length > 0) await ask(REMOVE, words(gone.map(kindOf)), words(gone.map(({ id }) => placeOf(id))))
}
