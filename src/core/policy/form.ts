import { parseBudget, parseCircuit } from '../dependency/settings.js'
import { type Duration, toMs } from '../values/duration.js'
import { ChronosError, shown } from '../values/error.js'
import { type Form, readForm, suggest } from '../values/options-reader.js'
import type { Backoff, Jitter, PartialPolicy, Rule } from './policy.js'
import { isPresetName, PRESETS } from './presets.js'
import { parseRules } from './rules.js'

const KEYS = [
  'maxRetries',
  'backoff',
  'jitter',
  'cap',
  'maxElapsed',
  'rules',
  'retryAfter',
  'circuit',
  'budget',
] as const
/** Other people's names for the same things: on a job, and on an instance or a worker. */
const JOB_KEYS = ['retryDelay', 'useExponentialBackoff'] as const
const INSTANCE_KEYS = ['baseRetryDelay', 'maxRetryDelay', 'retryStrategy', 'jitterEnabled', 'jitterFactor'] as const
const ALL_KEYS: readonly string[] = [...KEYS, ...JOB_KEYS, ...INSTANCE_KEYS]

const BACKOFF_KEYS: Readonly<Record<Backoff['type'], readonly string[]>> = {
  exponential: ['type', 'base', 'factor'],
  linear: ['type', 'base', 'increment'],
  fixed: ['type', 'delay'],
  fibonacci: ['type', 'base'],
  list: ['type', 'delays', 'afterEnd'],
  custom: ['type', 'name'],
}
const TYPES = Object.keys(BACKOFF_KEYS) as readonly Backoff['type'][]
const STRATEGIES = ['exponential', 'linear', 'fixed', 'fibonacci'] as const
const JITTERS = ['none', 'full', 'equal', 'decorrelated'] as const

/** No policy retries for ever. */
export const MAX_RETRIES = 1_000
const FACTOR_MAX = 100
const DELAYS_MAX = 1_000
const NAME_MAX = 200

export interface ParseOptions {
  /** It will be stored, where functions can't go: a predicate is refused. Default false. */
  readonly stored?: boolean
}

/**
 * One level's policy from whatever somebody wrote: a preset's name, a whole or partial `Policy`, or the names
 * `retryDelay`, `baseRetryDelay`, … with numbers in milliseconds. `where` names the place in errors: `queues.mail.retry`.
 */
export function parsePolicy(input: unknown, where: string, options: ParseOptions = {}): PartialPolicy {
  try {
    if (typeof input === 'string') return presetOf(input, where)
    return policyOf(readForm(input, where, ALL_KEYS, 'INVALID_POLICY'), where, options.stored ?? false)
  } catch (error) {
    if (error instanceof ChronosError) throw error
    // A getter or a proxy of the caller's that throws.
    throw new ChronosError('INVALID_POLICY', `${where}: could not be read; give plain data`, { cause: error })
  }
}

function presetOf(name: string, where: string): PartialPolicy {
  if (isPresetName(name)) return PRESETS[name]
  const names = Object.keys(PRESETS)
  const near = suggest(name, names)
  const wayOut = near === undefined ? `expected one of ${names.join(', ')}` : `did you mean "${near}"?`
  throw invalid(where, `unknown preset ${shown(name)}; ${wayOut}`)
}

