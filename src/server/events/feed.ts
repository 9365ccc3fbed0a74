import type { EventJob, EventName } from '../../core/job/event.js'
import type { JobState, Phase } from '../../core/job/job.js'
import type { Clock, Dice, Timer } from '../../core/values/clock.js'
import type { Chronos } from '../../engine/client/chronos.js'
import { COUNTS, countsId } from '../../store/fold.js'
import type { Store } from '../../store/store.js'
import { Listener, type Message } from './listener.js'

/** What changed; a client that shows it fetches it again. */
export type Topic =
  | 'jobs'
  | 'queues'
  | 'dead'
  | 'redrives'
  | 'schedules'
  | 'webhooks'
  | 'alerts'
  | 'circuits'
  | 'workers'

/** A changed job, with the fields that a list shows. */
export interface ChangedJob {
  readonly id: string
  readonly name: string
  readonly queue: string
  readonly state: JobState
  readonly phase: Phase
  readonly attempt: number
}

/** At most four messages a second, so that a thousand jobs a second cost a browser no more than ten. */
const COALESCE_MS = 250
const JOBS_MAX = 200
const RING = 1_000
const POLL_MS = 2_000
const COUNTS_READ = 1_000

interface ListenOptions {
  readonly tenantId: string | undefined
  readonly after: string | undefined
  readonly isValid: () => Promise<boolean>
}

interface FeedOptions {
  readonly chronos: Chronos
  readonly store: () => Promise<Store>
  readonly clock: Clock
  readonly dice: Dice
  readonly maxListeners: number
}

/** The topics that an event changes. */
const TOPICS_OF: Readonly<Partial<Record<EventName, readonly Topic[]>>> = {
  'job.enqueued': ['jobs', 'queues'],
  'job.started': ['jobs', 'queues'],
  'job.retrying': ['jobs', 'queues'],
  'job.succeeded': ['jobs', 'queues', 'redrives'],
  'job.dead': ['jobs', 'queues', 'dead', 'redrives'],
  'job.cancelled': ['jobs', 'queues'],
  'circuit.opened': ['circuits'],
  'circuit.closed': ['circuits'],
  'schedule.skipped': ['schedules'],
  'webhook.disabled': ['webhooks'],
  'alert.firing': ['alerts'],
  'alert.resolved': ['alerts'],
  'lease.lost': ['jobs', 'workers'],
  'worker.drained': ['workers'],
}

const STATE_OF: Readonly<Partial<Record<EventName, readonly [JobState, Phase]>>> = {
  'job.enqueued': ['waiting', 'queued'],
  'job.started': ['running', 'running'],
  'job.retrying': ['waiting', 'retrying'],
  'job.succeeded': ['succeeded', 'succeeded'],
  'job.dead': ['dead', 'dead'],
  'job.cancelled': ['cancelled', 'cancelled'],
}

/** Streams changes to browsers, many per message. A client that reconnects soon enough misses none. */
export class EventFeed {
  readonly #options: FeedOptions
  readonly #listeners = new Set<Listener>()
  readonly #ring: Message[] = []
  /** Distinguishes the message ids of this process from those of others. */
  readonly #boot: string
  #sequence = 0
  #pending: Pending = newPending()
  #flush: Timer | undefined
  #poll: Timer | undefined
  #seen = ''
  #unsubscribe: (() => void)[] = []
  #isClosed = false

  constructor(options: FeedOptions) {
    this.#options = options
    this.#boot = options.dice.token().slice(0, 8)
  }

  get size(): number {
    return this.#listeners.size
  }

  get isFull(): boolean {
    return this.#isClosed || this.#listeners.size >= this.#options.maxListeners
  }

