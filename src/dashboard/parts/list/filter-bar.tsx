import { useSignal } from '@preact/signals'
import { useId, useRef } from 'preact/hooks'
import { type FilterToken, typedFilter } from '../../data/filter.js'
import { useKeys } from '../../shell/keys.js'
import { query, setQuery } from '../../shell/router.js'
import { Icon } from '../icon.js'

export interface FilterBarProps {
  readonly tokens: readonly FilterToken[]
  readonly placeholder?: string | undefined
  /** The accessible name: `Filter jobs`. */
  readonly label: string
}

interface Suggestion {
  readonly text: string
  readonly hint: string
  /** A complete filter, not only its name. */
  readonly isWhole: boolean
}

/** How many values of a filter are suggested; the names of all filters are listed. */
const SUGGESTED_MAX = 9

/** Filters such as `state:dead queue:mail`, kept in the URL. Other text is a text search (`q`). */
export function FilterBar({ tokens, placeholder = 'Filter: state:dead queue:mail …', label }: FilterBarProps) {
  const typing = useTyping(tokens)
  const { text, at, isOpen, input, set, free, suggestions } = typing
  const listId = useId()
  const isSet = set.length > 0 || free !== ''
  return (
    <div class="filter-bar">
      <Icon name="search" class="muted" />
      {set.map(({ name }) => (
        <Chip key={name} name={name} value={query.value[name]!} />
      ))}
      {free !== '' && <Chip name="q" value={free} />}
      <input
        ref={input}
        type="text"
        role="combobox"
        aria-label={label}
        aria-expanded={suggestions.length > 0}
        aria-controls={listId}
        aria-activedescendant={at.value >= 0 ? `${listId}-${at.value}` : undefined}
        aria-autocomplete="list"
        autocomplete="off"
        spellcheck={false}
        placeholder={isSet ? '' : placeholder}
        value={text.value}
        onInput={event => {
          text.value = event.currentTarget.value
          at.value = -1
          isOpen.value = true
        }}
        onFocus={() => (isOpen.value = true)}
        onBlur={() => (isOpen.value = false)}
        onKeyDown={typing.onKey}
      />
      {isSet && (
        <button type="button" class="clear" onClick={() => setQuery(cleared(tokens))}>
          Clear
        </button>
      )}
      <div class="suggestions" role="listbox" id={listId} aria-label="Suggestions" hidden={suggestions.length === 0}>
        {suggestions.map((suggestion, i) => (
          <div
            key={suggestion.text}
            id={`${listId}-${i}`}
            role="option"
            tabIndex={-1}
            aria-selected={i === at.value}
            onMouseDown={event => {
              // Runs before the input loses the focus.
              event.preventDefault()
              typing.take(suggestion)
            }}
          >
            <code>{suggestion.text}</code>
            <span class="muted">{suggestion.hint}</span>
          </div>
        ))}
      </div>
    </div>
  )
}

/** The typed text, its suggestions and the keyboard handling. */
function useTyping(tokens: readonly FilterToken[]) {
  const text = useSignal('')
  const at = useSignal(-1)
  const isOpen = useSignal(false)
  const input = useRef<HTMLInputElement>(null)
  useKeys([{ keys: '/', does: 'Filter', group: 'Lists', run: () => input.current?.focus() }])
  const set = tokens.filter(({ name }) => query.value[name])
  const free = query.value['q'] ?? ''
  const suggestions = isOpen.value ? suggest(text.value, tokens) : []

  const apply = (typed: string): void => {
    setQuery({ ...typedFilter(typed, tokens), cursor: undefined })
    text.value = ''
    at.value = -1
  }
  const take = ({ text: whole, isWhole }: Suggestion): void => {
    const before = text.value.replace(/\S*$/, '')
    if (isWhole) apply(before + whole)
    else text.value = before + whole
    at.value = -1
    input.current?.focus()
  }
  const takeBack = (name: string): void => {
    text.value = name === 'q' ? free : `${name}:${query.value[name]}`
    setQuery({ [name]: undefined, cursor: undefined })
  }
  const onKey = (event: KeyboardEvent): void => {
    const { key } = event
    const chosen = suggestions[key === 'Tab' ? Math.max(0, at.value) : at.value]
    const last = free === '' ? set.at(-1)?.name : 'q'
    const by = key === 'ArrowDown' ? 1 : key === 'ArrowUp' ? -1 : 0
    if (by !== 0) at.value = suggestions.length === 0 ? -1 : (at.value + by + suggestions.length) % suggestions.length
    else if ((key === 'Enter' || (key === 'Tab' && text.value !== '')) && chosen) take(chosen)
    else if (key === 'Enter' && text.value.trim() !== '') apply(text.value)
    else if (key === 'Backspace' && text.value === '' && last !== undefined) takeBack(last)
    else if (key === 'Escape' && suggestions.length > 0) isOpen.value = false
    else if (key === 'Escape') input.current?.blur()
    else return
    event.preventDefault()
  }
  return { text, at, isOpen, input, set, free, suggestions, take, onKey }
}

function Chip({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <span class="chip">
      {name !== 'q' && <span class="name">{name}</span>}
      <span class="value">{name === 'q' ? `“${value}”` : value}</span>
      <button
        type="button"
        aria-label={`Remove ${name === 'q' ? 'search' : name} ${value}`}
        onClick={() => setQuery({ [name]: undefined, cursor: undefined })}
      >
        <Icon name="close" size={10} />
      </button>
    </span>
  )
}

function cleared(tokens: readonly FilterToken[]): Record<string, undefined> {
  return Object.fromEntries([...tokens.map(({ name }) => name), 'q', 'cursor'].map(name => [name, undefined]))
}

function suggest(text: string, tokens: readonly FilterToken[]): readonly Suggestion[] {
  const word = /\S*$/.exec(text)![0]
  const [name, typed] = word.includes(':') ? (word.split(/:(.*)/s) as [string, string]) : [word, undefined]
  if (typed === undefined) {
    return tokens
      .filter(token => token.name.startsWith(name.toLowerCase()))
      .map(token => ({ text: `${token.name}:`, hint: token.hint, isWhole: false }))
  }
  const values = tokens.find(token => token.name === name)?.values ?? []
  return values
    .filter(value => value.toLowerCase().includes(typed.toLowerCase()))
    .slice(0, SUGGESTED_MAX)
    .map(value => ({ text: `${name}:${/\s/.test(value) ? `"${value}"` : value}`, hint: '', isWhole: true }))
}
