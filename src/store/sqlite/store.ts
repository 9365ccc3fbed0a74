import { resolve } from 'node:path'
import type { Clock, Dice } from '../../core/values/clock.js'
import { ChronosError } from '../../core/values/error.js'
import type { Pulse, Store, StoreInfo } from '../store.js'
import type { Driver } from './file/driver.js'
import { guard } from './file/guard.js'
import { Session } from './file/session.js'
import * as settings from './file/settings.js'
import { watch } from './file/watch.js'
import { SCHEMA_VERSION } from './migrations.js'
import { backlog } from './reads/backlog.js'
import { census, wave } from './reads/census.js'
import { audit } from './reads/integrity.js'
import { findOld } from './reads/old-jobs.js'
import { partitions } from './reads/partitions.js'
import * as read from './reads/read.js'
import { waiting } from './reads/waiting.js'
import { putRecord, records } from './records.js'
import { claim, heldBy } from './writes/claim.js'
import { defer } from './writes/defer.js'
import { fold } from './writes/deltas.js'
import { enqueue } from './writes/enqueue.js'
import { fire, liveSchedules } from './writes/fire.js'
import * as lease from './writes/lease.js'
import * as manual from './writes/manual.js'
import { settleAll } from './writes/settle.js'

export interface SqliteOptions {
  /** A file, or `:memory:`. The directory of the file must exist. */
  readonly path: string
  readonly clock: Clock
  readonly dice: Dice
  /** The SQLite driver; by default that of Node, or else `@photostructure/sqlite`. */
  readonly driver?: Driver
}

/**
 * Stores jobs in one SQLite file that several processes can share. Acknowledged writes survive a power loss. The first
 * operation, or `migrate`, opens and migrates the file.
 */
export function sqliteStore({ path, clock, dice, driver }: SqliteOptions): Store {
  const isInMemory = path === ':memory:'
  const session = new Session(isInMemory ? path : resolve(path), clock, dice, driver)
  return {
    kind: 'sqlite',
    // Every commit of another process appends to the file.
    announcesEnds: !isInMemory,
    migrate: async () => (await session.file.open()).migration,
    info: () => info(session),
    close: () => session.close(),
    ...workVerbs(session),
    ...manualVerbs(session),
    ...readVerbs(session),
    ...recordVerbs(session),
    ...(isInMemory && { pulse: () => pulse(session) }),
    // No other process or thread can see a database in memory.
    watch: isInMemory ? () => () => undefined : onChange => watch(session.file, clock, onChange),
    ...(!isInMemory && { guard: options => guard(session.file, options) }),
  }
}

function workVerbs(session: Session) {
  return {
    enqueue: async (jobs, tx) => {
      if (tx !== undefined) throw noTransactions()
      return session.counted(jobs.length, (db, now, delta) => enqueue(db, jobs, now, delta))
    },
    fire: firings => session.countedEach(firings, fire),
    claim: request => session.write(request.limit, (db, now) => claim(db, request, now)),
    held: token => session.write(1, (db, now) => ({ now, jobs: heldBy(db, token) })),
    begin: requests => session.write(requests.length, db => lease.begin(db, requests)),
    extend: (leases, leaseMs) => session.each(leases, (db, one, now) => lease.extend(db, one, leaseMs, now)),
    report: reports => session.each(reports, lease.report),
    settle: async (settlements, tx) => {
      if (tx !== undefined) throw noTransactions()
      return session.counted(settlements.length, (db, now, delta) => settleAll(session, db, settlements, now, delta))
    },
    expired: ({ workers }) => session.read(db => lease.expired(db, workers, session.now())),
    overdue: limit => session.read(db => manual.overdue(db, limit, session.now())),
    defer: request => session.write(request.delaysMs.length, (db, now) => defer(db, request, now)),
    beginEffect: (one, name) => session.write(1, db => lease.beginEffect(db, one, name)),
    endEffect: (one, name, result) => session.write(1, db => lease.endEffect(db, one, name, result)),
  } satisfies Partial<Store>
}

