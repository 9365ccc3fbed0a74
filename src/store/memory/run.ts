import { type Job, PRIORITY_MAX } from '../../core/job/job.js'
import { LOOK_AGAIN_MS } from '../../core/partition/turn.js'
import { present } from '../../core/values/present.js'
import type { DeltaDraft } from '../delta.js'
import type { JobDraft } from '../job-columns.js'
import { beginsWithClaim, NAMED_DUE_MAX, policyIdOf, processOf, settledAs, spawnedBy } from '../run.js'
import type {
  AttemptRecord,
  BeginRequest,
  Claim,
  Claimed,
  ClaimRequest,
  EffectStatus,
  Expired,
  ExpiredJob,
  Lease,
  LeaseStatus,
  NameChoice,
  Report,
  Settled,
  Settlement,
} from '../store.js'
import { LOG_LINES_DROPPED, LOG_LINES_MAX } from '../store.js'
import { enqueue } from './manual.js'
import { nextTurnAt, turnsOf } from './partitions.js'
import { byDueTime, type HeldLease, type Line, type MemoryTables, type Row } from './tables.js'

type HeldRow = Row & { lease: HeldLease }

export function claim(tables: MemoryTables, request: ClaimRequest, now: number): Claim {
  const again = held(tables, request.token, now)
  if (again.jobs.length > 0) return again
  const open = [...new Set(request.queues)].filter(name => !tables.queues.get(name)?.paused)
  const limited = open.filter(name => tables.queues.get(name)?.limits)
  const queues = open.filter(name => !limited.includes(name))
  // The queues with limits and the others share a claim, so that neither keeps the other waiting.
  const room = queues.length === 0 ? request.limit : Math.ceil(request.limit / 2)
  const turns = turnsOf(tables, limited, room, now, request.names)
  const plain = due(tables, queues, now, request.limit - turns.length, request.names)
  const rows = [...turns, ...plain].map(row => take(tables, row, request, now))
  // A claim that took no turn leaves only partitions that it can't use now.
  const lookAgainAt = turns.length > 0 ? now : now + LOOK_AGAIN_MS
  const next = [nextDue(tables, queues, now), ...limited.map(name => nextTurnAt(tables, name, now, lookAgainAt))]
  const times = next.filter(at => at !== undefined)
  const nextDueAt = rows.length < request.limit && times.length > 0 ? Math.min(...times) : undefined
  return present({ now, jobs: inOrder(rows), nextDueAt })
}

export function held(tables: MemoryTables, token: string, now: number): Claim {
  const rows = [...tables.running].filter(row => row.lease?.token === token) as HeldRow[]
  return { now, jobs: inOrder(rows) }
}

function inOrder(rows: HeldRow[]): Claimed[] {
  return rows.sort((a, b) => b.job.priority - a.job.priority || byDueTime(a, b)).map(claimed)
}

/** Due jobs, highest priority first, then by due time over all queues. */
function due(tables: MemoryTables, queues: readonly string[], now: number, limit: number, names?: NameChoice): Row[] {
  const taken: Row[] = []
  for (let priority = PRIORITY_MAX; priority >= 0 && taken.length < limit; priority--) {
    const room = limit - taken.length
    const level = queues.flatMap(queue => chosen(tables.line(queue, priority), now, room, names))
    taken.push(...level.sort(byDueTime).slice(0, room))
  }
  return taken
}

function chosen(line: Line, now: number, limit: number, names: NameChoice | undefined): Row[] {
  if (!names) return line.due(now, limit)
  const first = line.due(now, NAMED_DUE_MAX)
  return first.filter(({ job }) => names.list.includes(job.name) !== names.isExcluded).slice(0, limit)
}

function take(tables: MemoryTables, row: Row, request: ClaimRequest, now: number): HeldRow {
  const { job } = row
  const running: JobDraft = {
    ...job,
    state: 'running',
    run: job.run + 1,
    attempt: job.attempt + 1,
    startedAt: now,
    firstStartedAt: job.firstStartedAt ?? now,
    begun: false,
  }
  running.begun = beginsWithClaim(running, request.begins)
  const policyId = policyIdOf(job, request.policyIds)
  if (policyId !== undefined) running.policyId = policyId
  const lease = { token: request.token, workerId: request.workerId, ms: request.leaseMs, until: now + request.leaseMs }
  tables.change(row, running, lease)
  return row as HeldRow
}

