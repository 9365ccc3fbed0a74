import { limitsAfter, type QueueLimits } from '../../../core/partition/limits.js'
import type { PaceState } from '../../../core/partition/pace.js'
import type { TurnState } from '../../../core/partition/turn.js'
import type { PartialPolicy } from '../../../core/policy/policy.js'
import { present } from '../../../core/values/present.js'
import { fromText, toText } from '../../columns.js'
import type { PolicyRecord, QueueChange, QueueRecord } from '../../store.js'
import { LANES, PLAIN } from '../rows.js'
import { sortRunning, sortWaiting } from '../writes/lanes.js'
import type { Connection } from './connection.js'

type QueueRow = [
  name: string,
  paused: number,
  retry: string | null,
  limits: string | null,
  openAt: number | null,
  pace: string | null,
]

const QUEUES = 'SELECT name, paused, retry, limits, open_at, pace FROM queues'

function readQueue([name, paused, retry, limits, openAt, pace]: QueueRow): QueueRecord {
  const record = { name: fromText(name), paused: paused === 1 }
  if (retry === null && limits === null) return record
  return present({
    ...record,
    retry: retry === null ? undefined : (JSON.parse(retry) as PartialPolicy),
    limits: limits === null ? undefined : (JSON.parse(limits) as QueueLimits),
    turn: openAt === null ? undefined : readTurn(openAt, pace),
  })
}

/** The state of a queue's own limit or of a partition. */
export function readTurn(openAt: number | null, pace: string | null): TurnState {
  const state = pace === null ? {} : (JSON.parse(pace) as PaceState)
  return openAt === null ? state : { ...state, openAt }
}

export function queues(db: Connection): readonly QueueRecord[] {
  return db.all<QueueRow>(`${QUEUES} ORDER BY name`).map(readQueue)
}

/** The names, as the database stores them, of the queues whose jobs may wait in lanes. */
export function lanedNames(db: Connection): ReadonlySet<string> {
  const rows = db.all<[string]>('SELECT name FROM queues INDEXED BY queues_laned WHERE laned = 1')
  return new Set(rows.map(([name]) => name))
}

function findQueue(db: Connection, queue: string): QueueRecord {
  return readQueue(db.get<QueueRow>(`${QUEUES} WHERE name = ?`, queue)!)
}

export function setQueue(db: Connection, name: string, change: QueueChange, now: number): QueueRecord {
  const { paused, retry } = change
  const queue = toText(name)
  db.run('INSERT INTO queues (name) VALUES (?) ON CONFLICT (name) DO NOTHING', queue)
  if (paused !== undefined) db.run('UPDATE queues SET paused = ? WHERE name = ?', paused ? 1 : 0, queue)
  if (retry !== undefined) db.run('UPDATE queues SET retry = ? WHERE name = ?', retry && JSON.stringify(retry), queue)
  const old = findQueue(db, queue)
  const limits = limitsAfter(old.limits, change.limits, now)
  if (limits === old.limits) return old
  setLimits(db, queue, limits, now)
  return findQueue(db, queue)
}

const SET_LIMITS = `
  UPDATE queues SET limits = ?2, laned = (laned = 1 OR ?2 IS NOT NULL), open_at = NULL, pace = NULL WHERE name = ?1`

/** Every partition is looked at again. A claim sorts the jobs that are too many to be sorted here. */
function setLimits(db: Connection, queue: string, limits: QueueLimits | undefined, now: number): void {
  db.run(SET_LIMITS, queue, limits ? JSON.stringify(limits) : null)
  db.laned = undefined
  if (limits) {
    sortRunning(db, queue)
    sortWaiting(db, queue, now)
    db.run('UPDATE partitions SET open_at = ? WHERE queue = ?', now, queue)
  } else db.run('DELETE FROM partitions WHERE queue = ?', queue)
}

const REMOVE_QUEUES = `
  DELETE FROM queues WHERE name IN (SELECT value FROM json_each(?1))
    AND (?2 = 'any' OR (paused = 0 AND retry IS NULL AND limits IS NULL))
    AND NOT EXISTS (SELECT 1 FROM jobs ${PLAIN} AND queue = queues.name)
    AND NOT EXISTS (SELECT 1 FROM jobs ${LANES} AND queue = queues.name)
    AND name NOT IN (SELECT queue FROM jobs INDEXED BY jobs_running WHERE state = 'running')
  RETURNING name`

export function removeQueues(db: Connection, names: readonly string[], which: 'any' | 'unset'): readonly string[] {
  const removed = db.all<[string]>(REMOVE_QUEUES, JSON.stringify(names.map(toText)), which)
  db.laned = undefined
  for (const [name] of removed) db.run('DELETE FROM partitions WHERE queue = ?', name)
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
