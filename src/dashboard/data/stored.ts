import { effect, type Signal, signal } from '@preact/signals'

/** A choice of this person on this device. Storage may be forbidden: then it lasts as long as the page. */
export function stored<T extends string>(name: string, choices: readonly T[], otherwise: T): Signal<T> {
  const key = `chronos.${name}`
  const choice = signal<T>(read(key, choices) ?? otherwise)
  effect(() => {
    const { value } = choice
    try {
      if (value === otherwise) localStorage.removeItem(key)
      else localStorage.setItem(key, value)
    } catch {
      // Private windows and strict settings refuse; the choice still holds for this page.
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
