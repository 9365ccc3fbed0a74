import { durationProblem } from './duration.js'
import { ChronosError, shown } from './error.js'
import { duration, flaw, integer, jsonSchema, type Schema, schema, value } from './schema.js'

/** A point in time: a Date, an RFC 3339 text or epoch milliseconds. */
export type Time = Date | string | number

const EXPECTS = 'a Date, a time such as "2026-12-24T18:00:00Z" or epoch milliseconds'

/** RFC 3339, and the longer years that `toISOString` writes. `Date.parse` alone accepts texts such as "5". */
const RFC_3339 = /^(?:\d{4}|[+-]\d{6})-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i

/** The times that a Date can hold lie between minus and plus this. */
const EPOCH_MS_MAX = 8.64e15

function epochMs(given: unknown): number | undefined {
  const at = given instanceof Date ? given.getTime() : typeof given === 'string' ? parsedMs(given) : given
  return Number.isInteger(at) && Math.abs(at as number) <= EPOCH_MS_MAX ? (at as number) : undefined
}

function parsedMs(text: string): number | undefined {
  return RFC_3339.test(text) ? Date.parse(text.toUpperCase()) : undefined
}

export function timeOf(given: Time, what: string): number {
  const at = epochMs(given)
  if (at !== undefined) return at
  throw new ChronosError('INVALID_OPTION', `${what}: expected ${EXPECTS}, got ${shown(given)}`)
}

export const time: Schema<Time> = schema<Time>({
  kinds: ['string', 'number', 'object'],
  expects: EXPECTS,
  check(given) {
    if (epochMs(given) !== undefined) return given as Time
    throw flaw(`expected ${EXPECTS}, got ${shown(given)}`)
  },
  json: () => ({ type: 'string', format: 'date-time', example: '2026-11-16T09:00:00.000Z' }),
})

/** A time in a response: RFC 3339 in UTC with milliseconds. */
export const timestamp: Schema<string> = value(
  {
    kinds: ['string'],
    expects: EXPECTS,
    json: { type: 'string', format: 'date-time', example: '2026-11-16T09:00:00.000Z' },
  },
  given => typeof given === 'string' && /^[+-]?\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(given),
)

/** A stored time in epoch milliseconds; negative before 1970. */
export const epochMilliseconds: Schema<number> = integer(-EPOCH_MS_MAX, EPOCH_MS_MAX)

/** A duration from now, of at least a millisecond, or a time. A number is milliseconds from now. */
export const timeOrDuration: Schema<Time> = schema<Time>({
  kinds: ['string', 'number', 'object'],
  expects: 'a duration such as "30s", a Date or a time such as "2026-12-24T18:00:00Z"',
  check(given) {
    if (given instanceof Date || (typeof given === 'string' && /^\d{4}-\d\d-\d\d/.test(given))) return time.check(given)
    const problem = durationProblem(given, { min: 1 })
    if (problem !== undefined) throw flaw(problem, 'INVALID_DURATION')
    return given as Time
  },
  json: to => ({ anyOf: [jsonSchema(time, to), jsonSchema(duration({ min: 1 }), to)] }),
})
