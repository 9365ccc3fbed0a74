import { computed, effect, signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Count } from '../../core/values/count.js'
import { count, short } from '../data/format.js'
import { session } from '../data/session.js'

const name = signal('')
/** The number of unacknowledged dead letters. It is in the title, so that a background tab shows it. */
export const unseenDead = signal<Count | undefined>(undefined)
/** It in a few characters; empty if there are none. */
export const unseenDeadText = computed(() => {
  const dead = unseenDead.value
  if (!dead || dead.value === 0) return ''
  return dead.relation === 'exact' ? short(dead.value) : count(dead)
})

const title = computed(() => {
  const dead = unseenDeadText.value === '' ? '' : `(${unseenDeadText.value}) `
  const env = session.value?.env ? ` · ${session.value.env.name}` : ''
  return `${dead}${name.value === '' ? '' : `${name.value} · `}Chronos${env}`
})

/** Sets the title of the browser tab, unless another component does. */
export function useTitle(text: string | undefined): void {
  useEffect(() => {
    if (text !== undefined) name.value = text
  }, [text])
}

export function startTitle(): void {
  effect(() => {
    document.title = title.value
  })
}
