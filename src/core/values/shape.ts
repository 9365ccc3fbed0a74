import { shown } from './error.js'
import { isPlainObject } from './json.js'
import {
  type Components,
  type Fields,
  type Flaw,
  Flaws,
  flaw,
  type Infer,
  inside,
  type JsonSchema,
  jsonSchema,
  type Kind,
  literal,
  type Schema,
  type Shape,
  type Simple,
  schema,
  tryRead,
} from './schema.js'
import { suggest } from './suggest.js'

// Schemas made of schemas: objects, lists, records, unions and variants.

type NoFields = Readonly<Record<never, never>>

export interface ObjectSchema<R extends Fields = Fields, O extends Fields = Fields> extends Schema<Shape<R, O>> {
  readonly required: R
  readonly optional: O
  /** All of them. */
  readonly fields: Simple<R & O>
}

const FORBIDDEN: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

/** `{ … }` with these fields and no others. Absent and undefined are the same. */
export function object<R extends Fields>(required: R): ObjectSchema<R, NoFields>
export function object<R extends Fields, O extends Fields>(required: R, optional: O): ObjectSchema<R, O>
/* @__NO_SIDE_EFFECTS__ */
export function object(required: Fields, optional: Fields = {}): ObjectSchema {
  return objectOf(required, optional, { additionalProperties: false })
}

/** The same for a hot path: symbols and hidden keys are ignored, because listing them takes longer than the checks. */
/* @__NO_SIDE_EFFECTS__ */
export function quickObject<O extends Fields>(optional: O): ObjectSchema<NoFields, O> {
  return objectOf({}, optional, { additionalProperties: false }, Object.keys)
}

/** An object in a response. Its JSON Schema allows more fields, because a later version may add some. */
export function view<R extends Fields>(required: R): ObjectSchema<R, NoFields>
export function view<R extends Fields, O extends Fields>(required: R, optional: O): ObjectSchema<R, O>
/* @__NO_SIDE_EFFECTS__ */
export function view(required: Fields, optional: Fields = {}): ObjectSchema {
  return objectOf(required, optional, {})
}

function objectOf<R extends Fields, O extends Fields>(
  required: R,
  optional: O,
  more: JsonSchema,
  keysOf: (given: object) => readonly (string | symbol)[] = Reflect.ownKeys,
): ObjectSchema<R, O> {
  const fields: Fields = { ...required, ...optional }
  const byName = new Map(Object.entries(fields))
  const needed = Object.keys(required)
  const own = schema<Shape<R, O>>({
    kinds: ['object'],
    expects: 'an object',
    check(given) {
      if (!isPlainObject(given)) throw notPlain(given)
      const kept: Record<string, unknown> = {}
      let flaws: Flaw[] | undefined
      for (const key of keysOf(given)) {
        const field = byName.get(key as string)
        try {
          if (field === undefined) throw unknownKey(key, byName)
          const one = given[key as string]
          if (one === undefined) continue
          if (one === null && !field.kinds.includes('null')) throw flaw('got null; leave it out instead')
          kept[key as string] = field.check(one)
        } catch (error) {
          flaws = [...(flaws ?? []), ...flawsIn(key as string, error)]
        }
      }
      for (const key of needed) {
        if (key in kept || flaws?.some(({ path }) => path[0] === key)) continue
        try {
          kept[key] = byName.get(key)!.check(undefined)
        } catch (error) {
          // The code is about an invalid value; this one is missing.
          flaws = [...(flaws ?? []), ...flawsIn(key, error).map(one => ({ ...one, code: undefined }))]
        }
      }
      if (flaws) throw new Flaws(flaws)
      return kept as Shape<R, O>
    },
    json: to => ({
      type: 'object',
      properties: properties(fields, to),
      ...(needed.length > 0 && { required: needed }),
      ...more,
    }),
  })
  return { ...own, required, optional, fields: fields as Simple<R & O> }
}

function notPlain(given: unknown): Flaws {
  const isInstance = typeof given === 'object' && given !== null && !Array.isArray(given)
  return flaw(
    `expected ${isInstance ? 'a plain object, got an instance of a class' : `an object, got ${shown(given)}`}`,
  )
}

function flawsIn(key: string | number, error: unknown): readonly Flaw[] {
  if (error instanceof Flaws) return inside(key, error)
  throw error
}

function properties(fields: Fields, to: Components): JsonSchema {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, field]) => (field.json ? [[name, jsonSchema(field, to)]] : [])),
  )
}

function unknownKey(key: string | symbol, fields: ReadonlyMap<string, Schema>): Flaws {
  if (typeof key === 'symbol' || FORBIDDEN.has(key)) {
    return new Flaws([
      { path: [], says: `the key ${shown(key)} is not allowed; remove it`, code: undefined, isKey: true },
    ])
  }
  const names = [...fields.keys()]
  const near = suggest(key, names)
  const wayOut =
    near !== undefined
      ? `did you mean "${near}"?`
      : names.length > 0
        ? `expected one of ${names.join(', ')}`
        : 'remove it'
  return new Flaws([{ path: [], says: `unknown key ${shown(key)}; ${wayOut}`, code: undefined, isKey: true }])
}

