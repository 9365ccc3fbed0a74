import { effect, type Signal, signal } from '@preact/signals'

/** A setting stored in the browser. Without access to storage it lasts as long as the page. */
export function stored<T extends string>(name: string, choices: readonly T[], otherwise: T): Signal<T> {
  const key = `chronos.${name}`
  const choice = signal<T>(read(key, choices) ?? otherwise)
  effect(() => {
    const { value } = choice
    try {
      if (value === otherwise) localStorage.removeItem(key)
      else localStorage.setItem(key, value)
    } catch {
      // Private windows may refuse; the setting still applies to this page.
    }
  })
  return choice
}

function read<T extends string>(key: string, choices: readonly T[]): T | undefined {
  try {
    return choices.find(choice => choice === localStorage.getItem(key))
  } catch {
    return undefined
  }
}
