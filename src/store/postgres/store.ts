import type { Job } from '../../core/job/job.js'
import type { Clock, Dice } from '../../core/values/clock.js'
import { ChronosError } from '../../core/values/error.js'
import type { AuditSnapshot } from '../integrity.js'
import type { Put, RecordQuery, RecordWrite, StoredRecord } from '../record.js'
import type {
  BeginRequest,
  Changed,
  Claim,
  ClaimRequest,
  EffectStatus,
  Enqueued,
  Expired,
  Extended,
  Fired,
  Firing,
  Following,
  Guard,
  GuardOptions,
  JobEdit,
  Lease,
  LeaseStatus,
  Migration,
  NewJob,
  Parked,
  ParkRequest,
  PolicyRecord,
  PruneReport,
  PruneRequest,
  QueueChange,
  QueueRecord,
  RedriveOptions,
  Report,
  RunTime,
  Settled,
  Settlement,
  Store,
  StoreInfo,
} from '../store.js'
import type { CallersPool, PgSettings, Place } from './connection/driver.js'
import { guard } from './connection/guard.js'
import { health, type PostgresHealth } from './connection/health.js'
import { type Hearing, hearing } from './connection/listen-check.js'
import { checkSchema, Database } from './connection/pool.js'
import * as settings from './connection/settings.js'
import { Joint } from './connection/shared-commit.js'
import { channelOf, FROM_A_TRANSACTION, Listener, Notifier } from './connection/wake.js'
import { migrate } from './migrations.js'
import { backlog } from './reads/backlog.js'
import { census, wave } from './reads/census.js'
import { info } from './reads/info.js'
import { audit } from './reads/integrity.js'
import * as read from './reads/read.js'
import * as records from './records.js'
import { claim, claimAlong } from './writes/claim.js'
import { Floors } from './writes/claim-watermark.js'
import * as dead from './writes/dead.js'
import { fold } from './writes/deltas.js'
import { edit } from './writes/edit.js'
import * as effects from './writes/effects.js'
import { enqueue, enqueueWithin } from './writes/enqueue.js'
import { fire, liveSchedules } from './writes/fire.js'
import * as lease from './writes/lease.js'
import * as manual from './writes/manual.js'
import { park } from './writes/park.js'
import { isForOthers, settle, settleWithin, spawnOf } from './writes/settle.js'

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database` */
  readonly url?: string
  /** A pool of `pg`. Its settings are taken over; its connections stay the caller's. */
  readonly pool?: CallersPool
  /** What `new pg.Pool(…)` takes: host, port, user, password, database, ssl, …. */
  readonly connection?: PgSettings
  /** Where the tables are. Default `chronos`. */
  readonly schema?: string
  /** Where to listen for new work when the other address leads to a pooler; false: nowhere. Default: the same. */
  readonly listenUrl?: string | false
  /** Whether an enqueue within the caller's transaction tells other processes when it commits. Default true. */
  readonly notifyInTransactions?: boolean
  /** By when a statement is given up, in milliseconds; then it can be tried again. Default 5,000. */
  readonly statementMs?: number
  readonly clock: Clock
  readonly dice: Dice
}

export function postgresStore(options: PostgresOptions): PostgresStore {
  return new PostgresStore(options)
}

/** Jobs in a PostgreSQL database that any number of machines share. Time is the database's. */
export class PostgresStore implements Store {
  readonly kind = 'postgres'
  readonly commitsAlone = true
  readonly announcesWork: boolean
  readonly #place: Place
  readonly #db: Database
  readonly #notifier: Notifier
  readonly #listener: Listener | undefined
  readonly #listenUrl: string | false | undefined
  readonly #queues: settings.KnownQueues
  readonly #floors: Floors
  /** The last enqueue: a claim of the same moment may go with it. */
  #joint: Joint | undefined
  /** What a transaction of the caller sends when it commits. */
  readonly #notification: readonly [channel: string, payload: string] | undefined
  readonly #underWay = new Set<Promise<unknown>>()
  #closing: Promise<void> | undefined

  constructor(options: PostgresOptions) {
    const { clock, dice, listenUrl, statementMs, notifyInTransactions = true } = options
    const schema = checkSchema(options.schema ?? 'chronos')
    const source = dice.token()
    this.#place = placeOf(options)
    this.#db = new Database({ place: this.#place, schema, clock, dice, statementMs })
    this.#notifier = new Notifier(this.#db, source)
    this.#listenUrl = listenUrl
    this.announcesWork = listenUrl !== false
    this.#listener = listenUrl === false ? undefined : new Listener(this.#db, source, listenUrl)
    this.#queues = new settings.KnownQueues(this.#db)
    this.#floors = new Floors(clock)
    this.#notification = notifyInTransactions ? [channelOf(schema), FROM_A_TRANSACTION] : undefined
  }

  migrate(): Promise<Migration> {
    return this.#verb(migrate)
  }

  info(): Promise<StoreInfo> {
    return this.#verb(info)
  }

  /** Beside the verbs of every store: for `chronos doctor`. */
  health(): Promise<PostgresHealth> {
    return this.#verb(health)
  }

  /** Whether other processes could wake this one: for `chronos doctor`. */
  hearing(): Promise<Hearing> {
    const listenUrl = this.#listenUrl
    return listenUrl === false ? Promise.resolve('off') : this.#verb(db => hearing(db, listenUrl))
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  enqueue(jobs: readonly NewJob[], tx?: unknown): Promise<readonly Enqueued[]> {
    return this.#verb(async db => {
      if (jobs.length === 0) return []
      if (tx !== undefined) return enqueueWithin(db, tx, jobs, this.#notification)
      const joint = new Joint()
      this.#joint = joint
      try {
        await this.#queues.add(jobs.map(({ queue }) => queue))
        const answers = await enqueue(db, jobs, this.#notifier, joint)
        if (jobs.some(({ runAt }) => 'at' in runAt)) this.#floors.reset()
        return answers
      } catch (error) {
        joint.abandon(error)
        throw error
      }
    })
  }

  fire(firings: readonly Firing[]): Promise<readonly Fired[]> {
    return this.#verb(async db => {
      const jobs = firings.flatMap(firing => firing.jobs)
      await this.#queues.add(jobs.map(({ queue }) => queue))
      const answers = await fire(db, firings)
      if (jobs.some(({ runAt }) => 'at' in runAt)) this.#floors.reset()
      if (jobs.length > 0 && answers.some(({ status }) => status === 'written'))
        this.#notifier.tell(jobs.map(({ runAt }) => runAt))
      return answers
    })
  }

  claim(request: ClaimRequest): Promise<Claim> {
    return this.#verb(async db => {
      const along = request.isAlong ? await claimAlong(db, this.#floors, request, this.#joint) : undefined
      const answer = along ?? (await claim(db, this.#floors, request))
      // Only a list for people: what was claimed is claimed.
      await this.#queues.add(answer.jobs.map(({ queue }) => queue)).catch(() => undefined)
      return answer
    })
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
      if (tx !== undefined) return settleWithin(db, tx, settlements)
      const spawned = settlements.flatMap(spawnOf)
      await this.#queues.add(spawned.map(({ queue }) => queue))
      const answers = await settle(db, settlements)
      if (spawned.length > 0) this.#notifier.tell(spawned.map(({ runAt }) => runAt))
      // What was handed back keeps its place in the line.
      if (settlements.some(({ end }) => end.kind === 'handed-back')) this.#floors.reset()
      if (settlements.some((one, index) => isForOthers(one, answers[index]!))) this.#notifier.tell([{ delayMs: 0 }])
      return answers
    })
  }

  expired({ workers }: { readonly workers: number }): Promise<Expired> {
    return this.#verb(db => lease.expired(db, workers))
  }

  expireDeadlines(limit: number, following?: Following): Promise<readonly Job[]> {
    return this.#followed(following, (db, follow) => manual.expireDeadlines(db, limit, follow))
  }

  cancel(ids: readonly string[], following?: Following): Promise<readonly Changed[]> {
    return this.#followed(following, (db, follow) => manual.cancel(db, ids, follow))
  }

  reschedule(id: string, at: RunTime): Promise<Changed> {
    return this.#verb(async db => {
      const answer = await manual.reschedule(db, id, at)
      this.#floors.reset()
      if (answer.status === 'changed') this.#notifier.tell([at])
      return answer
    })
  }

  edit(id: string, asked: JobEdit): Promise<Changed> {
    return this.#verb(async db => {
      if (asked.queue !== undefined) await this.#queues.add([asked.queue])
      const answer = await edit(db, id, asked)
      this.#floors.reset()
      if (answer.status === 'changed') this.#notifier.tell([{ at: answer.job.runAt }])
      return answer
    })
  }

  redrive(ids: readonly string[], options?: RedriveOptions): Promise<readonly Changed[]> {
    return this.#verb(async db => {
      const answers = await dead.redrive(db, ids, options)
      const times = ids.map((_, index) => ({ delayMs: options?.delaysMs?.[index] ?? 0 }))
      if (answers.some(({ status }) => status === 'changed')) this.#notifier.tell(times)
      return answers
    })
  }

  acknowledge(ids: readonly string[]): Promise<readonly Changed[]> {
    return this.#verb(db => dead.acknowledge(db, ids))
  }

  discard(ids: readonly string[], following?: Following): Promise<readonly Changed[]> {
    return this.#followed(following, (db, follow) => dead.discard(db, ids, follow))
  }

  remove(ids: readonly string[]): Promise<readonly Changed[]> {
    return this.#verb(db => manual.remove(db, ids))
  }

  prune(request: PruneRequest): Promise<PruneReport> {
    return this.#verb(db => manual.prune(db, request))
  }

  park(request: ParkRequest): Promise<Parked> {
    return this.#verb(async db => {
      const answer = await park(db, request)
      if (answer.moved > 0) this.#notifier.tell([{ delayMs: Math.min(...request.delaysMs) }])
      return answer
    })
  }

  // What only reads.
  readonly get: Store['get'] = id => this.#verb(db => manual.find(db, id))
  readonly list: Store['list'] = (filter, page) => this.#verb(db => read.list(db, filter, page))
  readonly count: Store['count'] = (filter, cap, lookAt) => this.#verb(db => read.count(db, filter, cap, lookAt))
  readonly liveSchedules: Store['liveSchedules'] = ids => this.#verb(db => liveSchedules(db, ids))
  readonly backlog: Store['backlog'] = request => this.#verb(db => backlog(db, request))
  readonly census: Store['census'] = request => this.#verb(db => census(db, request))
  readonly wave: Store['wave'] = request => this.#verb(db => wave(db, request))
  readonly tally: Store['tally'] = redriveId => this.#verb(db => dead.tally(db, redriveId))
  readonly history: Store['history'] = (id, page) => this.#verb(db => read.history(db, id, page))
  readonly logs: Store['logs'] = (id, page) => this.#verb(db => read.logs(db, id, page))

  queues(): Promise<readonly QueueRecord[]> {
    return this.#verb(settings.queues)
  }

  setQueue(name: string, change: QueueChange): Promise<QueueRecord> {
    return this.#verb(async db => {
      const record = await settings.setQueue(db, name, change)
      this.#floors.reset()
      if (change.paused === false) this.#notifier.tell([{ delayMs: 0 }])
      return record
    })
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

  watch(onChange: () => void): () => void {
    return this.#listener?.watch(onChange) ?? (() => undefined)
  }

  guard(options: GuardOptions): Guard {
    return guard(this.#db, this.#place, options)
  }

  /** What was asked for before the store is closed is still done. */
  #verb<T>(act: (db: Database) => Promise<T>): Promise<T> {
    if (this.#closing) return Promise.reject(closed(this.#db.location))
    const answer = act(this.#db)
    this.#underWay.add(answer)
    const done = () => void this.#underWay.delete(answer)
    answer.then(done, done)
    return answer
  }

  /** What came into being with a change is told like any other new job. */
  #followed<T>(following: Following = () => [], act: (db: Database, follow: Following) => Promise<T>): Promise<T> {
    return this.#verb(async db => {
      const queues = new Set<string>()
      const answer = await act(db, job => {
        const jobs = following(job)
        for (const { queue } of jobs) queues.add(queue)
        return jobs
      })
      if (queues.size > 0) this.#notifier.tell([{ delayMs: 0 }])
      await this.#queues.add(queues).catch(() => undefined)
      return answer
    })
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
