import { toMs } from './duration.js'
import type { Classification } from './lifecycle.js'
import type { FailureKind, Rule, StatusMatch } from './policy.js'
import { retryAfterMs } from './retry-after.js'
import { aggregated, type Link, linksOf, property } from './thrown.js'

export interface Classified extends Classification {
  readonly retryAfterMs?: number
  /** See `Outcome`; undefined where the error does not tell. */
  readonly maybeExecuted?: boolean
}

/** All given fields must fit one error of the chain. */
interface BuiltIn {
  readonly types?: readonly string[]
  readonly codes?: readonly string[]
  readonly statuses?: readonly StatusMatch[]
  readonly as: FailureKind
  readonly maybeExecuted?: boolean
}

/** What is known of errors without being told. The outermost error that a row fits decides; then the first row. */
const BUILT_IN: readonly BuiltIn[] = [
  {
    types: ['ValidationError', 'NotFoundError', 'UnauthorizedError', 'ForbiddenError', 'SyntaxError'],
    as: 'permanent',
  },
  { types: ['ChronosError'], codes: ['INVALID_PAYLOAD', 'EFFECT_UNKNOWN'], as: 'permanent' },
  { statuses: [400, 401, 403, 404, 410, 422], as: 'permanent' },
  { statuses: [429], as: 'throttled' },
  { statuses: [408, 425, '5xx'], as: 'transient' },
]

/** An AggregateError may hold others; more than this many in all are not looked at. */
const ERRORS_MAX = 1_000
const NESTING_MAX = 10

/** What a failure is taken for. First what the handler said itself, then the rules in order, then what is built in. */
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
  return (
    signalOf(links, now) ??
    ruleOf(error, links, rules) ??
    builtInOf(links, link => judgeAll(link, rules, now, budget, nesting)) ?? { kind: 'transient', rule: 'default' }
  )
}

function signalOf(links: readonly Link[], now: number): Classified | undefined {
  if (links.some(link => link.types.includes('PermanentError'))) {
    return { kind: 'permanent', rule: 'handler: PermanentError' }
  }
  const signal = links.find(link => link.types.includes('RetryAfter'))
  if (signal === undefined) return undefined
  const ms = retryAfterMs(property(signal.value, 'value'), now)
  return { kind: 'throttled', rule: 'handler: RetryAfter', ...(ms !== undefined && { retryAfterMs: ms }) }
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

/** In words what the rule matched. Fields look for one error of the chain; a predicate sees what was thrown. */
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
  // A rule whose predicate got lost on the way says nothing, so it must not match everything.
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
    // Strictly: a promise from an async predicate is no answer.
    return predicate(error) === true
  } catch {
    return false
  }
}

function builtInOf(links: readonly Link[], judge: (link: Link) => Classified | undefined): Classified | undefined {
  for (const link of links) {
    const row = BUILT_IN.find(candidate => rowFits(candidate, link))
    if (row !== undefined) {
      const { as: kind, maybeExecuted } = row
      return { kind, rule: `built-in: ${rowWord(row, link)}`, ...(maybeExecuted !== undefined && { maybeExecuted }) }
    }
    const judged = judge(link)
    if (judged !== undefined) return judged
  }
  return undefined
}

function rowFits(row: BuiltIn, link: Link): boolean {
  if (row.types !== undefined && !row.types.some(type => link.types.includes(type))) return false
  if (row.codes !== undefined && (link.code === undefined || !row.codes.includes(link.code))) return false
  return row.statuses === undefined || row.statuses.some(match => statusFits(match, link.status))
}

function rowWord(row: BuiltIn, link: Link): string {
  if (row.codes !== undefined) return link.code!
  return row.types?.find(type => link.types.includes(type)) ?? `HTTP ${link.status}`
}

/** Several errors at once are final only when each of them is: one that may pass is worth another try. */
function judgeAll(
  link: Link,
  rules: readonly Rule[],
  now: number,
  budget: Budget,
  nesting: number,
): Classified | undefined {
  const errors = aggregated(link)
  if (errors === undefined) return undefined
  const hopeless = errors.every(
    error =>
      budget.left > 0 &&
      nesting > 0 &&
      isFinal(classifyWithin(error, linksOf(error), rules, now, budget, nesting - 1).kind),
  )
  return hopeless
    ? { kind: 'permanent', rule: 'built-in: AggregateError' }
    : { kind: 'transient', rule: 'built-in: AggregateError' }
}

/** Whether no retry will help. */
export function isFinal(kind: FailureKind): kind is 'permanent' | 'gone' | 'blocked' {
  return kind === 'permanent' || kind === 'gone' || kind === 'blocked'
}

function statusFits(match: StatusMatch, status: number | undefined): boolean {
  if (status === undefined) return false
  if (typeof match === 'number') return match === status
  if (typeof match === 'string') return Number(match[0]) === Math.floor(status / 100)
  return match[0] <= status && status <= match[1]
}

function listed(value: string | readonly string[]): readonly string[] {
  return typeof value === 'string' ? [value] : value
}
