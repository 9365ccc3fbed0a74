import type { Classification } from '../job/transition.js'
import type { FailureKind, Rule } from '../policy/policy.js'
import { toMs } from '../values/duration.js'
import { present } from '../values/present.js'
import { knownFailure, RETRY_AFTER_STATUSES, statusFits } from './known-failures.js'
import { retryAfterMs } from './retry-after.js'
import { aggregated, headerOf, type Link, linksOf, property } from './thrown.js'

export interface Classified extends Classification {
  readonly retryAfterMs?: number
  /** See `Outcome`; undefined where the error does not say. */
  readonly maybeExecuted?: boolean
}

/** The number of errors that are examined at most, including those inside an AggregateError. */
const ERRORS_MAX = 1_000
const NESTING_MAX = 10

/**
 * Classifies a failure: the handler's own verdict comes first, then the policy's rules in order, then the built-in
 * table.
 */
export function classify(
  error: unknown,
  rules: readonly Rule[],
  now: number,
  links: readonly Link[] = linksOf(error),
): Classified {
  return classifyWithin(error, links, rules, now, { left: ERRORS_MAX }, NESTING_MAX)
}

interface Budget {
  left: number
}

function classifyWithin(
  error: unknown,
  links: readonly Link[],
  rules: readonly Rule[],
  now: number,
  budget: Budget,
  nesting: number,
): Classified {
  budget.left -= links.length
  const signal = signalOf(links, now)
  if (signal !== undefined) return signal
  const waitMs = retryAfterOf(links, now)
  const judge = (link: Link) => judgeAll(link, rules, now, budget, nesting)
  const known = builtInOf(links, waitMs !== undefined, judge) ?? { kind: 'transient', rule: 'default' }
  // A rule classifies a failure; it can't change whether the request was sent.
  const { maybeExecuted } = known
  const verdict = ruleOf(error, links, rules) ?? known
  if (verdict === known && waitMs === undefined) return known
  return { ...verdict, ...present({ maybeExecuted, retryAfterMs: waitMs }) }
}

/** The `Retry-After` of the response that the error carries. */
function retryAfterOf(links: readonly Link[], now: number): number | undefined {
  const link = links.find(({ status }) => status !== undefined && RETRY_AFTER_STATUSES.includes(status))
  if (link === undefined) return undefined
  // The date comes from the other side's clock, so it is compared with that response's `Date`.
  const date = headerOf(link, 'date')
  const theirNow = typeof date === 'string' ? Date.parse(date) : Number.NaN
  return retryAfterMs(headerOf(link, 'retry-after'), Number.isNaN(theirNow) ? now : theirNow)
}

function signalOf(links: readonly Link[], now: number): Classified | undefined {
  if (links.some(link => link.types.includes('PermanentError'))) {
    return { kind: 'permanent', rule: 'handler: PermanentError' }
  }
  const signal = links.find(link => link.types.includes('RetryAfter'))
  if (signal === undefined) return undefined
  const ms = retryAfterMs(property(signal.value, 'value'), now)
  return { kind: 'throttled', rule: 'handler: RetryAfter', ...present({ retryAfterMs: ms }) }
}

function ruleOf(error: unknown, links: readonly Link[], rules: readonly Rule[]): Classified | undefined {
  for (const [i, rule] of rules.entries()) {
    const words = matched(rule, error, links)
    if (words === undefined) continue
    return {
      kind: rule.as,
      rule: `rule ${i + 1} (${words})`,
      ...(rule.delay !== undefined && { delayMs: toMs(rule.delay, `rules[${i}].delay`) }),
    }
  }
  return undefined
}

/** Describes what the rule matched. Fields must match one error of the chain; a predicate gets the thrown value. */
function matched({ when }: Rule, error: unknown, links: readonly Link[]): string | undefined {
  const words: string[] = []
  if (when.name !== undefined || when.code !== undefined || when.status !== undefined) {
    const fitting = links.map(link => fieldsOf(when, link)).find(found => found !== undefined)
    if (fitting === undefined) return undefined
    words.push(...fitting)
  }
  if (when.predicate !== undefined) {
    if (!says(when.predicate, error)) return undefined
    words.push('predicate')
  }
  // A rule that lost its predicate in serialization has no condition left, and must not match every error.
  return words.length > 0 ? words.join(', ') : undefined
}

function fieldsOf(when: Rule['when'], link: Link): readonly string[] | undefined {
  const words: string[] = []
  if (when.name !== undefined) {
    const name = listed(when.name).find(one => link.types.includes(one))
    if (name === undefined) return undefined
    words.push(`name ${name}`)
  }
  if (when.code !== undefined) {
    if (link.code === undefined || !listed(when.code).includes(link.code)) return undefined
    words.push(`code ${link.code}`)
  }
  if (when.status !== undefined) {
    const matches = typeof when.status === 'object' ? when.status : [when.status]
    if (!matches.some(match => statusFits(match, link.status))) return undefined
    words.push(`status ${link.status}`)
  }
  return words
}

function says(predicate: (error: unknown) => boolean, error: unknown): boolean {
  try {
    // Only `true` counts: the promise of an async predicate is not an answer.
    return predicate(error) === true
  } catch {
    return false
  }
}

/** The outermost error that the table knows decides. */
function builtInOf(
  links: readonly Link[],
  retryAfter: boolean,
  judge: (link: Link) => Classified | undefined,
): Classified | undefined {
  for (const link of links) {
    const known = knownFailure(link, retryAfter)
    const judged = judge(link)
    if (known === undefined && judged === undefined) continue
    const { kind, rule } = known ? { kind: known.kind, rule: `built-in: ${known.word}` } : judged!
    // The errors inside say what happened.
    const maybeExecuted = judged ? judged.maybeExecuted : known?.maybeExecuted
    return { kind, rule, ...present({ maybeExecuted }) }
  }
  return undefined
}

/** An AggregateError is final only if each of its errors is: one that may pass is worth another try. */
function judgeAll(
  link: Link,
  rules: readonly Rule[],
  now: number,
  budget: Budget,
  nesting: number,
): Classified | undefined {
  const errors = aggregated(link)
  if (errors === undefined) return undefined
  const judged = errors.map(error =>
    budget.left > 0 && nesting > 0 ? classifyWithin(error, linksOf(error), rules, now, budget, nesting - 1) : TOO_MANY,
  )
  const kind = judged.every(one => isFinal(one.kind)) ? 'permanent' : 'transient'
  const maybeExecuted = judged.some(one => one.maybeExecuted === true)
    ? true
    : judged.every(one => one.maybeExecuted === false)
      ? false
      : undefined
  return { kind, rule: 'built-in: AggregateError', ...present({ maybeExecuted }) }
}

const TOO_MANY: Classified = { kind: 'transient', rule: 'default' }

/** Whether retrying can't help. */
export function isFinal(kind: FailureKind): kind is Exclude<FailureKind, 'transient' | 'throttled'> {
  return kind !== 'transient' && kind !== 'throttled'
}

function listed(value: string | readonly string[]): readonly string[] {
  return typeof value === 'string' ? [value] : value
}
