import type { Clock, Dice } from '../core/clock.js'
import { type Duration, toMs } from '../core/duration.js'
import { ChronosError, shown } from '../core/error.js'
import type { EventName, Events } from '../core/event.js'
import { checkInteger, checkKeys, checkName } from '../core/limits.js'
import {
  type InstanceRetryOptions,
  type PartialPolicy,
  type PolicyInput,
  parsePolicy,
  type Rule,
} from '../core/policy.js'
import type { QueueRecord, Store, StoreInfo } from '../store/store.js'
import { Connection } from './connection.js'
import type { CustomBackoffs } from './custom-backoff.js'
import type { JobDefinition } from './definition.js'
import {
  type EnqueueManyResult,
  type EnqueueOptions,
  type EnqueueResult,
  Enqueuer,
  type JobReference,
} from './enqueuer.js'
import type { Environment } from './environment.js'
import { EventHub } from './events.js'
import { Jobs } from './jobs.js'
import { defaultLog, type Log, silentLog } from './log.js'
import { Maintenance, PACE, type Pace } from './maintenance.js'
import { Policies, type PolicyLevels } from './policies.js'
import { parseRetention, type Retention } from './pruner.js'
import { Queues } from './queues.js'
import { stopOnSignals } from './signals.js'
import { StoreTime } from './store-time.js'
import { Worker, type WorkerSettings } from './worker.js'

export interface ChronosOptions extends InstanceRetryOptions {
  /** A pino logger, or false for none. Default: lines on stderr. */
  readonly log?: Log | false
  /** Policy for jobs that say nothing else. */
  readonly retry?: PolicyInput
  readonly rules?: readonly Rule[]
  readonly queues?: Readonly<Record<string, { readonly retry?: PolicyInput; readonly rules?: readonly Rule[] }>>
  /** How long ended jobs are kept. Default: for ever. */
  readonly retention?: Retention
  /** Functions for `backoff: { type: 'custom', name }`. */
  readonly backoffs?: CustomBackoffs
}

export interface WorkOptions extends InstanceRetryOptions {
  /** Policy for this worker's jobs that say nothing else; before the instance's. */
  readonly retry?: PolicyInput
  /** Handlers at the same time. Default 10. */
  readonly concurrency?: number
  /** Default: the queues of the definitions. */
  readonly queues?: readonly string[]
  /** How long a claim holds without a sign of life. Default 30 s, at least 1 s. */
  readonly lease?: Duration
  /** How often to look for work that nobody announced. Default 1 s. */
  readonly poll?: Duration
  /** How long running handlers may go on after `stop()`. Default 25 s. */
  readonly grace?: Duration
  /** Sweeper, pruner and the like beside this worker. Default true. */
  readonly maintenance?: boolean
  /** Stop on SIGTERM and SIGINT, and exit with 0. Default true. */
  readonly signals?: boolean
}

/** The payload may be left out where the job has none; its handler then sees null. */
type EnqueueArguments<Input> = undefined extends Input
  ? [payload?: Input, options?: EnqueueOptions]
  : [payload: Input, options?: EnqueueOptions]

const SHORT_NAMES: readonly (keyof InstanceRetryOptions)[] = [
  'maxRetries',
  'baseRetryDelay',
  'maxRetryDelay',
  'retryStrategy',
  'jitterEnabled',
  'jitterFactor',
]
const WORK_OPTIONS = [
  'concurrency',
  'queues',
  'lease',
  'poll',
  'grace',
  'maintenance',
  'signals',
  'retry',
  ...SHORT_NAMES,
]
const OPTIONS = ['store', 'log', 'retry', 'rules', 'queues', 'retention', 'backoffs', ...SHORT_NAMES]
const CONCURRENCY_MAX = 10_000
const LEASE_DEFAULT_MS = 30_000
const HOUR_MS = 3_600_000

