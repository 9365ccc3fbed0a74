import { type Signal, signal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { DurationInput, Field, Input, type Option, Select, TextArea } from './field.js'

/** The values of a form as they are typed: a signal for each field. */
export type Draft<T> = { readonly [Name in keyof T]: Signal<T[Name]> }

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

/** The errors by field. An empty error is not shown: a required field has nothing in it yet. */
export type Wrong = Readonly<Record<string, string>>

export function wrongOnes(found: Readonly<Record<string, string | undefined>>): Wrong {
  return Object.fromEntries(Object.entries(found).filter((entry): entry is [string, string] => entry[1] !== undefined))
}

/** One field. The `about` of a schema has the same words. */
export interface FormField<Name extends string> {
  readonly name: Name
  readonly label: string
  readonly hint?: string | undefined
  readonly placeholder?: string | undefined
  /** Default: a line of text. */
  readonly kind?: 'text' | 'code' | 'url' | 'duration' | 'number' | 'time' | 'lines'
  /** The choices of a field that is not typed. */
  readonly options?: readonly (string | Option<string>)[]
  readonly min?: number
  readonly max?: number
  /** The height of several lines. */
  readonly rows?: number
  /** The id of a list of suggestions. */
  readonly list?: string
  readonly autoFocus?: boolean | undefined
}

interface OfForm<T> {
  readonly draft: Draft<T>
  readonly wrong?: Wrong
}

interface FieldsProps<T> extends OfForm<T> {
  readonly fields: readonly (FormField<keyof T & string> | false)[]
}

/** Fields side by side, as many as there is room for. */
export function Fields<T>({ fields, ...form }: FieldsProps<T>) {
  return <div class="fields">{fields.map(field => field && <TypedField key={field.name} {...form} {...field} />)}</div>
}

/** A field of a draft with its label, and its hint or error. */
export function TypedField<T>({ draft, wrong = {}, ...field }: OfForm<T> & FormField<keyof T & string>) {
  const { name, label, hint } = field
  return (
    <Field label={label} hint={hint} problem={wrong[name] || undefined}>
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
