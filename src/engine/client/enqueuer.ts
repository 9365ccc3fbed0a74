import { createHash } from 'node:crypto'
import { urlOf } from '../../core/http/request.js'
import { type Delivery, PRIORITY_DEFAULT } from '../../core/job/job.js'
import { deadlineOf, type EnqueueOptions, enqueueOptions, retryOf, runTimeOf } from '../../core/job/options.js'
import { canonicalJson, toPayload } from '../../core/job/payload.js'
import { firstTimeOf, uniqueFieldsOf } from '../../core/job/unique.js'
import { turnOf } from '../../core/partition/definition.js'
import { RESERVED } from '../../core/queue/internal.js'
import { type Clock, type Dice, wait } from '../../core/values/clock.js'
import { toMs } from '../../core/values/duration.js'
import { ChronosError, shown } from '../../core/values/error.js'
import { BATCH_MAX, jobName } from '../../core/values/limits.js'
import { read } from '../../core/values/schema.js'
import { parseWith } from '../../core/values/standard-schema.js'
import type { Enqueued, NewJob, RunTime } from '../../store/store.js'
import type { Telemetry } from '../figures/telemetry.js'
import { AnnouncedNames } from '../jobs/handlers.js'
import { Batcher } from '../time/batcher.js'
import { backOffMs } from '../time/loop.js'
import type { Worker } from '../worker/worker.js'
import { type Connection, isRepeatable, isUnknown } from './connection.js'
import { type JobDefinition, QUEUE_DEFAULT, uselessRetries } from './definition.js'
import type { EventHub } from './events.js'
import type { Policies } from './policies.js'

export type { EnqueueOptions } from '../../core/job/options.js'
export { timeOf } from '../../core/values/time.js'

export interface EnqueueResult {
  readonly id: string
  /** `replaced`: the waiting job with this id took the payload (mode `replace` or `debounce`). */
  readonly status: 'created' | 'existing' | 'replaced'
  /** Options that have no effect, such as `maxRetries` of an at-most-once job, and a name that no worker has announced. */
  readonly warnings?: readonly string[]
}

/** The payload may be left out if the job has none; its handler then gets null. */
export type EnqueueArguments<Input> = undefined extends Input
  ? [payload?: Input, options?: EnqueueOptions]
  : [payload: Input, options?: EnqueueOptions]

export type EnqueueManyResult = EnqueueResult | { readonly id: string; readonly status: 'conflict' }

/** A definition, or the name of a job whose definition is in another process. */
export type JobReference<Input> = JobDefinition<Input> | string

const ROWS_PER_INSERT = 1000
const UNKNOWN_TRIES_MAX = 5
const NO_OPTIONS: EnqueueOptions = {}
const NOW: RunTime = { delayMs: 0 }

type PerPayload<Input> = (payload: Input, index: number) => EnqueueOptions

/** A name, and its definition if this process has it. */
interface Target {
  readonly definition: JobDefinition | undefined
  readonly name: string
}

/** A payload as it was given and as its schema reads it, with what is looked up for it. */
interface Prepared {
  readonly payload: unknown
  readonly input: unknown
  readonly queue: string
  readonly policyId: string | undefined
}

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
  /** Whether a worker of this process has a handler for the name. */
  readonly hasHandler: (name: string) => boolean
}

/** A worker, and whether its claim shared the enqueue's transaction. */
export interface Along {
  readonly worker: Worker
  readonly shared: Promise<boolean>
}

export class Enqueuer {
  readonly #options: EnqueuerOptions
  readonly #batcher: Batcher<NewJob, Enqueued>
  readonly #announced: AnnouncedNames

  constructor(options: EnqueuerOptions) {
    this.#options = options
    this.#announced = new AnnouncedNames(options.connection, () => options.clock.now())
    this.#batcher = new Batcher(options.clock, ROWS_PER_INSERT, jobs => this.#insert(jobs))
  }

