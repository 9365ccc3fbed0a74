import { availableParallelism } from 'node:os'
import type { BudgetInput, CircuitInput } from '../../core/dependency/settings.js'
import type { LimitPair } from '../../core/partition/limits.js'
import { instanceRetryOptions } from '../../core/policy/form.js'
import {
  type InstanceRetryOptions,
  type PartialPolicy,
  type PolicyInput,
  parsePolicy,
  type Rule,
} from '../../core/policy/policy.js'
import { isInternal } from '../../core/queue/internal.js'
import { type Duration, HOUR_MS, toMs } from '../../core/values/duration.js'
import { ChronosError, shown } from '../../core/values/error.js'
import { checkKeys, name as queueName } from '../../core/values/limits.js'
import { present } from '../../core/values/present.js'
import { integer, read, text } from '../../core/values/schema.js'
import { type Time, timeOf } from '../../core/values/time.js'
import type { AlertsOptions } from '../alerts/alerts.js'
import type { EgressOptions } from '../egress/rules.js'
import type { OpenTelemetry } from '../figures/tracing.js'
import { DeclaredLimits, readLimits } from '../limits/declared.js'
import type { Retention } from '../upkeep/retention.js'
import type { CustomBackoffs } from '../worker/custom-backoff.js'
import type { WorkerSettings } from '../worker/worker.js'
import { type JobDefinition, QUEUE_DEFAULT } from './definition.js'
import type { GivenLog } from './log.js'
import type { PolicyLevels } from './policies.js'

export interface ChronosOptions extends InstanceRetryOptions {
  /** A pino logger or another one with debug, info, warn and error, or false for none. Default: lines on stderr. */
  readonly log?: GivenLog | false
  /** The policy of jobs without their own. */
  readonly retry?: PolicyInput
  readonly rules?: readonly Rule[]
  /** The circuit breaker of jobs without their own; off by default. */
  readonly circuit?: CircuitInput
  /** The retry budget of jobs without their own; off by default. */
  readonly budget?: BudgetInput
  readonly queues?: Readonly<Record<string, QueueOptions>>
  /** Which addresses HTTP jobs and webhooks may call besides public ones. */
  readonly egress?: EgressOptions
  /** The alert rules and where alerts are sent. Default: every rule, in the log. */
  readonly alerts?: AlertsOptions
  /** `whsec_…`: signs the messages to URLs that jobs name themselves. Default: a secret of the store. */
  readonly webhookSecret?: string
  /** How long ended jobs are kept, by state, queue and job. Default: succeeded jobs for seven days, others for ever. */
  readonly retention?: Retention
  /** Functions for `backoff: { type: 'custom', name }`. */
  readonly backoffs?: CustomBackoffs
  /** The module `@opentelemetry/api`: enqueues and attempts become spans. Default: none. */
  readonly tracing?: OpenTelemetry
}

/** `limit` and `partitions`: how many jobs of the queue, and of each of its partitions, may run and start. */
export interface QueueOptions extends LimitPair {
  readonly retry?: PolicyInput
  readonly rules?: readonly Rule[]
  readonly circuit?: CircuitInput
  readonly budget?: BudgetInput
}

export interface WorkOptions extends InstanceRetryOptions {
  /** The policy of this worker's jobs without their own; it takes precedence over the instance's. */
  readonly retry?: PolicyInput
  /** The maximum number of concurrent handlers. Default 10. */
  readonly concurrency?: number
  /** The maximum number of handlers in threads at the same time. Default: the number of cores. */
  readonly threads?: number
  /** Default: the queues of the definitions. */
  readonly queues?: readonly string[]
  /** How long a lease lasts without a heartbeat. Default 30 s, at least 1 s. */
  readonly lease?: Duration
  /** How often to poll for work without a notification. Default 1 s; 5 s where PostgreSQL sends notifications (LISTEN). */
  readonly poll?: Duration
  /** How long running handlers may continue after `stop()`. Default 25 s. */
  readonly grace?: Duration
  /** Jobs whose timeout ends after this time are not begun, but released. Default: never. */
  readonly until?: Time
  /** Whether this worker also runs maintenance such as the sweeper and the pruner. Default true. */
  readonly maintenance?: boolean
  /** Stop on SIGTERM and SIGINT, and exit with 0. Default true. */
  readonly signals?: boolean
  /** The version of your program, such as a commit: shown with the worker, in incidents and with errors. Default `CHRONOS_BUILD`. */
  readonly build?: string
}

const SHORT_NAMES = Object.keys(instanceRetryOptions.fields) as readonly (keyof InstanceRetryOptions)[]
const WORK_OPTIONS = [
  'concurrency',
  'threads',
  'queues',
  'lease',
  'poll',
  'grace',
  'until',
  'maintenance',
  'signals',
  'build',
  'retry',
  ...SHORT_NAMES,
]
export const OPTIONS = [
  'store',
  'log',
  'retry',
  'rules',
  'circuit',
  'budget',
  'queues',
  'egress',
  'alerts',
  'webhookSecret',
  'retention',
  'backoffs',
  'tracing',
  ...SHORT_NAMES,
]
const BUILD_LENGTH_MAX = 100
const CONCURRENCY_MAX = 10_000
const THREADS_MAX = 1_000
const LEASE_DEFAULT_MS = 30_000

