import { fingerprint } from '../failure/fingerprint.js'
import { url } from '../http/request.js'
import { partitionName, units } from '../partition/limits.js'
import { jobRetryOptions, type PartialPolicy, policyLevel, storedPolicyInput } from '../policy/form.js'
import type { JobRetryOptions, PolicyInput } from '../policy/policy.js'
import { type Duration, parseDuration, toMs } from '../values/duration.js'
import { freeText, name, tags } from '../values/limits.js'
import { present } from '../values/present.js'
import {
  about,
  anything,
  duration,
  type Infer,
  inCode,
  integer,
  oneOf,
  refined,
  type Schema,
} from '../values/schema.js'
import { nullable, object, quickObject } from '../values/shape.js'
import { type Time, time, timeOf, timeOrDuration } from '../values/time.js'
import { DELIVERIES, PRIORITY_MAX } from './job.js'
import type { RunTime } from './run-time.js'
import { UNIQUE_MODES, wrongMode } from './unique.js'

const atLeast1ms = duration({ min: 1 })
const SHORT_NAMES = Object.keys(jobRetryOptions.fields) as readonly (keyof JobRetryOptions)[]

/** Settings of a job that definitions, enqueues and schedules share. */
export const jobSettings = {
  queue: about(name, 'The queue of the job. Default `default`.', {
    flag: '--queue <name>',
    label: 'Queue',
    hint: '',
    placeholder: 'default',
  }),
  priority: about(integer(0, PRIORITY_MAX), '0 to 9; jobs with 9 start first. Default 5.', {
    flag: '--priority <number>',
    label: 'Priority',
  }),
  delivery: about(
    oneOf(DELIVERIES),
    '`at-most-once`: the job is never started again if the outcome of a run is unknown. Default `at-least-once`.',
  ),
  ...jobRetryOptions.fields,
  maxRetries: about(jobRetryOptions.fields.maxRetries, 'The number of runs after the first.', {
    flag: '--max-retries <number>',
  }),
  maxElapsed: about(atLeast1ms, 'No retry starts later than this after the first run.', {
    flag: '--max-elapsed <duration>',
  }),
  dependsOn: about(freeText, 'The dependency of the job: jobs with the same one share a circuit and a retry budget.', {
    flag: '--depends-on <dependency>',
  }),
  tags: about(tags, 'The tags of the job.', { flag: '--tag <tag>', label: 'Tags', hint: 'Separated by commas' }),
}

/** Settings of a single job, which schedules pass on to their jobs. */
export const ownSettings = {
  ...jobSettings,
  tenantId: about(freeText, 'The tenant that owns the job.', { flag: '--tenant <id>', label: 'Tenant' }),
  partition: about(partitionName, { flag: '--partition <name>' }),
  units: about(units, { flag: '--unit <unit=amount>' }),
  timeout: about(atLeast1ms, 'Per attempt. Default: the timeout of the definition.', {
    flag: '--timeout <duration>',
    label: 'Timeout',
    hint: 'Per attempt',
    placeholder: 'none',
  }),
  retry: about(
    storedPolicyInput as Schema<PolicyInput>,
    'The name of a preset, or a policy in JSON; it takes precedence over the policies of definition, queue and instance.',
    { flag: '--retry <policy>', label: 'Retries', hint: '' },
  ),
  fingerprint: about(fingerprint, 'The error group of its failures.', { flag: '--fingerprint <id>' }),
  webhook: about(url, 'A URL that gets a signed POST when the job ends.', { flag: '--webhook <url>' }),
}

const delay = about(duration(), 'The job starts this long after now, not before.', {
  flag: '--delay <duration>',
  label: 'Delay',
  placeholder: 'none',
})
const runAt = about(time, 'The job starts at this time, not before.', {
  flag: '--run-at <time>',
  label: 'Time',
  hint: 'Local time',
})
const deadline = about(timeOrDuration, 'The job is not started after this: a time, or a duration from now.', {
  flag: '--deadline <time>',
})

interface When {
  readonly delay?: unknown
  readonly runAt?: unknown
}

export const twoTimes = (given: When): string | undefined =>
  given.delay !== undefined && given.runAt !== undefined ? 'give delay or runAt, not both' : undefined

type RetrySettings = JobRetryOptions & {
  readonly retry?: PolicyInput | undefined
  readonly maxElapsed?: Duration | undefined
}

