import type { ComponentChildren } from 'preact'
import { query, setQuery } from '../shell/router.js'

export interface Tab<T extends string> {
  readonly id: T
  readonly text: string
  readonly count?: ComponentChildren | undefined
}

export interface TabsProps<T extends string> {
  readonly label: string
  readonly tabs: readonly Tab<T>[]
  /** The URL parameter of the open tab; default `tab`. */
  readonly name?: string | undefined
  readonly children: (open: T) => ComponentChildren
}

/** Tabs whose selection is in the URL. Arrow keys move between them. */
export function Tabs<T extends string>({ label, tabs, name = 'tab', children }: TabsProps<T>) {
  const first = tabs[0]!.id
  const open = tabs.find(({ id }) => id === query.value[name])?.id ?? first
  const show = (id: T): void => setQuery({ [name]: id === first ? undefined : id }, { replace: true })
  return (
    <div class="tabs-box">
      <div class="tabs" role="tablist" aria-label={label} onKeyDown={event => arrow(event, tabs, open, show)}>
        {tabs.map(({ id, text, count }) => (
          <button
            key={id}
            type="button"
            role="tab"
            id={`${name}-${id}`}
            aria-selected={id === open}
            aria-controls={`${name}-panel`}
            tabIndex={id === open ? 0 : -1}
            onClick={() => show(id)}
          >
            {text}
            {count !== undefined && <span class="tally">{count}</span>}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${name}-panel`} aria-labelledby={`${name}-${open}`}>
        {children(open)}
      </div>
    </div>
  )
}

function arrow<T extends string>(event: KeyboardEvent, tabs: readonly Tab<T>[], open: T, show: (id: T) => void): void {
  const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
  if (by === 0) return
  event.preventDefault()
  const at = tabs.findIndex(({ id }) => id === open)
  const next = tabs[(at + by + tabs.length) % tabs.length]!
  show(next.id)
  const list = event.currentTarget
  if (list instanceof HTMLElement) list.querySelectorAll('button')[tabs.indexOf(next)]?.focus()
}