function manualVerbs(session: Session) {
  return {
    change: (ids, decide, following) =>
      session.counted(ids.length, (db, now, delta) => manual.change(db, ids, decide, following, now, delta)),
    remove: (ids, which) => session.countedEach(ids, (...call) => manual.remove(...call, which)),
    prune: request =>
      session.inSteps(async steps => {
        const old = await findOld(steps, request, session.now())
        return session.counted(request.limit, (db, now, delta) => manual.prune(db, request, old, now, delta))
      }),
    setQueue: (name, change) => session.write(1, (db, now) => settings.setQueue(db, name, change, now)),
    removeQueues: (names, which) => session.write(names.length, db => settings.removeQueues(db, names, which)),
    putPolicies: policies => session.write(policies.length, db => settings.putPolicies(db, policies)),
  } satisfies Partial<Store>
}

function readVerbs(session: Session) {
  return {
    get: id => session.read(db => manual.find(db, id)),
    list: (filter, page) => session.inSteps(steps => read.list(steps, filter, page, session.now())),
    count: (filter, cap, lookAt) => session.inSteps(steps => read.count(steps, filter, cap, lookAt, session.now())),
    liveSchedules: ids => session.read(db => liveSchedules(db, ids)),
    backlog: request => session.inSteps(steps => backlog(steps, request, session.now())),
    census: request => session.inSteps(steps => census(steps, request, session.now())),
    wave: request => session.inSteps(steps => wave(steps, request, session.now())),
    waiting: request => session.inSteps(steps => waiting(steps, request, session.now())),
    tally: redriveId => session.read(db => read.tally(db, redriveId)),
    history: (id, page) => session.read(db => read.history(db, id, page)),
    logs: (id, page) => session.read(db => read.logs(db, id, page)),
    queues: () => session.read(settings.queues),
    partitions: (queue, query) => session.read(db => partitions(db, queue, query)),
    policies: ids => session.read(db => settings.policies(db, ids)),
  } satisfies Partial<Store>
}

function recordVerbs(session: Session) {
  return {
    records: (kind, query) => session.read(db => records(db, kind, query)),
    putRecords: writes => session.each(writes, putRecord),
    fold: limit => session.write(limit, (db, now) => fold(db, limit, now)),
    audit: () => session.snapshot(audit),
  } satisfies Partial<Store>
}

const PULSE = `
  SELECT total_changes(), EXISTS (SELECT 1 FROM jobs WHERE state = 'running'),
    EXISTS (SELECT 1 FROM jobs WHERE deadline IS NOT NULL AND state = 'waiting'), EXISTS (SELECT 1 FROM deltas)`

function pulse({ file }: Session): Pulse | undefined {
  const row = file.connection?.get<[number, number, number, number]>(PULSE)
  if (!row) return undefined
  const [changes, runs, hasDeadlines, hasDeltas] = row
  return { changes, runs: runs === 1, hasDeadlines: hasDeadlines === 1, hasDeltas: hasDeltas === 1 }
}

async function info(session: Session): Promise<StoreInfo> {
  const { file } = session
  const { version } = await file.driver()
  // Read the actual setting: a custom driver may have changed it.
  const [synchronous] = (await session.read(db => db.get<[number]>('PRAGMA synchronous')))!
  const durability = synchronous >= 2 ? 'power-loss' : 'process-crash'
  return {
    kind: 'sqlite',
    now: session.now(),
    schemaVersion: SCHEMA_VERSION,
    engine: `SQLite ${version}`,
    durability: file.isInMemory ? 'none' : durability,
    location: file.path,
  }
}

function noTransactions(): ChronosError {
  return new ChronosError(
    'STORE_NOT_SUPPORTED',
    'the SQLite store does not support `tx`; leave it out (instead of `job.complete`, return from the handler), or use postgres://',
  )
}
