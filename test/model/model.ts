import type { Job } from '../../src/core/job/job.js'
import type { Put, RecordWrite, StoredRecord } from '../../src/store/record.js'
import type {
  AttemptRecord,
  BeginRequest,
  Changed,
  Claim,
  Claimed,
  ClaimRequest,
  DeferRequest,
  Deferred,
  EffectStatus,
  Enqueued,
  Expired,
  Fired,
  Firing,
  JobFilter,
  Lease,
  LeaseStatus,
  LogRecord,
  NewJob,
  PruneReport,
  PruneRequest,
  QueueChange,
  QueueRecord,
  Report,
  RunEnd,
  RunTime,
  Settled,
  Settlement,
} from '../../src/store/store.js'

import { type LimitFlaw, LimitModel } from './limits.js'

type Draft<T> = { -readonly [Field in keyof T]: T[Field] }

export interface ModelRow {
  readonly job: Draft<Job>
  lease: { token: string; workerId: string; ms: number; until: number } | undefined
  readonly attempts: { readonly token: string; readonly record: AttemptRecord }[]
  readonly logs: Map<string, LogRecord & { line: number }>
  readonly effects: Map<string, { token: string; result?: string }>
}

type HeldRow = ModelRow & { lease: NonNullable<ModelRow['lease']> }

const NO_MS = Number.POSITIVE_INFINITY
const KEY_MS = 86_400_000
const REPLACED_MS = 600_000
const LINES_MAX = 1_000

/**
 * The simplest possible store: a list of rows that is searched from end to end. It is slow, has no index, and was
 * written from the comments of the interface; a store under test is correct if it answers the same.
 */
export class StoreModel {
  rows: ModelRow[] = []
  readonly #limits = new LimitModel()
  readonly #byId = new Map<string, ModelRow>()
  readonly records = new Map<string, StoredRecord>()
  readonly keys = new Map<string, { jobId: string; payloadHash: string; until: number }>()
  readonly queues = new Map<string, QueueRecord>()
  readonly policies = new Map<string, string>()

  row(id: string): ModelRow | undefined {
    return this.#byId.get(id)
  }

  held({ id, token }: Lease): HeldRow | undefined {
    const row = this.row(id)
    return row?.lease?.token === token ? (row as HeldRow) : undefined
  }

  enqueue(input: NewJob, now: number): Enqueued {
    const { id, key, unique, throttle, replacement, payloadHash = '' } = input
    const remembered = key === undefined ? undefined : this.#remembered(scoped(input, key), now)
    const throttled = throttle && this.#remembered(`throttle ${scoped(input, throttle.value)}`, now)
    if (this.row(id) || remembered?.jobId === id || throttled?.jobId === id) return { status: 'created', id }
    const replaced = replacement && this.#remembered(`replaced ${id}`, now)
    if (replaced) return { status: 'replaced', id: replaced.jobId, delayMs: 0 }
    if (remembered && remembered.payloadHash !== payloadHash)
      return { status: 'conflict', id: remembered.jobId, payloadHash: remembered.payloadHash }
    const live = unique === undefined ? [] : this.#live(input, unique)
    const isFree = remembered === undefined && throttled === undefined
    const waiting = live.find(({ job }) => job.state === 'waiting' && job.delivery === input.delivery)
    if (isFree && replacement && waiting) return this.#replace(waiting.job, input, now)
    const existing = remembered?.jobId ?? throttled?.jobId ?? (replacement ? undefined : live[0]?.job.id)
    if (existing !== undefined) return { status: 'existing', id: existing }
    if (key !== undefined) this.keys.set(scoped(input, key), { jobId: id, payloadHash, until: NO_MS })
    if (throttle) {
      const until = now + throttle.forMs
      this.keys.set(`throttle ${scoped(input, throttle.value)}`, { jobId: id, payloadHash: '', until })
    }
    if (!this.queues.has(input.queue)) this.queues.set(input.queue, { name: input.queue, paused: false })
    const row = { job: newJob(input, now), lease: undefined, attempts: [], logs: new Map(), effects: new Map() }
    this.#sort(row)
    this.rows.push(row)
    this.#byId.set(id, row)
    return { status: 'created', id }
  }

