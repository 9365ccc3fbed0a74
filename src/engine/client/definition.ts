import type { StandardSchemaV1 } from '@standard-schema/spec'
import { type FingerprintFunction, fingerprint } from '../../core/failure/fingerprint.js'
import type { Snooze } from '../../core/failure/outcome.js'
import type { Delivery } from '../../core/job/job.js'
import { jobSettings, retryOf, type Transaction, twoPolicies } from '../../core/job/options.js'
import { partitionName, type Units, units } from '../../core/partition/limits.js'
import { policyInput } from '../../core/policy/form.js'
import type { PartialPolicy, PolicyInput } from '../../core/policy/policy.js'
import { DAY_MS, type Duration, toMs } from '../../core/values/duration.js'
import { ChronosError } from '../../core/values/error.js'
import { jobName } from '../../core/values/limits.js'
import { present } from '../../core/values/present.js'
import {
  about,
  boolean,
  duration,
  type Infer,
  inCode,
  read,
  refined,
  refuse,
  type Schema,
} from '../../core/values/schema.js'
import { object, union } from '../../core/values/shape.js'
import { type BatchOptions, type BatchSettings, batchOptions, batchSettings } from '../batches/settings.js'
import { threadModule } from '../threads/module.js'
import { type RetentionLimits, retentionLimits } from '../upkeep/retention.js'
import type { Reconcile } from '../worker/reconcile.js'
import type { Log } from './log.js'

/** What a handler knows about its job, and what it can report. */
export interface JobContext {
  readonly id: string
  readonly name: string
  readonly queue: string
  readonly tenantId: string | undefined
  /** The jobs of its queue with the same one share its limits: the one given at enqueue, else the tenant. */
  readonly partition: string | undefined
  /** What its start was expected to cost, by unit. */
  readonly units: Units
  readonly tags: readonly string[]
  /** The same for all attempts and redrives: the key given at enqueue, else the job's id. Use it as an idempotency key. */
  readonly key: string
  /** 1 for the first run that counts as an attempt. */
  readonly attempt: number
  readonly maxAttempts: number
  readonly isLastAttempt: boolean
  readonly run: number
  readonly generation: number
  readonly delivery: Delivery
  readonly createdAt: Date
  /** When this attempt was due. */
  readonly runAt: Date
  readonly deadline: Date | undefined
  /** Aborts when the attempt times out, is cancelled, loses its lease, or the worker must stop. */
  readonly signal: AbortSignal
  /** The time of the store, and waiting: virtual in tests with `testChronos`. */
  readonly clock: JobClock

  /** `return job.snooze('10s')` runs the job again later; it costs no attempt. */
  snooze(delay: Duration, note?: string): Snooze
  /** Runs a side effect and stores its result for all attempts. An error is not stored. */
  once<T>(name: string, effect: () => T | Promise<T>, options?: OnceOptions): Promise<T>
  /**
   * Where the store is PostgreSQL, or in a test with `t.transaction`: writes the success of this job into your own open transaction, as the last thing in
   * it. When that commits the job is done, and never otherwise, whatever the handler returns or throws afterwards.
   */
  complete(tx: Transaction, result?: unknown): Promise<void>
  /** A line in the job's own log. */
  log(message: string, data?: unknown): void
  /** A note on this run, stored with its outcome and shown in the job's history. Several notes are joined. */
  note(text: string): void
  /** Reports progress: any JSON, shown in the dashboard. */
  progress(value: unknown): void
  /**
   * What this run has really cost, by unit: `job.spent({ tokens: usage.total })`. It replaces the estimate of these units
   * when the run ends, so that the rates of its partition follow the truth. Several calls add up.
   */
  spent(units: Units): void
}

export interface JobClock {
  now(): Date
  /** Resolves after this time; rejects with its reason as soon as `job.signal` aborts. */
  wait(duration: Duration): Promise<void>
}

export interface OnceOptions {
  /**
   * What to do when an earlier run began the effect and never recorded its end, so that it may have happened.
   * `run` (default) does it again with the same `job.key`; `fail` (default for at-most-once jobs) throws EFFECT_UNKNOWN.
   */
  readonly whenUnknown?: 'run' | 'fail'
}

