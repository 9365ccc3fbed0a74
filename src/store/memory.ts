import { limitsAfter } from '../core/partition/limits.js'
import type { Clock } from '../core/values/clock.js'
import { ChronosError } from '../core/values/error.js'
import { present } from '../core/values/present.js'
import { DeltaDraft } from './delta.js'
import { backlog } from './memory/backlog.js'
import { census, wave } from './memory/census.js'
import { defer } from './memory/defer.js'
import { audit } from './memory/integrity.js'
import * as manual from './memory/manual.js'
import { partitions, sortQueue } from './memory/partitions.js'
import * as read from './memory/read.js'
import { fold, putRecord, records } from './memory/records.js'
import * as run from './memory/run.js'
import { MemoryTables } from './memory/tables.js'
import { type MemoryTransaction, memoryTransaction } from './memory/transaction.js'
import { waiting } from './memory/waiting.js'
import type { Enqueued, NewJob, Pulse, QueueChange, QueueRecord, Settled, Settlement, Store } from './store.js'

export interface MemoryStoreOptions {
  readonly clock: Clock
  /** The tables to work on. Default: new, empty ones. */
  readonly tables?: MemoryTables
}

/**
 * The reference implementation of every operation, without a database. It loses its data when the process ends. It is
 * deterministic, so that simulations can run on it.
 */
export function memoryStore({ clock, tables = new MemoryTables() }: MemoryStoreOptions): Store {
  const session = new Session(clock, tables)
  return {
    kind: 'memory',
    pulse: () => session.pulse(),
    migrate: () => session.verb(() => ({ from: 1, to: 1 })),
    info: () => session.verb((_tables, now) => ({ ...INFO, now })),
    close: () => session.close(),
    ...workVerbs(session),
    ...manualVerbs(session),
    ...readVerbs(session),
    ...recordVerbs(session),
    // No other process can add work, but a transaction adds it later.
    watch: onChange => session.watch(onChange),
  }
}

const INFO = { kind: 'memory', schemaVersion: 1, engine: 'memory', durability: 'none', location: 'memory:' } as const

class Session {
  readonly #clock: Clock
  readonly #tables: MemoryTables
  readonly #watchers = new Set<() => void>()
  /** Jobs whose run ends in an open transaction. */
  readonly #locked = new Set<string>()
  #closed = false

  constructor(clock: Clock, tables: MemoryTables) {
    this.#clock = clock
    this.#tables = tables
  }

  pulse(): Pulse {
    const { changes, running, deadlines, deltas } = this.#tables
    return { changes, runs: running.size > 0, hasDeadlines: deadlines > 0, hasDeltas: deltas.length > 0 }
  }

