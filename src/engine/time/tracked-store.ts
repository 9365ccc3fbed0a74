import type { Clock, Outstanding } from '../../core/values/clock.js'
import type { Guard, Store } from '../../store/store.js'
import { storeProxy, type Verb } from './store-proxy.js'

/** The store itself, or on a virtual clock a store whose pending calls hold time up. */
export function trackedStore(store: Store, { outstanding }: Clock): Store {
  return outstanding ? storeProxy(store, (_, verb) => tracked(verb, outstanding)) : store
}

function tracked(verb: Verb, outstanding: Outstanding): Verb {
  return (...values) => {
    const answer = verb(...values)
    if (answer instanceof Promise) return outstanding.call(() => answer)
    return isGuard(answer) ? { ...answer, stop: () => outstanding.call(() => answer.stop()) } : answer
  }
}

/** Stopping a guard waits for a real thread. */
function isGuard(answer: unknown): answer is Guard {
  return typeof answer === 'object' && answer !== null && 'keptUntil' in answer
}