const isFunction = (given: unknown): boolean => typeof given === 'function'
const isSchema = (given: unknown): boolean =>
  (typeof given === 'object' || isFunction(given)) && '~standard' in (given as object)

const TIMEOUT_MAX_MS = DAY_MS

/** The settings of a definition, besides its functions. */
const settings = {
  ...jobSettings,
  timeout: about(duration({ min: 1, max: TIMEOUT_MAX_MS }), 'Per attempt. Default 15m.'),
  retry: policyInput as Schema<PolicyInput>,
  deadline: about(duration({ min: 1 }), 'The job does not start later than this after its enqueue.'),
  retention: about(
    retentionLimits,
    'How long its ended jobs are kept, by state. Default: that of the queue or instance.',
  ),
  retryUnsent: about(
    boolean,
    'At-most-once jobs whose handler makes one request and does nothing before it: where that request certainly never ' +
      'left (no such name, connection refused), the policy may try again. Default false.',
  ),
  fingerprint: about(
    union(fingerprint, inCode<FingerprintFunction>('a function', isFunction)),
    'Groups errors of this job by a name of your own instead of by their text.',
  ),
}

const functions = {
  partition: about(
    union(partitionName, inCode<(payload: never) => string | undefined>('a function', isFunction)),
    'The partition of its jobs, or a function of the payload: jobs of one partition share the limits of their queue.',
  ),
  units: about(
    union(units, inCode<(payload: never) => Units | undefined>('a function', isFunction)),
    'What a start is expected to cost, by unit, or a function of the payload.',
  ),
  payload: inCode<StandardSchemaV1>('a schema of a Standard Schema library', isSchema),
  reconcile: inCode<Reconcile<never>>('a function', isFunction),
}

const definition = refined(
  object(
    { name: jobName, run: inCode<Handler<never, unknown>>('a function', isFunction) },
    { ...settings, ...functions },
  ),
  twoPolicies,
)

/** A handler in a module of its own, which runs in a thread. */
const inThread = refined(object({ name: jobName, thread: threadModule }, { ...settings, ...functions }), twoPolicies)

/** A handler that gets several jobs in one call. */
const inBatches = refined(
  object(
    { name: jobName, batch: batchOptions, run: inCode<BatchHandler<never, unknown>>('a function', isFunction) },
    { ...settings, ...functions },
  ),
  twoPolicies,
)

const common = object({ name: jobName }, settings)
type CommonOptions = Infer<typeof common>

export type Handler<Payload, Result> = (payload: Payload, job: JobContext) => Result | Snooze | Promise<Result | Snooze>

/**
 * Gets the payloads of a batch and, in the same order, their jobs. Returns a result for each job, or an `Error` for one
 * that failed; nothing at all if there are no results. If it throws, all of them have failed.
 */
export type BatchHandler<Payload, Result> = (
  payloads: readonly Payload[],
  jobs: readonly JobContext[],
) => BatchResults<Result> | Promise<BatchResults<Result>>

// biome-ignore lint/suspicious/noConfusingVoidType: a handler without a return statement returns void.
type BatchResults<Result> = readonly (Result | Snooze | Error)[] | undefined | void

/** What the limits of its queue need to know about a job. */
export interface PartitionOptions<Payload> {
  /** The partition of its jobs, or a function of the payload: jobs of one partition share its limits. Default: the tenant. */
  readonly partition?: string | ((payload: Payload) => string | undefined)
  /** What a start is expected to cost, by unit, or a function of the payload. */
  readonly units?: Units | ((payload: Payload) => Units | undefined)
}

export interface DefinitionWithSchema<Schema extends StandardSchemaV1, Result>
  extends CommonOptions,
    PartitionOptions<StandardSchemaV1.InferOutput<Schema>> {
  readonly payload: Schema
  readonly run: Handler<StandardSchemaV1.InferOutput<Schema>, Result>
  /** For at-most-once jobs: called when the outcome of a run is unknown. It may be called more than once. */
  readonly reconcile?: Reconcile<StandardSchemaV1.InferOutput<Schema>>
}

export interface DefinitionWithoutSchema<Payload, Result> extends CommonOptions, PartitionOptions<Payload> {
  readonly payload?: undefined
  readonly run: Handler<Payload, Result>
  /** For at-most-once jobs: called when the outcome of a run is unknown. It may be called more than once. */
  readonly reconcile?: Reconcile<NoInfer<Payload>>
}