  #remembered(name: string, now: number) {
    const known = this.keys.get(name)
    return known && known.until > now ? known : undefined
  }

  /** The job takes the payload; one that has never started also moves, if the mode asks for it. */
  #replace(job: Draft<Job>, input: NewJob, now: number): Enqueued {
    const { id, key, payload, deadline, dependency, replacement, payloadHash = '' } = input
    if (dependency !== job.dependency) delete job.pass
    delete job.deadline
    delete job.dependency
    Object.assign(job, { payload }, dependency !== undefined && { dependency })
    if (deadline) job.deadline = timeOf(deadline, now)
    if (replacement?.mode === 'debounce' && job.run === 0 && job.generation === 1) {
      job.runAt = Math.min(timeOf({ delayMs: replacement.forMs }, now), job.createdAt + replacement.maxWaitMs)
      if (job.runAt > now) delete job.pass
    }
    this.keys.set(`replaced ${id}`, { jobId: job.id, payloadHash: '', until: now + REPLACED_MS })
    if (key !== undefined) this.keys.set(scoped(input, key), { jobId: job.id, payloadHash, until: now + KEY_MS })
    return { status: 'replaced', id: job.id, delayMs: Math.max(0, job.runAt - now) }
  }

  /** The record is written if it has the expected version; only then are the jobs enqueued. */
  fire({ record, jobs }: Firing, now: number): Fired {
    const put = this.putRecord(record, now)
    if (put.status === 'conflict') return put
    return { ...put, enqueued: jobs.map(job => this.enqueue(job, now)) }
  }

  putRecord({ kind, id, body, expect }: RecordWrite, now: number): Put {
    const name = `${kind} ${id}`
    const current = this.records.get(name)
    const version = current?.version ?? 0
    if (expect !== undefined && expect !== version) return { status: 'conflict', ...(current && { current }) }
    if (body === null) {
      this.records.delete(name)
      return { status: 'written', version: 0 }
    }
    this.records.set(name, { kind, id, version: version + 1, body, updatedAt: now })
    return { status: 'written', version: version + 1 }
  }

  /** Newest first. */
  #live(scope: Pick<Job, 'tenantId' | 'name'>, unique: string): readonly ModelRow[] {
    const wanted = scoped(scope, unique)
    const has = ({ job }: ModelRow) => job.unique !== undefined && isLive(job) && scoped(job, job.unique) === wanted
    return this.rows.filter(has).reverse()
  }

  claim(request: ClaimRequest, now: number): Claim {
    let rows = this.rows.filter(row => row.lease?.token === request.token)
    const open = ({ job }: ModelRow) => request.queues.includes(job.queue) && !this.queues.get(job.queue)?.paused
    const waiting = this.rows.filter(row => row.job.state === 'waiting' && open(row))
    if (rows.length === 0) {
      const chosen = waiting.filter(({ job }) => isChosen(job.name, request.names))
      rows = byLine(chosen.filter(({ job }) => job.runAt <= now && (job.deadline ?? NO_MS) > now))
      rows = rows.slice(0, request.limit)
      for (const row of rows) take(row, request, now)
    }
    const later = waiting.filter(({ job }) => job.runAt > now).map(({ job }) => job.runAt)
    return { now, jobs: byLine(rows).map(claimed), ...(later.length > 0 && { nextDueAt: Math.min(...later) }) }
  }

  /** Whether one of the queues has limits, so that `claimed` must be checked instead of predicted. */
  isLimited({ queues }: ClaimRequest): boolean {
    return queues.some(name => this.queues.get(name)?.limits)
  }

  /** The claim as the store has answered it, applied to the model, and what is wrong with it. */
  adopt(request: ClaimRequest, answer: Claim, now: number): { readonly claim: Claim; readonly flaws: LimitFlaw[] } {
    const again = this.rows.filter(row => row.lease?.token === request.token)
    if (again.length > 0) return { claim: { ...answer, now, jobs: byLine(again).map(claimed) }, flaws: [] }
    const queues = request.queues.filter(name => this.queues.get(name)?.limits)
    const others = request.queues.filter(name => !queues.includes(name))
    const chosen = answer.jobs.flatMap(({ id, queue }) => (queues.includes(queue) ? (this.row(id) ?? []) : []))
    const isFree = ({ job }: ModelRow): boolean =>
      job.state === 'waiting' &&
      job.runAt <= now &&
      (job.deadline ?? NO_MS) > now &&
      !this.queues.get(job.queue)?.paused &&
      isChosen(job.name, request.names)
    const own = chosen.filter(isFree)
    const rest = byLine(this.rows.filter(row => others.includes(row.job.queue) && isFree(row)))
    const all = new Set([...own, ...rest.slice(0, request.limit - own.length)])
    // Jobs with the same priority and time may come in any order.
    const places = new Map(answer.jobs.map(({ id }, place) => [id, place]))
    const rows = [...all].sort((a, b) => (places.get(a.job.id) ?? 0) - (places.get(b.job.id) ?? 0))
    for (const row of rows) take(row, request, now)
    const flaws = queues.flatMap(name => {
      const taken = own.filter(({ job }) => job.queue === name)
      return this.#limits.check(this, taken, this.queues.get(name)!.limits!, now)
    })
    return { claim: { ...answer, now, jobs: byLine(rows).map(claimed) }, flaws }
  }

  /** The waiting jobs of a queue with limits are in lanes. */
  #sort({ job }: ModelRow): void {
    if (job.state !== 'waiting' || job.lane !== undefined || !this.queues.get(job.queue)?.limits) return
    job.lane = job.partition ?? receiverOf(job) ?? job.tenantId ?? ''
  }

  heldBy(token: string, now: number): Claim {
    return { now, jobs: byLine(this.rows.filter(row => row.lease?.token === token)).map(claimed) }
  }

  begin(request: BeginRequest): LeaseStatus {
    const row = this.held(request)
    if (!row) return 'lost'
    if (request.delivery === 'at-most-once') row.job.delivery = 'at-most-once'
    if (!row.job.cancelRequested) row.job.begun = true
    return statusOf(row)
  }

  extend(lease: Lease, leaseMs: number, now: number): LeaseStatus {
    const row = this.held(lease)
    if (!row) return 'lost'
    row.lease.ms = leaseMs
    row.lease.until = now + leaseMs
    return statusOf(row)
  }

  report({ lease, logs, from, progress }: Report): LeaseStatus {
    const row = this.held(lease)
    if (!row) return 'lost'
    const { run } = row.job
    const first = from ?? [...row.logs.values()].filter(line => line.run === run).length
    for (const [index, { at, message, data }] of logs.entries()) {
      const line = Math.min(first + index, LINES_MAX)
      if (row.logs.has(`${run}:${line}`)) continue
      const whole = { run, line, at, message, ...(data !== undefined && { data }) }
      const cut = { run, line, at, message: 'only the first 1000 lines of a run are kept' }
      row.logs.set(`${run}:${line}`, line === LINES_MAX ? cut : whole)
    }
    if (progress !== undefined) row.job.progress = progress
    return statusOf(row)
  }

  settle(settlement: Settlement, now: number): Settled {
    const { lease, end, run } = settlement
    const row = this.held(lease)
    if (!row || (settlement.onlyIfExpired && row.job.run !== run)) {
      const before = this.row(lease.id)?.attempts.find(each => each.record.run === run && each.token === lease.token)
      const same = end.kind === 'ended' && before?.record.status === end.transition.status
      return { status: same ? 'already' : 'lost' }
    }
    if (settlement.onlyIfExpired && row.lease.until >= now) return { status: 'lost' }
    if (settlement.ifBegun !== undefined && settlement.ifBegun !== row.job.begun) return { status: 'lost' }
    this.row(lease.id)!.lease = undefined
    if (settlement.spent?.[''] === -1) this.#limits.giveBack(row.job)
    if (end.kind === 'handed-back') handBack(row, end.delayMs, now)
    else {
      endRun(row, settlement, end, now)
    }
    // A cancel in between turned waiting into cancelled, so other jobs follow.
    const isAsAsked = end.kind === 'ended' && end.transition.to === row.job.state
    const spawned = isAsAsked ? end.spawn : row.job.state === 'cancelled' ? end.spawnIfCancelled : []
    for (const job of spawned ?? []) this.enqueue(job, now)
    return { status: 'settled', state: row.job.state, runAt: row.job.runAt }
  }

  expired(workers: number, now: number): Expired {
    const held = this.rows.filter((row): row is HeldRow => row.lease !== undefined)
    const isOver = ({ lease }: HeldRow) => lease.until < now
    const process = ({ lease }: HeldRow) => lease.workerId.replace(/~.*/s, '')
    const dead = [...new Set(held.map(process))]
      .map(one => held.filter(row => process(row) === one))
      .filter(rows => rows.every(isOver) || rows.some(({ lease }) => lease.until + lease.ms < now))
    const oldest = (rows: HeldRow[]) => Math.min(...rows.map(row => row.lease.until))
    dead.sort((a, b) => oldest(a) - oldest(b))
    const jobs = dead
      .slice(0, workers)
      .flatMap(rows => rows.filter(isOver).map(row => ({ ...claimed(row), alone: rows.length === 1 })))
    return { now, jobs }
  }

  overdue(limit: number, now: number): readonly string[] {
    const passed = this.rows.filter(({ job }) => job.state === 'waiting' && (job.deadline ?? NO_MS) <= now)
    passed.sort((a, b) => a.job.deadline! - b.job.deadline!)
    return passed.slice(0, limit).map(({ job }) => job.id)
  }

  expire(id: string, now: number): Changed {
    return this.#change(id, ({ job }) => {
      if (job.state !== 'waiting' || (job.deadline ?? NO_MS) > now) return { id, status: 'refused', job }
      delete job.pass
      return { id, status: 'changed', job: Object.assign(job, { state: 'dead', reason: 'expired', finishedAt: now }) }
    })
  }

  /** Takes the fields that an edit may change from `asked`, and nothing else; undefined: the edit was out of date. */
  edit(id: string, asked: Job | undefined): Changed {
    return this.#change(id, ({ job }) => {
      if (job.state !== 'waiting' || !asked) return { id, status: 'refused', job }
      for (const field of EDITABLE) {
        if (asked[field] === undefined) delete job[field]
        else Object.assign(job, { [field]: asked[field] })
      }
      if (!this.queues.has(job.queue)) this.queues.set(job.queue, { name: job.queue, paused: false })
      return { id, status: 'changed', job }
    })
  }

  cancel(id: string, now: number): Changed {
    return this.#change(id, ({ job }) => {
      if (job.state === 'running') {
        job.cancelRequested = true
        return { id, status: 'requested', job }
      }
      if (job.state !== 'waiting') return { id, status: 'refused', job }
      delete job.pass
      return { id, status: 'changed', job: Object.assign(job, { state: 'cancelled', finishedAt: now }) }
    })
  }

  reschedule(id: string, at: RunTime, now: number): Changed {
    return this.#change(id, ({ job }) => {
      if (job.state !== 'waiting') return { id, status: 'refused', job }
      job.runAt = timeOf(at, now)
      if (job.runAt > now) delete job.pass
      return { id, status: 'changed', job }
    })
  }

  redrive(id: string, redriveId: string | undefined, delayMs: number, now: number): Changed {
    return this.#change(id, ({ job }) => {
      if (redriveId !== undefined && redriveId === job.redriveId) return { id, status: 'changed', job }
      if (job.state !== 'dead' && job.state !== 'cancelled') return { id, status: 'refused', job }
      const conflictId = job.unique === undefined ? undefined : this.#live(job, job.unique)[0]?.job.id
      if (conflictId !== undefined) return { id, status: 'refused', job, conflictId }
      for (const field of GENERATION_ENDS) delete job[field]
      if ((job.deadline ?? NO_MS) <= now) delete job.deadline
      if (redriveId !== undefined) job.redriveId = redriveId
      const next = { generation: job.generation + 1, runAt: timeOf({ delayMs }, now) }
      return { id, status: 'changed', job: Object.assign(job, FRESH, next) }
    })
  }

  acknowledge(id: string, now: number): Changed {
    return this.#change(id, ({ job }) => {
      if (job.state !== 'dead') return { id, status: 'refused', job }
      job.acknowledgedAt ??= now
      return { id, status: 'changed', job }
    })
  }

  discard(id: string, now: number): Changed {
    return this.#change(id, ({ job }) => {
      if (job.state !== 'dead') return { id, status: 'refused', job }
      job.acknowledgedAt ??= now
      job.reason = 'discarded'
      return { id, status: 'changed', job }
    })
  }

  defer({ dependency, from, delaysMs, pass, ...only }: DeferRequest, now: number): Deferred {
    const jobs = this.rows
      .map(({ job }) => job)
      .filter(
        job =>
          job.state === 'waiting' && job.dependency === dependency && job.pass !== pass && job.id !== only.exceptId,
      )
      .filter(job => only.tenantId === undefined || (job.tenantId ?? null) === only.tenantId)
      .filter(job =>
        'pass' in from ? job.pass === from.pass : job.pass !== -pass && job.runAt <= now + from.dueWithinMs,
      )
      .filter(job => (job.deadline ?? NO_MS) > now)
      .filter(
        job => (job.attempt > 0 || !only.retriesOnly) && (job.delivery === 'at-least-once' || !only.repeatableOnly),
      )
      .sort((a, b) => a.runAt - b.runAt || (a.id < b.id ? -1 : 1))
      .slice(0, delaysMs.length)
    for (const [index, job] of jobs.entries()) {
      const at = timeOf({ delayMs: delaysMs[index]! }, now)
      Object.assign(job, { pass, runAt: 'pass' in from ? at : Math.max(at, job.runAt) })
    }
    return { moved: jobs.length }
  }

  remove(id: string, now: number): Changed {
    return this.#change(id, row => {
      if (row.job.state === 'running') return { id, status: 'refused', job: row.job }
      this.#delete(row, now + KEY_MS)
      return { id, status: 'changed', job: row.job }
    })
  }

  #change(id: string, act: (row: ModelRow) => Changed): Changed {
    const row = this.row(id)
    const changed: Changed = row ? act(row) : { id, status: 'not-found' }
    if (row) this.#sort(row)
    return 'job' in changed ? { ...changed, job: shown({ job: changed.job, lease: row?.lease }) } : changed
  }

  #delete(row: ModelRow, keyUntil: number): void {
    this.rows = this.rows.filter(each => each !== row)
    this.#byId.delete(row.job.id)
    const key = row.job.key === undefined ? undefined : this.keys.get(scoped(row.job, row.job.key))
    if (key?.jobId === row.job.id) key.until = keyUntil
  }

  prune({ olderThanMs, keyMs, limit }: PruneRequest, now: number): PruneReport {
    const pruned = { succeeded: 0, dead: 0, cancelled: 0 }
    const old = this.rows.filter(({ job }) => job.finishedAt! <= now - (olderThanMs[job.state as Ended] ?? NO_MS))
    old.sort((a, b) => a.job.finishedAt! - b.job.finishedAt!)
    for (const row of old.slice(0, limit)) {
      pruned[row.job.state as Ended] += 1
      this.#delete(row, now + keyMs)
    }
    const over = [...this.keys].filter(([, key]) => key.until <= now).slice(0, limit)
    for (const [name] of over) this.keys.delete(name)
    return { pruned, keys: over.length }
  }

  /** Newest first. */
  list(filter: JobFilter, now: number): readonly Job[] {
    return this.rows
      .filter(({ job }) => matches(job, filter, now, this.queues.get(job.queue)?.paused ?? false))
      .map(shown)
      .reverse()
  }

  setQueue(name: string, { paused, retry, limits }: QueueChange): QueueRecord {
    const old = this.queues.get(name) ?? { name, paused: false }
    const own = retry === undefined ? old.retry : (retry ?? undefined)
    const bounds = limits === undefined ? old.limits : (limits ?? undefined)
    const settings = { ...(own && { retry: own }), ...(bounds && { limits: bounds }) }
    const record = { name, paused: paused ?? old.paused, ...settings }
    this.queues.set(name, record)
    for (const row of this.rows) if (row.job.queue === name) this.#sort(row)
    return record
  }

  beginEffect(lease: Lease, name: string): EffectStatus {
    const row = this.held(lease)
    if (!row) return { status: 'lost' }
    const effect = row.effects.get(name) ?? { token: lease.token }
    row.effects.set(name, effect)
    if (effect.result !== undefined) return { status: 'done', result: effect.result }
    return { status: effect.token === lease.token ? 'new' : 'begun' }
  }

  endEffect(lease: Lease, name: string, result: string): 'done' | 'lost' {
    const row = this.held(lease)
    if (!row) return 'lost'
    const effect = row.effects.get(name) ?? { token: lease.token }
    row.effects.set(name, { ...effect, result: effect.result ?? result })
    return 'done'
  }
}

