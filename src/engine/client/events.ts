import type { EventName, Events } from '../../core/job/event.js'
import type { Log } from './log.js'

type Listener<Name extends EventName> = (event: Events[Name]) => void

/** In-process listeners. An error in a listener is logged and affects nothing else. */
export class EventHub {
  readonly #listeners = new Map<EventName, Set<Listener<never>>>()
  readonly #log: Log

  constructor(log: Log) {
    this.#log = log
  }

  on<Name extends EventName>(name: Name, listener: Listener<Name>): () => void {
    let listeners = this.#listeners.get(name)
    if (!listeners) {
      listeners = new Set()
      this.#listeners.set(name, listeners)
    }
    listeners.add(listener as Listener<never>)
    return () => {
      listeners.delete(listener as Listener<never>)
    }
  }

  /** The hot path asks first and builds an event only if it has a listener. */
  hears(name: EventName): boolean {
    const listeners = this.#listeners.get(name)
    return listeners !== undefined && listeners.size > 0
  }

  emit<Name extends EventName>(name: Name, event: Events[Name]): void {
    for (const listener of this.#listeners.get(name) ?? []) {
      try {
        ;(listener as Listener<Name>)(event)
      } catch (error) {
        this.#log.error({ event: 'listener.failed', on: name, err: error }, 'event listener threw')
      }
    }
  }
}
