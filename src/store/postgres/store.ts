import type { Clock, Dice } from '../../core/clock.js'
import { ChronosError, shown } from '../../core/error.js'
import type { Job } from '../../core/job.js'
import type {
  AttemptRecord,
  BeginRequest,
  Changed,
  Claim,
  ClaimRequest,
  Count,
  EffectStatus,
  Enqueued,
  Expired,
  Guard,
  GuardOptions,
  JobFilter,
  Lease,
  LeaseStatus,
  LogRecord,
  Migration,
  NewJob,
  Page,
  PageRequest,
  PolicyRecord,
  PruneReport,
  PruneRequest,
  QueueChange,
  QueueRecord,
  Report,
  RunTime,
  Settled,
  Settlement,
  Store,
  StoreInfo,
} from '../store.js'
import { claim } from './claim.js'
import type { CallersPool, PgSettings, Place } from './driver.js'
import * as effects from './effects.js'
import { enqueue, enqueueWithin } from './enqueue.js'
import { Floors } from './floors.js'
import { guard } from './guard.js'
import { health, type PostgresHealth } from './health.js'
import { info } from './info.js'
import * as lease from './lease.js'
import * as manual from './manual.js'
import { migrate } from './migrations.js'
import { Database } from './pool.js'
import * as read from './read.js'
import * as settings from './settings.js'
import { settle } from './settle.js'
import { channelOf, FROM_A_TRANSACTION, Listener, Notifier } from './wake.js'

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
  readonly #clock: Clock
  readonly #place: Place
  readonly #db: Database
  readonly #notifier: Notifier
  readonly #listener: Listener | undefined
  readonly #queues: settings.KnownQueues
  readonly #floors: Floors
  /** What a transaction of the caller sends when it commits. */
  readonly #notification: readonly [channel: string, payload: string] | undefined
  readonly #underWay = new Set<Promise<unknown>>()
  #closing: Promise<void> | undefined

  constructor(options: PostgresOptions) {
    const { clock, dice, listenUrl, statementMs, notifyInTransactions = true } = options
    const schema = checkSchema(options.schema ?? 'chronos')
    const source = dice.token()
    this.#clock = clock
    this.#place = placeOf(options)
    this.#db = new Database({ place: this.#place, schema, clock, dice, statementMs })
    this.#notifier = new Notifier(this.#db, source)
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

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  enqueue(jobs: readonly NewJob[], tx?: unknown): Promise<readonly Enqueued[]> {
    return this.#verb(async db => {
      if (jobs.length === 0) return []
      if (tx !== undefined) return enqueueWithin(db, tx, jobs, this.#notification)
      await this.#queues.add(jobs.map(({ queue }) => queue))
      const answers = await enqueue(db, jobs)
      if (jobs.some(({ runAt }) => 'at' in runAt)) this.#floors.reset()
      this.#tell(...jobs.map(({ runAt }) => runAt))
      return answers
    })
  }

  claim(request: ClaimRequest): Promise<Claim> {
    return this.#verb(async db => {
      const answer = await claim(db, this.#floors, request)
      // Only a list for people: what was claimed is claimed.
      await this.#queues.add(answer.jobs.map(({ queue }) => queue)).catch(() => undefined)
      return answer
    })
  }

  begin(requests: readonly BeginRequest[]): Promise<readonly LeaseStatus[]> {
    return this.#verb(db => lease.begin(db, requests))
  }

  extend(leases: readonly Lease[], leaseMs: number): Promise<readonly LeaseStatus[]> {
    return this.#verb(db => lease.extend(db, leases, leaseMs))
  }

  report(reports: readonly Report[]): Promise<readonly LeaseStatus[]> {
    return this.#verb(db => lease.report(db, reports))
  }

  settle(settlements: readonly Settlement[]): Promise<readonly Settled[]> {
    return this.#verb(async db => {
      const answers = await settle(db, settlements)
      // What was handed back keeps its place in the line.
      if (settlements.some(({ end }) => end.kind === 'handed-back')) this.#floors.reset()
      if (settlements.some((one, index) => isForOthers(one, answers[index]!))) this.#tell({ delayMs: 0 })
      return answers
    })
  }

  expired({ workers }: { readonly workers: number }): Promise<Expired> {
    return this.#verb(db => lease.expired(db, workers))
  }

  expireDeadlines(limit: number): Promise<readonly Job[]> {
    return this.#verb(db => manual.expireDeadlines(db, limit))
  }

  cancel(ids: readonly string[]): Promise<readonly Changed[]> {
    return this.#verb(db => manual.cancel(db, ids))
  }

  reschedule(id: string, at: RunTime): Promise<Changed> {
    return this.#verb(async db => {
      const answer = await manual.reschedule(db, id, at)
      this.#floors.reset()
      if (answer.status === 'changed') this.#tell(at)
      return answer
    })
  }

  redrive(ids: readonly string[]): Promise<readonly Changed[]> {
    return this.#verb(async db => {
      const answers = await manual.redrive(db, ids)
      if (answers.some(({ status }) => status === 'changed')) this.#tell({ delayMs: 0 })
      return answers
    })
  }

  remove(ids: readonly string[]): Promise<readonly Changed[]> {
    return this.#verb(db => manual.remove(db, ids))
  }

  prune(request: PruneRequest): Promise<PruneReport> {
    return this.#verb(db => manual.prune(db, request))
  }

  get(id: string): Promise<Job | undefined> {
    return this.#verb(db => manual.find(db, id))
  }

  list(filter: JobFilter, page: PageRequest): Promise<Page<Job>> {
    return this.#verb(db => read.list(db, filter, page))
  }

  count(filter: JobFilter, cap: number): Promise<Count> {
    return this.#verb(db => read.count(db, filter, cap))
  }

  history(id: string, page: PageRequest): Promise<Page<AttemptRecord>> {
    return this.#verb(db => read.history(db, id, page))
  }

  logs(id: string, page: PageRequest): Promise<Page<LogRecord>> {
    return this.#verb(db => read.logs(db, id, page))
  }

  queues(): Promise<readonly QueueRecord[]> {
    return this.#verb(settings.queues)
  }

  setQueue(name: string, change: QueueChange): Promise<QueueRecord> {
    return this.#verb(async db => {
      const record = await settings.setQueue(db, name, change)
      this.#floors.reset()
      if (change.paused === false) this.#tell({ delayMs: 0 })
      return record
    })
  }

  putPolicies(policies: readonly PolicyRecord[]): Promise<void> {
    return this.#verb(db => settings.putPolicies(db, policies))
  }

  policies(ids: readonly string[]): Promise<readonly PolicyRecord[]> {
    return this.#verb(db => settings.policies(db, ids))
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

  async #close(): Promise<void> {
    this.#listener?.close()
    await Promise.allSettled(this.#underWay)
    await this.#notifier.close()
    await this.#db.close()
  }

  /** The clock of this process is good enough to tell soon from later. */
  #tell(...times: readonly RunTime[]): void {
    const now = this.#clock.now()
    this.#notifier.tell(Math.min(...times.map(time => ('at' in time ? time.at - now : time.delayMs))))
  }
}

/** The worker that ran it knows of its retry; what it let go of is for the others. */
function isForOthers({ end }: Settlement, settled: Settled): boolean {
  if (settled.status !== 'settled' || settled.state !== 'waiting') return false
  return end.kind === 'handed-back' || end.transition.status === 'released' || end.transition.status === 'lost'
}

function placeOf({ url, pool, connection }: PostgresOptions): Place {
  if (pool !== undefined) return { pool }
  if (url !== undefined) return { url }
  return { settings: connection ?? {} }
}

/** Part of every statement, so it is what it looks like: nothing to quote, and short enough for the names in it. */
function checkSchema(schema: unknown): string {
  if (typeof schema === 'string' && /^[A-Za-z_][A-Za-z0-9_]{0,47}$/.test(schema)) return schema
  throw new ChronosError(
    'INVALID_OPTION',
    `schema: expected 1 to 48 letters, digits or _ that begin with a letter, got ${shown(schema)}`,
  )
}

function closed(location: string): ChronosError {
  return new ChronosError('CLOSED', `the store on ${location} is closed; open another`, { details: { location } })
}
