import { type Duration, durationText } from '../values/duration.js'
import { present } from '../values/present.js'
import { oneOf, type Schema } from '../values/schema.js'
import { type Backoff, backoff, type Policy, partialPolicy } from './form.js'
import { jitterLabel } from './jitter.js'

// A policy as flat fields for the command line and forms. Names, texts and parsers come from its schemas.

const { custom: _, ...OFFERED } = backoff.members
/** The kinds of backoff that can be entered in a form; a custom backoff is a function of the worker. */
export type Strategy = keyof typeof OFFERED
export const STRATEGIES = Object.keys(OFFERED) as readonly Strategy[]
export const strategy = oneOf(STRATEGIES)

export interface FlatField {
  /** `--max-elapsed <duration>` is `maxElapsed`. */
  readonly name: string
  readonly schema: Schema
  /** The setting of the policy … */
  readonly setting?: keyof Policy
  /** … or the key in each kind of backoff that has it. */
  readonly keys?: Readonly<Partial<Record<Backoff['type'], string>>>
}

export const flagName = (flag: string): string => flag.replace(/ .*/, '')
const nameOf = (flag: string): string =>
  flagName(flag)
    .slice(2)
    .replace(/-([a-z])/g, (_match, letter: string) => letter.toUpperCase())

export const FLAT_FIELDS: readonly FlatField[] = [...backoffFields(), ...settingFields()]

function backoffFields(): readonly FlatField[] {
  const fields = new Map<string, FlatField>()
  for (const [type, { fields: own }] of Object.entries(OFFERED)) {
    for (const [key, schema] of Object.entries<Schema>(own)) {
      if (schema.about.flag === undefined) continue
      const name = nameOf(schema.about.flag)
      const before = fields.get(name)
      fields.set(name, { name, schema: before?.schema ?? schema, keys: { ...before?.keys, [type]: key } })
    }
  }
  return [...fields.values()]
}

function settingFields(): readonly FlatField[] {
  return Object.entries<Schema>(partialPolicy.fields).flatMap(([setting, schema]) =>
    schema.about.flag === undefined
      ? []
      : [{ name: nameOf(schema.about.flag), schema, setting: setting as keyof Policy }],
  )
}

/** The fields of one kind of backoff, with its labels. */
export function fieldsOf(type: Backoff['type']): readonly FlatField[] {
  const own: Readonly<Record<string, Schema>> = backoff.members[type].fields
  return FLAT_FIELDS.flatMap(field => {
    const key = field.keys?.[type]
    return key === undefined ? [] : [{ ...field, schema: own[key]! }]
  })
}

const BASE_DEFAULT: Duration = '60s'

/** The fields as input of `parsePolicy`. Missing fields of the backoff are taken `from` the current one. */
export function fromFlat(values: Readonly<Record<string, unknown>>, from: Backoff): Readonly<Record<string, unknown>> {
  const settings = FLAT_FIELDS.flatMap(({ name, setting }) => (setting ? [[setting, values[name]] as const] : []))
  return present({ ...Object.fromEntries(settings), backoff: backoffFrom(values, from) })
}

function backoffFrom(values: Readonly<Record<string, unknown>>, from: Backoff): object | undefined {
  const isNamed = FLAT_FIELDS.some(({ name, keys }) => keys && values[name] !== undefined)
  if (values['strategy'] === undefined && !isNamed) return undefined
  const type = (values['strategy'] ?? (values['delays'] === undefined ? from.type : 'list')) as Backoff['type']
  const before = from as unknown as Readonly<Record<string, unknown>>
  const own = fieldsOf(type).map(({ name, keys = {} }) => {
    const earlier = before[keys[from.type] ?? '']
    return [keys[type]!, values[name] ?? earlier ?? (name === 'base' ? BASE_DEFAULT : undefined)] as const
  })
  const made = present({ ...(type === from.type && before), type, ...Object.fromEntries(own) }) as Record<
    string,
    unknown
  >
  const { delays } = made
  // There is no field for `afterEnd`: more retries than delays repeat the last delay.
  const isLonger = Array.isArray(delays) && Number(values['retries'] ?? 0) > delays.length
  return isLonger ? { ...made, afterEnd: 'repeat-last' } : made
}

/** The fields of a policy as text; an absent setting is an empty text. */
export function toFlat(policy: Policy): Readonly<Record<string, string>> {
  const from = policy.backoff as unknown as Readonly<Record<string, unknown>>
  return Object.fromEntries(
    FLAT_FIELDS.map(field => {
      const { name, setting, keys } = field
      return [name, textOf(setting ? policy[setting] : from[keys?.[policy.backoff.type] ?? ''], field)]
    }),
  )
}

function textOf(value: unknown, field: FlatField): string {
  if (value === undefined) return ''
  if (Array.isArray(value)) return value.map(one => textOf(one, field)).join(', ')
  if (typeof value !== 'number') return String(value)
  if (field.setting === 'jitter') return jitterLabel(value).replace(/[± ]/g, '')
  // Only durations accept both numbers and text.
  return field.schema.kinds.includes('number') && !field.schema.kinds.includes('string')
    ? String(value)
    : String(durationText(value))
}
