import { createHash } from 'node:crypto'
import { checkFingerprint } from '../../core/failure/fingerprint.js'
import { type Delivery, PRIORITY_DEFAULT } from '../../core/job/job.js'
import { canonicalJson, toPayload } from '../../core/job/payload.js'
import type { PartialPolicy } from '../../core/policy/policy.js'
import { type PolicyInput, parsePolicy } from '../../core/policy/policy.js'
import { type Clock, type Dice, wait } from '../../core/values/clock.js'
import { type Duration, toMs } from '../../core/values/duration.js'
import { ChronosError, shown } from '../../core/values/error.js'
import { BATCH_MAX, checkKeys, checkName, checkPriority, checkTags, checkText } from '../../core/values/limits.js'
import { parseWith } from '../../core/values/standard-schema.js'
import { timeOf } from '../../core/values/time.js'
import { webhookUrl } from '../../core/webhook/webhook.js'
import type { Enqueued, NewJob, RunTime } from '../../store/store.js'
import type { Telemetry } from '../figures/telemetry.js'
import { Batcher } from '../time/batcher.js'
import { backOffMs } from '../time/loop.js'
import type { Worker } from '../worker/worker.js'
import { type Connection, isRepeatable, isUnknown } from './connection.js'
import { checkDelivery, type JobDefinition, QUEUE_DEFAULT } from './definition.js'
import type { EventHub } from './events.js'
import type { Policies } from './policies.js'

export { timeOf } from '../../core/values/time.js'

export interface EnqueueOptions {
  /** Idempotency key, per tenant and job name: the same key gives the same job. */
  readonly key?: string
  /** At most one waiting or running job per tenant, job name and value. */
  readonly unique?: string
  readonly delay?: Duration
  readonly runAt?: Date | string | number
  /** The job is not started after this: a time, or a duration from now. */
  readonly deadline?: Date | Duration
  /** 0–9, 9 first. Default 5. */
  readonly priority?: number
  readonly queue?: string
  readonly tenantId?: string
  readonly tags?: readonly string[]
  readonly delivery?: Delivery
  readonly timeout?: Duration
  readonly retry?: PolicyInput
  readonly maxElapsed?: Duration
  /** The dependency of the job; takes precedence over the definition's. */
  readonly dependsOn?: string
  /** The error group of its failures. */
  readonly fingerprint?: string
  /** A URL that gets a POST when the job ends. */
  readonly webhook?: string
  /** The caller's database transaction, if the store can join one. */
  readonly tx?: unknown
}

const OPTION_NAMES: readonly (keyof EnqueueOptions)[] = [
  'key',
  'unique',
  'delay',
  'runAt',
  'deadline',
  'priority',
  'queue',
  'tenantId',
  'tags',
  'delivery',
  'timeout',
  'retry',
  'maxElapsed',
  'dependsOn',
  'fingerprint',
  'webhook',
  'tx',
]

export interface EnqueueResult {
  readonly id: string
  readonly status: 'created' | 'existing'
}

export type EnqueueManyResult = EnqueueResult | { readonly id: string; readonly status: 'conflict' }

/** A definition, or the name of a job whose definition is in another process. */
export type JobReference<Input> = JobDefinition<Input> | string

const ROWS_PER_INSERT = 1000
const UNKNOWN_TRIES_MAX = 5
const NO_OPTIONS: EnqueueOptions = {}

interface EnqueuerOptions {
  readonly connection: Connection
  readonly clock: Clock
  readonly dice: Dice
  readonly policies: Policies
  readonly events: EventHub
  readonly telemetry: Telemetry
  /** Jobs that every worker can run, by name. */
  readonly builtIns: ReadonlyMap<string, JobDefinition>
  /** Throws if a webhook may not be sent to this URL. */
  readonly checkWebhook: (url: string, where: string) => void
  /** New jobs are due in `delayMs`: wakes the workers of this process except one. */
  readonly wake: (delayMs: number, except?: Worker) => void
  /** Lets an idle worker of the queue claim in the same transaction. */
  readonly claimAlong: (queue: string) => Along | undefined
}

/** A worker, and whether its claim shared the enqueue's transaction. */
export interface Along {
  readonly worker: Worker
  readonly shared: Promise<boolean>
}

export class Enqueuer {
  readonly #options: EnqueuerOptions
  readonly #batcher: Batcher<NewJob, Enqueued>

  constructor(options: EnqueuerOptions) {
    this.#options = options
    this.#batcher = new Batcher(options.clock, ROWS_PER_INSERT, jobs => this.#insert(jobs))
  }

