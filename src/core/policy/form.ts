import { budgetInput, circuitInput } from '../dependency/settings.js'
import { DURATION_MAX_MS, toMs } from '../values/duration.js'
import { shown } from '../values/error.js'
import { present } from '../values/present.js'
import {
  about,
  boolean,
  coded,
  duration,
  flaw,
  flawAt,
  type Infer,
  integer,
  named,
  number,
  oneOf,
  pattern,
  read,
  type Schema,
  schema,
} from '../values/schema.js'
import { list, object, union, variants } from '../values/shape.js'
import { suggest } from '../values/suggest.js'
import { MAX_RETRIES, PRESETS, type PresetName } from './presets.js'
import { rules } from './rules.js'

const time = duration()
const milliseconds = integer(0, DURATION_MAX_MS)
const base = about(time, {
  flag: '--base <duration>',
  description: 'the first delay; with fixed, every delay',
  label: 'First delay',
})

const delays = {
  ...list(time, {
    min: 1,
    max: 1_000,
    of: 'delays',
    empty: 'expected at least one delay; for no retries set maxRetries to 0',
  }),
  fromText: (text: string): unknown => text.replace(/^[\s,]+|[\s,]+$/g, '').split(/\s*,\s*|\s+/),
}

export const backoff = named(
  'Backoff',
  variants('type', {
    exponential: object(
      { base },
      {
        factor: about(number(1, 100), {
          flag: '--factor <number>',
          description: 'the growth factor of an exponential backoff',
          label: 'Factor',
        }),
      },
    ),
    linear: object(
      { base },
      {
        increment: about(time, {
          flag: '--increment <duration>',
          description: 'the increment of a linear backoff',
          label: 'Increment',
          placeholder: 'first delay',
        }),
      },
    ),
    fixed: object({ delay: about(base, { label: 'Delay' }) }),
    fibonacci: object({ base }),
    list: object(
      {
        delays: about(delays, {
          flag: '--delays <list>',
          description: 'a list of delays: 30s,60s,120s',
          label: 'Delays',
        }),
      },
      { afterEnd: oneOf(['stop', 'repeat-last']) },
    ),
    custom: object({ name: pattern(200, /^/, 'the name of a backoff function of the worker') }),
  }),
)

const JITTERS = ['none', 'full', 'equal', 'decorrelated'] as const

const jitter = {
  ...union(oneOf(JITTERS), number(0, 1)),
  /** `20%` or `0.2` is ±20 %. */
  fromText(text: string): unknown {
    const percent = /^±?(\d+(?:\.\d+)?)\s*%$/.exec(text.trim())?.[1]
    if (percent !== undefined) return Number(percent) / 100
    return /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : text.trim()
  },
}

/** Whether a run that is lost in a crash uses an attempt. */
export const CRASHES = ['count', 'forgive'] as const

/** The settings of a policy. A new setting is added here and in the code that applies it. */
const REQUIRED = {
  maxRetries: about(integer(0, MAX_RETRIES), {
    flag: '--retries <number>',
    description: 'runs after the first',
    label: 'Retries',
  }),
  backoff,
  jitter: about(jitter, {
    flag: '--jitter <kind>',
    description: '0.2 or 20% for ±20 %, none, full, equal, decorrelated',
    label: 'Jitter',
  }),
}

const OPTIONAL = {
  cap: about(time, {
    flag: '--cap <duration>',
    description: 'the longest delay',
    label: 'Cap',
    hint: 'The longest delay',
    placeholder: '1d',
  }),
  maxElapsed: about(time, {
    flag: '--max-elapsed <duration>',
    description: 'no retry starts later than this after the first run',
    label: 'Max elapsed',
    hint: 'No retry starts later than this after the first run',
    placeholder: 'no limit',
  }),
  crashes: about(oneOf(CRASHES), {
    flag: '--crashes <rule>',
    description: 'count: a run that is lost in a crash uses an attempt (default); forgive: it is free, up to ten times',
    label: 'Crashes',
    hint: 'count: a run that is lost in a crash uses an attempt; forgive: it is free, up to ten times',
    placeholder: 'count',
  }),
  rules: about(rules, 'How failures are classified, before the built-in rules.'),
  retryAfter: about(boolean, 'Whether a `Retry-After` of the called service is honoured. Default true.'),
  circuit: about(circuitInput, 'While their dependency is down, jobs wait and lose no attempt. Off by default.'),
  budget: about(budgetInput, 'Limits retries to a share of first attempts. Off by default.'),
}

