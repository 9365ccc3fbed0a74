import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { later } from '../data/clock.js'

/** A keyboard shortcut. `keys` is one key (`r`, `D`, `Enter`, `?`) or two in a row (`g j`). */
export interface KeyBinding {
  readonly keys: string
  readonly does: string
  /** The heading in the list of shortcuts. */
  readonly group: KeyGroup
  readonly run: () => void
}

export type KeyGroup = 'Go to' | 'Lists' | 'Actions' | 'Everywhere'

const bound = signal<readonly KeyBinding[]>([])

/** The active shortcuts. A later binding of a key overrides an earlier one. */
export const bindings = bound

export function bind(added: readonly KeyBinding[]): () => void {
  bound.value = [...bound.peek(), ...added]
  return () => {
    bound.value = bound.peek().filter(binding => !added.includes(binding))
  }
}

/** Binds shortcuts while a component is mounted. Their functions may change with every render. */
export function useKeys(wanted: readonly KeyBinding[]): void {
  const current = useRef(wanted)
  current.current = wanted
  const shape = wanted.map(({ keys }) => keys).join(' ')
  useEffect(
    () =>
      bind(
        current.current.map((binding, i) => ({
          ...binding,
          run: () => current.current[i]?.run(),
        })),
      ),
    [shape],
  )
}

const SEQUENCE_MS = 1_000

/** Whether the key belongs to a text field or an open dialog. */
function isTyping({ target }: KeyboardEvent): boolean {
  if (document.querySelector('dialog[open]')) return true
  if (!(target instanceof HTMLElement)) return false
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)
}

/** Whether Enter or the space bar already activates the focused element. */
function pressesSomething({ key, target }: KeyboardEvent): boolean {
  if (key !== 'Enter' && key !== ' ') return false
  return target instanceof Element && target.closest('a, button, summary, [role=tab], [role=menuitem]') !== null
}

export function startKeys(): void {
  let first: string | undefined
  let forget = (): void => {}
  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return
    if (isTyping(event) || pressesSomething(event)) return
    const pressed = first === undefined ? event.key : `${first} ${event.key}`
    forget()
    first = undefined
    const found = bound.peek().findLast(({ keys }) => keys === pressed)
    if (found) {
      event.preventDefault()
      found.run()
    } else if (bound.peek().some(({ keys }) => keys.startsWith(`${event.key} `))) {
      first = event.key
      forget = later(SEQUENCE_MS, () => {
        first = undefined
      })
    }
  })
}
