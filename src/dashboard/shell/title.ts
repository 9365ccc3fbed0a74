import { computed, effect, signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { short } from '../data/format.js'
import { session } from '../data/session.js'

/** The title of the open screen. */
const name = signal('')
/** The number of unacknowledged dead letters. It is in the title, so that a background tab shows it. */
export const unseenDead = signal<number | undefined>(undefined)

const title = computed(() => {
  const dead = unseenDead.value ? `(${short(unseenDead.value)}) ` : ''
  const env = session.value?.env ? ` · ${session.value.env.name}` : ''
  return `${dead}${name.value === '' ? '' : `${name.value} · `}Chronos${env}`
})

export function useTitle(text: string): void {
  useEffect(() => {
    name.value = text
  }, [text])
}

export function startTitle(): void {
  effect(() => {
    document.title = title.value
  })
}