function policyOf(form: Form, where: string, stored: boolean): PartialPolicy {
  sayOnce(form, where, ['backoff'], ['retryDelay', 'useExponentialBackoff'], ['baseRetryDelay', 'retryStrategy'])
  sayOnce(form, where, ['jitter'], ['jitterEnabled', 'jitterFactor'])
  sayOnce(form, where, ['cap'], ['maxRetryDelay'])
  const maxRetries = optional(form, 'maxRetries', value => integer(value, `${where}.maxRetries`, 0, MAX_RETRIES))
  const backoff = optional(form, 'backoff', value => backoffOf(value, `${where}.backoff`)) ?? simpleBackoff(form, where)
  const jitter = optional(form, 'jitter', value => jitterOf(value, `${where}.jitter`)) ?? simpleJitter(form, where)
  const capKey = form.has('cap') ? 'cap' : 'maxRetryDelay'
  const cap = optional(form, capKey, value => duration(value, `${where}.${capKey}`))
  const maxElapsed = optional(form, 'maxElapsed', value => duration(value, `${where}.maxElapsed`))
  const rules: readonly Rule[] | undefined = optional(form, 'rules', value =>
    parseRules(value, `${where}.rules`, stored),
  )
  const retryAfter = optional(form, 'retryAfter', value => boolean(value, `${where}.retryAfter`))
  const circuit = optional(form, 'circuit', value => parseCircuit(value, `${where}.circuit`))
  const budget = optional(form, 'budget', value => parseBudget(value, `${where}.budget`))
  const policy: PartialPolicy = {
    ...(maxRetries !== undefined && { maxRetries }),
    ...(backoff !== undefined && { backoff }),
    ...(jitter !== undefined && { jitter }),
    ...(cap !== undefined && { cap }),
    ...(maxElapsed !== undefined && { maxElapsed }),
    ...(rules !== undefined && { rules }),
    ...(retryAfter !== undefined && { retryAfter }),
    ...(circuit !== undefined && { circuit }),
    ...(budget !== undefined && { budget }),
  }
  checkTogether(policy, where)
  return policy
}

/** The same thing under two names is a mistake: nobody knows which one was meant. */
function sayOnce(form: Form, where: string, ...groups: readonly (readonly string[])[]): void {
  const used = groups.map(group => group.find(key => form.has(key))).filter(key => key !== undefined)
  if (used.length > 1) throw invalid(where, `"${used[0]}" and "${used[1]}" say the same thing; keep one of them`)
}

function backoffOf(input: unknown, where: string): Backoff {
  const every = [...new Set(Object.values(BACKOFF_KEYS).flat())]
  const type = oneOf(readForm(input, where, every, 'INVALID_POLICY').get('type'), `${where}.type`, TYPES)
  const form = readForm(input, where, BACKOFF_KEYS[type], 'INVALID_POLICY')
  const time = (key: string) => duration(form.get(key), `${where}.${key}`)
  switch (type) {
    case 'exponential': {
      const factor = optional(form, 'factor', value => number(value, `${where}.factor`, 1, FACTOR_MAX))
      return { type, base: time('base'), ...(factor !== undefined && { factor }) }
    }
    case 'linear': {
      const increment = optional(form, 'increment', () => time('increment'))
      return { type, base: time('base'), ...(increment !== undefined && { increment }) }
    }
    case 'fixed':
      return { type, delay: time('delay') }
    case 'fibonacci':
      return { type, base: time('base') }
    case 'list': {
      const ends = ['stop', 'repeat-last'] as const
      const afterEnd = optional(form, 'afterEnd', value => oneOf(value, `${where}.afterEnd`, ends))
      return {
        type,
        delays: delaysOf(form.get('delays'), `${where}.delays`),
        ...(afterEnd !== undefined && { afterEnd }),
      }
    }
    case 'custom': {
      const name = form.get('name')
      if (typeof name === 'string' && name.length > 0 && name.length <= NAME_MAX) return { type, name }
      throw invalid(`${where}.name`, `expected the name of a backoff function of the worker, got ${shown(name)}`)
    }
  }
}

function delaysOf(input: unknown, where: string): readonly Duration[] {
  if (!Array.isArray(input)) throw invalid(where, `expected a list such as ["30s", "60s"], got ${shown(input)}`)
  if (input.length === 0) throw invalid(where, 'expected at least one delay; for no retries set maxRetries to 0')
  if (input.length > DELAYS_MAX) throw invalid(where, `expected at most ${DELAYS_MAX} delays, got ${input.length}`)
  return Array.from(input, (delay, i) => duration(delay, `${where}[${i}]`))
}

