import {
  EVENT_JOB,
  type EverywhereEvent,
  eventsQueue,
  LISTENERS_MAX,
  type Listener,
  listenerId,
  storedEvent,
} from '../../core/listener/listener.js'
import { ChronosError, shown } from '../../core/values/error.js'
import type { JobNews } from '../../core/webhook/message.js'
import type { NewJob } from '../../store/store.js'
import type { Environment } from '../client/environment.js'
import { CachedRead } from '../records/cached-read.js'
import { Records } from '../records/records.js'

export const LISTENER = 'listener'
const PRIORITY = 5

type Parts = Pick<Environment, 'connection' | 'clock' | 'dice' | 'time' | 'log'>

/** The listeners of all processes, as this process knows them: read periodically with the webhook endpoints. */
export class Listeners {
  readonly #parts: Parts
  readonly #records: Records<Listener>
  readonly #cache: CachedRead
  #known: readonly Listener[] = []

  constructor(parts: Parts) {
    this.#parts = parts
    this.#records = new Records({ env: parts, kind: LISTENER, name: id => `listener ${shown(id)}` })
    this.#cache = new CachedRead(parts.clock, async () => {
      this.#known = (await this.#records.page({ limit: LISTENERS_MAX })).map(({ body }) => body)
    })
  }

  get isLoaded(): boolean {
    return this.#cache.isLoaded
  }

  get size(): number {
    return this.#known.length
  }

  load(): Promise<void> {
    return this.#cache.load()
  }

  fresh(): Promise<void> {
    return this.#cache.fresh()
  }

  /**
   * The event as a job for each listener. They compete for it if several processes listen under one name. Listeners
   * belong to the fleet, so the job has no tenant; it has the partition that a job of the tenant has.
   */
  jobsFor(news: JobNews): readonly NewJob[] {
    const listeners = this.#known.filter(({ event }) => event === news.type)
    if (listeners.length === 0) return []
    const payload = JSON.stringify(storedEvent(news))
    const { tenantId } = news.job
    const { dice, clock } = this.#parts
    return listeners.map(listener => ({
      id: dice.id(clock.now()),
      name: EVENT_JOB,
      queue: eventsQueue(listener),
      priority: PRIORITY,
      delivery: 'at-least-once',
      payload,
      runAt: { delayMs: 0 },
      tags: [news.type],
      ...(tenantId !== undefined && { partition: tenantId }),
    }))
  }

  /** Stores that a process listens now. */
  async see(as: string, event: EverywhereEvent): Promise<void> {
    const id = listenerId({ as, event })
    await this.#records.change(id, async known => {
      if (!known) await this.#checkRoom(as)
      const now = this.#parts.time.now()
      return { as, event, createdAt: known?.createdAt ?? now, seenAt: now }
    })
    await this.load()
  }

  /** From now on no event is stored for it. */
  async forget(as: string, event: EverywhereEvent): Promise<void> {
    await this.#records.delete(listenerId({ as, event }))
    await this.load()
  }

  async #checkRoom(as: string): Promise<void> {
    await this.load()
    if (this.#known.length < LISTENERS_MAX) return
    throw new ChronosError(
      'NOT_ALLOWED',
      `on: as ${shown(as)}: there are ${LISTENERS_MAX} listeners already; use the same names in all processes`,
    )
  }
}
