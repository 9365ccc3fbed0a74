import type { JobChange } from '../../core/job/changes.js'
import { TERMINAL } from '../../core/job/job.js'
import type { Clock, Dice } from '../../core/values/clock.js'
import { ChronosError } from '../../core/values/error.js'
import type { AuditSnapshot } from '../integrity.js'
import type { Put, RecordQuery, RecordWrite, StoredRecord } from '../record.js'
import type {
  BeginRequest,
  Changed,
  Claim,
  ClaimRequest,
  DeferRequest,
  Deferred,
  EffectStatus,
  Enqueued,
  Expired,
  Extended,
  Fired,
  Firing,
  Following,
  Guard,
  GuardOptions,
  Lease,
  LeaseStatus,
  Migration,
  NewJob,
  PartitionQuery,
  PartitionRecord,
  PolicyRecord,
  PruneReport,
  PruneRequest,
  QueueChange,
  QueueRecord,
  Removable,
  Report,
  Settled,
  Settlement,
  Store,
  StoreInfo,
} from '../store.js'
import type { CallersPool, PgSettings, Place } from './connection/driver.js'
import { guard } from './connection/guard.js'
import { health, type PostgresHealth } from './connection/health.js'
import { type ListenResult, listenCheck } from './connection/listen-check.js'
import { checkSchema, Database } from './connection/pool.js'
import * as settings from './connection/settings.js'
import { SharedCommit } from './connection/shared-commit.js'
import { sharesOf } from './connection/shares.js'
import { channelOf, FROM_A_TRANSACTION, Listener, Notifier } from './connection/wake.js'
import { claim, claimAlong } from './lanes/claim.js'
import { KnownLanes } from './lanes/known.js'
import { partitions } from './lanes/partitions.js'
import { migrate } from './migrate.js'
import { backlog } from './reads/backlog.js'
import { census, wave } from './reads/census.js'
import { info } from './reads/info.js'
import { audit } from './reads/integrity.js'
import * as read from './reads/read.js'
import { waiting } from './reads/waiting.js'
import * as records from './records.js'
import { change, overdue } from './writes/change.js'
import { held } from './writes/claim.js'
import { Watermarks } from './writes/claim-watermark.js'
import { defer } from './writes/defer.js'
import { fold } from './writes/deltas.js'
import * as effects from './writes/effects.js'
import { enqueue, enqueueWithin } from './writes/enqueue.js'
import { fire, liveSchedules } from './writes/fire.js'
import * as lease from './writes/lease.js'
import { find, prune, remove } from './writes/remove.js'
import { isForOthers, settle, settleWithin, spawnOf } from './writes/settle.js'

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database` */
  readonly url?: string
  /** A pool of `pg`. The store copies its settings and opens its own connections. */
  readonly pool?: CallersPool
  /** The settings of `new pg.Pool(…)`: host, port, user, password, database, ssl, …. */
  readonly connection?: PgSettings
  /** The schema of the tables. Default `chronos`. */
  readonly schema?: string
  /**
   * The address to LISTEN on if the other address leads to a pooler; false turns LISTEN off. Default: the same
   * address.
   */
  readonly listenUrl?: string | false
  /** Whether an enqueue in the caller's transaction notifies other processes when it commits. Default true. */
  readonly notifyInTransactions?: boolean
  /** The maximum number of connections of this process, at least 2. Default 9. */
  readonly connections?: { readonly max?: number }
  /** The statement timeout in milliseconds; after it the statement can be retried. Default 5,000. */
  readonly statementMs?: number
  readonly clock: Clock
  readonly dice: Dice
}

export function postgresStore(options: PostgresOptions): PostgresStore {
  return new PostgresStore(options)
}

/** Stores jobs in a PostgreSQL database that any number of machines share. Times come from the database's clock. */
export class PostgresStore implements Store {
  readonly kind = 'postgres'
  readonly commitsAlone = true
  readonly announcesWork: boolean
  readonly announcesEnds: boolean
  readonly guard?: (options: GuardOptions) => Guard
  readonly #place: Place
  readonly #db: Database
  readonly #notifier: Notifier
  readonly #listener: Listener | undefined
  readonly #listenUrl: string | false | undefined
  readonly #queues: settings.KnownQueues
  readonly #watermarks: Watermarks
  readonly #lanes = new KnownLanes()
  /** The last enqueue; a claim of the same moment may share its transaction. */
  #sharedCommit: SharedCommit | undefined
  /** The notification that a caller's transaction sends when it commits. */
  readonly #notification: readonly [channel: string, payload: string] | undefined
  readonly #underWay = new Set<Promise<unknown>>()
  #closing: Promise<void> | undefined

  constructor(options: PostgresOptions) {
    const { clock, dice, statementMs, notifyInTransactions = true } = options
    const connections = sharesOf(options.connections?.max)
    const listenUrl = connections.isListening ? options.listenUrl : false
    const schema = checkSchema(options.schema ?? 'chronos')
    const source = dice.token()
    this.#place = placeOf(options)
    this.#db = new Database({ place: this.#place, schema, clock, dice, connections, statementMs })
    this.#notifier = new Notifier(this.#db, source)
    this.#listenUrl = listenUrl
    this.announcesWork = listenUrl !== false
    this.announcesEnds = this.announcesWork
    const onAwait = (): void => this.#notifier.awaited()
    this.#listener = listenUrl === false ? undefined : new Listener(this.#db, source, listenUrl, onAwait)
    if (connections.isGuarded) this.guard = given => guard(this.#db, this.#place, given)
    this.#queues = new settings.KnownQueues(this.#db, this.#lanes)
    this.#watermarks = new Watermarks(clock)
    this.#notification = notifyInTransactions ? [channelOf(schema), FROM_A_TRANSACTION] : undefined
  }

  migrate(): Promise<Migration> {
    return this.#verb(migrate)
  }

  info(): Promise<StoreInfo> {
    return this.#verb(info)
  }

  /** Health data for `chronos doctor`. */
  health(): Promise<PostgresHealth> {
    return this.#verb(health)
  }

  /** Whether notifications reach this process, for `chronos doctor`. */
  listenCheck(): Promise<ListenResult> {
    const listenUrl = this.#listenUrl
    return listenUrl === false ? Promise.resolve('off') : this.#verb(db => listenCheck(db, listenUrl))
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  enqueue(jobs: readonly NewJob[], tx?: unknown): Promise<readonly Enqueued[]> {
    return this.#verb(async db => {
      if (jobs.length === 0) return []
      if (tx !== undefined) return enqueueWithin(db, tx, jobs, this.#lanes, this.#notification)
      const sharedCommit = new SharedCommit()
      this.#sharedCommit = sharedCommit
      try {
        await this.#queues.add(jobs.map(({ queue }) => queue))
        const answers = await enqueue(db, jobs, this.#lanes, this.#notifier, sharedCommit)
        // A job that took a payload may now be due earlier than the last claim's position.
        const isReplaced = answers.some(({ status }) => status === 'replaced')
        if (isReplaced || jobs.some(({ runAt }) => 'at' in runAt)) this.#watermarks.reset()
        return answers
      } catch (error) {
        sharedCommit.abandon(error)
        throw error
      }
    })
  }

  fire(firings: readonly Firing[]): Promise<readonly Fired[]> {
    return this.#verb(async db => {
      const jobs = firings.flatMap(firing => firing.jobs)
      await this.#queues.add(jobs.map(({ queue }) => queue))
      const answers = await fire(db, firings, this.#lanes)
      if (jobs.some(({ runAt }) => 'at' in runAt)) this.#watermarks.reset()
      if (jobs.length > 0 && answers.some(({ status }) => status === 'written'))
        this.#notifier.notify(jobs.map(({ runAt }) => runAt))
      return answers
    })
  }

  claim(request: ClaimRequest): Promise<Claim> {
    return this.#verb(async db => {
      const memory = { watermarks: this.#watermarks, lanes: this.#lanes }
      const along = request.isAlong ? await claimAlong(db, memory, request, this.#sharedCommit) : undefined
      const answer = along ?? (await claim(db, memory, request))
      // The list of queues is only informational: a failure must not lose the claimed jobs.
      await this.#queues.add(answer.jobs.map(({ queue }) => queue)).catch(() => undefined)
      return answer
    })
  }

  held(token: string): Promise<Claim> {
    return this.#verb(db => held(db, token))
  }

  begin(requests: readonly BeginRequest[]): Promise<readonly LeaseStatus[]> {
    return this.#verb(db => lease.begin(db, requests))
  }

  extend(leases: readonly Lease[], leaseMs: number): Promise<readonly Extended[]> {
    return this.#verb(db => lease.extend(db, leases, leaseMs))
  }

  report(reports: readonly Report[], tx?: unknown): Promise<readonly LeaseStatus[]> {
    return this.#verb(db => (tx === undefined ? lease.report(db, reports) : lease.reportWithin(db, tx, reports)))
  }

  settle(settlements: readonly Settlement[], tx?: unknown): Promise<readonly Settled[]> {
    return this.#verb(async db => {
      if (tx !== undefined) return settleWithin(db, tx, settlements, this.#lanes)
      const spawned = settlements.flatMap(spawnOf)
      await this.#queues.add(spawned.map(({ queue }) => queue))
      const answers = await settle(db, settlements, this.#lanes)
      if (spawned.length > 0) this.#notifier.notify(spawned.map(({ runAt }) => runAt))
      // A job that was handed back keeps its place, which may be before the last claim's position.
      if (settlements.some(({ end }) => end.kind === 'handed-back')) this.#watermarks.reset()
      if (settlements.some((one, index) => isForOthers(one, answers[index]!))) this.#notifier.notify([{ delayMs: 0 }])
      if (settlements.some(({ lane }) => lane !== undefined)) this.#notifier.notifyTurns()
      this.#notifier.notifyEnds()
      return answers
    })
  }

  expired({ workers }: { readonly workers: number }): Promise<Expired> {
    return this.#verb(db => lease.expired(db, workers))
  }

  overdue(limit: number): Promise<readonly string[]> {
    return this.#verb(db => overdue(db, limit))
  }

  change(ids: readonly string[], decide: JobChange, following?: Following): Promise<readonly Changed[]> {
    return this.#verb(async db => {
      const { answers, writes, following: jobs, now, isNoted } = await change(db, ids, decide, this.#lanes, following)
      const waiting = writes.filter(({ next }) => next.state === 'waiting')
      // A job that waited before may now be due earlier than the last claim's position.
      if (waiting.some(({ before }) => before.state === 'waiting')) this.#watermarks.reset()
      const times = [...waiting.map(({ next }) => ({ delayMs: next.runAt - now })), ...jobs.map(({ runAt }) => runAt)]
      if (times.length > 0) this.#notifier.notify(times)
      if (isNoted) this.#notifier.notifyTurns()
      if (writes.some(({ next }) => TERMINAL.has(next.state))) this.#notifier.notifyEnds()
      const queues = [...waiting.map(({ next }) => next), ...jobs].map(({ queue }) => queue)
      // The change is committed; the list of queues is only informational.
      await this.#queues.add(queues).catch(() => undefined)
      return answers
    })
  }

  remove(ids: readonly string[], which?: Removable): Promise<readonly Changed[]> {
    return this.#verb(async db => {
      const { answers, isNoted } = await remove(db, ids, which)
      if (isNoted) this.#notifier.notifyTurns()
      return answers
    })
  }

  prune(request: PruneRequest): Promise<PruneReport> {
    return this.#verb(async db => {
      const { report, isNoted } = await prune(db, request)
      if (isNoted) this.#notifier.notifyTurns()
      return report
    })
  }

  defer(request: DeferRequest): Promise<Deferred> {
    return this.#verb(async db => {
      const answer = await defer(db, request)
      if (answer.moved > 0) this.#notifier.notify([{ delayMs: Math.min(...request.delaysMs) }])
      return answer
    })
  }

  readonly get: Store['get'] = id => this.#verb(db => find(db, id))
  readonly list: Store['list'] = (filter, page) => this.#verb(db => read.list(db, filter, page))
  readonly count: Store['count'] = (filter, cap, lookAt) => this.#verb(db => read.count(db, filter, cap, lookAt))
  readonly liveSchedules: Store['liveSchedules'] = ids => this.#verb(db => liveSchedules(db, ids))
  readonly backlog: Store['backlog'] = request => this.#verb(db => backlog(db, request))
  readonly census: Store['census'] = request => this.#verb(db => census(db, request))
  readonly wave: Store['wave'] = request => this.#verb(db => wave(db, request))
  readonly waiting: Store['waiting'] = request => this.#verb(db => waiting(db, request))
  readonly tally: Store['tally'] = redriveId => this.#verb(db => read.tally(db, redriveId))
  readonly history: Store['history'] = (id, page) => this.#verb(db => read.history(db, id, page))
  readonly logs: Store['logs'] = (id, page) => this.#verb(db => read.logs(db, id, page))

  queues(): Promise<readonly QueueRecord[]> {
    return this.#verb(settings.queues)
  }

  removeQueues(names: readonly string[], which: 'any' | 'unset'): Promise<readonly string[]> {
    return this.#verb(() => this.#queues.remove(names, which))
  }

  setQueue(name: string, change: QueueChange): Promise<QueueRecord> {
    return this.#verb(async db => {
      const { record, isOpened } = await settings.setQueue(db, this.#lanes, name, change)
      this.#watermarks.reset()
      if (change.paused === false || isOpened) this.#notifier.notify([{ delayMs: 0 }])
      return record
    })
  }

  partitions(queue: string, query: PartitionQuery): Promise<readonly PartitionRecord[]> {
    return this.#verb(db => partitions(db, queue, query))
  }

  putPolicies(policies: readonly PolicyRecord[]): Promise<void> {
    return this.#verb(db => settings.putPolicies(db, policies))
  }

  policies(ids: readonly string[]): Promise<readonly PolicyRecord[]> {
    return this.#verb(db => settings.policies(db, ids))
  }

  records(kind: string, query: RecordQuery): Promise<readonly StoredRecord[]> {
    return this.#verb(db => records.records(db, kind, query))
  }

  putRecords(writes: readonly RecordWrite[]): Promise<readonly Put[]> {
    return this.#verb(db => records.putRecords(db, writes))
  }

  fold(limit: number): Promise<number> {
    return this.#verb(db => fold(db, limit))
  }

  audit(): Promise<AuditSnapshot> {
    return this.#verb(audit)
  }

  beginEffect(one: Lease, name: string): Promise<EffectStatus> {
    return this.#verb(db => effects.beginEffect(db, one, name))
  }

  endEffect(one: Lease, name: string, result: string): Promise<'done' | 'lost'> {
    return this.#verb(db => effects.endEffect(db, one, name, result))
  }

  watch(onChange: () => void, what: 'work' | 'ends' = 'work'): () => void {
    return this.#listener?.watch(onChange, what) ?? (() => undefined)
  }

  /** Operations that started before the store is closed are still completed. */
  #verb<T>(act: (db: Database) => Promise<T>): Promise<T> {
    if (this.#closing) return Promise.reject(closed(this.#db.location))
    const answer = act(this.#db)
    this.#underWay.add(answer)
    const done = () => void this.#underWay.delete(answer)
    answer.then(done, done)
    return answer
  }

  async #close(): Promise<void> {
    this.#listener?.close()
    await Promise.allSettled(this.#underWay)
    await this.#notifier.close()
    await this.#db.close()
  }
}

function placeOf({ url, pool, connection }: PostgresOptions): Place {
  if (pool !== undefined) return { pool }
  if (url !== undefined) return { url }
  return { settings: connection ?? {} }
}

function closed(location: string): ChronosError {
  return new ChronosError('CLOSED', `the store on ${location} is closed; open another`, { details: { location } })
}