function simpleBackoff(form: Form, where: string): Backoff | undefined {
  const delayKey = form.has('retryDelay') ? 'retryDelay' : 'baseRetryDelay'
  const base = optional(form, delayKey, value => duration(value, `${where}.${delayKey}`))
  const doubling = optional(form, 'useExponentialBackoff', value => boolean(value, `${where}.useExponentialBackoff`))
  const named = optional(form, 'retryStrategy', value => oneOf(value, `${where}.retryStrategy`, STRATEGIES))
  if (base === undefined && doubling === undefined && named === undefined) return undefined
  const strategy = named ?? (doubling === false ? 'fixed' : 'exponential')
  const time = base ?? '60s'
  return strategy === 'fixed' ? { type: strategy, delay: time } : { type: strategy, base: time }
}

function jitterOf(value: unknown, where: string): Jitter {
  return typeof value === 'number' ? number(value, where, 0, 1) : oneOf(value, where, JITTERS, 'a number from 0 to 1')
}

function simpleJitter(form: Form, where: string): Jitter | undefined {
  const enabled = optional(form, 'jitterEnabled', value => boolean(value, `${where}.jitterEnabled`))
  const factor = optional(form, 'jitterFactor', value => number(value, `${where}.jitterFactor`, 0, 1))
  if (enabled === false) return 'none'
  return enabled === undefined ? factor : (factor ?? PRESETS.standard.jitter)
}

/** What one level says must make sense as a whole; between levels `mergePolicies` finds the sane reading. */
function checkTogether({ backoff, jitter, cap, maxRetries }: PartialPolicy, where: string): void {
  if (backoff === undefined) return
  if (jitter === 'decorrelated' && backoff.type !== 'exponential') {
    throw invalid(
      `${where}.jitter`,
      `"decorrelated" needs exponential backoff, got ${backoff.type}; use "full" or "equal"`,
    )
  }
  if (backoff.type !== 'list') return
  const { delays, afterEnd } = backoff
  if (maxRetries !== undefined && maxRetries > delays.length && afterEnd !== 'repeat-last') {
    const wayOut = `add delays, lower it, or set backoff.afterEnd to "repeat-last"`
    throw invalid(`${where}.maxRetries`, `${maxRetries} retries, but the list has ${delays.length} delays; ${wayOut}`)
  }
  if (cap === undefined) return
  const ceiling = toMs(cap, `${where}.cap`)
  const over = delays.findIndex(delay => toMs(delay, `${where}.backoff.delays`) > ceiling)
  if (over >= 0) {
    const what = `${where}.backoff.delays[${over}]`
    throw invalid(what, `${shown(delays[over])} is over the cap of ${shown(cap)}; raise the cap or shorten the delay`)
  }
}

function optional<T>(form: Form, key: string, read: (value: unknown) => T): T | undefined {
  return form.has(key) ? read(form.get(key)) : undefined
}

/** Kept as it was written: people read policies back. */
function duration(value: unknown, what: string): Duration {
  toMs(value, what)
  return value as Duration
}

function integer(value: unknown, what: string, min: number, max: number): number {
  if (Number.isInteger(value)) return number(value, what, min, max)
  throw invalid(what, `expected a whole number from ${min} to ${max}, got ${shown(value)}`)
}

function number(value: unknown, what: string, min: number, max: number): number {
  // Adding 0 turns -0 into 0.
  if (typeof value === 'number' && value >= min && value <= max) return value + 0
  throw invalid(what, `expected a number from ${min} to ${max}, got ${shown(value)}`)
}

function boolean(value: unknown, what: string): boolean {
  if (typeof value === 'boolean') return value
  throw invalid(what, `expected true or false, got ${shown(value)}`)
}

function oneOf<T extends string>(value: unknown, what: string, allowed: readonly T[], or?: string): T {
  const found = allowed.find(one => one === value)
  if (found !== undefined) return found
  const near = typeof value === 'string' ? suggest(value, allowed) : undefined
  const names = allowed.map(one => `"${one}"`).join(', ')
  const hint = near === undefined ? '' : `; did you mean "${near}"?`
  throw invalid(
    what,
    `expected ${or === undefined ? 'one of' : `${or}, or one of`} ${names}, got ${shown(value)}${hint}`,
  )
}

function invalid(what: string, problem: string): ChronosError {
  return new ChronosError('INVALID_POLICY', `${what}: ${problem}`, { details: { what } })
}
