import { fromText, toText } from '../columns.js'
import type { Put, RecordQuery, RecordWrite, StoredRecord } from '../record.js'
import type { Connection } from './file/connection.js'
import type { Value } from './file/driver.js'

type Row = [kind: string, id: string, version: number, body: string, updatedAt: number]

const SELECT = 'SELECT kind, id, version, body, updated_at FROM records WHERE kind = ?'

function readRecord([kind, id, version, body, updatedAt]: Row): StoredRecord {
  return { kind: fromText(kind), id: fromText(id), version, body: fromText(body), updatedAt }
}

export function findRecord(db: Connection, kind: string, id: string): StoredRecord | undefined {
  const row = db.get<Row>(`${SELECT} AND id = ?`, toText(kind), toText(id))
  return row && readRecord(row)
}

export function records(db: Connection, kind: string, query: RecordQuery): readonly StoredRecord[] {
  const conditions: string[] = []
  const values: Value[] = [toText(kind)]
  const add = (sql: string, value: Value) => {
    conditions.push(` AND ${sql}`)
    values.push(value)
  }
  if ('ids' in query) add('id IN (SELECT value FROM json_each(?))', JSON.stringify(query.ids.map(toText)))
  else {
    if (query.from !== undefined) add('id >= ?', toText(query.from))
    if (query.to !== undefined) add('id < ?', toText(query.to))
  }
  const order = 'order' in query && query.order === 'down' ? 'DESC' : 'ASC'
  const limit = 'limit' in query ? query.limit : -1
  return db.all<Row>(`${SELECT}${conditions.join('')} ORDER BY id ${order} LIMIT ?`, ...values, limit).map(readRecord)
}

/** The write lock is held, so a record can't change between the read and the write. */
export function putRecord(db: Connection, { kind, id, body, expect }: RecordWrite, now: number): Put {
  const key = [toText(kind), toText(id)] as const
  const version = db.get<[number]>('SELECT version FROM records WHERE kind = ? AND id = ?', ...key)?.[0] ?? 0
  if (expect !== undefined && expect !== version) {
    const current = findRecord(db, kind, id)
    return current ? { status: 'conflict', current } : { status: 'conflict' }
  }
  if (body === null) {
    if (version > 0) db.run('DELETE FROM records WHERE kind = ? AND id = ?', ...key)
    return { status: 'written', version: 0 }
  }
  db.run(
    `INSERT INTO records (kind, id, version, body, updated_at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (kind, id) DO UPDATE SET version = excluded.version, body = excluded.body, updated_at = excluded.updated_at`,
    ...key,
    version + 1,
    toText(body),
    now,
  )
  return { status: 'written', version: version + 1 }
}
