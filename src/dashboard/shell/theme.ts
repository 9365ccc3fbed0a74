import { computed, effect, signal } from '@preact/signals'
import { stored } from '../data/stored.js'

export const THEMES = ['auto', 'light', 'dark'] as const

export const theme = stored('theme', THEMES, 'auto')

const dark = window.matchMedia('(prefers-color-scheme: dark)')
const systemIsDark = signal(dark.matches)

export const shownTheme = computed<'light' | 'dark'>(() => {
  if (theme.value !== 'auto') return theme.value
  return systemIsDark.value ? 'dark' : 'light'
})

export function startTheme(): void {
  dark.addEventListener('change', () => {
    systemIsDark.value = dark.matches
  })
  effect(() => {
    document.documentElement.dataset['theme'] = shownTheme.value
  })
}

/** Switches between the system theme, light and dark. */
export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.peek()) + 1) % THEMES.length]!
}
