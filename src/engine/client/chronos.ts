import type { Forecast, ForecastQuery } from '../../core/forecast/forecast.js'
import type { HttpRequest } from '../../core/http/request.js'
import { type Clock, type Dice, during } from '../../core/values/clock.js'
import { ChronosError } from '../../core/values/error.js'
import { checkKeys } from '../../core/values/limits.js'
import type { Store, StoreInfo } from '../../store/store.js'
import { Alerts } from '../alerts/alerts.js'
import { Dead } from '../dead/dead.js'
import { Redrives } from '../dead/redrives.js'
import { Circuits } from '../dependencies/circuits.js'
import { Dependencies } from '../dependencies/dependencies.js'
import { Egress, type EgressParts } from '../egress/egress.js'
import { parseEgress } from '../egress/rules.js'
import { measuredStore } from '../figures/measured-store.js'
import { readSeries, type SeriesQuery, type StatsSeries } from '../figures/series.js'
import { type FleetStats, readStats } from '../figures/statistics.js'
import { type Meter, Telemetry } from '../figures/telemetry.js'
import { tracingOf } from '../figures/tracing.js'
import { Crew } from '../fleet/crew.js'
import { readForecast } from '../forecast/forecast.js'
import { checkedRequest, httpJob } from '../http/http-job.js'
import { type IncidentAccess, type IncidentQuery, type IncidentReport, readIncident } from '../incident/incident.js'
import { ById } from '../jobs/by-id.js'
import { Jobs } from '../jobs/jobs.js'
import { Queues } from '../jobs/queues.js'
import { Leases } from '../leases/leases.js'
import { LEASE_DEFAULT_MS } from '../leases/options.js'
import { Everywhere, type Listen } from '../listeners/everywhere.js'
import { Listeners } from '../listeners/listeners.js'
import { Names } from '../names/names.js'
import { Waiters } from '../results/waiters.js'
import { ScheduleCache } from '../schedules/schedule-cache.js'
import { Schedules } from '../schedules/schedules.js'
import { StoreTime } from '../time/store-time.js'
import { type IntegrityReport, judge } from '../upkeep/integrity.js'
import { Maintenance, PACE, type Pace, WorkerLoops } from '../upkeep/maintenance.js'
import { parseRetention, type RetentionPlan, withDefinitions } from '../upkeep/retention.js'
import { Deliverer } from '../webhooks/deliverer.js'
import { Endpoints } from '../webhooks/endpoints.js'
import { Outbox, relay } from '../webhooks/outbox.js'
import { checkAddress, Webhooks } from '../webhooks/webhooks.js'
import type { CustomBackoffs } from '../worker/custom-backoff.js'
import { Fleet, type WorkerView } from '../worker/fleet.js'
import { Worker } from '../worker/worker.js'
import { Connection } from './connection.js'
import { HTTP_JOB, type JobDefinition, warnOfRetries } from './definition.js'
import {
  type Along,
  type EnqueueArguments,
  type EnqueueManyResult,
  type EnqueueOptions,
  type EnqueueResult,
  Enqueuer,
  type JobReference,
} from './enqueuer.js'
import type { Environment } from './environment.js'
import { EventHub } from './events.js'
import { logOf } from './log.js'
import type { ChronosOptions, WorkOptions } from './options.js'
import { declaredLimits, instanceLevel, OPTIONS, policyLevels, workerSettings } from './options.js'
import { Policies } from './policies.js'
import { QueueChanges } from './queue-changes.js'
import { stopOnSignals } from './signals.js'

