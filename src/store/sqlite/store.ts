import { resolve } from 'node:path'
import type { Clock, Dice } from '../../core/clock.js'
import { ChronosError } from '../../core/error.js'
import type { Store, StoreInfo } from '../store.js'
import { claim } from './claim.js'
import type { Driver } from './driver.js'
import { enqueue } from './enqueue.js'
import { guard } from './guard.js'
import * as lease from './lease.js'
import * as manual from './manual.js'
import { SCHEMA_VERSION } from './migrations.js'
import * as read from './read.js'
import { findOld } from './search.js'
import { Session } from './session.js'
import * as settings from './settings.js'
import { settle } from './settle.js'
import { watch } from './watch.js'

export interface SqliteOptions {
  /** A file, or `:memory:`. Its directory must exist. */
  readonly path: string
  readonly clock: Clock
  readonly dice: Dice
  /** The SQLite to use; by default the one of Node, or of `@photostructure/sqlite`. */
  readonly driver?: Driver
}

/**
 * Jobs in one SQLite file that several processes may share. What was acknowledged survives a power loss. The file is
 * opened and migrated by the first verb, or by `migrate`.
 */
export function sqliteStore({ path, clock, dice, driver }: SqliteOptions): Store {
  const isInMemory = path === ':memory:'
  const session = new Session(isInMemory ? path : resolve(path), clock, dice, driver)
  return {
    kind: 'sqlite',
    migrate: async () => (await session.file.open()).migration,
    info: () => info(session),
    close: () => session.close(),
    ...workVerbs(session),
    ...manualVerbs(session),
    ...readVerbs(session),
    // Nobody else can see a database in memory, not even another thread.
    watch: isInMemory ? () => () => undefined : onChange => watch(session.file, clock, onChange),
    ...(!isInMemory && { guard: options => guard(session.file, clock, options) }),
  }
}

function workVerbs(session: Session) {
  const { held } = session
  return {
    enqueue: async (jobs, tx) => {
      if (tx !== undefined) throw noTransactions()
      return session.write(jobs.length, (db, now) => enqueue(db, jobs, now))
    },
    claim: request => session.write(request.limit, (db, now) => claim(db, held, request, now)),
    begin: requests => session.each(requests, lease.begin),
    extend: (leases, leaseMs) => session.each(leases, (db, one, now) => lease.extend(db, one, leaseMs, now)),
    report: reports => session.each(reports, lease.report),
    settle: settlements => session.each(settlements, (db, one, now) => settle(db, held, one, now)),
    expired: ({ workers }) => session.read(db => lease.expired(db, workers, session.clock.now())),
    expireDeadlines: limit => session.write(limit, (db, now) => manual.expireDeadlines(db, limit, now)),
    beginEffect: (one, name) => session.write(1, db => lease.beginEffect(db, one, name)),
    endEffect: (one, name, result) => session.write(1, db => lease.endEffect(db, one, name, result)),
  } satisfies Partial<Store>
}

function manualVerbs(session: Session) {
  return {
    cancel: ids => session.each(ids, manual.cancel),
    reschedule: (id, at) => session.write(1, (db, now) => manual.reschedule(db, id, at, now)),
    redrive: ids => session.each(ids, manual.redrive),
    remove: ids => session.each(ids, manual.remove),
    prune: async request => {
      const old = await findOld(session.steps(), request, session.clock.now())
      return session.write(request.limit, (db, now) => manual.prune(db, request, old, now))
    },
    setQueue: (name, change) => session.write(1, db => settings.setQueue(db, name, change)),
    putPolicies: policies => session.write(policies.length, db => settings.putPolicies(db, policies)),
  } satisfies Partial<Store>
}

function readVerbs(session: Session) {
  return {
    get: id => session.read(db => manual.find(db, id)),
    list: (filter, page) => read.list(session.steps(), filter, page, session.clock.now()),
    count: (filter, cap) => read.count(session.steps(), filter, cap, session.clock.now()),
    history: (id, page) => session.read(db => read.history(db, id, page)),
    logs: (id, page) => session.read(db => read.logs(db, id, page)),
    queues: () => session.read(settings.queues),
    policies: ids => session.read(db => settings.policies(db, ids)),
  } satisfies Partial<Store>
}

async function info(session: Session): Promise<StoreInfo> {
  const { file, clock } = session
  const { version } = await file.driver()
  // What is really set: a driver may have been given that has other ideas.
  const [synchronous] = (await session.read(db => db.get<[number]>('PRAGMA synchronous')))!
  const durability = synchronous >= 2 ? 'power-loss' : 'process-crash'
  return {
    kind: 'sqlite',
    now: clock.now(),
    schemaVersion: SCHEMA_VERSION,
    engine: `SQLite ${version}`,
    durability: file.isInMemory ? 'none' : durability,
    location: file.path,
  }
}

function noTransactions(): ChronosError {
  return new ChronosError(
    'STORE_NOT_SUPPORTED',
    'enqueue was given a transaction, and the SQLite store can take part in none; leave `tx` out, or use postgres://',
  )
}
