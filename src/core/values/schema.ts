import { type Duration, type DurationLimits, durationProblem } from './duration.js'
import { ChronosError, type ErrorCode, shown } from './error.js'
import { present } from './present.js'
import { hintFor, type WordHints } from './suggest.js'

/**
 * One description of a value. Its TypeScript type (`Infer`), its check with error sentences (`read`), its JSON Schema
 * (`json-schema.ts`), and the words of its command-line flag and form field are all derived from it.
 *
 * A schema checks a value and keeps it as it was written, because users read their settings back.
 */
export interface Schema<out T = unknown> {
  /** The accepted JSON types; a union selects its member by them. */
  readonly kinds: readonly Kind[]
  /** The accepted values in words: `a whole number from 0 to 9`. */
  readonly expects: string
  /** Returns the checked value or throws `Flaws`. Call `read(schema, …)` instead, which throws a `ChronosError`. */
  readonly check: (value: unknown) => T
  /** Absent for values that exist only in code. */
  readonly json?: (to: Components) => JsonSchema
  /** The value that a text of a query string, a flag or a form field stands for; `check` decides whether it is valid. */
  readonly fromText?: (text: string) => unknown
  /** The control of a form field that the JSON Schema does not imply. Default: a line of text. */
  readonly control?: 'duration' | 'url'
  readonly about: About
}

export type Kind = 'string' | 'number' | 'boolean' | 'null' | 'object' | 'array' | 'other'

/** Words about a value, for documentation, command line and forms. */
export interface About {
  /** Name of the component in the OpenAPI document. */
  readonly name?: string
  readonly description?: string
  readonly example?: unknown
  /** A command-line flag: `--retries <number>`. */
  readonly flag?: string
  /** Label, hint and placeholder of a form field. Without a hint, the description is shown; `''` is no hint. */
  readonly label?: string
  readonly hint?: string
  readonly placeholder?: string
}

export type JsonSchema = Readonly<Record<string, unknown>>
/** Named schemas of a document, filled while it is written. */
export type Components = Record<string, JsonSchema>

export type Infer<S> = S extends Schema<infer T> ? T : never
export type Fields = Readonly<Record<string, Schema>>
export type Simple<T> = { [K in keyof T]: T[K] }
export type Shape<R extends Fields, O extends Fields> = Simple<
  { readonly [K in keyof R]: Infer<R[K]> } & { readonly [K in keyof O]?: Infer<O[K]> }
>

// ---------------------------------------------------------------- reading

/** One error: its place and its message. */
export interface Flaw {
  /** Names and indexes from the top: `['backoff', 'delays', 2]`. */
  readonly path: readonly (string | number)[]
  readonly says: string
  readonly code: ErrorCode | undefined
  /** The last step of the path is an unknown key, so the message names its parent. */
  readonly isKey: boolean
}

/** Thrown while a value is read. Paths are built only when an error is thrown, so valid values cost nothing. */
export class Flaws {
  readonly list: readonly Flaw[]

  constructor(list: readonly Flaw[]) {
    this.list = list
  }
}

export function flaw(says: string, code?: ErrorCode): Flaws {
  return new Flaws([{ path: [], says, code, isKey: false }])
}

/** An error of a part of the value. */
export function flawAt(path: readonly (string | number)[], says: string): Flaws {
  return new Flaws([{ path, says, code: undefined, isKey: false }])
}

export const inside = (key: string | number, { list }: Flaws): readonly Flaw[] =>
  list.map(one => ({ ...one, path: [key, ...one.path] }))

/**
 * The checked value. `where` begins every sentence: with `queues.mail.retry` they read `queues.mail.retry.cap: …`, with a
 * colon at its end (`enqueue "mail":`) they read `enqueue "mail": key: …`.
 */
export function read<T>(schema: Schema<T>, value: unknown, where: string, code: ErrorCode = 'INVALID_OPTION'): T {
  try {
    return schema.check(value)
  } catch (error) {
    throw refusal(error, where, code)
  }
}

/** The checked value, or its errors. */
export function tryRead<T>(
  schema: Schema<T>,
  value: unknown,
): { readonly value: T } | { readonly flaws: readonly Flaw[] } {
  try {
    return { value: schema.check(value) }
  } catch (error) {
    if (error instanceof Flaws) return { flaws: error.list }
    return { flaws: flaw('could not be read; give plain data').list }
  }
}

function refusal(error: unknown, where: string, code: ErrorCode): ChronosError {
  if (error instanceof ChronosError) return error
  // A getter or a proxy of the caller may throw.
  const flaws = error instanceof Flaws ? error.list : flaw('could not be read; give plain data').list
  const first = flaws[0]!
  return new ChronosError(first.code ?? code, sentence(first, where), {
    ...(error instanceof Flaws ? {} : { cause: error }),
    details: { path: first.path, errors: flaws.map(({ path, says }) => ({ path, detail: says })) },
  })
}