/** The same with a handler in a module of its own, which exports it as `run` or as its default. */
export interface ThreadWithSchema<Schema extends StandardSchemaV1>
  extends Omit<DefinitionWithSchema<Schema, unknown>, 'run'> {
  readonly thread: URL | string
}

export interface ThreadWithoutSchema<Payload> extends Omit<DefinitionWithoutSchema<Payload, unknown>, 'run'> {
  readonly thread: URL | string
}

/** The same with a handler that gets several jobs in one call. */
export interface BatchWithSchema<Schema extends StandardSchemaV1, Result>
  extends Omit<DefinitionWithSchema<Schema, unknown>, 'run'> {
  readonly batch: BatchOptions<StandardSchemaV1.InferInput<Schema>>
  readonly run: BatchHandler<StandardSchemaV1.InferOutput<Schema>, Result>
}

export interface BatchWithoutSchema<Payload, Result> extends Omit<DefinitionWithoutSchema<Payload, unknown>, 'run'> {
  readonly batch: BatchOptions<NoInfer<Payload>>
  readonly run: BatchHandler<Payload, Result>
}

/** A job's name, its rules and its function. `Input` is what `enqueue` takes, `Result` what its handler returns. */
export interface JobDefinition<Input = never, Result = unknown> {
  readonly name: string
  readonly queue: string
  readonly priority?: number
  readonly delivery: Delivery
  readonly timeoutMs: number
  readonly deadlineMs?: number
  readonly tags?: readonly string[]
  readonly retry?: PartialPolicy
  readonly schema?: StandardSchemaV1
  readonly handler: Handler<never, unknown>
  /** The module whose handler runs in a thread, in place of `handler`. */
  readonly thread?: string
  /** How many jobs `handler` gets in one call, in place of one. */
  readonly batch?: BatchSettings
  readonly reconcile?: Reconcile<never>
  readonly retryUnsent?: boolean
  readonly retention?: RetentionLimits
  readonly fingerprint?: string | FingerprintFunction
  readonly dependsOn?: string
  readonly partition?: string | ((payload: never) => string | undefined)
  readonly units?: Units | ((payload: never) => Units | undefined)
  /** Computes the dependency from the parsed payload; `dependsOn` takes precedence. */
  readonly dependencyOf?: (payload: never) => string
  /** Only carries the type of the payload; absent at run time. */
  readonly input?: (input: Input) => void
  /** Only carries the type of the result; absent at run time. */
  readonly output?: () => Result
}

/** What a handler returns, without the promise and the snooze. */
type Returned<Result> = Exclude<Awaited<Result>, Snooze>

export const TIMEOUT_DEFAULT_MS = 15 * 60_000
export const QUEUE_DEFAULT = 'default'
/** The built-in jobs, which every worker can run. */
export const HTTP_JOB = 'http'
const BUILT_IN_NAMES: readonly string[] = [HTTP_JOB]

/**
 * The retries that a policy names although an at-most-once job is never retried; a definition with `retryUnsent` or
 * `reconcile` may retry it after all.
 */
export function uselessRetries(
  delivery: Delivery,
  policy: PartialPolicy | undefined,
  definition: Pick<JobDefinition, 'retryUnsent' | 'reconcile'> | undefined,
): number {
  if (delivery !== 'at-most-once' || definition?.retryUnsent || definition?.reconcile) return 0
  return policy?.maxRetries ?? 0
}

export function warnOfRetries(definitions: readonly JobDefinition<never>[], log: Log): void {
  for (const definition of definitions) {
    const { name, delivery, retry } = definition
    const maxRetries = uselessRetries(delivery, retry, definition)
    if (maxRetries > 0)
      log.warn({ event: 'retries.unused', name, maxRetries }, 'job is at-most-once, ignoring maxRetries')
  }
}

