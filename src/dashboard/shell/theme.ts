import { computed, effect, signal } from '@preact/signals'
import { stored } from '../data/stored.js'

export const THEMES = ['auto', 'light', 'dark'] as const

/** What was chosen … */
export const theme = stored('theme', THEMES, 'auto')

const dark = window.matchMedia('(prefers-color-scheme: dark)')
const systemIsDark = signal(dark.matches)

/** … and what is shown. Pictures on a canvas redraw when it changes. */
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

/** Light, dark, and back to what the system says. */
export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.peek()) + 1) % THEMES.length]!
}

/** A colour token as the browser sees it now, for drawing on a canvas: `color('accent')`. */
export function color(token: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${token}`).trim()
}