/** The same fields, none of them required. */
/* @__NO_SIDE_EFFECTS__ */
export function partial<R extends Fields, O extends Fields>({
  required,
  optional,
}: ObjectSchema<R, O>): ObjectSchema<NoFields, R & O> {
  return object({}, { ...required, ...optional })
}

/** Without some fields. */
/* @__NO_SIDE_EFFECTS__ */
export function omit<R extends Fields, O extends Fields, K extends keyof R | keyof O>(
  { required, optional }: ObjectSchema<R, O>,
  ...names: readonly K[]
): ObjectSchema<Simple<Omit<R, K>>, Simple<Omit<O, K>>> {
  const without = (fields: Fields): Fields =>
    Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name as K)))
  return object(without(required), without(optional)) as never
}

export interface ListOptions {
  readonly min?: number
  readonly max: number
  /** The name of its items in messages: `rules`. */
  readonly of: string
  /** The message for an empty list. */
  readonly empty?: string
}

/* @__NO_SIDE_EFFECTS__ */
export function list<T>(item: Schema<T>, { min = 0, max, of, empty }: ListOptions): Schema<readonly T[]> {
  const expects = `a list of ${of}`
  return schema<readonly T[]>({
    kinds: ['array'],
    expects,
    check(given) {
      if (!Array.isArray(given)) throw flaw(`expected ${expects}, got ${shown(given)}`)
      if (given.length === 0 && min > 0 && empty !== undefined) throw flaw(empty)
      if (given.length < min) throw flaw(`expected at least ${min} ${of}, got ${given.length}`)
      if (given.length > max) throw flaw(`expected at most ${max} ${of}, got ${given.length}`)
      let flaws: Flaw[] | undefined
      const kept: T[] = []
      for (let index = 0; index < given.length; index++) {
        try {
          kept.push(item.check(given[index]))
        } catch (error) {
          flaws = [...(flaws ?? []), ...flawsIn(index, error)]
        }
      }
      if (flaws) throw new Flaws(flaws)
      return kept
    },
    json: to => ({
      type: 'array',
      items: jsonSchema(item, to),
      ...(min > 0 && { minItems: min }),
      ...(max < Number.MAX_SAFE_INTEGER && { maxItems: max }),
    }),
    fromText: given =>
      given
        .split(',')
        .map(part => part.trim())
        .filter(part => part !== '')
        .map(part => item.fromText?.(part) ?? part),
  })
}

/** A list of any length in a response. */
/* @__NO_SIDE_EFFECTS__ */
export function listOf<T>(item: Schema<T>): Schema<readonly T[]> {
  return list(item, { max: Number.MAX_SAFE_INTEGER, of: 'values' })
}

/** Exactly two values. */
/* @__NO_SIDE_EFFECTS__ */
export function pair<T>(item: Schema<T>, expects: string): Schema<readonly [T, T]> {
  return schema<readonly [T, T]>({
    kinds: ['array'],
    expects,
    check(given) {
      if (Array.isArray(given) && given.length === 2) return [item.check(given[0]), item.check(given[1])]
      throw flaw(`expected ${expects}, got ${shown(given)}`)
    },
    json: to => ({ type: 'array', items: jsonSchema(item, to), minItems: 2, maxItems: 2 }),
  })
}

/** An object with arbitrary keys. */
/* @__NO_SIDE_EFFECTS__ */
export function record<T>(
  item: Schema<T>,
  { max = Number.MAX_SAFE_INTEGER, of = 'values' }: { readonly max?: number; readonly of?: string } = {},
): Schema<Readonly<Record<string, T>>> {
  const expects = `an object of ${of}`
  return schema<Readonly<Record<string, T>>>({
    kinds: ['object'],
    expects,
    check(given) {
      if (!isPlainObject(given)) throw flaw(`expected ${expects}, got ${shown(given)}`)
      const keys = Object.keys(given)
      if (keys.length > max) throw flaw(`expected at most ${max} ${of}, got ${keys.length}`)
      const kept: Record<string, T> = {}
      for (const key of keys) {
        try {
          if (FORBIDDEN.has(key)) throw flaw(`the key ${shown(key)} is not allowed; remove it`)
          kept[key] = item.check(given[key])
        } catch (error) {
          throw new Flaws(flawsIn(key, error))
        }
      }
      return kept
    },
    json: to => ({ type: 'object', additionalProperties: jsonSchema(item, to) }),
  })
}

