import type { Duration } from '../values/duration.js'
import { readForm } from '../values/options-reader.js'
import { parsePolicy } from './form.js'
import type { Backoff, PartialPolicy } from './policy.js'

type Shared = Omit<PartialPolicy, 'backoff'>

const SHARED = ['maxRetries', 'jitter', 'cap', 'maxElapsed', 'rules', 'retryAfter', 'circuit', 'budget']
const BASE_DEFAULT: Duration = '60s'

/** base, base · 2, base · 4, … */
export function exponential(
  options: Shared & { readonly base?: Duration; readonly factor?: number } = {},
): PartialPolicy {
  return build('exponential', options, ['base', 'factor'], { base: BASE_DEFAULT })
}

/** base, base + increment, base + 2 · increment, …; the increment is the base unless given. */
export function linear(
  options: Shared & { readonly base?: Duration; readonly increment?: Duration } = {},
): PartialPolicy {
  return build('linear', options, ['base', 'increment'], { base: BASE_DEFAULT })
}

/** The same delay every time. */
export function fixed(options: Shared & { readonly delay?: Duration } = {}): PartialPolicy {
  return build('fixed', options, ['delay'], { delay: BASE_DEFAULT })
}

/** base · 1, 1, 2, 3, 5, … */
export function fibonacci(options: Shared & { readonly base?: Duration } = {}): PartialPolicy {
  return build('fibonacci', options, ['base'], { base: BASE_DEFAULT })
}

/** Exactly these delays; as many retries as delays, unless `maxRetries` says otherwise. */
export function list(
  delays: readonly Duration[],
  options: Shared & { readonly afterEnd?: 'stop' | 'repeat-last' } = {},
): PartialPolicy {
  return build('list', options, ['afterEnd'], { delays })
}

function build(
  type: Backoff['type'],
  options: Shared,
  keys: readonly string[],
  given: Readonly<Record<string, unknown>>,
): PartialPolicy {
  const form = readForm(options, type, [...SHARED, ...keys], 'INVALID_POLICY')
  const own = Object.fromEntries([...form].filter(([key]) => keys.includes(key)))
  const shared = Object.fromEntries([...form].filter(([key]) => SHARED.includes(key)))
  // A definition's policy lives in code, so predicates are welcome here; `enqueue` refuses them itself.
  return parsePolicy({ ...shared, backoff: { type, ...given, ...own } }, type)
}