function nextDue(tables: MemoryTables, queues: readonly string[], now: number): number | undefined {
  let next: number | undefined
  for (const queue of queues) {
    for (let priority = 0; priority <= PRIORITY_MAX; priority++) {
      const at = tables.line(queue, priority).nextAfter(now)
      if (at !== undefined && (next === undefined || at < next)) next = at
    }
  }
  return next
}

export function begin(tables: MemoryTables, request: BeginRequest): LeaseStatus {
  const row = tables.held(request)
  if (!row) return 'lost'
  const { begun, cancelRequested } = row.job
  const delivery = request.delivery === 'at-most-once' ? request.delivery : row.job.delivery
  tables.change(row, { ...row.job, delivery, begun: begun || !cancelRequested }, row.lease)
  return statusOf(row)
}

export function extend(tables: MemoryTables, lease: Lease, leaseMs: number, now: number): LeaseStatus {
  const row = tables.held(lease)
  if (!row) return 'lost'
  tables.change(row, row.job, { ...row.lease, ms: leaseMs, until: now + leaseMs })
  return statusOf(row)
}

export function report(tables: MemoryTables, { lease, logs, from, progress }: Report): LeaseStatus {
  const row = tables.held(lease)
  if (!row) return 'lost'
  const { run } = row.job
  const first = from ?? [...row.logs.values()].filter(line => line.run === run).length
  for (const [index, { at, message, data }] of logs.entries()) {
    const dropped = first + index >= LOG_LINES_MAX
    const line = Math.min(first + index, LOG_LINES_MAX)
    const name = `${run}:${line}`
    if (row.logs.has(name)) continue
    const text = dropped ? { message: LOG_LINES_DROPPED } : present({ message, data })
    row.logs.set(name, { run, line, at, ...text })
  }
  if (progress !== undefined) tables.change(row, { ...row.job, progress }, row.lease)
  return statusOf(row)
}

function statusOf(row: Row): LeaseStatus {
  return row.job.cancelRequested ? 'cancel-requested' : 'held'
}

export function settle(tables: MemoryTables, settlement: Settlement, now: number, delta: DeltaDraft): Settled {
  const row = tables.held(settlement.lease)
  const isOtherRun = settlement.onlyIfExpired && row?.job.run !== settlement.run
  if (!row || isOtherRun) return wasSettled(tables, settlement) ? { status: 'already' } : { status: 'lost' }
  if (settlement.onlyIfExpired && row.lease.until >= now) return { status: 'lost' }
  if (row.job.begun !== (settlement.ifBegun ?? row.job.begun)) return { status: 'lost' }
  const { end, queue, lane, spent, claimedAt: startedAt, lesson } = settlement
  if (lane !== undefined && (spent || lesson))
    tables.note({ queue, partition: lane, at: now, ...present({ spent, startedAt, lesson }) })
  if (end.kind === 'handed-back') {
    handBack(tables, row, end.delayMs, now)
    if (row.job.state === 'cancelled') delta.ended(row.job)
  } else {
    tables.change(row, ended(row.job, settlement, end, now))
    row.attempts.push({ token: settlement.lease.token, record: attemptRecord(row.job, settlement, end) })
    delta.settled(settlement, end, row.job.state, row.job.fingerprint)
  }
  for (const job of spawnedBy(end, row.job.state)) enqueue(tables, job, now, delta)
  return settledAs(row.job.state, row.job.runAt)
}

/**
 * Whether this run was already settled with the same status. A run that the sweeper marked as lost does not match a
 * worker's own status.
 */
function wasSettled(tables: MemoryTables, { lease, run, end }: Settlement): boolean {
  if (end.kind !== 'ended') return false
  const attempt = tables.rows.get(lease.id)?.attempts.find(each => each.record.run === run)
  return attempt?.token === lease.token && attempt.record.status === end.transition.status
}

type Ended = Extract<Settlement['end'], { kind: 'ended' }>

