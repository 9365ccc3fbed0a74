import { Signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { createContext } from 'preact'
import { useContext, useId } from 'preact/hooks'
import { parseDuration } from '../../../core/values/duration.js'
import { duration } from '../../data/format.js'
import { query, setQuery } from '../../shell/router.js'

interface FieldIds {
  readonly id: string
  readonly describedBy: string | undefined
  readonly isWrong: boolean
}

const Ids = createContext<FieldIds | undefined>(undefined)

export interface FieldProps {
  readonly label: ComponentChildren
  readonly hint?: ComponentChildren | undefined
  readonly problem?: string | undefined
  readonly children: ComponentChildren
}

/** A label, a control, and a hint or an error. The control inside connects to the label by context. */
export function Field({ label, hint, problem, children }: FieldProps) {
  const id = useId()
  const says = problem ?? hint
  return (
    <div class={`field${problem === undefined ? '' : ' wrong'}`}>
      <label for={id}>{label}</label>
      <Ids.Provider
        value={{ id, describedBy: says === undefined ? undefined : `${id}-says`, isWrong: problem !== undefined }}
      >
        {children}
      </Ids.Provider>
      {says !== undefined && (
        <p class="says" id={`${id}-says`} role={problem === undefined ? undefined : 'alert'}>
          {says}
        </p>
      )}
    </div>
  )
}

function useControl() {
  const ids = useContext(Ids)
  return { id: ids?.id, 'aria-describedby': ids?.describedBy, 'aria-invalid': ids?.isWrong || undefined }
}

export interface InputProps {
  readonly value: Signal<string>
  readonly type?: 'text' | 'search' | 'password' | 'number' | 'url' | 'datetime-local' | undefined
  readonly placeholder?: string | undefined
  readonly inputMode?: 'numeric' | 'decimal' | 'text' | 'url' | undefined
  readonly disabled?: boolean | undefined
  readonly mono?: boolean | undefined
  readonly autoFocus?: boolean | undefined
  /** The accessible name outside a `Field`. */
  readonly label?: string | undefined
  readonly list?: string | undefined
  readonly min?: number | undefined
  readonly max?: number | undefined
  readonly autoComplete?: string | undefined
  readonly onInput?: ((value: string) => void) | undefined
}

export function Input({ value, label, mono, autoFocus = false, onInput, type = 'text', ...rest }: InputProps) {
  const control = useControl()
  return (
    <input
      {...control}
      {...rest}
      type={type as 'text'}
      class={`input${mono ? ' mono' : ''}`}
      aria-label={label}
      spellcheck={false}
      // A dialog focuses it by this attribute …
      autofocus={autoFocus}
      ref={element => {
        // … and on a page it is focused once, when it is mounted.
        if (!autoFocus || !element || element.dataset['seen'] !== undefined) return
        element.dataset['seen'] = ''
        element.focus()
      }}
      value={value.value}
      onInput={event => {
        value.value = event.currentTarget.value
        onInput?.(value.value)
      }}
    />
  )
}

export interface TextAreaProps {
  readonly value: Signal<string>
  readonly rows?: number | undefined
  readonly mono?: boolean | undefined
  readonly placeholder?: string | undefined
  readonly label?: string | undefined
  readonly disabled?: boolean | undefined
}

export function TextArea({ value, rows = 4, mono, label, ...rest }: TextAreaProps) {
  return (
    <textarea
      {...useControl()}
      {...rest}
      class={`input${mono ? ' mono' : ''}`}
      rows={rows}
      aria-label={label}
      spellcheck={false}
      value={value.value}
      onInput={event => {
        value.value = event.currentTarget.value
      }}
    />
  )
}

/** What a control shows and sets: a signal, or a value with `onChange`. */
interface Bound<T> {
  readonly value: T | Signal<T>
  readonly onChange?: ((value: T) => void) | undefined
}

function bound<T>({ value, onChange }: Bound<T>): readonly [value: T, set: (value: T) => void] {
  if (!(value instanceof Signal)) return [value, next => onChange?.(next)]
  return [
    value.value,
    next => {
      value.value = next
      onChange?.(next)
    },
  ]
}

export interface Option<T extends string> {
  readonly value: T
  readonly text: string
}

export interface SelectProps<T extends string> extends Bound<T> {
  readonly options: readonly (T | Option<T>)[]
  readonly label?: string | undefined
}

export function Select<T extends string>({ options, label, ...props }: SelectProps<T>) {
  const [value, set] = bound(props)
  return (
    <select
      {...useControl()}
      class="input select"
      aria-label={label}
      value={value}
      onChange={event => set(event.currentTarget.value as T)}
    >
      {options.map(optionOf).map(({ value: each, text }) => (
        <option key={each} value={each} selected={each === value}>
          {text}
        </option>
      ))}
    </select>
  )
}

function optionOf<T extends string>(option: T | Option<T>): Option<T> {
  return typeof option === 'string' ? { value: option, text: option } : option
}

export function Segmented<T extends string>({ options, label, ...props }: SelectProps<T>) {
  const [value, set] = bound(props)
  const name = useId()
  return (
    <fieldset class="segmented" aria-label={label}>
      {options.map(optionOf).map(({ value: each, text }) => (
        <label key={each}>
          <input type="radio" name={name} value={each} checked={each === value} onChange={() => set(each)} />
          <span>{text}</span>
        </label>
      ))}
    </fieldset>
  )
}

interface UrlChoiceProps<T extends string> {
  readonly label: string
  readonly name: string
  /** The first one is the default, and not in the URL. */
  readonly options: readonly Option<T>[]
}

/** The option that the URL names. */
export function chosenIn<T extends string, O extends Option<T>>(name: string, options: readonly O[]): O {
  return options.find(({ value }) => value === query.value[name]) ?? options[0]!
}

/** A choice that is kept in the URL. Another choice begins at the first page. */
export function UrlChoice<T extends string>({ label, name, options }: UrlChoiceProps<T>) {
  const { value } = chosenIn(name, options)
  const set = (next: T): void => setQuery({ [name]: next === options[0]?.value ? undefined : next, cursor: undefined })
  return <Segmented label={label} value={value} options={options} onChange={set} />
}

export interface ToggleProps extends Bound<boolean> {
  readonly label: ComponentChildren
}

export function Toggle({ label, ...props }: ToggleProps) {
  const [isOn, set] = bound(props)
  return (
    <label class="toggle">
      <input
        type="checkbox"
        role="switch"
        checked={isOn}
        aria-checked={isOn}
        onChange={event => set(event.currentTarget.checked)}
      />
      <span class="track" aria-hidden="true" />
      <span>{label}</span>
    </label>
  )
}

export function Checkbox({ label, ...props }: ToggleProps) {
  const [isOn, set] = bound(props)
  return (
    <label class="checkbox">
      <input type="checkbox" checked={isOn} onChange={event => set(event.currentTarget.checked)} />
      <span>{label}</span>
    </label>
  )
}

export interface DurationInputProps {
  readonly value: Signal<string>
  readonly placeholder?: string | undefined
}

/** An input for a duration such as `30s` that shows the parsed value. */
export function DurationInput({ value, placeholder = '30s' }: DurationInputProps) {
  const ms = parseDuration(value.value.trim())
  const words = value.value.trim() === '' ? '' : ms === undefined ? 'a number with ms, s, m, h or d' : duration(ms)
  return (
    <span class="duration-input">
      <Input value={value} placeholder={placeholder} mono />
      <span class={ms === undefined ? 'dead' : 'muted'} aria-hidden="true">
        {words}
      </span>
    </span>
  )
}