function sentence({ path, says, isKey }: Flaw, where: string): string {
  const named = isKey ? path.slice(0, -1) : path
  const steps = named.map(step => (typeof step === 'number' ? `[${step}]` : `.${step}`)).join('')
  const isColon = where.endsWith(':')
  if (steps === '') return `${isColon ? where.slice(0, -1) : where}: ${says}`
  return `${where}${isColon ? ` ${steps.replace(/^\./, '')}` : steps}: ${says}`
}

/** An error of a rule that the schema can't express, in the same form: `path` names the invalid field. */
export function refuse(path: readonly (string | number)[], says: string, where: string, code: ErrorCode): ChronosError {
  return refusal(flawAt(path, says), where, code)
}

/** Parses the texts of a query string, flags or a form. A repeated field is a list. */
export function fromTexts(
  { fields }: { readonly fields: Fields },
  texts: Readonly<Record<string, string | readonly string[]>>,
): Record<string, unknown> {
  const value = (name: string, text: string): unknown =>
    Object.hasOwn(fields, name) ? (fields[name]?.fromText?.(text) ?? text) : text
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [
      name,
      typeof text === 'string' ? value(name, text) : text.flatMap(one => value(name, one)),
    ]),
  )
}

// ---------------------------------------------------------------- words

/** The schema with documentation. A named schema keeps its own; this applies to the field that uses it. */
/* @__NO_SIDE_EFFECTS__ */
export function about<S extends Schema>(schema: S, words: string | About, more: About = {}): S {
  const given: About = typeof words === 'string' ? { description: words, ...more } : words
  if (schema.about.name === undefined) return { ...schema, about: { ...schema.about, ...given } }
  const { name: _, description: _own, example: _example, ...rest } = schema.about
  return { ...schema, about: { ...rest, ...given }, json: (to: Components) => componentOf(schema, to) }
}

/** A component of the OpenAPI document. */
/* @__NO_SIDE_EFFECTS__ */
export function named<S extends Schema>(name: string, schema: S, more: Omit<About, 'name'> = {}): S {
  return { ...schema, about: { ...schema.about, ...more, name } }
}

/** The JSON Schema of a value; named schemas are added to `to` and referenced. */
export function jsonSchema(schema: Schema, to: Components): JsonSchema {
  return schema.about.name === undefined ? withWords(schema, schema.json?.(to) ?? {}) : componentOf(schema, to)
}

function componentOf(schema: Schema, to: Components): JsonSchema {
  const name = schema.about.name!
  if (!Object.hasOwn(to, name)) {
    to[name] = {} // a name that refers to itself ends here
    to[name] = withWords(schema, schema.json?.(to) ?? {})
  }
  return { $ref: `#/components/schemas/${name}` }
}

function withWords({ about: { description, example } }: Schema, json: JsonSchema): JsonSchema {
  return present({ ...json, description, example })
}

/** The schema with another rule, which returns the error of an otherwise valid value (or of a part), or undefined. */
/* @__NO_SIDE_EFFECTS__ */
export function refined<S extends Schema>(schema: S, problemOf: (value: Infer<S>) => string | Flaws | undefined): S {
  const check = (given: unknown): unknown => {
    const kept = schema.check(given) as Infer<S>
    const problem = problemOf(kept)
    if (problem !== undefined) throw typeof problem === 'string' ? flaw(problem) : problem
    return kept
  }
  return { ...schema, check }
}

/** The schema whose errors have this code, unless they have one already. */
/* @__NO_SIDE_EFFECTS__ */
export function coded<S extends Schema>(code: ErrorCode, schema: S): S {
  const check = (given: unknown): unknown => {
    try {
      return schema.check(given)
    } catch (error) {
      if (!(error instanceof Flaws)) throw error
      throw new Flaws(error.list.map(one => ({ ...one, code: one.code ?? code })))
    }
  }
  return { ...schema, check }
}

// ---------------------------------------------------------------- simple values

type Parts<T> = Omit<Schema<T>, 'about'>

/* @__NO_SIDE_EFFECTS__ */
export function schema<T>(parts: Parts<T>): Schema<T> {
  return { ...parts, about: {} }
}

/** A value that a predicate accepts. */
/* @__NO_SIDE_EFFECTS__ */
export function value<T>(
  { json, ...parts }: Omit<Parts<T>, 'check' | 'json'> & { readonly json?: JsonSchema },
  fits: (value: unknown) => boolean,
): Schema<T> {
  const check = (given: unknown): T => {
    if (fits(given)) return given as T
    throw flaw(`expected ${parts.expects}, got ${shown(given)}`)
  }
  return schema<T>({ ...parts, check, ...(json && { json: () => json }) })
}

const asNumber = (text: string): unknown => (/^-?\d{1,15}(\.\d{1,15})?$/.test(text) ? Number(text) : text)

/* @__NO_SIDE_EFFECTS__ */
export function number(min = -Number.MAX_VALUE, max = Number.MAX_VALUE): Schema<number> {
  return numeric(`a number${bounds(min, max)}`, 'number', min, max)
}