/** What an edit may change; `pass` ends with the dependency that gave it. */
const EDITABLE = [
  ...(['payload', 'priority', 'tags', 'queue', 'runAt', 'timeoutMs', 'deadline', 'override'] as const),
  ...(['dependency', 'pass', 'lane'] as const),
] as const

const isChosen = (name: string, names: ClaimRequest['names']): boolean =>
  names === undefined || names.list.includes(name) !== names.isExcluded

type Ended = keyof PruneReport['pruned']

const FRESH = {
  state: 'waiting',
  attempt: 0,
  snoozes: 0,
  releases: 0,
  losses: 0,
  strikes: 0,
  suspect: false,
  begun: false,
  cancelRequested: false,
} as const

/** The fields that a generation leaves behind, and with which the next one does not start. */
const GENERATION_ENDS = [
  'reason',
  'startedAt',
  'firstStartedAt',
  'finishedAt',
  'backoffMs',
  'failedAt',
  'result',
  'error',
  'progress',
  'pass',
  'lane',
  'acknowledgedAt',
  'redriveId',
] as const

function newJob(input: NewJob, now: number): Draft<Job> {
  const { payloadHash: _, replacement: _mode, throttle: _throttle, runAt, deadline, override, ...same } = input
  return {
    ...same,
    ...FRESH,
    generation: 1,
    run: 0,
    createdAt: now,
    runAt: timeOf(runAt, now),
    ...(deadline && { deadline: timeOf(deadline, now) }),
    ...(override && { override: JSON.parse(JSON.stringify(override)) as NonNullable<Job['override']> }),
  }
}