/** Other well-known names for the same settings: on a job … */
export const jobRetryOptions = object(
  {},
  {
    maxRetries: REQUIRED.maxRetries,
    retryDelay: about(time, 'The first delay.'),
    useExponentialBackoff: about(boolean, 'false: the same delay every time.'),
  },
)

/** … and on an instance or a worker. */
const simpleRetryOptions = object(
  {},
  {
    maxRetries: REQUIRED.maxRetries,
    baseRetryDelay: time,
    maxRetryDelay: time,
    retryStrategy: oneOf(['exponential', 'linear', 'fixed', 'fibonacci']),
    jitterEnabled: boolean,
    jitterFactor: number(0, 1),
  },
)

/** A third set of names, for the instance; the preset `queue` supplies those that are absent. */
const queueRetryOptions = object(
  {},
  { MaxRetries: REQUIRED.maxRetries, RetryBackoffBaseMS: milliseconds, RetryBackoffMaxMS: milliseconds },
)
const QUEUE_NAMES = Object.keys(queueRetryOptions.fields) as readonly (keyof Written)[]
const OTHER_NAMES = Object.keys({
  backoff,
  cap: time,
  ...jobRetryOptions.fields,
  ...simpleRetryOptions.fields,
}) as readonly (keyof Written)[]

/** Everything that an instance or a worker accepts beside `retry`. */
export const instanceRetryOptions = object({}, { ...simpleRetryOptions.fields, ...queueRetryOptions.fields })

const preset = schema<PresetName>({
  kinds: ['string'],
  expects: 'the name of a preset',
  check(given) {
    const names = Object.keys(PRESETS)
    if (names.includes(given as string)) return given as PresetName
    const near = suggest(String(given), names)
    const wayOut = near === undefined ? `expected one of ${names.join(', ')}` : `did you mean "${near}"?`
    throw flaw(`unknown preset ${shown(given)}; ${wayOut}`)
  },
  json: () => ({ type: 'string', enum: Object.keys(PRESETS) }),
})

const written = object({}, { ...REQUIRED, ...OPTIONAL, ...jobRetryOptions.fields, ...instanceRetryOptions.fields })

export const policy = named('Policy', object(REQUIRED, OPTIONAL))
export const partialPolicy = object({}, { ...REQUIRED, ...OPTIONAL })

/** The checks of a whole policy, which its fields alone can't express; `stored` refuses functions. */
const policyOf = (stored: boolean): Schema<PresetName | Written> =>
  coded('INVALID_POLICY', {
    ...union(preset, written),
    check(given) {
      if (typeof given === 'string') return preset.check(given)
      const kept = written.check(given)
      sayOnce(kept, ['backoff'], ['retryDelay', 'useExponentialBackoff'], ['baseRetryDelay', 'retryStrategy'])
      sayOnce(kept, ['jitter'], ['jitterEnabled', 'jitterFactor'])
      sayOnce(kept, ['cap'], ['maxRetryDelay'])
      checkNames(kept)
      if (stored) checkStorable(kept)
      checkTogether(policyLevel(kept))
      return kept
    },
  })

const POLICY_INPUT = {
  description: 'The name of a preset, a policy or a part of one, or other well-known names for the same settings.',
}
export const policyInput = named('PolicyInput', policyOf(false), POLICY_INPUT)
/** The same without predicates, because functions can't be stored. */
export const storedPolicyInput = named('PolicyInput', policyOf(true), POLICY_INPUT)

export type Backoff = Infer<typeof backoff>
/** A number r between 0 and 1 is ±r of the delay. */
export type Jitter = Infer<typeof jitter>
export type Policy = Infer<typeof policy>
/** The settings of one level (job, definition, queue or instance); the next level supplies missing ones. */
export type PartialPolicy = Partial<Policy>

export interface ParseOptions {
  /** Refuses predicates, because functions can't be stored. Default false. */
  readonly stored?: boolean
}

/**
 * One level's policy: the name of a preset, a whole or partial `Policy`, or the names `retryDelay`, `baseRetryDelay`, …
 * with numbers in milliseconds. `where` names the place in errors: `queues.mail.retry`.
 */
