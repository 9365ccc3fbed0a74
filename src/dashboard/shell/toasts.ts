import { signal } from '@preact/signals'
import { later } from '../data/clock.js'

export interface Toast {
  readonly text: string
  readonly tone?: 'ok' | 'problem' | 'info'
  /** Adds a button that undoes the action. */
  readonly undo?: () => void
  readonly link?: { readonly href: string; readonly text: string }
}

export interface ShownToast extends Toast {
  readonly id: number
}

const LASTS_MS = 4_000
/** Long enough to notice a mistake. */
const UNDO_MS = 8_000
const PROBLEM_MS = 10_000
const SHOWN_MAX = 4

export const toasts = signal<readonly ShownToast[]>([])
let count = 0

export function toast(made: Toast): () => void {
  count++
  const shown: ShownToast = { ...made, id: count }
  toasts.value = [...toasts.peek(), shown].slice(-SHOWN_MAX)
  const dismiss = (): void => dismissToast(shown.id)
  later(made.undo ? UNDO_MS : made.tone === 'problem' ? PROBLEM_MS : LASTS_MS, dismiss)
  return dismiss
}

export function dismissToast(id: number): void {
  toasts.value = toasts.peek().filter(toast => toast.id !== id)
}

/** The last message for screen readers. */
export const announced = signal('')

export function announce(words: string): void {
  announced.value = words
}