export function defineJob<Schema extends StandardSchemaV1, Result>(
  options: BatchWithSchema<Schema, Result>,
): JobDefinition<StandardSchemaV1.InferInput<Schema>, Exclude<Result, Snooze | Error>>
export function defineJob<Payload, Result>(
  options: BatchWithoutSchema<Payload, Result>,
): JobDefinition<Payload, Exclude<Result, Snooze | Error>>
export function defineJob<Schema extends StandardSchemaV1, Result>(
  options: DefinitionWithSchema<Schema, Result>,
): JobDefinition<StandardSchemaV1.InferInput<Schema>, Returned<Result>>
export function defineJob<Payload, Result>(
  options: DefinitionWithoutSchema<Payload, Result>,
): JobDefinition<Payload, Returned<Result>>
export function defineJob<Schema extends StandardSchemaV1, Result = unknown>(
  options: ThreadWithSchema<Schema>,
): JobDefinition<StandardSchemaV1.InferInput<Schema>, Result>
export function defineJob<Payload, Result = unknown>(
  options: ThreadWithoutSchema<Payload>,
): JobDefinition<Payload, Result>
export function defineJob(options: AnyDefinition): JobDefinition<unknown> {
  const definition = define(options)
  if (!BUILT_IN_NAMES.includes(definition.name)) return definition
  throw new ChronosError(
    'INVALID_OPTION',
    `defineJob: "${definition.name}" is a job that every worker knows already; choose another name`,
  )
}

type AnyDefinition =
  | DefinitionWithSchema<StandardSchemaV1, unknown>
  | DefinitionWithoutSchema<unknown, unknown>
  | ThreadWithSchema<StandardSchemaV1>
  | ThreadWithoutSchema<unknown>
  | BatchWithSchema<StandardSchemaV1, unknown>
  | BatchWithoutSchema<unknown, unknown>

/** A built-in job, whose name is reserved. */
export function defineBuiltIn<Schema extends StandardSchemaV1, Result>(
  options: DefinitionWithSchema<Schema, Result>,
  dependencyOf: (payload: StandardSchemaV1.InferOutput<Schema>) => string,
): JobDefinition<StandardSchemaV1.InferInput<Schema>> {
  return { ...define(options as unknown as AnyDefinition), dependencyOf: dependencyOf as (payload: never) => string }
}

const onlyInThread = (_: never, { name }: JobContext): never => {
  throw new ChronosError('NOT_ALLOWED', `job "${name}" runs in a thread of a worker only`)
}

function define(options: AnyDefinition): JobDefinition<unknown> {
  const own = read(jobName, (options as { readonly name?: unknown } | undefined)?.name, 'defineJob: name')
  const where = `job "${own}":`
  const isThreaded = 'thread' in options && options.thread !== undefined
  if (isThreaded && 'run' in options) {
    throw refuse([], 'give run or thread, not both: a thread loads its handler itself', where, 'INVALID_OPTION')
  }
  const given = isThreaded
    ? { ...read(inThread, options, where), run: onlyInThread, batch: undefined }
    : 'batch' in options && options.batch !== undefined
      ? { ...read(inBatches, options, where), thread: undefined }
      : { ...read(definition, options, where), thread: undefined, batch: undefined }
  const { queue = QUEUE_DEFAULT, delivery = 'at-least-once', timeout, deadline, retryUnsent } = given
  const idle = given.reconcile ? 'reconcile' : retryUnsent ? 'retryUnsent' : undefined
  if (idle !== undefined && delivery !== 'at-most-once') {
    const why = 'an at-least-once job is retried by its policy anyway'
    throw refuse([], `${idle} is for delivery "at-most-once"; ${why}`, where, 'INVALID_OPTION')
  }
  return present({
    name: own,
    queue,
    priority: given.priority,
    delivery,
    timeoutMs: timeout === undefined ? TIMEOUT_DEFAULT_MS : toMs(timeout, 'timeout'),
    deadlineMs: deadline === undefined ? undefined : toMs(deadline, 'deadline'),
    tags: given.tags,
    retry: retryOf(given),
    schema: given.payload,
    handler: given.run as Handler<never, unknown>,
    thread: given.thread === undefined ? undefined : String(given.thread),
    batch: given.batch && batchSettings(given.batch),
    reconcile: given.reconcile,
    retryUnsent: retryUnsent || undefined,
    retention: given.retention,
    fingerprint: given.fingerprint,
    dependsOn: given.dependsOn,
    partition: given.partition,
    units: given.units,
  })
}