/** The entry point of the library. */
export class Chronos {
  readonly jobs: Jobs
  readonly byId: ById
  readonly queues: Queues
  readonly names: Names
  readonly dead: Dead
  readonly redrives: Redrives
  readonly circuits: Circuits
  readonly schedules: Schedules
  readonly alerts: Alerts
  readonly webhooks: Webhooks
  readonly leases: Leases
  readonly #dependencies: Dependencies
  readonly fleet: Pick<Fleet, 'get' | 'drain'>
  readonly #fleet: Fleet
  readonly #env: Environment
  readonly #enqueuer: Enqueuer
  readonly #waiters: Waiters
  readonly #egress: Egress
  readonly #deliverer: Deliverer
  readonly #everywhere: Everywhere
  /** Jobs that every worker can run, by name. */
  readonly #builtIns: ReadonlyMap<string, JobDefinition>
  readonly #backoffs: CustomBackoffs
  readonly #retention: RetentionPlan
  readonly #queueChanges: QueueChanges
  readonly #workers = new Set<Worker>()
  readonly #crew = new Crew()
  readonly #pace: Pace
  readonly #policies = new Set<Policies>()
  readonly #unsignals = new Map<Worker, () => void>()
  /** Workers in this process that the maintenance loops run for. */
  readonly #maintained = new Set<Worker>()
  /** The loops run in this process even without a worker. */
  #isMaintaining = false
  #maintenance: Maintenance | undefined
  #workerLoops: WorkerLoops | undefined
  /** Resolves when loops without a worker have stopped. */
  #ending: Promise<unknown> = Promise.resolve()
  #closing: Promise<void> | undefined