/** The façade: what users hold. */
export class Chronos {
  readonly jobs: Jobs
  readonly queues: Queues
  readonly #env: Environment
  readonly #enqueuer: Enqueuer
  readonly #backoffs: CustomBackoffs
  readonly #retention: ReturnType<typeof parseRetention>
  readonly #workers = new Set<Worker>()
  readonly #pace: Pace
  readonly #policies = new Set<Policies>()
  readonly #unsignals = new Map<Worker, () => void>()
  /** Workers beside which the maintenance loops run. */
  readonly #maintained = new Set<Worker>()
  #maintenance: Maintenance | undefined
  #closing: Promise<void> | undefined

  constructor(open: () => Promise<Store>, clock: Clock, dice: Dice, options: ChronosOptions = {}, pace: Pace = PACE) {
    this.#pace = pace
    checkKeys(options, OPTIONS, 'createChronos')
    const log = options.log === false ? silentLog : (options.log ?? defaultLog())
    const connection = new Connection(open)
    const policies = new Policies(policyLevels(options), () => connection.store())
    this.#policies.add(policies)
    const events = new EventHub(log)
    this.#env = { clock, dice, log, connection, policies, events, time: new StoreTime(clock) }
    this.#backoffs = options.backoffs ?? {}
    this.#retention = parseRetention(options.retention ?? {}, 'createChronos: retention')
    const wake = (delayMs: number): void => this.#wake(delayMs)
    this.#enqueuer = new Enqueuer({ connection, clock, dice, policies, events, wake })
    const cancelHere = (id: string): void => {
      for (const worker of this.#workers) worker.cancel(id)
    }
    this.jobs = new Jobs({ env: this.#env, enqueuer: this.#enqueuer, wake, cancelHere })
    this.queues = new Queues(this.#env, queue => this.#queueChanged(queue))
  }

  enqueue<Input>(job: JobReference<Input>, ...[payload, options]: EnqueueArguments<Input>): Promise<EnqueueResult> {
    return this.#enqueuer.enqueue(job as JobReference<never>, payload, options)
  }

  /** One transaction. Options may be given for all, or per payload by a function. */
  enqueueMany<Input>(
    job: JobReference<Input>,
    payloads: readonly Input[],
    options?: EnqueueOptions | ((payload: Input, index: number) => EnqueueOptions),
  ): Promise<readonly EnqueueManyResult[]> {
    return this.#enqueuer.enqueueMany(job as JobReference<never>, payloads, options)
  }

  /** Starts a worker for these definitions. */
  work(definitions: readonly JobDefinition<never>[], options: WorkOptions = {}): Worker {
    if (this.#closing) throw new ChronosError('CLOSED', 'work: this Chronos is closed')
    const settings = workerSettings(definitions, options)
    const { signals = true, maintenance = true } = options
    const policy = instanceLevel(options, 'work')
    const policies = policy ? this.#env.policies.forWorker(policy) : this.#env.policies
    this.#policies.add(policies)
    const worker = new Worker({
      env: { ...this.#env, policies },
      definitions,
      settings,
      backoffs: this.#backoffs,
      onStopped: stopped => this.#workerStopped(stopped),
    })
    this.#workers.add(worker)
    if (signals)
      this.#unsignals.set(
        worker,
        stopOnSignals(() => worker.stop()),
      )
    if (maintenance) this.#maintain(worker, settings.leaseMs)
    return worker
  }

  /** Hears what happens in this process. Returns how to stop listening. */
  on<Name extends EventName>(name: Name, listener: (event: Events[Name]) => void): () => void {
    return this.#env.events.on(name, listener)
  }

  /** What keeps the data, and what it promises. */
  async info(): Promise<StoreInfo> {
    return (await this.#env.connection.store()).info()
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
    await Promise.all([...this.#workers].map(worker => worker.stop()))
    await this.#maintenance?.stop()
    await this.#env.connection.close()
  }

  #wake(delayMs: number): void {
    for (const worker of this.#workers) worker.wake(delayMs)
  }

  #maintain(worker: Worker, leaseMs: number): void {
    this.#maintained.add(worker)
    this.#maintenance ??= new Maintenance({
      env: this.#env,
      leaseMs,
      pace: this.#pace,
      olderThanMs: this.#retention,
      onHandedOn: () => this.#wake(0),
      onQueues: queues => this.#queuesSeen(queues),
    })
  }

  #queueChanged(queue: QueueRecord): void {
    for (const worker of this.#workers) {
      if (queue.paused) worker.pauseQueue(queue.name)
      else worker.wake()
    }
  }

  #queuesSeen(queues: readonly QueueRecord[]): void {
    for (const policies of this.#policies) policies.setQueues(queues)
    for (const queue of queues) if (queue.paused) for (const worker of this.#workers) worker.pauseQueue(queue.name)
  }

  #workerStopped(worker: Worker): void {
    this.#workers.delete(worker)
    this.#maintained.delete(worker)
    if (this.#maintained.size === 0) {
      void this.#maintenance?.stop()
      this.#maintenance = undefined
    }
    this.#unsignals.get(worker)?.()
    this.#unsignals.delete(worker)
  }
}

function policyLevels(options: ChronosOptions): PolicyLevels {
  const { queues = {} } = options
  const instance = instanceLevel(options, 'createChronos')
  const byQueue = new Map<string, PartialPolicy>()
  for (const [name, settings] of Object.entries(queues)) {
    checkName(name, 'createChronos: queues')
    checkKeys(settings, ['retry', 'rules'], `createChronos: queues.${name}`)
    const policy = level(settings.retry, settings.rules, `createChronos: queues.${name}.retry`)
    if (policy) byQueue.set(name, policy)
  }
  return { queues: byQueue, instance }
}

/** `retry`, `rules` and the short names say the same thing in three ways; each setting may be said once. */
function instanceLevel(
  options: InstanceRetryOptions & { retry?: PolicyInput; rules?: readonly Rule[] },
  where: string,
): PartialPolicy | undefined {
  const short = Object.fromEntries(
    SHORT_NAMES.filter(name => options[name] !== undefined).map(name => [name, options[name]]),
  )
  const named = Object.keys(short).length > 0
  if (named && options.retry !== undefined) {
    throw new ChronosError('INVALID_OPTION', `${where}: give retry or ${Object.keys(short).join(', ')}, not both`)
  }
  return level(named ? short : options.retry, options.rules, named ? where : `${where}: retry`)
}

function level(
  retry: PolicyInput | undefined,
  rules: readonly Rule[] | undefined,
  where: string,
): PartialPolicy | undefined {
  const policy = retry === undefined ? undefined : parsePolicy(retry, where)
  if (!rules) return policy
  const own = parsePolicy({ rules }, where).rules ?? []
  return { ...policy, rules: [...(policy?.rules ?? []), ...own] }
}

function workerSettings(definitions: readonly JobDefinition<never>[], options: WorkOptions): WorkerSettings {
  if (!Array.isArray(definitions) || definitions.length === 0) {
    throw new ChronosError('INVALID_OPTION', `work: expected an array of job definitions, got ${shown(definitions)}`)
  }
  checkKeys(options, WORK_OPTIONS, 'work')
  const names = definitions.map(definition => definition.name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new ChronosError('INVALID_OPTION', `work: two definitions are named "${twice}"`)
  const { concurrency = 10, queues = [...new Set(definitions.map(definition => definition.queue))] } = options
  checkInteger(concurrency, 'work: concurrency', 1, CONCURRENCY_MAX)
  if (queues.length === 0) throw new ChronosError('INVALID_OPTION', 'work: queues is empty; leave it out or name one')
  for (const queue of queues) checkName(queue, 'work: queues')
  return {
    concurrency,
    queues,
    leaseMs: toMs(options.lease ?? LEASE_DEFAULT_MS, 'work: lease', { min: 1000, max: HOUR_MS }),
    pollMs: toMs(options.poll ?? 1000, 'work: poll', { min: 1, max: HOUR_MS }),
    graceMs: toMs(options.grace ?? 25_000, 'work: grace', { max: 24 * HOUR_MS }),
  }
}
