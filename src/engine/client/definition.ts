import type { StandardSchemaV1 } from '@standard-schema/spec'
import { checkFingerprint, type FingerprintFunction } from '../../core/failure/fingerprint.js'
import type { Snooze } from '../../core/failure/outcome.js'
import type { Delivery } from '../../core/job/job.js'
import type { PartialPolicy } from '../../core/policy/policy.js'
import { type PolicyInput, parsePolicy } from '../../core/policy/policy.js'
import { DAY_MS, type Duration, toMs } from '../../core/values/duration.js'
import { ChronosError, shown } from '../../core/values/error.js'
import { checkKeys, checkName, checkPriority, checkTags, checkText } from '../../core/values/limits.js'
import type { Reconcile } from '../worker/reconcile.js'

/** What a handler knows about its job, and what it can report. */
export interface JobContext {
  readonly id: string
  readonly name: string
  readonly queue: string
  readonly tenantId: string | undefined
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

  /** `return job.snooze('10s')` runs the job again later; it costs no attempt. */
  snooze(delay: Duration, note?: string): Snooze
  /** Runs a side effect and stores its result for all attempts. An error is not stored. */
  once<T>(name: string, effect: () => T | Promise<T>, options?: OnceOptions): Promise<T>
  /**
   * Where the store is PostgreSQL: writes the success of this job into your own open transaction, as the last thing in
   * it. When that commits the job is done, and never otherwise, whatever the handler returns or throws afterwards.
   */
  complete(tx: unknown, result?: unknown): Promise<void>
  /** A line in the job's own log. */
  log(message: string, data?: unknown): void
  /** Reports progress: any JSON, shown in the dashboard. */
  progress(value: unknown): void
}

export interface OnceOptions {
  /**
   * What to do when an earlier run began the effect and never recorded its end, so that it may have happened.
   * `run` (default) does it again with the same `job.key`; `fail` (default for at-most-once jobs) throws EFFECT_UNKNOWN.
   */
  readonly whenUnknown?: 'run' | 'fail'
}

interface CommonOptions {
  readonly name: string
  /** Default `default`. */
  readonly queue?: string
  /** 0–9, 9 first. Default 5. */
  readonly priority?: number
  readonly delivery?: Delivery
  /** Per attempt. Default 15 minutes. */
  readonly timeout?: Duration
  readonly retry?: PolicyInput
  /** No retry starts later than this after the first start. */
  readonly maxElapsed?: Duration
  /** The job does not start later than this after its enqueue. */
  readonly deadline?: Duration
  readonly tags?: readonly string[]
  /** The name of the dependency: jobs with the same one share a circuit and a retry budget. */
  readonly dependsOn?: string
  /**
   * At-most-once jobs whose handler makes one request and does nothing before it: where that request certainly never left
   * (no such name, connection refused), the policy may try again. Default false.
   */
  readonly retryUnsent?: boolean
  /** Groups errors of this job by a name of your own instead of by their text; undefined leaves it to Chronos. */
  readonly fingerprint?: string | FingerprintFunction
}

type Handler<Payload, Result> = (payload: Payload, job: JobContext) => Result | Snooze | Promise<Result | Snooze>

export interface DefinitionWithSchema<Schema extends StandardSchemaV1, Result> extends CommonOptions {
  readonly payload: Schema
  readonly run: Handler<StandardSchemaV1.InferOutput<Schema>, Result>
  /** For at-most-once jobs: called when the outcome of a run is unknown. It may be called more than once. */
  readonly reconcile?: Reconcile<StandardSchemaV1.InferOutput<Schema>>
}

export interface DefinitionWithoutSchema<Payload, Result> extends CommonOptions {
  readonly payload?: undefined
  readonly run: Handler<Payload, Result>
  /** For at-most-once jobs: called when the outcome of a run is unknown. It may be called more than once. */
  readonly reconcile?: Reconcile<NoInfer<Payload>>
}

/** A job's name, its rules and its function. `Input` is what `enqueue` takes. */
export interface JobDefinition<Input = never> {
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
  readonly reconcile?: Reconcile<never>
  readonly retryUnsent?: boolean
  readonly fingerprint?: string | FingerprintFunction
  readonly dependsOn?: string
  /** Computes the dependency from the parsed payload; `dependsOn` takes precedence. */
  readonly dependencyOf?: (payload: never) => string
  /** Only carries the type of the payload; absent at run time. */
  readonly input?: (input: Input) => void
}

const OPTION_NAMES: readonly string[] = [
  'name',
  'queue',
  'priority',
  'delivery',
  'timeout',
  'retry',
  'maxElapsed',
  'deadline',
  'tags',
  'payload',
  'run',
  'reconcile',
  'retryUnsent',
  'fingerprint',
  'dependsOn',
]

export const TIMEOUT_DEFAULT_MS = 15 * 60_000
const TIMEOUT_MAX_MS = DAY_MS
export const QUEUE_DEFAULT = 'default'
/** The built-in jobs, which every worker can run. */
export const HTTP_JOB = 'http'
const BUILT_IN_NAMES: readonly string[] = [HTTP_JOB]