export function policyLevels(options: ChronosOptions): PolicyLevels {
  const { queues = {} } = options
  const instance = instanceLevel(options, 'createChronos')
  const byQueue = new Map<string, PartialPolicy>()
  for (const [name, settings] of Object.entries(queues)) {
    read(queueName, name, 'createChronos: queues')
    checkKeys(settings, ['retry', 'rules', 'circuit', 'budget', 'limit', 'partitions'], `createChronos: queues.${name}`)
    const policy = level(settings, `createChronos: queues.${name}`, `createChronos: queues.${name}.retry`)
    if (policy) byQueue.set(name, policy)
  }
  return { queues: byQueue, instance }
}

/** The limits that the code declares, by queue. */
export function declaredLimits({ queues = {} }: ChronosOptions): DeclaredLimits {
  const byQueue = new Map<string, LimitPair>()
  for (const [name, settings] of Object.entries(queues)) {
    const limits = readLimits(settings, `createChronos: queues.${name}`)
    if (limits && isInternal(name)) {
      throw new ChronosError(
        'INVALID_OPTION',
        `createChronos: queues.${name}: this queue is filled by Chronos; give its limits with chronos.queues.set, and those of a webhook endpoint with chronos.webhooks.limit`,
      )
    }
    if (limits) byQueue.set(name, limits)
  }
  return new DeclaredLimits(byQueue)
}

/** `retry`, `rules` and the short names are three ways to set the same settings; each may be set once. */
export function instanceLevel(options: InstanceRetryOptions & QueueOptions, where: string): PartialPolicy | undefined {
  const short = Object.fromEntries(
    SHORT_NAMES.filter(name => options[name] !== undefined).map(name => [name, options[name]]),
  )
  const named = Object.keys(short).length > 0
  if (named && options.retry !== undefined) {
    throw new ChronosError('INVALID_OPTION', `${where}: give retry or ${Object.keys(short).join(', ')}, not both`)
  }
  return level(named ? { ...options, retry: short } : options, where, named ? where : `${where}: retry`)
}

/** Settings beside `retry` take precedence over those in it; rules are combined. */
function level(
  { retry, rules, circuit, budget }: QueueOptions,
  where: string,
  whereRetry: string,
): PartialPolicy | undefined {
  const policy = retry === undefined ? undefined : parsePolicy(retry, whereRetry)
  const beside = present({ rules, circuit, budget })
  if (Object.keys(beside).length === 0) return policy
  const own = parsePolicy(beside, where)
  const all = [...(policy?.rules ?? []), ...(own.rules ?? [])]
  return { ...policy, ...own, ...(all.length > 0 && { rules: all }) }
}

/** Without definitions, the worker runs the built-in jobs. */
function queuesOf(definitions: readonly JobDefinition<never>[]): readonly string[] {
  const queues = new Set(definitions.map(definition => definition.queue))
  return queues.size === 0 ? [QUEUE_DEFAULT] : [...queues]
}

export function workerSettings(definitions: readonly JobDefinition<never>[], options: WorkOptions): WorkerSettings {
  if (!Array.isArray(definitions)) {
    throw new ChronosError('INVALID_OPTION', `work: expected an array of job definitions, got ${shown(definitions)}`)
  }
  checkKeys(options, WORK_OPTIONS, 'work')
  const plain = definitions.findIndex(each => typeof each?.queue !== 'string' || typeof each.name !== 'string')
  if (plain >= 0) {
    const got = shown(definitions[plain])
    throw new ChronosError(
      'INVALID_OPTION',
      `work: jobs[${plain}]: expected a job definition, got ${got}; make it with defineJob`,
    )
  }
  const names = definitions.map(definition => definition.name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new ChronosError('INVALID_OPTION', `work: two definitions are named "${twice}"`)
  const { concurrency = 10, threads = availableParallelism(), queues = queuesOf(definitions) } = options
  const build = options.build ?? (process.env['CHRONOS_BUILD'] || undefined)
  if (build !== undefined) read(text(BUILD_LENGTH_MAX), build, 'work: build')
  read(integer(1, CONCURRENCY_MAX), concurrency, 'work: concurrency')
  read(integer(1, THREADS_MAX), threads, 'work: threads')
  if (queues.length === 0) throw new ChronosError('INVALID_OPTION', 'work: queues is empty; leave it out or name one')
  for (const queue of queues) read(queueName, queue, 'work: queues')
  return {
    concurrency,
    threads,
    queues,
    leaseMs: toMs(options.lease ?? LEASE_DEFAULT_MS, 'work: lease', { min: 1000, max: HOUR_MS }),
    ...(options.poll !== undefined && { pollMs: toMs(options.poll, 'work: poll', { min: 1, max: HOUR_MS }) }),
    ...(options.until !== undefined && { until: timeOf(options.until, 'work: until') }),
    graceMs: toMs(options.grace ?? 25_000, 'work: grace', { max: 24 * HOUR_MS }),
    ...(build !== undefined && { build }),
  }
}
