import { byBytes } from '../columns.js'
import type { Delta } from '../delta.js'
import { foldInto, keysOf } from '../fold.js'
import type { Put, RecordQuery, RecordWrite, StoredRecord } from '../record.js'
import type { MemoryTables } from './tables.js'

export function records(tables: MemoryTables, kind: string, query: RecordQuery): readonly StoredRecord[] {
  const byId = (a: StoredRecord, b: StoredRecord) => byBytes(a.id, b.id)
  if ('ids' in query) {
    return [...new Set(query.ids)].flatMap(id => tables.records.get(nameOf(kind, id)) ?? []).sort(byId)
  }
  const { from, to, limit, order } = query
  const isIn = (id: string) =>
    (from === undefined || byBytes(id, from) >= 0) && (to === undefined || byBytes(id, to) < 0)
  const range = [...tables.records.values()].filter(record => record.kind === kind && isIn(record.id)).sort(byId)
  return (order === 'down' ? range.reverse() : range).slice(0, limit)
}

export function putRecord(tables: MemoryTables, { kind, id, body, expect }: RecordWrite, now: number): Put {
  const name = nameOf(kind, id)
  const current = tables.records.get(name)
  if (expect !== undefined && expect !== (current?.version ?? 0)) {
    return current ? { status: 'conflict', current } : { status: 'conflict' }
  }
  if (body === null) {
    tables.records.delete(name)
    return { status: 'written', version: 0 }
  }
  const version = (current?.version ?? 0) + 1
  tables.records.set(name, { kind, id, version, body, updatedAt: now })
  return { status: 'written', version }
}

export function fold(tables: MemoryTables, limit: number, now: number): number {
  const taken = tables.deltas.splice(0, limit)
  const deltas = taken.map(text => JSON.parse(text) as Delta)
  const current = keysOf(deltas).flatMap(({ kind, id }) => tables.records.get(nameOf(kind, id)) ?? [])
  for (const write of foldInto(deltas, current)) putRecord(tables, write, now)
  return taken.length
}

function nameOf(kind: string, id: string): string {
  return JSON.stringify([kind, id])
}
