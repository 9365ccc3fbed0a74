import type { Store } from '../../store/store.js'
import type { Telemetry } from './telemetry.js'

/** What is no question to the database, or not one that anybody waits for. */
const NOT_TIMED: readonly string[] = ['migrate', 'close', 'watch', 'guard']

type Verb = (...values: readonly unknown[]) => unknown

/** The same store, with every call timed for whoever measures. */
export function measuredStore(store: Store, telemetry: Telemetry): Store {
  const verbs = new Map<PropertyKey, Verb>()
  return new Proxy(store, {
    get(target, property) {
      const known = verbs.get(property)
      if (known) return known
      const value: unknown = Reflect.get(target, property, target)
      if (typeof value !== 'function') return value
      const verb = value.bind(target) as Verb
      const isTimed = typeof property === 'string' && !NOT_TIMED.includes(property)
      const made = isTimed ? timed(property, verb, telemetry) : verb
      verbs.set(property, made)
      return made
    },
  })
}

function timed(operation: string, verb: Verb, telemetry: Telemetry): Verb {
  return (...values) => {
    const { meter } = telemetry
    if (!meter) return verb(...values)
    const since = meter.stopwatch()
    const answer = verb(...values)
    if (!(answer instanceof Promise)) return answer
    answer.then(
      () => meter.stored(operation, meter.stopwatch() - since),
      (error: unknown) => meter.stored(operation, meter.stopwatch() - since, error),
    )
    return answer
  }
}
