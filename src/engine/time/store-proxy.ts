import type { Store } from '../../store/store.js'

export type Verb = (...values: readonly unknown[]) => unknown

/** The same store with every verb wrapped by `around`, once per verb. */
export function storeProxy(store: Store, around: (name: string, verb: Verb) => Verb): Store {
  const verbs = new Map<PropertyKey, Verb>()
  return new Proxy(store, {
    get(target, property) {
      const known = verbs.get(property)
      if (known) return known
      const value: unknown = Reflect.get(target, property, target)
      if (typeof value !== 'function') return value
      const verb = value.bind(target) as Verb
      const made = typeof property === 'string' ? around(property, verb) : verb
      verbs.set(property, made)
      return made
    },
  })
}