  async enqueue(reference: JobReference<never>, payload: unknown, options = NO_OPTIONS): Promise<EnqueueResult> {
    const job = await this.#newJob(reference, payload, options)
    const { tracing } = this.#options.telemetry
    const enqueued = await (tracing
      ? tracing.send([job], ([traced]) => this.#store(traced!, options.tx))
      : this.#store(job, options.tx))
    if (enqueued.status === 'conflict') throw keyConflict(job, enqueued.id, enqueued.payloadHash)
    return enqueued
  }

  /** One transaction. A key that belongs to another payload is reported in its place; the other jobs are enqueued. */
  async enqueueMany<Input>(
    reference: JobReference<never>,
    payloads: readonly Input[],
    options: EnqueueOptions | ((payload: Input, index: number) => EnqueueOptions) = NO_OPTIONS,
  ): Promise<readonly EnqueueManyResult[]> {
    if (!Array.isArray(payloads)) {
      throw new ChronosError('INVALID_OPTION', `enqueueMany: expected an array of payloads, got ${shown(payloads)}`)
    }
    if (payloads.length > BATCH_MAX) {
      throw new ChronosError(
        'INVALID_OPTION',
        `enqueueMany: ${payloads.length} jobs in one call; at most ${BATCH_MAX} fit in one transaction, so split them`,
      )
    }
    if (payloads.length === 0) return []
    const optionsOf = typeof options === 'function' ? options : () => options
    const jobs: NewJob[] = []
    let tx: unknown
    for (const [index, payload] of payloads.entries()) {
      const own = optionsOf(payload, index)
      tx = own.tx
      jobs.push(await this.#newJob(reference, payload, own))
    }
    const { tracing } = this.#options.telemetry
    const enqueued = await (tracing ? tracing.send(jobs, traced => this.#insert(traced, tx)) : this.#insert(jobs, tx))
    return enqueued.map(({ id, status }) => ({ id, status }))
  }

  /** A job as it would be enqueued: everything is checked and nothing stored. */
  prepare(reference: JobReference<never>, payload: unknown, options: EnqueueOptions): Promise<NewJob> {
    return this.#newJob(reference, payload, options)
  }

  /** Enqueues a prepared job. */
  add(job: NewJob): Promise<Enqueued> {
    return this.#batcher.add(job)
  }

  #store(job: NewJob, tx: unknown): Promise<Enqueued> {
    return tx === undefined ? this.#batcher.add(job) : this.#insertOne(job, tx)
  }

  async #insertOne(job: NewJob, tx: unknown): Promise<Enqueued> {
    return (await this.#insert([job], tx))[0]!
  }

  /** Repeats the insert if its answer was lost: by their ids, the repeated insert finds its own rows. */
  async #insert(jobs: readonly NewJob[], tx?: unknown): Promise<readonly Enqueued[]> {
    const { connection, clock, dice, wake, events } = this.#options
    const store = connection.opened ?? (await connection.store())
    const dueInMs = Math.min(...jobs.map(job => this.#dueInMs(job)))
    let lost: unknown
    for (let tries = 1; ; tries++) {
      try {
        const inserting = store.enqueue(jobs, tx)
        // An idle worker's claim may share the commit; otherwise it claims again after it. Not with a listener, which
        // must get the event of the enqueue before the one of the start.
        const mayShare = tx === undefined && dueInMs <= 0 && !events.hears('job.enqueued')
        const along = mayShare && store.commitsAlone ? this.#options.claimAlong(jobs[0]!.queue) : undefined
        if (mayShare && !store.commitsAlone) wake(0)
        const enqueued = await inserting
        this.#announce(jobs, enqueued)
        wake(dueInMs, along?.worker)
        void along?.shared.then(isShared => isShared || along.worker.wake())
        return enqueued
      } catch (error) {
        // Once an answer was lost, the jobs may exist, whatever the later attempts return.
        if (isUnknown(error)) lost ??= error
        if (tx !== undefined || !isRepeatable(error) || tries === UNKNOWN_TRIES_MAX) throw lost ?? error
        await wait(clock, backOffMs(tries, dice))
      }
    }
  }

  #dueInMs({ runAt }: NewJob): number {
    return 'delayMs' in runAt ? runAt.delayMs : runAt.at - this.#options.clock.now()
  }

  #announce(jobs: readonly NewJob[], enqueued: readonly Enqueued[]): void {
    const { events, telemetry } = this.#options
    if (telemetry.meter) telemetry.enqueued(jobs, enqueued)
    if (!events.hears('job.enqueued')) return
    for (const [index, { id, name, queue, tenantId }] of jobs.entries()) {
      if (enqueued[index]?.status !== 'created') continue
      events.emit('job.enqueued', { id, name, queue, ...(tenantId !== undefined && { tenantId }) })
    }
  }

  async #newJob(reference: JobReference<never>, payload: unknown, options: EnqueueOptions): Promise<NewJob> {
    const definition = typeof reference === 'string' ? this.#options.builtIns.get(reference) : reference
    const name = definition ? definition.name : (reference as string)
    if (!definition) checkName(name, 'enqueue: name')
    const where = `enqueue "${name}"`
    if (options !== NO_OPTIONS) checkOptions(options, where)
    const input: unknown = definition?.schema
      ? await parseWith(definition.schema, payload, `payload of "${name}"`)
      : payload
    const { clock, dice, policies } = this.#options
    const now = clock.now()
    const queue = options.queue ?? definition?.queue ?? QUEUE_DEFAULT
    const text = toPayload(payload, 'payload')
    const { key, unique, tenantId, fingerprint } = options
    const dependency = options.dependsOn ?? definition?.dependsOn ?? definition?.dependencyOf?.(input as never)
    const override = overrideOf(options, where)
    const policyId = definition && (await policies.publish(definition, queue))
    const timeoutMs = options.timeout === undefined ? undefined : toMs(options.timeout, `${where}: timeout`, { min: 1 })
    const deadline = deadlineOf(options.deadline ?? definition?.deadlineMs, where)
    return {
      id: dice.id(now),
      name,
      queue,
      priority: options.priority ?? definition?.priority ?? PRIORITY_DEFAULT,
      delivery: strictest(options.delivery, definition?.delivery),
      payload: text,
      runAt: runTimeOf(options, where),
      tags: options.tags ?? definition?.tags ?? [],
      ...(key !== undefined && { key, payloadHash: sha256(canonicalJson(text)) }),
      ...(unique !== undefined && { unique }),
      ...(tenantId !== undefined && { tenantId }),
      ...(deadline && { deadline }),
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(override && { override }),
      ...(policyId !== undefined && { policyId }),
      ...(dependency !== undefined && { dependency }),
      ...(fingerprint !== undefined && { fingerprint }),
      ...(options.webhook !== undefined && { webhook: this.#webhook(options.webhook, `${where}: webhook`) }),
    }
  }

  #webhook(given: string, where: string): string {
    const url = webhookUrl(given, where)
    this.#options.checkWebhook(url, where)
    return url
  }
}

function checkOptions(options: EnqueueOptions, where: string): void {
  checkKeys(options, OPTION_NAMES, where)
  if (options.key !== undefined) checkText(options.key, `${where}: key`)
  if (options.unique !== undefined) checkText(options.unique, `${where}: unique`)
  if (options.tenantId !== undefined) checkText(options.tenantId, `${where}: tenantId`)
  if (options.tags !== undefined) checkTags(options.tags, `${where}: tags`)
  if (options.priority !== undefined) checkPriority(options.priority, where)
  if (options.queue !== undefined) checkName(options.queue, `${where}: queue`)
  if (options.delivery !== undefined) checkDelivery(options.delivery, where)
  if (options.dependsOn !== undefined) checkText(options.dependsOn, `${where}: dependsOn`)
  if (options.fingerprint !== undefined) checkFingerprint(options.fingerprint, `${where}: fingerprint`)
}

function overrideOf(options: EnqueueOptions, where: string): PartialPolicy | undefined {
  const retry =
    options.retry === undefined ? undefined : parsePolicy(options.retry, `${where}: retry`, { stored: true })
  if (options.maxElapsed === undefined) return retry
  return { ...retry, maxElapsed: toMs(options.maxElapsed, `${where}: maxElapsed`, { min: 1 }) }
}

/** Either side can require at-most-once, and neither can revoke it. */
function strictest(asked: Delivery | undefined, defined: Delivery | undefined): Delivery {
  return asked === 'at-most-once' || defined === 'at-most-once' ? 'at-most-once' : 'at-least-once'
}

function runTimeOf({ delay, runAt }: EnqueueOptions, where: string): RunTime {
  if (delay !== undefined && runAt !== undefined) {
    throw new ChronosError('INVALID_OPTION', `${where}: give delay or runAt, not both`)
  }
  if (delay !== undefined) return { delayMs: toMs(delay, `${where}: delay`) }
  return runAt === undefined ? { delayMs: 0 } : { at: timeOf(runAt, `${where}: runAt`) }
}

function deadlineOf(deadline: Date | Duration | undefined, where: string): RunTime | undefined {
  if (deadline === undefined) return undefined
  if (deadline instanceof Date) return { at: timeOf(deadline, `${where}: deadline`) }
  return { delayMs: toMs(deadline, `${where}: deadline`, { min: 1 }) }
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

function keyConflict(job: NewJob, existingId: string, existingHash: string): ChronosError {
  const short = (hash: string): string => hash.slice(0, 12)
  return new ChronosError(
    'KEY_CONFLICT',
    `key ${shown(job.key)} of job "${job.name}" belongs to job ${existingId} with another payload ` +
      `(sha256 ${short(existingHash)}…, this one ${short(job.payloadHash!)}…); use another key, or send the same payload`,
    { details: { key: job.key, name: job.name, existingId, existingHash, payloadHash: job.payloadHash } },
  )
}
