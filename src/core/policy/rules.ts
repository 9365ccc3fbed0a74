import { type Duration, toMs } from '../values/duration.js'
import { ChronosError, shown } from '../values/error.js'
import { readForm } from '../values/options-reader.js'
import type { FailureKind, Rule, StatusMatch } from './policy.js'

const KINDS: readonly FailureKind[] = ['transient', 'throttled', 'permanent', 'gone', 'blocked']
const RULES_MAX = 100
const VALUES_MAX = 100
const WORD_MAX = 200

export function parseRules(input: unknown, where: string, stored: boolean): readonly Rule[] {
  if (!Array.isArray(input)) throw invalid(where, `expected a list of rules, got ${shown(input)}`)
  if (input.length > RULES_MAX) throw invalid(where, `expected at most ${RULES_MAX} rules, got ${input.length}`)
  return Array.from(input, (rule, i) => ruleOf(rule, `${where}[${i}]`, stored))
}

function ruleOf(input: unknown, where: string, stored: boolean): Rule {
  const form = readForm(input, where, ['when', 'as', 'delay'], 'INVALID_POLICY')
  const as = KINDS.find(kind => kind === form.get('as'))
  if (as === undefined)
    throw invalid(`${where}.as`, `expected one of ${KINDS.join(', ')}, got ${shown(form.get('as'))}`)
  const when = whenOf(form.get('when'), `${where}.when`, stored)
  const delay = form.get('delay')
  if (delay === undefined) return { when, as }
  toMs(delay, `${where}.delay`)
  return { when, as, delay: delay as Duration }
}

function whenOf(input: unknown, where: string, stored: boolean): Rule['when'] {
  const form = readForm(input, where, ['name', 'code', 'status', 'predicate'], 'INVALID_POLICY')
  if (form.size === 0)
    throw invalid(where, 'expected a name, code, status or predicate; a rule for everything is refused')
  const name = form.get('name')
  const code = form.get('code')
  const status = form.get('status')
  const predicate = form.get('predicate')
  return {
    ...(name !== undefined && { name: wordsOf(name, `${where}.name`) }),
    ...(code !== undefined && { code: wordsOf(code, `${where}.code`) }),
    ...(status !== undefined && { status: statusesOf(status, `${where}.status`) }),
    ...(predicate !== undefined && { predicate: predicateOf(predicate, `${where}.predicate`, stored) }),
  }
}

function predicateOf(value: unknown, where: string, stored: boolean): (error: unknown) => boolean {
  if (typeof value !== 'function') throw invalid(where, `expected a function, got ${shown(value)}`)
  if (stored) {
    throw invalid(
      where,
      'a function can not be stored; give the rule in the definition of the job, or match by name, code or status',
    )
  }
  return value as (error: unknown) => boolean
}

function wordsOf(value: unknown, where: string): string | readonly string[] {
  if (Array.isArray(value)) return listOf(value, where).map((word, i) => wordOf(word, `${where}[${i}]`))
  return wordOf(value, where)
}

function wordOf(value: unknown, where: string): string {
  if (typeof value === 'string' && value.length > 0 && value.length <= WORD_MAX) return value
  throw invalid(where, `expected text of 1 to ${WORD_MAX} characters, got ${shown(value)}`)
}

function statusesOf(value: unknown, where: string): NonNullable<Rule['when']['status']> {
  if (!Array.isArray(value)) return statusOf(value, where)
  const list = listOf(value, where)
  // No server answers x99, so this is a range that somebody put where lists go.
  if (list.length === 2 && isStatus(list[0]) && isStatus(list[1]) && list[1] % 100 === 99) {
    throw invalid(where, `a list of statuses, or a range in a list: [[${list[0]}, ${list[1]}]]`)
  }
  return list.map((one, i) => (Array.isArray(one) ? rangeOf(one, `${where}[${i}]`) : statusOf(one, `${where}[${i}]`)))
}

function statusOf(value: unknown, where: string): Exclude<StatusMatch, readonly unknown[]> {
  if (isStatus(value)) return value
  if (typeof value === 'string' && /^[1-5]xx$/.test(value)) return value as `${1 | 2 | 3 | 4 | 5}xx`
  throw invalid(where, `expected a status from 100 to 599, "4xx" or a range such as [[500, 503]], got ${shown(value)}`)
}

function rangeOf(value: readonly unknown[], where: string): readonly [number, number] {
  const [from, to] = value
  if (value.length === 2 && isStatus(from) && isStatus(to) && from <= to) return [from, to]
  throw invalid(where, 'expected a range of statuses such as [500, 503]')
}

export function isStatus(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 100 && (value as number) <= 599
}

function listOf(value: readonly unknown[], where: string): readonly unknown[] {
  if (value.length > 0 && value.length <= VALUES_MAX) return Array.from(value)
  throw invalid(where, `expected 1 to ${VALUES_MAX} values, got ${value.length}`)
}

function invalid(what: string, problem: string): ChronosError {
  return new ChronosError('INVALID_POLICY', `${what}: ${problem}`, { details: { what } })
}
