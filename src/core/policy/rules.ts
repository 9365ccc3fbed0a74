import { shown } from '../values/error.js'
import { about, duration, flaw, type Infer, inCode, named, oneOf, refined, schema, text } from '../values/schema.js'
import { list, object, union } from '../values/shape.js'

const RULES_MAX = 100
const VALUES_MAX = 100
const WORD_MAX = 200

/** A status, a class of statuses, or both ends of a range. */
export type StatusMatch = number | `${1 | 2 | 3 | 4 | 5}xx` | readonly [from: number, to: number]

export function isStatus(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 100 && (value as number) <= 599
}

const CLASS = /^[1-5]xx$/

/** A status from 100 to 599 or a class such as `4xx`. */
export const status = schema<Exclude<StatusMatch, readonly unknown[]>>({
  kinds: ['number', 'string'],
  expects: 'a status from 100 to 599, "4xx" or a range such as [[500, 503]]',
  check(given) {
    if (isStatus(given) || (typeof given === 'string' && CLASS.test(given))) return given as number
    throw flaw(`expected ${status.expects}, got ${shown(given)}`)
  },
  json: () => ({
    anyOf: [
      { type: 'integer', minimum: 100, maximum: 599 },
      { type: 'string', pattern: CLASS.source },
    ],
  }),
})

const range = schema<readonly [number, number]>({
  kinds: ['array'],
  expects: 'a range of statuses such as [500, 503]',
  check(given) {
    const [from, to] = given as readonly unknown[]
    if ((given as readonly unknown[]).length === 2 && isStatus(from) && isStatus(to) && from <= to) return [from, to]
    throw flaw(`expected ${range.expects}`)
  },
  json: () => ({ type: 'array', items: { type: 'integer', minimum: 100, maximum: 599 }, minItems: 2, maxItems: 2 }),
})

const listed = list(union(status, range), {
  min: 1,
  max: VALUES_MAX,
  of: 'statuses',
  empty: 'expected a list such as [200, "3xx", [500, 504]], got an empty one',
})

/** `[200, '3xx', [500, 504]]` */
export const statuses = refined(listed, given => {
  const [from, to] = given
  // Servers do not return x99, so this is a range in place of a list.
  return given.length === 2 && isStatus(from) && isStatus(to) && to % 100 === 99
    ? `a list of statuses, or a range in a list: [[${from}, ${to}]]`
    : undefined
})

const word = text(WORD_MAX)
const words = union(word, list(word, { min: 1, max: VALUES_MAX, of: 'values' }))

const when = refined(
  object(
    {},
    {
      name: about(words, 'Names of errors.'),
      code: about(words, 'Codes of errors.'),
      status: about(union(status, statuses), 'HTTP statuses; a range stands in a list: `[[500, 599]]`.'),
      predicate: inCode<(error: unknown) => boolean>('a function', given => typeof given === 'function'),
    },
  ),
  given =>
    Object.keys(given).length === 0
      ? 'expected a name, code, status or predicate; a rule for everything is refused'
      : undefined,
)

/** All given fields must match; a field matches if any of its values does. */
export const rule = named(
  'Rule',
  object(
    {
      when,
      as: oneOf(['transient', 'throttled', 'permanent', 'gone', 'blocked']),
    },
    { delay: about(duration(), 'Replaces the computed backoff for this failure; capped and jittered like it.') },
  ),
)

export const rules = list(rule, { max: RULES_MAX, of: 'rules' })
export type Rule = Infer<typeof rule>