/** One of several schemas, selected by the type of the value; if several match, the first valid one. */
/* @__NO_SIDE_EFFECTS__ */
export function union<S extends readonly Schema[]>(...members: S): Schema<Infer<S[number]>> {
  const expects = members.map(member => member.expects).join(', or ')
  return schema<Infer<S[number]>>({
    kinds: [...new Set(members.flatMap(member => member.kinds))],
    expects,
    check(given) {
      const kind = kindOf(given)
      const candidates = members.filter(member => member.kinds.includes(kind))
      const [only] = candidates
      if (only && candidates.length === 1) {
        return (kind === 'string' ? checkAs(only, expects, given) : only.check(given)) as Infer<S[number]>
      }
      for (const member of candidates) {
        try {
          return member.check(given) as Infer<S[number]>
        } catch (error) {
          if (!(error instanceof Flaws)) throw error
        }
      }
      throw flaw(`expected ${expects}, got ${shown(given)}`)
    },
    json: to => ({ anyOf: members.map(member => jsonSchema(member, to)) }),
    fromText: given => {
      const texts = members.map(member => member.fromText?.(given)).filter(one => one !== undefined)
      return texts.find(one => one !== given) ?? given
    },
  })
}

/** One of several views, each with a literal in the field `tag` that tells which one it is. */
/* @__NO_SIDE_EFFECTS__ */
export function tagged<S extends readonly ObjectSchema[]>(tag: string, ...members: S): Schema<Infer<S[number]>> {
  const expects = 'an object'
  return schema<Infer<S[number]>>({
    kinds: ['object'],
    expects,
    check(given) {
      if (!isPlainObject(given)) throw notPlain(given)
      const own = members.find(({ fields }) => 'value' in tryRead(fields[tag]!, given[tag]))
      return (own ?? members[0]!).check(given) as Infer<S[number]>
    },
    json: to => {
      const refs = members.map(member => jsonSchema(member, to))
      const names = members.map(({ fields }) => (jsonSchema(fields[tag]!, to) as { enum: [string] }).enum[0])
      const mapping = Object.fromEntries(refs.map(({ $ref }, i) => [names[i]!, $ref]))
      return { oneOf: refs, discriminator: { propertyName: tag, mapping } }
    },
  })
}

/** The message for an invalid text also names what the other members of the union accept. */
function checkAs(member: Schema, expects: string, given: unknown): unknown {
  try {
    return member.check(given)
  } catch (error) {
    if (!(error instanceof Flaws)) throw error
    const own = `expected ${member.expects}`
    throw new Flaws(
      error.list.map(one =>
        one.path.length === 0 && one.says.startsWith(own)
          ? { ...one, says: `expected ${expects}${one.says.slice(own.length)}` }
          : one,
      ),
    )
  }
}

/** The value or null. */
/* @__NO_SIDE_EFFECTS__ */
export function nullable<T>(member: Schema<T>): Schema<T | null> {
  return union(member, literal(null))
}

function kindOf(given: unknown): Kind {
  if (given === null) return 'null'
  if (Array.isArray(given)) return 'array'
  const type = typeof given
  return type === 'string' || type === 'number' || type === 'boolean' || type === 'object' ? type : 'other'
}

type Members = Readonly<Record<string, ObjectSchema>>
type Variant<Tag extends string, M extends Members> = {
  [K in keyof M & string]: Simple<{ readonly [T in Tag]: K } & Infer<M[K]>>
}[keyof M & string]

export interface VariantsSchema<Tag extends string, M extends Members> extends Schema<Variant<Tag, M>> {
  readonly members: M
}

/** Objects with a discriminating field: `{ type: 'fixed', … }`. */
/* @__NO_SIDE_EFFECTS__ */
export function variants<Tag extends string, M extends Members>(tag: Tag, members: M): VariantsSchema<Tag, M> {
  const whole = Object.fromEntries(
    Object.entries(members).map(([name, { required, optional }]) => [
      name,
      object({ [tag]: literal(name), ...required }, optional),
    ]),
  )
  const every = new Map(Object.values(whole).flatMap(({ fields }) => Object.entries(fields)))
  const names = Object.keys(members)
  const own = schema<Variant<Tag, M>>({
    kinds: ['object'],
    expects: 'an object',
    check(given) {
      if (!isPlainObject(given)) throw notPlain(given)
      const name = given[tag]
      if (typeof name === 'string' && Object.hasOwn(whole, name)) return whole[name]!.check(given) as Variant<Tag, M>
      const stray = Reflect.ownKeys(given).find(key => !every.has(key as string))
      if (name === undefined && stray !== undefined) throw new Flaws(inside(stray as string, unknownKey(stray, every)))
      const near = typeof name === 'string' ? suggest(name, names) : undefined
      const list = names.map(one => `"${one}"`).join(', ')
      const hint = near === undefined ? '' : `; did you mean "${near}"?`
      throw new Flaws(inside(tag, flaw(`expected one of ${list}, got ${shown(name)}${hint}`)))
    },
    json: to => ({ anyOf: Object.values(whole).map(member => jsonSchema(member, to)) }),
  })
  return { ...own, members }
}
