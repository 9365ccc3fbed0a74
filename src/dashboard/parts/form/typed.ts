import type { Signal } from '@preact/signals'
import { type Fields, type Flaw, type Infer, type Schema, tryRead } from '../../../core/values/schema.js'
import type { ObjectSchema } from '../../../core/values/shape.js'
import { isoOf } from '../../data/format.js'
import type { Option } from './field.js'

/** The values of a form as they are typed: a signal for each field. */
export type Draft<T> = { readonly [Name in keyof T]: Signal<T[Name]> }

/** The errors by field. An empty error is not shown: a required field has nothing in it yet. */
export type Wrong = Readonly<Record<string, string>>

/** How a form shows a field: what its schema says, unless the form knows better. */
export interface FieldLook {
  readonly label?: string | undefined
  readonly hint?: string | undefined
  readonly placeholder?: string | undefined
  /** Default: a line of text. */
  readonly kind?: 'text' | 'code' | 'url' | 'duration' | 'number' | 'time' | 'lines' | undefined
  /** The choices of a field that is not typed. */
  readonly options?: readonly (string | Option<string>)[] | undefined
  readonly min?: number | undefined
  readonly max?: number | undefined
}

/** The label, hint, placeholder, control and limits that follow from a schema. */
export function lookOf({ about, control, json }: Schema): FieldLook {
  const { label, hint, description, placeholder } = about
  const { type, format, minimum, maximum, enum: options } = (json?.({}) ?? {}) as ControlFacts
  const isNumber = type === 'integer' || type === 'number'
  return {
    label,
    hint: (hint ?? description?.replaceAll('`', '').replace(/\.$/, '')) || undefined,
    placeholder,
    kind: control ?? (format === 'date-time' ? 'time' : isNumber ? 'number' : undefined),
    options,
    min: minimum,
    max: maximum,
  }
}

interface ControlFacts {
  readonly type?: string
  readonly format?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly enum?: readonly string[]
}

/** The values of the typed fields as their schemas read them. An empty field has none. */
export function valuesIn<T>(fields: Fields, draft: Draft<T>): Record<string, unknown> {
  const typed = Object.entries<Signal<unknown>>(draft).flatMap(([name, { value }]) => {
    const field = fields[name]
    const read = field && (typeof value === 'string' ? readText(field, value.trim()) : value)
    return read === undefined ? [] : [[name, read]]
  })
  return Object.fromEntries(typed)
}

function readText(field: Schema, text: string): unknown {
  if (text === '') return undefined
  return (lookOf(field).kind === 'time' ? isoOf(text) : field.fromText?.(text)) ?? text
}

type Path = Flaw['path']

/** The errors of a body by field; `fieldOf` finds the field that a path is about. */
export function wrongIn(schema: Schema, body: unknown, fieldOf = ([first = '']: Path): string => `${first}`): Wrong {
  const found = tryRead(schema, body)
  if ('value' in found) return {}
  const at = (path: Path): unknown =>
    path.reduce<unknown>((part, step) => (part as Readonly<Record<string, unknown>> | undefined)?.[step], body)
  return Object.fromEntries(found.flaws.map(({ path, says }) => [fieldOf(path), at(path) ? sentence(says) : '']))
}

/** The field already shows the value that an error begins with. */
export function sentence(says: string): string {
  const text = says.replace(/^"[^"]*": /, '')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** A form with its schema: what is typed, what it means, and what is wrong with it. */
export interface Form<T> {
  readonly draft: Draft<T>
  readonly wrong?: Wrong
  /** The schemas of its fields. */
  readonly of?: Fields
}

/** `more` has the values that are not typed into a field of the same name. */
export function formOf<S extends ObjectSchema, T>(
  schema: S,
  draft: Draft<T>,
  more: Readonly<Record<string, unknown>> = {},
) {
  const body = { ...valuesIn(schema.fields, draft), ...more } as Infer<S>
  const wrong = wrongIn(schema, body)
  return { draft, wrong, of: schema.fields, body, isReady: Object.keys(wrong).length === 0 }
}