function take(row: ModelRow, request: ClaimRequest, now: number): void {
  const { job } = row
  const { token, workerId, leaseMs, policyIds, begins = [] } = request
  job.state = 'running'
  job.run += 1
  job.attempt += 1
  const isPlain = job.delivery === 'at-least-once' && job.override === undefined
  job.begun = job.run === 1 && isPlain && begins.includes(`${job.queue} ${job.name}`)
  job.startedAt = now
  job.firstStartedAt ??= now
  const defined = policyIds[`${job.queue} ${job.name}`]
  if (defined !== undefined) job.policyId = defined
  else if (policyIds[job.queue] !== undefined) job.policyId ??= policyIds[job.queue]!
  row.lease = { token, workerId, ms: leaseMs, until: now + leaseMs }
}

function endRun(row: ModelRow, settlement: Settlement, end: Extract<RunEnd, { kind: 'ended' }>, now: number): void {
  const { job } = row
  const { transition, error, note, result, group, dependency, pass } = end
  const { status, decision, delayMs, to, reason, attemptBack, backoffMs, failedAt, ...counters } = transition
  Object.assign(job, counters)
  if (attemptBack) job.attempt -= 1
  job.state = to === 'waiting' && job.cancelRequested ? 'cancelled' : to
  if (job.state === 'waiting') job.runAt = Math.ceil(now + delayMs)
  else job.finishedAt = settlement.finishedAt
  if (job.state === 'dead' && reason) job.reason = reason
  if (backoffMs === undefined) delete job.backoffMs
  else job.backoffMs = backoffMs
  if (failedAt === undefined) delete job.failedAt
  else job.failedAt = failedAt
  if (error && job.state !== 'succeeded') job.error = error
  if (group && job.state !== 'succeeded') job.fingerprint = group.fingerprint
  delete job.pass
  if (job.state === 'waiting' && pass !== undefined) job.pass = pass
  if (job.state === 'waiting' && dependency !== undefined) job.dependency ??= dependency
  if (job.state === 'succeeded') {
    delete job.error
    if (result !== undefined) job.result = result
  }
  const { lease, generation, run, attempt, startedAt, finishedAt, workerId } = settlement
  row.attempts.push({
    token: lease.token,
    record: {
      jobId: job.id,
      ...{ generation, run, attempt, status, startedAt, finishedAt, workerId, decision },
      ...(error && { error }),
      ...(note !== undefined && { note }),
      ...(group && { fingerprint: group.fingerprint }),
      ...(job.state === 'waiting' && { delayMs, nextRunAt: job.runAt }),
    },
  })
}

