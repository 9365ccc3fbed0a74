import type { Duration } from '../values/duration.js'
import { read } from '../values/schema.js'
import { object } from '../values/shape.js'
import { backoff, type PartialPolicy, parsePolicy, partialPolicy } from './form.js'

type Shared = Omit<PartialPolicy, 'backoff'>

const { backoff: _, ...SHARED } = partialPolicy.fields
const BASE_DEFAULT: Duration = '60s'

/** base, base · 2, base · 4, … */
export function exponential(
  options: Shared & { readonly base?: Duration; readonly factor?: number } = {},
): PartialPolicy {
  return build('exponential', options, { base: BASE_DEFAULT })
}

/** base, base + increment, base + 2 · increment, …; the increment is the base unless given. */
export function linear(
  options: Shared & { readonly base?: Duration; readonly increment?: Duration } = {},
): PartialPolicy {
  return build('linear', options, { base: BASE_DEFAULT })
}

/** The same delay every time. */
export function fixed(options: Shared & { readonly delay?: Duration } = {}): PartialPolicy {
  return build('fixed', options, { delay: BASE_DEFAULT })
}

/** base · 1, 1, 2, 3, 5, … */
export function fibonacci(options: Shared & { readonly base?: Duration } = {}): PartialPolicy {
  return build('fibonacci', options, { base: BASE_DEFAULT })
}

/** Exactly these delays, unless `jitter` is given; as many retries as delays, unless `maxRetries` says otherwise. */
export function list(
  delays: readonly Duration[],
  options: Shared & { readonly afterEnd?: 'stop' | 'repeat-last' } = {},
): PartialPolicy {
  return build('list', options, { delays })
}

function build(
  type: keyof typeof backoff.members,
  options: Shared,
  given: Readonly<Record<string, unknown>>,
): PartialPolicy {
  const { fields } = backoff.members[type]
  const own = Object.fromEntries(Object.entries(fields).filter(([key]) => key !== 'delays'))
  const chosen = read(object({}, { ...SHARED, ...own }), options, type, 'INVALID_POLICY') as Record<string, unknown>
  const part = (isOwn: boolean) => Object.fromEntries(Object.entries(chosen).filter(([key]) => key in own === isOwn))
  // A definition's policy lives in code, so predicates are allowed here; `enqueue` refuses them itself.
  return parsePolicy({ ...part(false), backoff: { type, ...given, ...part(true) } }, type)
}