/* @__NO_SIDE_EFFECTS__ */
export function integer(min = 0, max = Number.MAX_SAFE_INTEGER): Schema<number> {
  return numeric(`a whole number${bounds(min, max)}`, 'integer', min, max)
}

function bounds(min: number, max: number): string {
  if (max < Number.MAX_SAFE_INTEGER) return ` from ${min} to ${max}`
  return min > -Number.MAX_VALUE ? ` of at least ${min}` : ''
}

function numeric(expects: string, type: 'number' | 'integer', min: number, max: number): Schema<number> {
  return schema({
    kinds: ['number'],
    expects,
    check(given) {
      const isFit = typeof given === 'number' && given >= min && given <= max
      // Adding 0 turns -0 into 0.
      if (isFit && (type === 'number' || Number.isInteger(given))) return given + 0
      throw flaw(`expected ${expects}, got ${shown(given)}`)
    },
    json: () => ({
      type,
      ...(min > -Number.MAX_VALUE && { minimum: min }),
      ...(max < Number.MAX_SAFE_INTEGER && { maximum: max }),
    }),
    fromText: asNumber,
  })
}

export const boolean: Schema<boolean> = value(
  {
    kinds: ['boolean'],
    expects: 'true or false',
    json: { type: 'boolean' },
    fromText: text => (text === 'true' ? true : text === 'false' ? false : text),
  },
  given => typeof given === 'boolean',
)

const LONE_SURROGATE = /\p{Surrogate}/u

/** Text that is only compared or shown. */
/* @__NO_SIDE_EFFECTS__ */
export function text(max: number, min = 1): Schema<string> {
  return value(
    {
      kinds: ['string'],
      expects: `a text of ${min} to ${max} characters`,
      json: { type: 'string', ...(min > 0 && { minLength: min }), maxLength: max },
    },
    given => typeof given === 'string' && given.length >= min && given.length <= max && !LONE_SURROGATE.test(given),
  )
}

/** Any text that Chronos itself wrote. */
export const anyText: Schema<string> = value(
  { kinds: ['string'], expects: 'a text', json: { type: 'string' } },
  given => typeof given === 'string',
)

/** Text that matches a pattern; `expects` describes it in words. */
/* @__NO_SIDE_EFFECTS__ */
export function pattern(max: number, fits: RegExp, expects: string): Schema<string> {
  return value(
    { kinds: ['string'], expects, json: { type: 'string', minLength: 1, maxLength: max } },
    given => typeof given === 'string' && given.length > 0 && given.length <= max && fits.test(given),
  )
}

/** One of some words; `hints` are the ways out for words that belong elsewhere. */
/* @__NO_SIDE_EFFECTS__ */
export function oneOf<const W extends readonly string[]>(words: W, hints?: WordHints): Schema<W[number]> {
  const expects = `one of ${words.map(word => `"${word}"`).join(', ')}`
  return schema<W[number]>({
    kinds: ['string'],
    expects,
    check(given) {
      if (words.includes(given as string)) return given as W[number]
      const hint = typeof given === 'string' ? hintFor(given, words, hints) : undefined
      throw flaw(`expected ${expects}, got ${shown(given)}${hint === undefined ? '' : `; ${hint}`}`)
    },
    json: () => ({ type: 'string', enum: words }),
  })
}

/** Exactly this value. */
/* @__NO_SIDE_EFFECTS__ */
export function literal<const V extends string | number | boolean | null>(only: V): Schema<V> {
  const type = only === null ? 'null' : (typeof only as 'string' | 'number' | 'boolean')
  return value(
    { kinds: [type], expects: shown(only), json: only === null ? { type } : { type, enum: [only] } },
    given => Object.is(given, only),
  )
}

/** Any JSON. */
export const anything: Schema<unknown> = value(
  { kinds: ['string', 'number', 'boolean', 'null', 'object', 'array', 'other'], expects: 'any value', json: {} },
  () => true,
)

/** A value in the caller's code, such as a function. It has no JSON form. */
/* @__NO_SIDE_EFFECTS__ */
export function inCode<T>(expects: string, fits: (value: unknown) => boolean): Schema<T> {
  return value({ kinds: ['other', 'object'], expects }, fits)
}

/** `'30s'` or milliseconds, as it was written. */
/* @__NO_SIDE_EFFECTS__ */
export function duration(limits: DurationLimits = {}): Schema<Duration> {
  return schema<Duration>({
    kinds: ['string', 'number'],
    expects: 'a duration such as "30s" or a number of milliseconds',
    check(given) {
      const problem = durationProblem(given, limits)
      if (problem === undefined) return given as Duration
      throw flaw(problem, 'INVALID_DURATION')
    },
    json: () => ({
      anyOf: [
        { type: 'string', minLength: 1, maxLength: 40 },
        { type: 'number', minimum: limits.min ?? 0 },
      ],
      description: 'A text with a unit (250ms, 30s, 5m, 2h, 7d), or milliseconds.',
      example: '30s',
    }),
    // A number without a unit is milliseconds in code; in text it is ambiguous and refused.
    control: 'duration',
  })
}