export function defineJob<Schema extends StandardSchemaV1, Result>(
  options: DefinitionWithSchema<Schema, Result>,
): JobDefinition<StandardSchemaV1.InferInput<Schema>>
export function defineJob<Payload, Result>(options: DefinitionWithoutSchema<Payload, Result>): JobDefinition<Payload>
export function defineJob(options: AnyDefinition): JobDefinition<unknown> {
  const definition = define(options)
  if (!BUILT_IN_NAMES.includes(definition.name)) return definition
  throw new ChronosError(
    'INVALID_OPTION',
    `defineJob: "${definition.name}" is a job that every worker knows already; choose another name`,
  )
}

type AnyDefinition = DefinitionWithSchema<StandardSchemaV1, unknown> | DefinitionWithoutSchema<unknown, unknown>

/** A built-in job, whose name is reserved. */
export function defineBuiltIn<Schema extends StandardSchemaV1, Result>(
  options: DefinitionWithSchema<Schema, Result>,
  dependencyOf: (payload: StandardSchemaV1.InferOutput<Schema>) => string,
): JobDefinition<StandardSchemaV1.InferInput<Schema>> {
  return { ...define(options), dependencyOf: dependencyOf as (payload: never) => string }
}

function define(options: AnyDefinition): JobDefinition<unknown> {
  checkKeys(options, OPTION_NAMES, 'defineJob')
  const {
    name,
    queue = QUEUE_DEFAULT,
    delivery = 'at-least-once',
    timeout,
    payload,
    priority,
    deadline,
    tags,
    run,
  } = options
  checkName(name, 'defineJob: name')
  const where = `job "${name}"`
  checkName(queue, `${where}: queue`)
  if (priority !== undefined) checkPriority(priority, where)
  checkDelivery(delivery, where)
  if (tags !== undefined) checkTags(tags, `${where}: tags`)
  const retry = retryOf(options, where)
  if (typeof run !== 'function') {
    throw new ChronosError('INVALID_OPTION', `${where}: run must be a function, got ${typeof run}`)
  }
  return {
    name,
    queue,
    ...(priority !== undefined && { priority }),
    delivery,
    timeoutMs:
      timeout === undefined ? TIMEOUT_DEFAULT_MS : toMs(timeout, `${where}: timeout`, { min: 1, max: TIMEOUT_MAX_MS }),
    ...(deadline !== undefined && { deadlineMs: toMs(deadline, `${where}: deadline`, { min: 1 }) }),
    ...(tags && { tags }),
    ...(retry && { retry }),
    ...(payload && { schema: payload }),
    handler: run as Handler<never, unknown>,
    ...afterFailure(options, where),
  }
}

/** The settings of a definition for failures, besides its policy. */
function afterFailure(
  options: AnyDefinition,
  where: string,
): Pick<JobDefinition, 'reconcile' | 'retryUnsent' | 'fingerprint' | 'dependsOn'> {
  const { reconcile, retryUnsent, fingerprint, dependsOn, delivery } = options
  if (dependsOn !== undefined) checkText(dependsOn, `${where}: dependsOn`)
  if (reconcile !== undefined && typeof reconcile !== 'function') {
    throw new ChronosError('INVALID_OPTION', `${where}: reconcile must be a function, got ${shown(reconcile)}`)
  }
  if (retryUnsent !== undefined && typeof retryUnsent !== 'boolean') {
    throw new ChronosError('INVALID_OPTION', `${where}: retryUnsent must be true or false, got ${shown(retryUnsent)}`)
  }
  const idle = reconcile ? 'reconcile' : retryUnsent ? 'retryUnsent' : undefined
  if (idle !== undefined && delivery !== 'at-most-once') {
    const why = 'an at-least-once job is retried by its policy anyway'
    throw new ChronosError('INVALID_OPTION', `${where}: ${idle} is for delivery "at-most-once"; ${why}`)
  }
  if (fingerprint !== undefined && typeof fingerprint !== 'function') {
    checkFingerprint(fingerprint, `${where}: fingerprint`)
  }
  return {
    ...(reconcile && { reconcile: reconcile as Reconcile<never> }),
    ...(retryUnsent && { retryUnsent }),
    ...(fingerprint !== undefined && { fingerprint }),
    ...(dependsOn !== undefined && { dependsOn }),
  }
}

function retryOf({ retry, maxElapsed }: CommonOptions, where: string): PartialPolicy | undefined {
  const policy = retry === undefined ? undefined : parsePolicy(retry, `${where}: retry`)
  return maxElapsed === undefined
    ? policy
    : { ...policy, maxElapsed: toMs(maxElapsed, `${where}: maxElapsed`, { min: 1 }) }
}

export function checkDelivery(value: unknown, where: string): asserts value is Delivery {
  if (value !== 'at-least-once' && value !== 'at-most-once') {
    throw new ChronosError(
      'INVALID_OPTION',
      `${where}: delivery must be "at-least-once" or "at-most-once", got ${JSON.stringify(value)}`,
    )
  }
}
