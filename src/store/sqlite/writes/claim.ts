import { fromText, toText, toTextOrNull } from '../../columns.js'
import type { JobDraft } from '../../job-columns.js'
import { beginsWithClaim, NAMED_DUE_MAX, policyIdOf } from '../../run.js'
import type { Claim, Claimed, ClaimRequest } from '../../store.js'
import type { Connection } from '../file/connection.js'
import { FACT_COLUMNS, FACT_COUNT, type FactRow, readFacts } from '../rows.js'
import type { RowidCache } from './rowid-cache.js'

const LINE = `
  FROM jobs INDEXED BY jobs_waiting
  WHERE state = 'waiting' AND queue = ? AND priority = ? AND run_at <= ? AND (deadline IS NULL OR deadline > ?)
  ORDER BY run_at, pk LIMIT ?`

const DUE = `SELECT ${FACT_COLUMNS} ${LINE}`

/**
 * Finds due jobs with matching names among the first due jobs, so that the number of other waiting jobs does not
 * matter.
 */
const DUE_NAMED = `
  SELECT ${FACT_COLUMNS} FROM jobs WHERE pk IN (
    SELECT pk FROM (SELECT pk, name ${LINE}) WHERE (name IN (SELECT value FROM json_each(?))) = ? LIMIT ?
  ) ORDER BY run_at, pk`

/** The next lower priority of a queue with a waiting job, found in one index step. */
const PRIORITY_BELOW = `
  SELECT max(priority) FROM jobs INDEXED BY jobs_waiting WHERE state = 'waiting' AND queue = ? AND priority < ?`

/**
 * The unary plus makes the planner use the primary key. `OR ROLLBACK` saves SQLite a copy of every page for this one
 * statement, because the caller rolls back the whole transaction on an error anyway.
 */
const TAKE = `
  UPDATE OR ROLLBACK jobs SET state = 'running', run = run + 1, attempt = attempt + 1, begun = ?, token = ?, worker_id = ?,
    lease_until = ?, lease_ms = ?, started_at = ?, first_started_at = ifnull(first_started_at, ?), policy_id = ?
  WHERE pk IN (SELECT value FROM json_each(?)) AND +state = 'waiting'`

const HELD = `SELECT ${FACT_COLUMNS}, worker_id, lease_until FROM jobs INDEXED BY jobs_running
  WHERE state = 'running' AND token = ?`

const NEXT_DUE = `
  SELECT min(run_at) FROM jobs INDEXED BY jobs_waiting
  WHERE state = 'waiting' AND queue = ? AND priority = ? AND run_at > ?`

export function claim(db: Connection, rowids: RowidCache, request: ClaimRequest, now: number): Claim {
  // The answer to an earlier claim with this token was lost: return the same jobs.
  const again = heldBy(db, request.token)
  if (again.length > 0) return { now, jobs: again }
  const paused = new Set(db.all<[string]>('SELECT name FROM queues WHERE paused = 1').map(([name]) => name))
  const queues = [...new Set(request.queues)].map(toText).filter(name => !paused.has(name))
  const jobs = take(db, rowids, due(db, queues, now, request), request, now)
  const nextDueAt = jobs.length < request.limit ? nextDue(db, queues, now) : undefined
  return nextDueAt === undefined ? { now, jobs } : { now, jobs, nextDueAt }
}

export function heldBy(db: Connection, token: string): Claimed[] {
  const rows = db.all<FactRow>(HELD, toText(token))
  const jobs = rows.map(row => {
    const workerId = fromText(row[FACT_COUNT] as string)
    return { ...readFacts(row), token, workerId, leaseUntil: row[FACT_COUNT + 1] as number }
  })
  return jobs.sort((a, b) => b.priority - a.priority || a.runAt - b.runAt)
}

/**
 * Walks down the priorities and reads the due jobs of each from the index, so that neither ended jobs nor jobs
 * scheduled for later cost anything.
 */
function due(db: Connection, queues: readonly string[], now: number, { limit, names }: ClaimRequest): FactRow[] {
  const list = names && JSON.stringify(names.list.map(toText))
  const line = (queue: string, priority: number, room: number): FactRow[] =>
    names
      ? db.all<FactRow>(DUE_NAMED, queue, priority, now, now, NAMED_DUE_MAX, list!, names.isExcluded ? 0 : 1, room)
      : db.all<FactRow>(DUE, queue, priority, now, now, room)
  const taken: FactRow[] = []
  let priorities = queues.map(queue => priorityBelow(db, queue, 10))
  while (taken.length < limit) {
    const priority = Math.max(-1, ...priorities)
    if (priority < 0) break
    const room = limit - taken.length
    const level = queues.flatMap((queue, index) => (priorities[index] === priority ? line(queue, priority, room) : []))
    if (queues.length > 1) level.sort((a, b) => a[5] - b[5] || a[0] - b[0])
    taken.push(...level.slice(0, room))
    priorities = priorities.map((old, index) => (old === priority ? priorityBelow(db, queues[index]!, old) : old))
  }
  return taken
}

function priorityBelow(db: Connection, queue: string, priority: number): number {
  return db.get<[number | null]>(PRIORITY_BELOW, queue, priority)![0] ?? -1
}

function take(
  db: Connection,
  rowids: RowidCache,
  rows: readonly FactRow[],
  { token, workerId, leaseMs, policyIds, begins }: ClaimRequest,
  now: number,
): Claimed[] {
  const leaseUntil = now + leaseMs
  const alike = { begun: new Map<string | undefined, number[]>(), plain: new Map<string | undefined, number[]>() }
  const jobs = rows.map(row => {
    const facts = readFacts(row)
    const policyId = policyIdOf(facts, policyIds)
    if (policyId !== undefined) facts.policyId = policyId
    facts.run += 1
    facts.attempt += 1
    facts.begun = beginsWithClaim(facts, begins)
    facts.startedAt = now
    facts.firstStartedAt ??= now
    const byPolicy = facts.begun ? alike.begun : alike.plain
    const same = byPolicy.get(facts.policyId)
    if (same) same.push(row[0])
    else byPolicy.set(facts.policyId, [row[0]])
    rowids.add(facts.id, row[0])
    // Assigned one by one, because this runs for every job.
    const claimed = facts as Omit<JobDraft, 'state'> & { token: string; workerId: string; leaseUntil: number }
    claimed.token = token
    claimed.workerId = workerId
    claimed.leaseUntil = leaseUntil
    return claimed
  })
  const lease = [toText(token), toText(workerId), leaseUntil, leaseMs, now, now] as const
  const update = (begun: number) => (keys: number[], policyId: string | undefined) =>
    db.run(TAKE, begun, ...lease, toTextOrNull(policyId), JSON.stringify(keys))
  alike.begun.forEach(update(1))
  alike.plain.forEach(update(0))
  return jobs
}

function nextDue(db: Connection, queues: readonly string[], now: number): number | undefined {
  let next: number | undefined
  for (const queue of queues) {
    for (let priority = priorityBelow(db, queue, 10); priority >= 0; priority = priorityBelow(db, queue, priority)) {
      const at = db.get<[number | null]>(NEXT_DUE, queue, priority, now)![0]
      if (at !== null && (next === undefined || at < next)) next = at
    }
  }
  return next
}