/** The policy of one job's settings. */
export function retryOf(given: RetrySettings): PartialPolicy | undefined {
  const { retry, maxRetries, retryDelay, useExponentialBackoff, maxElapsed } = given
  const isShort = maxRetries !== undefined || retryDelay !== undefined || useExponentialBackoff !== undefined
  const named = isShort ? present({ maxRetries, retryDelay, useExponentialBackoff }) : retry
  const level = named === undefined ? undefined : policyLevel(named)
  return maxElapsed === undefined ? level : { ...level, maxElapsed: toMs(maxElapsed, 'maxElapsed') }
}

/** `retry` and the short names set the same settings. */
export function twoPolicies(given: RetrySettings): string | undefined {
  if (given.retry === undefined) return undefined
  const short = SHORT_NAMES.filter(name => given[name] !== undefined)
  return short.length === 0 ? undefined : `give retry or ${short.join(', ')}, not both`
}

/**
 * An open transaction of the caller: a `pg` client on which BEGIN was executed, an adapter for the transaction of another
 * library, or one of `testChronos`. `values` stand for `$1`, `$2`, …; rows are objects, or arrays in the order of the columns.
 */
export interface Transaction {
  query(text: string, values: unknown[]): PromiseLike<{ readonly rows: readonly object[] }>
}

/** The options of an enqueue in the library, REST and the command line. */
export const enqueueOptions = refined(
  quickObject({
    key: about(freeText, 'Idempotency key, per tenant and job name: the same key gives the same job.', {
      flag: '--key <key>',
      label: 'Key',
    }),
    unique: about(freeText, 'At most one waiting or running job per tenant, job name and value.', {
      flag: '--unique <value>',
    }),
    mode: about(
      oneOf(UNIQUE_MODES),
      'What happens if a job with the `unique` value exists: a waiting job takes the new payload (replace), and also starts later (debounce); or the enqueue is refused for a while (throttle).',
      { flag: '--unique-mode <mode>' },
    ),
    for: about(
      atLeast1ms,
      'With mode `debounce`, the job starts this long after the last enqueue. With mode `throttle`, one job is created in this time.',
      { flag: '--unique-for <duration>' },
    ),
    maxWait: about(
      atLeast1ms,
      'With mode `debounce`, the job starts at most this long after the first enqueue. Default 10 times `for`.',
      { flag: '--unique-max-wait <duration>' },
    ),
    delay,
    runAt,
    deadline,
    ...ownSettings,
    tx: inCode<Transaction>("the caller's database transaction, if the store can join one", () => true),
  }),
  given => twoTimes(given) ?? twoPolicies(given) ?? wrongMode(given),
)

export type EnqueueOptions = Infer<typeof enqueueOptions>

/** The fields of a job that can be changed. */
export const jobFields = {
  payload: about(anything, { label: 'Payload', hint: 'JSON' }),
  priority: jobSettings.priority,
  tags: jobSettings.tags,
  timeout: about(nullable(atLeast1ms), 'null: the timeout of the definition.'),
  deadline: about(nullable(timeOrDuration), 'The job is not started after this; null removes the deadline.'),
  retry: about(
    nullable(ownSettings.retry),
    'Takes precedence over the policies of definition, queue and instance; null removes it.',
  ),
  runAt,
  delay,
  queue: about(name, { label: 'Queue' }),
}

/** The changes of a waiting job; absent fields stay unchanged. */
export const jobEdit = refined(object({}, jobFields), given =>
  Object.keys(given).length === 0
    ? `nothing to change; give one of ${Object.keys(jobFields).join(', ')}`
    : twoTimes(given),
)

export type JobChanges = Infer<typeof jobEdit>

/** When a job runs, as checked options say it. */
export function runTimeOf({ delay: after, runAt: at }: Pick<EnqueueOptions, 'delay' | 'runAt'>): RunTime | undefined {
  if (after !== undefined) return { delayMs: toMs(after, 'delay') }
  return at === undefined ? undefined : { at: timeOf(at, 'runAt') }
}

export function deadlineOf(given: Time): RunTime {
  const isTime = typeof given === 'string' ? parseDuration(given) === undefined : given instanceof Date
  return isTime ? { at: timeOf(given, 'deadline') } : { delayMs: toMs(given, 'deadline') }
}
