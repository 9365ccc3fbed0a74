import { type Signal, signal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { DurationInput, Field, Input, Select, TextArea } from './field.js'
import { type Draft, type FieldLook, type Form, lookOf, type Wrong } from './typed.js'

export function draftOf<T extends object>(values: T): Draft<T> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, signal(value)])) as Draft<T>
}

export function useDraft<T extends object>(values: T): Draft<T> {
  return useMemo(() => draftOf(values), [])
}

/** The typed text without spaces around it; undefined if there is none. */
export const textOf = ({ value }: Signal<string>): string | undefined => value.trim() || undefined

/** A typed list: `mail, reports`. */
export const listOf = (text: string): readonly string[] => text.split(',').flatMap(each => each.trim() || [])

export function wrongOnes(found: Readonly<Record<string, string | undefined>>): Wrong {
  return Object.fromEntries(Object.entries(found).filter((entry): entry is [string, string] => entry[1] !== undefined))
}

/** One field, with what differs from its schema. */
export interface FormField<Name extends string> extends FieldLook {
  readonly name: Name
  /** The height of several lines. */
  readonly rows?: number
  /** The id of a list of suggestions. */
  readonly list?: string
  readonly autoFocus?: boolean | undefined
}

interface FieldsProps<T> extends Form<T> {
  readonly fields: readonly (FormField<keyof T & string> | (keyof T & string) | false)[]
}

/** Fields side by side, as many as there is room for. */
export function Fields<T>({ fields, ...form }: FieldsProps<T>) {
  return (
    <div class="fields">
      {fields.map(field => {
        if (field === false) return field
        const own = typeof field === 'string' ? { name: field } : field
        return <TypedField key={own.name} {...form} {...own} />
      })}
    </div>
  )
}

/** A field of a draft with its label, and its hint or error. */
export function TypedField<T>({ draft, wrong = {}, of = {}, ...own }: Form<T> & FormField<keyof T & string>) {
  const { name } = own
  const schema = of[name]
  const field: FormField<string> = schema ? { ...lookOf(schema), ...own } : own
  return (
    <Field label={field.label ?? name} hint={field.hint} problem={wrong[name] || undefined}>
      <Control value={draft[name] as Signal<string>} field={field} />
    </Field>
  )
}

const TYPES = { text: 'text', code: 'text', url: 'url', number: 'number', time: 'datetime-local' } as const

function Control({ value, field }: { readonly value: Signal<string>; readonly field: FormField<string> }) {
  const { kind = 'text', options, placeholder, rows, min, max, list, autoFocus } = field
  if (options) return <Select value={value} options={options} />
  if (kind === 'duration') return <DurationInput value={value} placeholder={placeholder} />
  if (kind === 'lines') return <TextArea value={value} rows={rows} mono />
  return (
    <Input
      value={value}
      type={TYPES[kind]}
      mono={kind === 'code' || kind === 'url'}
      placeholder={placeholder}
      min={min}
      max={max}
      list={list}
      autoFocus={autoFocus}
    />
  )
}
