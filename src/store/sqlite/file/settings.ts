import type { PartialPolicy } from '../../../core/policy/policy.js'
import { fromText, toText } from '../../columns.js'
import type { PolicyRecord, QueueChange, QueueRecord } from '../../store.js'
import type { Connection } from './connection.js'

type QueueRow = [name: string, paused: number, retry: string | null]

function readQueue([name, paused, retry]: QueueRow): QueueRecord {
  const record = { name: fromText(name), paused: paused === 1 }
  return retry === null ? record : { ...record, retry: JSON.parse(retry) as PartialPolicy }
}

export function queues(db: Connection): readonly QueueRecord[] {
  return db.all<QueueRow>('SELECT name, paused, retry FROM queues ORDER BY name').map(readQueue)
}

export function setQueue(db: Connection, name: string, { paused, retry }: QueueChange): QueueRecord {
  const queue = toText(name)
  db.run('INSERT INTO queues (name) VALUES (?) ON CONFLICT (name) DO NOTHING', queue)
  if (paused !== undefined) db.run('UPDATE queues SET paused = ? WHERE name = ?', paused ? 1 : 0, queue)
  if (retry !== undefined) db.run('UPDATE queues SET retry = ? WHERE name = ?', retry && JSON.stringify(retry), queue)
  return readQueue(db.get<QueueRow>('SELECT name, paused, retry FROM queues WHERE name = ?', queue)!)
}

const REMOVE_QUEUES = `
  DELETE FROM queues WHERE name IN (SELECT value FROM json_each(?1)) AND (?2 = 'any' OR (paused = 0 AND retry IS NULL))
    AND NOT EXISTS (SELECT 1 FROM jobs INDEXED BY jobs_waiting WHERE state = 'waiting' AND queue = queues.name)
    AND name NOT IN (SELECT queue FROM jobs INDEXED BY jobs_running WHERE state = 'running')
  RETURNING name`

export function removeQueues(db: Connection, names: readonly string[], which: 'any' | 'unset'): readonly string[] {
  const removed = db.all<[string]>(REMOVE_QUEUES, JSON.stringify(names.map(toText)), which)
  return removed.map(([name]) => fromText(name))
}

export function putPolicies(db: Connection, policies: readonly PolicyRecord[]): void {
  for (const { id, policy } of policies)
    db.run('INSERT INTO policies (id, policy) VALUES (?, ?) ON CONFLICT (id) DO NOTHING', toText(id), toText(policy))
}

export function policies(db: Connection, ids: readonly string[]): readonly PolicyRecord[] {
  return [...new Set(ids)].flatMap(id => {
    const row = db.get<[string]>('SELECT policy FROM policies WHERE id = ?', toText(id))
    return row ? [{ id, policy: fromText(row[0]) }] : []
  })
}