/** A delivery waits for its endpoint; one to a URL that a job named, for the URL and the tenant of that job. */
function receiverOf({ queue, dependency, tenantId }: Job): string | undefined {
  if (queue !== 'chronos:deliveries' || dependency === undefined) return undefined
  return /^webhook:https?:/.test(dependency) && tenantId !== undefined ? `${dependency} ${tenantId}` : dependency
}

/** Restores the row as if it had never been claimed. */
function handBack({ job, attempts, logs }: ModelRow, delayMs: number, now: number): void {
  for (const [name, line] of logs) if (line.run === job.run) logs.delete(name)
  const last = attempts.at(-1)?.record
  job.run -= 1
  job.attempt -= 1
  job.begun = false
  if (last) job.startedAt = last.startedAt
  else delete job.startedAt
  if (last?.generation !== job.generation) delete job.firstStartedAt
  if (delayMs > 0) job.runAt = Math.ceil(now + delayMs)
  job.state = job.cancelRequested ? 'cancelled' : 'waiting'
  if (job.cancelRequested) job.finishedAt = now
}

/** The job as reads return it: with its worker and its lease while it runs. */
export function shown({ job, lease }: Pick<ModelRow, 'job' | 'lease'>): Job {
  return job.state === 'running' && lease ? { ...job, workerId: lease.workerId, leaseUntil: lease.until } : { ...job }
}