  /** Adds a listener; `after` is the id of the last message it received. */
  listen({ tenantId, after, isValid }: ListenOptions): Listener {
    const listener: Listener = new Listener({
      clock: this.#options.clock,
      tenantId,
      isValid,
      onClosed: () => this.#remove(listener),
    })
    this.#listeners.add(listener)
    if (this.#listeners.size === 1) this.#start()
    listener.begin(`${this.#boot}-${this.#sequence}`)
    if (after !== undefined) this.#repeat(listener, after)
    return listener
  }

  /** Reports a change that has no event. */
  changed(topics: readonly Topic[], tenantId?: string): void {
    if (this.#listeners.size === 0) return
    for (const topic of topics) this.#pending.topics.add(`${topic} ${tenantId ?? ''}`)
    this.#flush ??= this.#options.clock.timer(COALESCE_MS, () => this.#send())
  }

  close(): void {
    this.#isClosed = true
    for (const listener of [...this.#listeners]) listener.close()
  }

  #start(): void {
    const { chronos } = this.#options
    this.#unsubscribe = (Object.keys(TOPICS_OF) as EventName[]).map(name =>
      chronos.on(name, event => this.#onEvent(name, event)),
    )
    this.#pollLater()
  }

  #remove(listener: Listener): void {
    this.#listeners.delete(listener)
    if (this.#listeners.size > 0) return
    for (const stop of this.#unsubscribe.splice(0)) stop()
    this.#flush?.cancel()
    this.#poll?.cancel()
    this.#flush = undefined
    this.#poll = undefined
    // Changes are not recorded without listeners, so a client that reconnects later has to fetch everything.
    this.#ring.length = 0
    this.#sequence++
    this.#pending = newPending()
  }

  #onEvent(name: EventName, event: unknown): void {
    const { job = event, tenantId = (job as { tenantId?: string }).tenantId } = event as {
      readonly job?: EventJob
      readonly tenantId?: string
    }
    const [state, phase] = STATE_OF[name] ?? []
    if (state && phase && this.#pending.jobs.size < JOBS_MAX) {
      const { id, name: jobName, queue, attempt = 0 } = job as EventJob
      this.#pending.jobs.set(id, { job: { id, name: jobName, queue, state, phase, attempt }, tenantId })
    }
    this.changed(TOPICS_OF[name]!, tenantId)
  }

  #send(): void {
    this.#flush = undefined
    const { topics, jobs } = this.#pending
    this.#pending = newPending()
    const message: Message = {
      id: `${this.#boot}-${++this.#sequence}`,
      sequence: this.#sequence,
      topics: [...topics].map(each => {
        const [topic, tenantId] = each.split(/ (.*)/s)
        return { topic: topic!, tenantId: tenantId === '' ? undefined : tenantId }
      }),
      jobs: [...jobs.values()],
    }
    this.#ring.push(message)
    if (this.#ring.length > RING) this.#ring.shift()
    for (const listener of this.#listeners) listener.send(message)
  }

  #repeat(listener: Listener, after: string): void {
    const [boot, number] = after.split('-')
    const sequence = Number(number)
    const oldest = this.#ring[0]?.sequence ?? this.#sequence + 1
    if (boot !== this.#boot || !(sequence >= oldest - 1 && sequence <= this.#sequence)) {
      listener.reset()
      return
    }
    for (const message of this.#ring) if (message.sequence > sequence) listener.send(message)
  }

  /** Changes by other processes show up in the counts. */
  #pollLater(): void {
    this.#poll = this.#options.clock.timer(POLL_MS, () => {
      void this.#pollCounts()
        .catch(() => {})
        .finally(() => {
          if (this.#listeners.size > 0) this.#pollLater()
        })
    })
  }

  async #pollCounts(): Promise<void> {
    const store = await this.#options.store()
    const { now } = await store.info()
    const from = countsId('1m', now - 60_000)
    const counts = await store.records(COUNTS, { from, limit: COUNTS_READ })
    const seen = counts.map(({ id, version }) => `${id} ${version}`).join()
    if (seen === this.#seen) return
    this.#seen = seen
    this.changed(['jobs', 'queues', 'dead'])
  }
}

interface Pending {
  readonly topics: Set<string>
  readonly jobs: Map<string, { readonly job: ChangedJob; readonly tenantId: string | undefined }>
}

function newPending(): Pending {
  return { topics: new Set(), jobs: new Map() }
}