  /** Runs an operation synchronously, which makes it atomic. */
  async verb<T>(act: (tables: MemoryTables, now: number) => T): Promise<T> {
    if (this.#closed) throw new ChronosError('CLOSED', 'the memory store is closed; open a new one')
    return act(this.#tables, this.#clock.now())
  }

  each<T, R>(inputs: readonly T[], act: (tables: MemoryTables, input: T, now: number) => R): Promise<R[]> {
    return this.verb((tables, now) => inputs.map(input => act(tables, input, now)))
  }

  /** A verb that changes counts: it leaves one delta for the whole batch. */
  counted<T>(act: (tables: MemoryTables, now: number, delta: DeltaDraft) => T): Promise<T> {
    return this.verb((tables, now) => {
      const delta = new DeltaDraft()
      const answer = act(tables, now, delta)
      if (!delta.isEmpty) tables.deltas.push(delta.toText(now))
      return answer
    })
  }

  countedEach<T, R>(
    inputs: readonly T[],
    act: (tables: MemoryTables, input: T, now: number, delta: DeltaDraft) => R,
  ): Promise<R[]> {
    return this.counted((tables, now, delta) => inputs.map(input => act(tables, input, now, delta)))
  }

  watch(onChange: () => void): () => void {
    this.#watchers.add(onChange)
    return () => void this.#watchers.delete(onChange)
  }

  /** Runs the verb with the commit of the transaction, and then tells the workers. */
  within(tx: MemoryTransaction, verb: () => Promise<unknown>, locked: readonly string[] = []): void {
    for (const id of locked) this.#locked.add(id)
    const unlock = (): void => {
      for (const id of locked) this.#locked.delete(id)
      for (const onChange of this.#watchers) onChange()
    }
    tx.add(() => void verb(), unlock)
  }

  isLocked(id: string): boolean {
    return this.#locked.has(id)
  }

  async close(): Promise<void> {
    this.#closed = true
  }
}

/** The answer comes now, and the jobs with the commit. */
function enqueueWithin(session: Session, jobs: readonly NewJob[], tx: MemoryTransaction): Promise<Enqueued[]> {
  session.within(tx, () => session.countedEach(jobs, manual.enqueue))
  return session.each(jobs, manual.known)
}

function settleWithin(session: Session, settlements: readonly Settlement[], tx: MemoryTransaction): Promise<Settled[]> {
  const ids = settlements.map(({ lease }) => lease.id)
  session.within(tx, () => session.countedEach(settlements, run.settle), ids)
  return session.each(settlements, (tables, { lease }) =>
    tables.held(lease) ? { status: 'settled', state: 'succeeded' } : { status: 'lost' },
  )
}

function workVerbs(session: Session) {
  return {
    enqueue: async (jobs, tx) =>
      tx === undefined
        ? session.countedEach(jobs, manual.enqueue)
        : enqueueWithin(session, jobs, memoryTransaction(tx)),
    fire: firings => session.countedEach(firings, manual.fire),
    claim: request => session.verb((tables, now) => run.claim(tables, request, now)),
    held: token => session.verb((tables, now) => run.held(tables, token, now)),
    begin: requests => session.each(requests, run.begin),
    extend: (leases, leaseMs) =>
      session.each(leases, (tables, lease, now) =>
        session.isLocked(lease.id) ? 'locked' : run.extend(tables, lease, leaseMs, now),
      ),
    report: async (reports, tx) => {
      if (tx === undefined) return session.each(reports, run.report)
      session.within(memoryTransaction(tx), () => session.each(reports, run.report))
      return reports.map(() => 'held')
    },
    settle: async (settlements, tx) =>
      tx === undefined
        ? session.countedEach(settlements, run.settle)
        : settleWithin(session, settlements, memoryTransaction(tx)),
    expired: ({ workers }) => session.verb((tables, now) => run.expired(tables, workers, now)),
    overdue: limit => session.verb((tables, now) => manual.overdue(tables, limit, now)),
    defer: request => session.verb((tables, now) => defer(tables, request, now)),
    beginEffect: (lease, name) => session.verb(tables => run.beginEffect(tables, lease, name)),
    endEffect: (lease, name, result) => session.verb(tables => run.endEffect(tables, lease, name, result)),
  } satisfies Partial<Store>
}

function manualVerbs(session: Session) {
  return {
    change: (ids, decide, following) =>
      session.counted((tables, now, delta) => manual.change(tables, ids, decide, following, now, delta)),
    remove: (ids, which) => session.countedEach(ids, (...call) => manual.remove(...call, which)),
    prune: request => session.counted((tables, now, delta) => manual.prune(tables, request, now, delta)),
    setQueue: (name, change) => session.verb((tables, now) => setQueue(tables, name, change, now)),
    removeQueues: (names, which) => session.verb(tables => removeQueues(tables, names, which)),
    putPolicies: policies =>
      session.verb(tables => {
        for (const { id, policy } of policies) if (!tables.policies.has(id)) tables.policies.set(id, policy)
      }),
  } satisfies Partial<Store>
}

function readVerbs(session: Session) {
  return {
    get: id => session.verb(tables => read.shownJob(tables.rows.get(id))),
    list: (filter, page) => session.verb((tables, now) => read.list(tables, filter, page, now)),
    count: (filter, cap, lookAt) => session.verb((tables, now) => read.count(tables, filter, cap, lookAt, now)),
    liveSchedules: ids => session.verb(tables => read.liveSchedules(tables, ids)),
    backlog: request => session.verb((tables, now) => backlog(tables, request, now)),
    census: request => session.verb((tables, now) => census(tables, request, now)),
    wave: request => session.verb((tables, now) => wave(tables, request, now)),
    waiting: request => session.verb((tables, now) => waiting(tables, request, now)),
    tally: redriveId => session.verb(tables => read.tally(tables, redriveId)),
    history: (id, page) => session.verb(tables => read.history(tables.rows.get(id), page)),
    logs: (id, page) => session.verb(tables => read.logs(tables.rows.get(id), page)),
    queues: () => session.verb(tables => [...tables.queues.values()].sort((a, b) => (a.name < b.name ? -1 : 1))),
    partitions: (queue, query) => session.verb(tables => partitions(tables, queue, query)),
    policies: ids =>
      session.verb(tables =>
        [...new Set(ids)].flatMap(id => {
          const policy = tables.policies.get(id)
          return policy === undefined ? [] : [{ id, policy }]
        }),
      ),
  } satisfies Partial<Store>
}

function recordVerbs(session: Session) {
  return {
    records: (kind, query) => session.verb(tables => records(tables, kind, query)),
    putRecords: writes => session.each(writes, putRecord),
    fold: limit => session.verb((tables, now) => fold(tables, limit, now)),
    audit: () => session.verb(audit),
  } satisfies Partial<Store>
}

function removeQueues(tables: MemoryTables, names: readonly string[], which: 'any' | 'unset'): readonly string[] {
  const live = [...tables.rows.values()].filter(({ job }) => job.state === 'waiting' || job.state === 'running')
  const used = new Set(live.map(({ job }) => job.queue))
  return [...new Set(names)].filter(name => {
    const queue = tables.queues.get(name)
    const isSet = queue?.paused || queue?.retry || queue?.limits
    if (!queue || used.has(name) || (which === 'unset' && isSet)) return false
    tables.partitions.delete(name)
    tables.notes.delete(name)
    return tables.queues.delete(name)
  })
}

function setQueue(tables: MemoryTables, name: string, change: QueueChange, now: number): QueueRecord {
  const old = tables.queues.get(name) ?? { name, paused: false }
  const retry = change.retry === undefined ? old.retry : (structuredClone(change.retry) ?? undefined)
  const limits = limitsAfter(old.limits, change.limits, now)
  const turn = limits === old.limits ? old.turn : undefined
  const record = present({ name, paused: change.paused ?? old.paused, retry, limits, turn })
  tables.queues.set(name, record)
  tables.changes++
  if (limits !== old.limits) sortQueue(tables, name)
  return record
}