  async enqueue(reference: JobReference<never>, payload: unknown, given = NO_OPTIONS): Promise<EnqueueResult> {
    const target = this.#target(reference)
    const options = checkedOptions(given, target.name)
    const made = this.#newJob(target, payload, options)
    const job = made instanceof Promise ? await made : made
    const { tracing } = this.#options.telemetry
    const enqueued = await (tracing
      ? tracing.send([job], ([traced]) => this.#store(traced!, options.tx))
      : this.#store(job, options.tx))
    if (enqueued.status === 'conflict') throw keyConflict(job, enqueued.id, enqueued.payloadHash)
    const unknown = this.#unknownName(target)
    const warnings = warningsOf(job, target.definition, unknown && (await unknown))
    const { id, status } = enqueued
    return warnings.length === 0 ? { id, status } : { id, status, warnings }
  }

  /** One transaction. A key that belongs to another payload is reported in its place; the other jobs are enqueued. */
  async enqueueMany<Input>(
    reference: JobReference<never>,
    payloads: readonly Input[],
    options: EnqueueOptions | PerPayload<Input> = NO_OPTIONS,
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
    const target = this.#target(reference)
    const common = typeof options === 'function' ? undefined : checkedOptions(options, target.name)
    const jobs: NewJob[] = []
    let tx: unknown
    for (const [index, payload] of payloads.entries()) {
      const own = common ?? checkedOptions((options as PerPayload<Input>)(payload, index), target.name)
      tx = own.tx
      const made = this.#newJob(target, payload, own)
      jobs.push(made instanceof Promise ? await made : made)
    }
    const { tracing } = this.#options.telemetry
    const enqueued = await (tracing ? tracing.send(jobs, traced => this.#insert(traced, tx)) : this.#insert(jobs, tx))
    const unknown = await this.#unknownName(target)
    return enqueued.map(({ id, status }, index): EnqueueManyResult => {
      const warnings = status === 'conflict' ? [] : warningsOf(jobs[index]!, target.definition, unknown)
      return { id, status, ...(warnings.length > 0 && { warnings }) } as EnqueueManyResult
    })
  }

  /** A job as it would be enqueued: everything is checked and nothing stored. */
  async prepare(reference: JobReference<never>, payload: unknown, options: EnqueueOptions): Promise<NewJob> {
    const target = this.#target(reference)
    return this.#newJob(target, payload, checkedOptions(options, target.name))
  }

  /** What is odd about a prepared job, in sentences. */
  async warnings(reference: JobReference<never>, job: NewJob): Promise<readonly string[]> {
    const target = this.#target(reference)
    return warningsOf(job, target.definition, await this.#unknownName(target))
  }

  /** A sentence about a name that no worker has announced. Most names are known at once, which is worth no promise. */
  #unknownName({ definition, name }: Target): Promise<string | undefined> | undefined {
    const isKnown = definition !== undefined || this.#options.hasHandler(name)
    return isKnown ? undefined : this.#announced.warningFor(name)
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
        wake(Math.min(dueInMs, ...enqueued.map(replacedDueInMs)), along?.worker)
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

  #target(reference: JobReference<never>): Target {
    const definition = typeof reference === 'string' ? this.#options.builtIns.get(reference) : reference
    if (definition) return { definition, name: definition.name }
    const name = read(jobName, reference, 'enqueue: name')
    // A caller that could enqueue a delivery could sign any message with the secret of any endpoint.
    if (name.startsWith(RESERVED))
      throw new ChronosError(
        'NOT_ALLOWED',
        `enqueue: name: ${shown(name)} is reserved; Chronos creates these jobs itself`,
      )
    return { definition, name }
  }

  /** A job is complete at once, unless its payload is checked asynchronously or its policy is not stored yet. */
  #newJob(target: Target, payload: unknown, options: EnqueueOptions): NewJob | Promise<NewJob> {
    const { definition, name } = target
    const queue = options.queue ?? definition?.queue ?? QUEUE_DEFAULT
    const input: unknown = definition?.schema ? parseWith(definition.schema, payload, `payload of "${name}"`) : payload
    const policyId = definition && this.#options.policies.publish(definition, queue)
    if (definition?.schema || policyId instanceof Promise) {
      const both = Promise.all([input, policyId])
      return both.then(([parsed, id]) => this.#jobOf(target, { payload, input: parsed, queue, policyId: id }, options))
    }
    return this.#jobOf(target, { payload, input, queue, policyId }, options)
  }

  #jobOf({ definition, name }: Target, { payload, input, queue, policyId }: Prepared, options: EnqueueOptions): NewJob {
    const { clock, dice } = this.#options
    const text = toPayload(payload, 'payload')
    const { key, tenantId, fingerprint } = options
    const dependency = options.dependsOn ?? definition?.dependsOn ?? definition?.dependencyOf?.(input as never)
    const { partition, units } = definition ? turnOf(definition, options, input) : options
    const override = retryOf(options)
    const timeoutMs = options.timeout === undefined ? undefined : toMs(options.timeout, 'timeout')
    const notAfter = options.deadline ?? definition?.deadlineMs
    const unique = uniqueFieldsOf(options)
    return {
      id: dice.id(clock.now()),
      name,
      queue,
      priority: options.priority ?? definition?.priority ?? PRIORITY_DEFAULT,
      delivery: strictest(options.delivery, definition?.delivery),
      payload: text,
      runAt: (unique.replacement && firstTimeOf(unique.replacement)) ?? runTimeOf(options) ?? NOW,
      tags: options.tags ?? definition?.tags ?? [],
      ...(key !== undefined && { key, payloadHash: sha256(canonicalJson(text)) }),
      ...unique,
      ...(tenantId !== undefined && { tenantId }),
      ...(partition !== undefined && { partition }),
      ...(units !== undefined && { units }),
      ...(notAfter !== undefined && { deadline: deadlineOf(notAfter) }),
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(override && { override }),
      ...(policyId !== undefined && { policyId }),
      ...(dependency !== undefined && { dependency }),
      ...(fingerprint !== undefined && { fingerprint }),
      ...(options.webhook !== undefined && { webhook: this.#webhook(options.webhook, name) }),
    }
  }

  #webhook(given: string, name: string): string {
    const { href } = urlOf(given)
    this.#options.checkWebhook(href, `enqueue "${name}": webhook`)
    return href
  }
}

/** A job that took a payload may be due before the time that this enqueue asked for. */
const replacedDueInMs = (answer: Enqueued): number => (answer.status === 'replaced' ? answer.delayMs : Infinity)

function checkedOptions(options: EnqueueOptions, name: string): EnqueueOptions {
  return options === NO_OPTIONS ? options : read(enqueueOptions, options, `enqueue "${name}":`)
}

function warningsOf(
  { delivery, override }: NewJob,
  definition: JobDefinition | undefined,
  unknownName: string | undefined,
): readonly string[] {
  const warnings: string[] = []
  const maxRetries = uselessRetries(delivery, override, definition)
  if (maxRetries > 0)
    warnings.push(`an at-most-once job runs once and is never retried, so maxRetries ${maxRetries} has no effect`)
  if (unknownName !== undefined) warnings.push(unknownName)
  return warnings
}

/** Either side can require at-most-once, and neither can revoke it. */
function strictest(asked: Delivery | undefined, defined: Delivery | undefined): Delivery {
  return asked === 'at-most-once' || defined === 'at-most-once' ? 'at-most-once' : 'at-least-once'
}

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

function keyConflict(job: NewJob, existingId: string, existingHash: string): ChronosError {
  const short = (hash: string): string => hash.slice(0, 12)
  return new ChronosError(
    'KEY_CONFLICT',
    `key ${shown(job.key)} of job "${job.name}" belongs to job ${existingId} with another payload ` +
      `(sha256 ${short(existingHash)}…, this one ${short(job.payloadHash!)}…); use another key, or send the same payload`,
    { details: { key: job.key, name: job.name, existingId, existingHash, payloadHash: job.payloadHash } },
  )
}
