import type { QueueLimits } from '../../../core/partition/limits.js'
import { LOOK_AGAIN_MS } from '../../../core/partition/turn.js'
import { fromText, toText, toTextOrNull } from '../../columns.js'
import type { JobDraft } from '../../job-columns.js'
import { beginsWithClaim, NAMED_DUE_MAX, policyIdOf } from '../../run.js'
import type { Claim, Claimed, ClaimRequest } from '../../store.js'
import type { Connection } from '../file/connection.js'
import { readTurn } from '../file/settings.js'
import { FACT_COLUMNS, FACT_COUNT, type FactRow, PLAIN, readFacts } from '../rows.js'
import { KEY, type Keyed } from './job.js'
import { leaveLanes, sortWaiting } from './lanes.js'
import { type LimitedQueue, nextTurnAt, takeQueueTurns } from './turns.js'

const LINE = `
  FROM jobs ${PLAIN} AND queue = ? AND priority = ? AND run_at <= ? AND (deadline IS NULL OR deadline > ?)
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
const PRIORITY_BELOW = `SELECT max(priority) FROM jobs ${PLAIN} AND queue = ? AND priority < ?`

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

const NEXT_DUE = `SELECT min(run_at) FROM jobs ${PLAIN} AND queue = ? AND priority = ? AND run_at > ?`

/** The queues that a claim does not treat like others. */
const SETTINGS = `SELECT name, paused, limits, open_at, pace FROM queues WHERE paused = 1 OR laned = 1`
type SettingsRow = [name: string, paused: number, limits: string | null, openAt: number | null, pace: string | null]

export function claim(db: Connection, request: ClaimRequest, now: number): Claim {
  // The answer to an earlier claim with this token was lost: return the same jobs.
  const again = heldBy(db, request.token)
  if (again.length > 0) return { now, jobs: again }
  const settings = new Map(db.all<SettingsRow>(SETTINGS).map(row => [row[0], row]))
  const open = [...new Set(request.queues)].map(toText).filter(name => settings.get(name)?.[1] !== 1)
  const laned = settings.size === 0 ? [] : open.map(name => settings.get(name)).filter(row => row !== undefined)
  if (laned.length > 0) return claimLanes(db, request, open, laned, now)
  const jobs = take(db, due(db, open, now, request, request.limit), request, now)
  const nextDueAt = jobs.length < request.limit ? nextDue(db, open, now) : undefined
  return nextDueAt === undefined ? { now, jobs } : { now, jobs, nextDueAt }
}

/** Queues with limits share a claim with the others, so that neither keeps the other waiting. */
function claimLanes(
  db: Connection,
  request: ClaimRequest,
  open: readonly string[],
  laned: readonly SettingsRow[],
  now: number,
): Claim {
  const { limit, names } = request
  const limited = laned.flatMap(row => limitedQueue(row) ?? [])
  const others = open.filter(name => !limited.some(queue => queue.name === name))
  const left = laned.filter(([, , limits]) => limits === null).map(([name]) => leaveLanes(db, name))
  // Jobs without a lane are not known to their partition, so a queue starts nothing before all of them are sorted.
  const sorted = limited.filter(({ name }) => sortWaiting(db, name, now))
  const jobs: Claimed[] = []
  const start = (rows: readonly FactRow[]): void => void jobs.push(...take(db, rows, request, now))
  const takeTurnsOf = (room: number): void => {
    const end = jobs.length + room
    for (const [index, queue] of sorted.entries()) {
      const share = Math.ceil((end - jobs.length) / (sorted.length - index))
      takeQueueTurns(db, queue, share, now, names, start)
    }
  }
  takeTurnsOf(others.length === 0 ? limit : Math.ceil(limit / 2))
  start(due(db, others, now, request, limit - jobs.length))
  takeTurnsOf(limit - jobs.length)
  jobs.sort(byPriority)
  if (jobs.length === limit) return { now, jobs }
  const isBehind = sorted.length < limited.length || left.includes(false)
  const next = [isBehind ? now : undefined, nextDue(db, others, now), ...sorted.map(queue => nextTurn(db, queue, now))]
  const times = next.filter(at => at !== undefined)
  return times.length === 0 ? { now, jobs } : { now, jobs, nextDueAt: Math.min(...times) }
}

function limitedQueue([name, , limits, openAt, pace]: SettingsRow): LimitedQueue | undefined {
  if (limits === null) return undefined
  return { name, limits: JSON.parse(limits) as QueueLimits, state: readTurn(openAt, pace), started: 0 }
}

function nextTurn(db: Connection, { name, started }: LimitedQueue, now: number): number | undefined {
  const at = nextTurnAt(db, name)
  if (at === undefined || at > now) return at
  return started > 0 ? now : now + LOOK_AGAIN_MS
}

export function heldBy(db: Connection, token: string): Claimed[] {
  const rows = db.all<FactRow>(HELD, toText(token))
  const jobs = rows.map(row => {
    const workerId = fromText(row[FACT_COUNT] as string)
    return { ...readFacts(row), token, workerId, leaseUntil: row[FACT_COUNT + 1] as number, [KEY]: row[0] }
  })
  return jobs.sort(byPriority)
}

function byPriority(a: Claimed, b: Claimed): number {
  return b.priority - a.priority || a.runAt - b.runAt
}

/**
 * Walks down the priorities and reads the due jobs of each from the index, so that neither ended jobs nor jobs
 * scheduled for later cost anything.
 */
function due(
  db: Connection,
  queues: readonly string[],
  now: number,
  { names }: ClaimRequest,
  limit: number,
): FactRow[] {
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
    // Assigned one by one, because this runs for every job.
    const claimed = facts as Omit<JobDraft, 'state'> & { token: string; workerId: string; leaseUntil: number } & Keyed
    claimed[KEY] = row[0]
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
