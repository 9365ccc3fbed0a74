import type { Store } from '../../store/store.js'
import { storeProxy, type Verb } from '../time/store-proxy.js'
import type { Telemetry } from './telemetry.js'

/** Verbs that make no query, or none that a caller waits for. */
const NOT_TIMED: readonly string[] = ['migrate', 'close', 'watch', 'guard']

/** The same store, with every call timed for the meter. */
export function measuredStore(store: Store, telemetry: Telemetry): Store {
  return storeProxy(store, (name, verb) => (NOT_TIMED.includes(name) ? verb : timed(name, verb, telemetry)))
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