export function parsePolicy(input: unknown, where: string, { stored = false }: ParseOptions = {}): PartialPolicy {
  return policyLevel(read(stored ? storedPolicyInput : policyInput, input, where, 'INVALID_POLICY'))
}

/** The settings of a checked policy under their own names. */
export function policyLevel(given: PresetName | Written): PartialPolicy {
  if (typeof given === 'string') return PRESETS[given]
  const {
    retryDelay,
    useExponentialBackoff,
    baseRetryDelay,
    maxRetryDelay,
    retryStrategy,
    jitterEnabled,
    jitterFactor,
    MaxRetries,
    RetryBackoffBaseMS,
    RetryBackoffMaxMS,
    ...own
  } = given
  const isQueue = QUEUE_NAMES.some(name => given[name] !== undefined)
  return {
    ...(isQueue && PRESETS.queue),
    ...present({
      ...own,
      maxRetries: own.maxRetries ?? MaxRetries,
      backoff: own.backoff ?? simpleBackoff(given),
      jitter: own.jitter ?? simpleJitter(given),
      cap: own.cap ?? maxRetryDelay ?? RetryBackoffMaxMS,
    }),
  }
}

type Written = Infer<typeof written>

/** The same setting under two names is refused, because it is ambiguous. */
function sayOnce(given: Written, ...groups: readonly (readonly (keyof Written)[])[]): void {
  const used = groups.map(group => group.find(key => given[key] !== undefined)).filter(key => key !== undefined)
  if (used.length > 1) throw flaw(`"${used[0]}" and "${used[1]}" say the same thing; keep one of them`)
}

/** Each set of names has its own defaults, so a mixture would be ambiguous. */
function checkNames(given: Written): void {
  const [own, other] = [QUEUE_NAMES, OTHER_NAMES].map(names => names.find(name => given[name] !== undefined))
  if (own === undefined || other === undefined) return
  throw flaw(`give "${own}" or "${other}", not both`)
}

function simpleBackoff({
  retryDelay,
  baseRetryDelay,
  useExponentialBackoff,
  retryStrategy,
  RetryBackoffBaseMS,
}: Written): Backoff | undefined {
  const first = retryDelay ?? baseRetryDelay ?? RetryBackoffBaseMS
  if (first === undefined && useExponentialBackoff === undefined && retryStrategy === undefined) return undefined
  const type = retryStrategy ?? (useExponentialBackoff === false ? 'fixed' : 'exponential')
  return type === 'fixed' ? { type, delay: first ?? '60s' } : { type, base: first ?? '60s' }
}

function simpleJitter({ jitterEnabled, jitterFactor }: Written): Jitter | undefined {
  if (jitterEnabled === false) return 'none'
  return jitterEnabled === undefined ? jitterFactor : (jitterFactor ?? PRESETS.standard.jitter)
}

function checkStorable({ rules: all = [] }: Written): void {
  const index = all.findIndex(({ when }) => when.predicate !== undefined)
  if (index < 0) return
  const wayOut = 'give the rule in the definition of the job, or match by name, code or status'
  throw flawAt(['rules', index, 'when', 'predicate'], `a function can not be stored; ${wayOut}`)
}

/** The settings of one level must be consistent; `mergePolicies` resolves conflicts between levels. */
function checkTogether({ backoff: own, jitter: spread, cap, maxRetries }: PartialPolicy): void {
  if (own === undefined) return
  if (spread === 'decorrelated' && own.type !== 'exponential') {
    throw flawAt(['jitter'], `"decorrelated" needs exponential backoff, got ${own.type}; use "full" or "equal"`)
  }
  if (own.type !== 'list') return
  const count = own.delays.length
  if (maxRetries !== undefined && maxRetries > count && own.afterEnd !== 'repeat-last') {
    const wayOut = `add delays, lower it, or set backoff.afterEnd to "repeat-last"`
    throw flawAt(['maxRetries'], `${maxRetries} retries, but the list has ${count} delays; ${wayOut}`)
  }
  if (cap === undefined) return
  const over = own.delays.findIndex(delay => toMs(delay, 'delay') > toMs(cap, 'cap'))
  if (over < 0) return
  const wayOut = `is over the cap of ${shown(cap)}; raise the cap or shorten the delay`
  throw flawAt(['backoff', 'delays', over], `${shown(own.delays[over])} ${wayOut}`)
}