  constructor(
    open: () => Promise<Store>,
    clock: Clock,
    dice: Dice,
    options: ChronosOptions = {},
    pace: Pace = PACE,
    newEgress = (parts: EgressParts): Egress => new Egress(parts),
  ) {
    this.#pace = pace
    checkKeys(options, OPTIONS, 'createChronos')
    const log = logOf(options.log)
    const limits = declaredLimits(options)
    const connection = new Connection(open, clock, store => limits.write(store))
    const telemetry = new Telemetry(tracingOf(options.tracing))
    const policies = new Policies(policyLevels(options), () => connection.store())
    this.#policies.add(policies)
    const events = new EventHub(log)
    const time = new StoreTime(clock)
    const endpoints = new Endpoints({ connection, clock, dice, time, log }, options.webhookSecret)
    const listeners = new Listeners({ connection, clock, dice, time, log })
    const onDelivery = (): void => this.#deliverer.hasNew()
    const known = { endpoints, listeners, onDelivery, onEvent: () => this.#wake(0) }
    const outbox = new Outbox({ connection, clock, dice, time, log, ...known })
    const scheduleCache = new ScheduleCache(connection, log)
    const onTurn = (queue: string): void => this.#queueChanges.turnEnded(queue)
    const env = { clock, dice, log, connection, policies, events, time, scheduleCache, outbox, telemetry, onTurn }
    this.#env = env
    this.#queueChanges = new QueueChanges({
      connection,
      limits,
      policies: this.#policies,
      workers: this.#workers,
      deliverer: () => this.#deliverer,
      leases: () => this.leases,
    })
    this.#backoffs = options.backoffs ?? {}
    this.#retention = parseRetention(options.retention, 'createChronos: retention')
    const egress = newEgress({ clock, log, rules: parseEgress(options.egress, 'createChronos: egress') })
    this.#egress = egress
    this.#builtIns = new Map([[HTTP_JOB, httpJob(egress, job => telemetry.tracing?.headersOf(job) ?? {})]])
    const wake = (delayMs: number, except?: Worker): void => this.#wake(delayMs, except)
    const checkWebhook = (url: string, where: string): void => checkAddress(url, this.#egress, where)
    const claimAlong = (queue: string): Along | undefined => this.#claimAlong(queue)
    const hasHandler = (name: string): boolean => this.#definitionOf(name) !== undefined
    const checks = { checkWebhook, hasHandler }
    const enqueuer = new Enqueuer({ ...env, builtIns: this.#builtIns, wake, claimAlong, ...checks })
    this.#enqueuer = enqueuer
    const cancelHere = (id: string): void => this.#cancelHere(id)
    const checkRequest = (request: HttpRequest): void => void checkedRequest(request, this.#egress)
    this.#waiters = new Waiters(env)
    this.jobs = new Jobs({ env, enqueuer, waiters: this.#waiters, wake, cancelHere, checkRequest })
    this.queues = new Queues(env, queue => this.#queueChanges.changed(queue))
    this.redrives = new Redrives(env, () => this.#maintenance?.redrive())
    this.schedules = new Schedules({ env, enqueuer, checkRequest, onChanged: () => this.#maintenance?.schedule() })
    this.byId = new ById(env, this.jobs, this.schedules)
    this.dead = new Dead(env, this.jobs, this.redrives)
    const dependencies = new Dependencies(env, () => wake(0))
    this.#dependencies = dependencies
    this.circuits = new Circuits(env, dependencies)
    this.#fleet = new Fleet(env, this.#workers)
    this.fleet = this.#fleet
    this.names = new Names(env, () => this.#fleet.list())
    this.leases = new Leases({ env, dependencies, backoffs: this.#backoffs, wake, onClaim: () => this.maintain() })
    this.webhooks = new Webhooks({ env, endpoints, egress, jobs: this.jobs, redrives: this.redrives })
    this.alerts = new Alerts({ env, enqueuer, egress, onDelivery, options: options.alerts })
    const others = this.alerts.channels.map(({ job }) => job)
    this.#deliverer = new Deliverer({ env, endpoints, egress, dependencies, pace, others })
    this.#everywhere = new Everywhere({ env, listeners, work: (...given) => this.work(...given) })
    relay(events, outbox, log)
  }

  enqueue<Input>(job: JobReference<Input>, ...[payload, options]: EnqueueArguments<Input>): Promise<EnqueueResult> {
    return this.#enqueuer.enqueue(job as JobReference<never>, payload, options)
  }

  /** Enqueues in one transaction. Options apply to all jobs, or a function returns them per payload. */
  enqueueMany<Input>(
    job: JobReference<Input>,
    payloads: readonly Input[],
    options?: EnqueueOptions | ((payload: Input, index: number) => EnqueueOptions),
  ): Promise<readonly EnqueueManyResult[]> {
    return this.#enqueuer.enqueueMany(job as JobReference<never>, payloads, options)
  }

  /** Enqueues an HTTP request as a job; every worker can run it. */
  async http(request: HttpRequest, options: EnqueueOptions = {}): Promise<EnqueueResult> {
    const { timeout, ...rest } = options
    const asked = timeout === undefined || request.timeout !== undefined ? request : { ...request, timeout }
    checkedRequest(asked, this.#egress)
    return this.#enqueuer.enqueue(HTTP_JOB, asked, rest)
  }

  /** Starts a worker for these definitions and for the built-in jobs. */
  work(definitions: readonly JobDefinition<never>[], options: WorkOptions = {}): Worker {
    if (this.#closing) throw new ChronosError('CLOSED', 'work: this Chronos is closed')
    const settings = workerSettings(definitions, options)
    const { signals = true, maintenance = true } = options
    warnOfRetries(definitions, this.#env.log)
    const policy = instanceLevel(options, 'work')
    const policies = policy ? this.#env.policies.forWorker(policy) : this.#env.policies
    this.#policies.add(policies)
    const worker = new Worker({
      crew: this.#crew,
      env: { ...this.#env, policies },
      definitions,
      builtIns: this.#builtIns.values(),
      settings,
      backoffs: this.#backoffs,
      dependencies: this.#dependencies,
      onStopped: stopped => this.#workerStopped(stopped),
      onLoad: () => this.#fleet.loadChanged(),
      onForeign: except => this.#wake(0, except),
    })
    this.#workers.add(worker)
    if (signals)
      this.#unsignals.set(
        worker,
        stopOnSignals(() => worker.stop()),
      )
    this.#keepCompany(settings.leaseMs)
    if (maintenance) {
      this.#maintained.add(worker)
      this.#maintain(settings.leaseMs)
    }
    return worker
  }

  /**
   * Runs the maintenance loops in this process until `close()`: schedules, jobs of dead workers, redrives, webhooks and
   * alerts. For a process without a worker whose workers run elsewhere.
   */
  maintain(): void {
    if (this.#isMaintaining || this.#closing) return
    this.#isMaintaining = true
    this.#keepCompany(LEASE_DEFAULT_MS)
    this.#maintain(LEASE_DEFAULT_MS)
  }

  /** Listens to events of this process, or of all processes. */
  get on(): Listen {
    return this.#everywhere.on
  }

  /** Measures this process from now on, with one meter at a time. Returns a function that stops it. */
  measure(meter: Meter): () => void {
    const { telemetry, connection } = this.#env
    if (telemetry.meter) throw new ChronosError('NOT_ALLOWED', 'measure: this Chronos has a meter already')
    telemetry.meter = meter
    connection.wrap(store => measuredStore(store, telemetry))
    return () => {
      if (telemetry.meter === meter) telemetry.meter = undefined
    }
  }

  /** The open store: for code that is built on top of Chronos. */
  store(): Promise<Store> {
    return this.#env.connection.store()
  }

  /** The kind of the store and its guarantees. */
  async info(): Promise<StoreInfo> {
    return (await this.#env.connection.store()).info()
  }

  /** The workers of the whole fleet, newest first. */
  workers(): Promise<readonly WorkerView[]> {
    return this.#fleet.list()
  }

  /** What runs in this process. */
  here(): { readonly workers: number; readonly maintenance: boolean } {
    return { workers: this.#workers.size, maintenance: this.#maintenance !== undefined }
  }

  /** The state of the whole fleet in numbers. */
  stats(): Promise<FleetStats> {
    return readStats(this.#env)
  }

  /** Activity over time, for charts. */
  series(query: SeriesQuery = {}): Promise<StatsSeries> {
    return readSeries(this.#env, query)
  }

  /** What happened in a time range: outcomes, errors, circuits, alerts, deploys, redrives and changes by operators. */
  incident(query: IncidentQuery = {}, access?: IncidentAccess): Promise<IncidentReport> {
    return readIncident(this.#env, query, access)
  }

  /** When the waiting jobs die if nothing improves, and when they would under another policy. */
  forecast(query: ForecastQuery = {}): Promise<Forecast> {
    return readForecast(this.#env, query)
  }

  /** Integrity check: whether every enqueued job is accounted for, at one moment of a live store. */
  async verify(): Promise<IntegrityReport> {
    return judge(await (await this.#env.connection.store()).audit())
  }

  /** Stops the workers and closes the store. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(): Promise<void> {
    this.#waiters.close()
    await Promise.all([this.leases.stop(), this.#everywhere.stop(), ...[...this.#workers].map(worker => worker.stop())])
    this.#isMaintaining = false
    await this.#stopIdleLoops()
    await this.#ending
    await during(this.#env.clock, () => this.#egress.close())
    await this.#env.connection.close()
  }

  #claimAlong(queue: string): Along | undefined {
    for (const worker of this.#workers) {
      const shared = worker.serves(queue) ? worker.claimAlong() : undefined
      if (shared) return { worker, shared }
    }
    return undefined
  }

  #wake(delayMs: number, except?: Worker): void {
    for (const worker of this.#workers) if (worker !== except) worker.wake(delayMs)
    this.#deliverer.wake(delayMs)
    this.leases.wake(delayMs)
  }

  #cancelHere(id: string): void {
    for (const worker of this.#workers) worker.cancel(id)
  }

  #keepCompany(leaseMs: number): void {
    if (!this.#workerLoops) this.#deliverer.leaseMs = leaseMs
    this.#workerLoops ??= new WorkerLoops(this.#env, this.#pace, this.#dependencies, this.#fleet, this.#deliverer)
  }

  #maintain(leaseMs: number): void {
    this.#maintenance ??= new Maintenance({
      env: this.#env,
      leaseMs,
      pace: this.#pace,
      alerts: this.alerts,
      retention: () => withDefinitions(this.#retention, this.#workers),
      onHandedOn: () => this.#wake(0),
      definitionOf: name => this.#definitionOf(name),
      onQueues: queues => this.#queueChanges.seen(queues),
      onFired: delayMs => this.#wake(delayMs),
    })
  }

  #definitionOf(name: string): JobDefinition | undefined {
    return [...this.#workers].map(worker => worker.definitionOf(name)).find(found => found)
  }

  #workerStopped(worker: Worker): void {
    this.#workers.delete(worker)
    this.#maintained.delete(worker)
    // Removes the worker's record, so that it is not listed until its heartbeats are overdue.
    const stopped = this.#stopIdleLoops().then(() => this.#fleet.left(worker))
    this.#ending = Promise.allSettled([this.#ending, stopped])
    this.#unsignals.get(worker)?.()
    this.#unsignals.delete(worker)
  }

  /** Stops the loops that no worker in this process needs any more. */
  async #stopIdleLoops(): Promise<void> {
    const over: (Maintenance | WorkerLoops | undefined)[] = []
    if (this.#maintained.size === 0 && !this.#isMaintaining) {
      over.push(this.#maintenance)
      this.#maintenance = undefined
    }
    if (this.#workers.size === 0 && !this.#isMaintaining) {
      over.push(this.#workerLoops)
      this.#workerLoops = undefined
    }
    await Promise.all(over.map(loops => loops?.stop()))
  }
}