function ended(job: Job, { finishedAt }: Settlement, end: Ended, now: number): Job {
  const { transition, error, result, group, dependency, pass } = end
  const { to, reason, delayMs, attemptBack, status, decision, backoffMs, failedAt, ...counters } = transition
  const next: JobDraft = { ...job, ...counters, attempt: attemptBack ? job.attempt - 1 : job.attempt }
  next.state = to === 'waiting' && job.cancelRequested ? 'cancelled' : to
  if (next.state === 'waiting') next.runAt = Math.ceil(now + delayMs)
  else next.finishedAt = finishedAt
  if (next.state === 'dead' && reason) next.reason = reason
  if (backoffMs !== undefined) next.backoffMs = backoffMs
  else delete next.backoffMs
  if (failedAt !== undefined) next.failedAt = failedAt
  else delete next.failedAt
  if (next.state === 'succeeded') {
    delete next.error
    if (result !== undefined) next.result = result
  } else {
    if (error) next.error = error
    if (group) next.fingerprint = group.fingerprint
  }
  delete next.pass
  if (next.state === 'waiting') {
    if (dependency !== undefined) next.dependency ??= dependency
    if (pass !== undefined) next.pass = pass
  }
  return next
}

function attemptRecord(job: Job, settlement: Settlement, { transition, error, note, group }: Ended): AttemptRecord {
  const { generation, run, attempt, startedAt, finishedAt, workerId } = settlement
  const { status, decision, delayMs } = transition
  const again = job.state === 'waiting' ? { delayMs, nextRunAt: job.runAt } : {}
  const facts = { jobId: job.id, generation, run, attempt, status, startedAt, finishedAt, workerId }
  return { ...facts, ...present({ error, note, fingerprint: group?.fingerprint }), ...again, decision }
}

/** Undoes the claim: the job gets the state it had after its last run. */
function handBack(tables: MemoryTables, row: HeldRow, delayMs: number, now: number): void {
  const { job } = row
  const last = row.attempts.at(-1)?.record
  for (const [name, line] of row.logs) if (line.run === job.run) row.logs.delete(name)
  const undone: JobDraft = { ...job, state: 'waiting', run: job.run - 1, attempt: job.attempt - 1, begun: false }
  if (last) undone.startedAt = last.startedAt
  else delete undone.startedAt
  if (last?.generation !== job.generation) delete undone.firstStartedAt
  // Without a delay the job keeps its place in the queue.
  if (delayMs > 0) undone.runAt = Math.ceil(now + delayMs)
  if (job.cancelRequested) {
    undone.state = 'cancelled'
    undone.finishedAt = now
  }
  tables.change(row, undone)
}

export function expired(tables: MemoryTables, workers: number, now: number): Expired {
  const byProcess = new Map<string, HeldRow[]>()
  for (const row of [...tables.running].sort((a, b) => a.seq - b.seq) as HeldRow[]) {
    const owner = processOf(row.lease.workerId)
    const rows = byProcess.get(owner)
    if (rows) rows.push(row)
    else byProcess.set(owner, [row])
  }
  const dead = [...byProcess.values()].filter(rows => seemsDead(rows, now)).sort(byOldestLease)
  return { now, jobs: dead.slice(0, workers).flatMap(rows => expiredOf(rows, now)) }
}

function seemsDead(rows: readonly HeldRow[], now: number): boolean {
  const all = rows.every(({ lease }) => lease.until < now)
  return all || rows.some(({ lease }) => lease.until + lease.ms < now)
}

function byOldestLease(a: readonly HeldRow[], b: readonly HeldRow[]): number {
  const oldest = (rows: readonly HeldRow[]) => Math.min(...rows.map(row => row.lease.until))
  return oldest(a) - oldest(b) || a[0]!.seq - b[0]!.seq
}

function expiredOf(rows: readonly HeldRow[], now: number): ExpiredJob[] {
  const alone = rows.length === 1
  return rows.filter(({ lease }) => lease.until < now).map(row => ({ ...claimed(row), alone }))
}

function claimed({ job, lease }: HeldRow): Claimed {
  return { ...job, token: lease.token, workerId: lease.workerId, leaseUntil: lease.until }
}

export function beginEffect(tables: MemoryTables, lease: Lease, name: string): EffectStatus {
  const row = tables.held(lease)
  if (!row) return { status: 'lost' }
  const effect = row.effects.get(name) ?? { token: lease.token, result: undefined }
  row.effects.set(name, effect)
  if (effect.result !== undefined) return { status: 'done', result: effect.result }
  return { status: effect.token === lease.token ? 'new' : 'begun' }
}

export function endEffect(tables: MemoryTables, lease: Lease, name: string, result: string): 'done' | 'lost' {
  const row = tables.held(lease)
  if (!row) return 'lost'
  const effect = row.effects.get(name)
  if (effect?.result === undefined) row.effects.set(name, { token: effect?.token ?? lease.token, result })
  return 'done'
}