export function claimed({ job, lease }: ModelRow): Claimed {
  const { state, unique, finishedAt, reason, error, result, progress, acknowledgedAt, redriveId, ...fields } = job
  return { ...fields, token: lease!.token, workerId: lease!.workerId, leaseUntil: lease!.until }
}

function matches(job: Job, filter: JobFilter, now: number, isPaused: boolean): boolean {
  const {
    ids,
    state,
    phase,
    tag,
    acknowledged,
    finishedBefore,
    createdAfter = 0,
    createdBefore = NO_MS,
    ...equal
  } = filter
  const isDue = job.runAt <= now
  const isBlocked = isDue ? isPaused : job.pass !== undefined
  const free = job.attempt > 0 ? 'retrying' : isDue ? 'queued' : 'scheduled'
  const label = job.state !== 'waiting' ? '' : isBlocked ? 'blocked' : free
  return (
    (ids?.includes(job.id) ?? true) &&
    (state === undefined || [state].flat().includes(job.state)) &&
    (phase === undefined || phase === label) &&
    (tag === undefined || job.tags.includes(tag)) &&
    (acknowledged === undefined || acknowledged === 'acknowledgedAt' in job) &&
    (finishedBefore === undefined || (job.finishedAt ?? NO_MS) < finishedBefore) &&
    job.createdAt >= createdAfter &&
    job.createdAt < createdBefore &&
    Object.entries(equal).every(([field, value]) => value === undefined || job[field as keyof Job] === value)
  )
}

const statusOf = ({ job }: ModelRow): LeaseStatus => (job.cancelRequested ? 'cancel-requested' : 'held')
const isLive = (job: Job): boolean => job.state === 'waiting' || job.state === 'running'
const scoped = ({ tenantId, name }: Pick<Job, 'tenantId' | 'name'>, text: string): string =>
  JSON.stringify([tenantId ?? null, name, text])
const timeOf = (time: RunTime, now: number): number => Math.ceil('at' in time ? time.at : now + time.delayMs)
/** Highest priority first, then by due time, then in order of enqueue, which the stable sort keeps. */
const byLine = (rows: readonly ModelRow[]): ModelRow[] =>
  [...rows].sort((a, b) => b.job.priority - a.job.priority || a.job.runAt - b.job.runAt)
