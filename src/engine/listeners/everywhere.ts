import type { EventName, Events } from '../../core/job/event.js'
import {
  EVENT_JOB,
  type EverywhereEvent,
  eventOf,
  eventsQueue,
  everywhereEvent,
  listenerId,
  listenerName,
  type StoredEvent,
} from '../../core/listener/listener.js'
import { exponential } from '../../core/policy/builders.js'
import { policyInput } from '../../core/policy/form.js'
import type { PolicyInput } from '../../core/policy/policy.js'
import { HOUR_MS } from '../../core/values/duration.js'
import { ChronosError, shown } from '../../core/values/error.js'
import { about, duration, type Infer, integer, literal, read, type Schema } from '../../core/values/schema.js'
import { object } from '../../core/values/shape.js'
import { defineJob, type JobDefinition } from '../client/definition.js'
import type { Environment } from '../client/environment.js'
import type { WorkOptions } from '../client/options.js'
import { type Loop, startLoop } from '../time/loop.js'
import type { Worker } from '../worker/worker.js'
import type { Listeners } from './listeners.js'

const CONCURRENCY_MAX = 1_000

const everywhereOptions = object(
  {
    everywhere: about(literal(true), 'Receives the events of all processes, through the store.'),
    as: about(
      listenerName,
      'The name of the listener. Processes that listen under the same name share the events; under another name, they get events of their own.',
    ),
  },
  {
    concurrency: about(integer(1, CONCURRENCY_MAX), 'How many events are handled at the same time. Default 10.'),
    retry: about(
      policyInput as Schema<PolicyInput>,
      'For events that the listener failed on. Default: for about a day.',
    ),
    lease: about(
      duration({ min: 1_000, max: HOUR_MS }),
      'How long after a process vanished another one gets the events that it was handling. Default 30s.',
    ),
  },
)
export type EverywhereOptions = Infer<typeof everywhereOptions>

/** Stops listening in this process; events go on to be stored for the name unless `forget` is set. */
export type StopListening = (options?: { readonly forget?: boolean }) => Promise<void>

/** From a second to an hour, so that short failures cost little time, for about a day. */
const RETRY: PolicyInput = { ...exponential({ base: '1s', cap: '1h' }), maxRetries: 36, jitter: 0.2 }
/** A process that listens says so this often. */
const SEEN_EVERY_MS = HOUR_MS

export interface Listen {
  /** Listens to events of this process. Returns a function that stops listening. */
  <Name extends EventName>(name: Name, listener: (event: Events[Name]) => void): () => void
  /**
   * Listens to events of all processes, and receives each at least once: again if the listener throws or rejects.
   * Resolves when the store knows the listener.
   */
  <Name extends EverywhereEvent>(
    name: Name,
    listener: (event: Events[Name]) => unknown,
    options: EverywhereOptions,
  ): Promise<StopListening>
}

interface EverywhereParts {
  readonly env: Environment
  readonly listeners: Listeners
  readonly work: (definitions: readonly JobDefinition<never>[], options: WorkOptions) => Worker
}

/** The listeners of this process that receive the events of all processes: each has a worker for its own queue. */
export class Everywhere {
  readonly #parts: EverywhereParts
  readonly #loops = new Map<string, Loop>()

  constructor(parts: EverywhereParts) {
    this.#parts = parts
  }

  readonly on = (<Name extends EverywhereEvent>(
    name: Name,
    listener: (event: Events[Name]) => unknown,
    options?: EverywhereOptions,
  ) =>
    options === undefined ? this.#parts.env.events.on(name, listener) : this.#listen(name, listener, options)) as Listen

  async #listen<Name extends EverywhereEvent>(
    name: Name,
    listener: (event: Events[Name]) => unknown,
    options: EverywhereOptions,
  ): Promise<StopListening> {
    const { as, everywhere: _, retry = RETRY, ...settings } = read(everywhereOptions, options, 'on:')
    const event = everywhereEvent(name)
    const id = listenerId({ as, event })
    if (this.#loops.has(id)) {
      throw new ChronosError('NOT_ALLOWED', `on: this process listens to ${event} as ${shown(as)} already`)
    }
    const { listeners, env, work } = this.#parts
    const { clock, dice, log, policies } = env
    const step = async (): Promise<number> => {
      await listeners.see(as, event)
      return SEEN_EVERY_MS
    }
    const loop = startLoop({ name: 'listener', clock, dice, log, step, firstAfterMs: SEEN_EVERY_MS })
    this.#loops.set(id, loop)
    const end = async (): Promise<void> => {
      if (this.#loops.get(id) === loop) this.#loops.delete(id)
      await loop.stop()
    }
    try {
      await listeners.see(as, event)
      const definition = defineJob({
        name: EVENT_JOB,
        queue: eventsQueue({ as, event }),
        retry,
        async run(stored: StoredEvent) {
          await listener(eventOf(name, stored, await policies.of(stored.job)))
        },
      })
      const worker = work([definition], { maintenance: false, signals: false, ...settings })
      return async ({ forget = false } = {}) => {
        await Promise.all([end(), worker.stop()])
        if (forget) await listeners.forget(as, event)
      }
    } catch (error) {
      await end()
      throw error
    }
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#loops.values()].map(loop => loop.stop()))
    this.#loops.clear()
  }
}
