import type { Clock } from '../core/values/clock.js'
import { ChronosError } from '../core/values/error.js'
import { present } from '../core/values/present.js'
import { DeltaDraft } from './delta.js'
import { backlog } from './memory/backlog.js'
import { census, wave } from './memory/census.js'
import { audit } from './memory/integrity.js'
import * as manual from './memory/manual.js'
import { park } from './memory/park.js'
import * as read from './memory/read.js'
import { fold, putRecord, records } from './memory/records.js'
import * as run from './memory/run.js'
import { Shelf } from './memory/shelf.js'
import type { QueueChange, QueueRecord, Store } from './store.js'

/**
 * The reference: what every verb means, without a database. It forgets everything when the process ends, and does
 * the same things in the same order every time, so that a simulation can run on it.
 */
export function memoryStore({ clock }: { readonly clock: Clock }): Store {
  const session = new Session(clock)
  return {
    kind: 'memory',
    migrate: () => session.verb(() => ({ from: 1, to: 1 })),
    info: () => session.verb((_shelf, now) => ({ ...INFO, now })),
    close: () => session.close(),
    ...workVerbs(session),
    ...manualVerbs(session),
    ...readVerbs(session),
    ...recordVerbs(session),
    // There is no other process that could add work.
    watch: () => () => undefined,
  }
}

const INFO = { kind: 'memory', schemaVersion: 1, engine: 'memory', durability: 'none', location: 'memory:' } as const

class Session {
  readonly #clock: Clock
  readonly #shelf = new Shelf()
  #closed = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Everything that a verb does happens in this one call: that is what makes it atomic. */
  async verb<T>(act: (shelf: Shelf, now: number) => T): Promise<T> {
    if (this.#closed) throw new ChronosError('CLOSED', 'the memory store is closed; open a new one')
    return act(this.#shelf, this.#clock.now())
  }

  each<T, R>(inputs: readonly T[], act: (shelf: Shelf, input: T, now: number) => R): Promise<R[]> {
    return this.verb((shelf, now) => inputs.map(input => act(shelf, input, now)))
  }

  /** For what changes counts: one delta tells of all of it. */
  counted<T>(act: (shelf: Shelf, now: number, delta: DeltaDraft) => T): Promise<T> {
    return this.verb((shelf, now) => {
      const delta = new DeltaDraft()
      const answer = act(shelf, now, delta)
      if (!delta.isEmpty) shelf.deltas.push(delta.toText(now))
      return answer
    })
  }

  countedEach<T, R>(
    inputs: readonly T[],
    act: (shelf: Shelf, input: T, now: number, delta: DeltaDraft) => R,
  ): Promise<R[]> {
    return this.counted((shelf, now, delta) => inputs.map(input => act(shelf, input, now, delta)))
  }

  async close(): Promise<void> {
    this.#closed = true
  }
}

function workVerbs(session: Session) {
  return {
    enqueue: async (jobs, tx) => {
      if (tx !== undefined) throw noTransactions()
      return session.countedEach(jobs, manual.enqueue)
    },
    fire: firings => session.countedEach(firings, manual.fire),
    claim: request => session.verb((shelf, now) => run.claim(shelf, request, now)),
    held: token => session.verb((shelf, now) => run.held(shelf, token, now)),
    begin: requests => session.each(requests, run.begin),
    extend: (leases, leaseMs) => session.each(leases, (shelf, lease, now) => run.extend(shelf, lease, leaseMs, now)),
    report: reports => session.each(reports, run.report),
    settle: async (settlements, tx) => {
      if (tx !== undefined) throw noTransactions()
      return session.countedEach(settlements, run.settle)
    },
    expired: ({ workers }) => session.verb((shelf, now) => run.expired(shelf, workers, now)),
    overdue: limit => session.verb((shelf, now) => manual.overdue(shelf, limit, now)),
    park: request => session.verb((shelf, now) => park(shelf, request, now)),
    beginEffect: (lease, name) => session.verb(shelf => run.beginEffect(shelf, lease, name)),
    endEffect: (lease, name, result) => session.verb(shelf => run.endEffect(shelf, lease, name, result)),
  } satisfies Partial<Store>
}

function manualVerbs(session: Session) {
  return {
    change: (ids, decide, following) =>
      session.counted((shelf, now, delta) => manual.change(shelf, ids, decide, following, now, delta)),
    remove: ids => session.countedEach(ids, manual.remove),
    prune: request => session.counted((shelf, now, delta) => manual.prune(shelf, request, now, delta)),
    setQueue: (name, change) => session.verb(shelf => setQueue(shelf, name, change)),
    putPolicies: policies =>
      session.verb(shelf => {
        for (const { id, policy } of policies) if (!shelf.policies.has(id)) shelf.policies.set(id, policy)
      }),
  } satisfies Partial<Store>
}

function readVerbs(session: Session) {
  return {
    get: id => session.verb(shelf => shelf.rows.get(id)?.job),
    list: (filter, page) => session.verb((shelf, now) => read.list(shelf, filter, page, now)),
    count: (filter, cap, lookAt) => session.verb((shelf, now) => read.count(shelf, filter, cap, lookAt, now)),
    liveSchedules: ids => session.verb(shelf => read.liveSchedules(shelf, ids)),
    backlog: request => session.verb((shelf, now) => backlog(shelf, request, now)),
    census: request => session.verb((shelf, now) => census(shelf, request, now)),
    wave: request => session.verb((shelf, now) => wave(shelf, request, now)),
    tally: redriveId => session.verb(shelf => read.tally(shelf, redriveId)),
    history: (id, page) => session.verb(shelf => read.history(shelf.rows.get(id), page)),
    logs: (id, page) => session.verb(shelf => read.logs(shelf.rows.get(id), page)),
    queues: () => session.verb(shelf => [...shelf.queues.values()].sort((a, b) => (a.name < b.name ? -1 : 1))),
    policies: ids =>
      session.verb(shelf =>
        [...new Set(ids)].flatMap(id => {
          const policy = shelf.policies.get(id)
          return policy === undefined ? [] : [{ id, policy }]
        }),
      ),
  } satisfies Partial<Store>
}

function recordVerbs(session: Session) {
  return {
    records: (kind, query) => session.verb(shelf => records(shelf, kind, query)),
    putRecords: writes => session.each(writes, putRecord),
    fold: limit => session.verb((shelf, now) => fold(shelf, limit, now)),
    audit: () => session.verb(audit),
  } satisfies Partial<Store>
}

function setQueue(shelf: Shelf, name: string, change: QueueChange): QueueRecord {
  const old = shelf.queues.get(name) ?? { name, paused: false }
  const retry = change.retry === undefined ? old.retry : (structuredClone(change.retry) ?? undefined)
  const record = present({ name, paused: change.paused ?? old.paused, retry })
  shelf.queues.set(name, record)
  return record
}

function noTransactions(): ChronosError {
  return new ChronosError(
    'STORE_NOT_SUPPORTED',
    'the memory store can take part in no transaction; leave `tx` out (or `job.complete`: return instead), or use postgres://',
  )
}
