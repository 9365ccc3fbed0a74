import type { EventJob, EventName } from '../../core/job/event.js'
import type { JobState, Phase } from '../../core/job/job.js'
import type { Clock, Dice, Timer } from '../../core/values/clock.js'
import type { Chronos } from '../../engine/client/chronos.js'
import { COUNTS, countsId } from '../../store/fold.js'
import type { Store } from '../../store/store.js'
import { Listener, type Message } from './listener.js'

/** What a change may be about; whoever shows it looks again. */
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

/** A job that changed, with what a list shows of it. */
export interface ChangedJob {
  readonly id: string
  readonly name: string
  readonly queue: string
  readonly state: JobState
  readonly phase: Phase
  readonly attempt: number
}

/** Messages a second at most, so that a thousand jobs a second are no more work for a browser than ten. */
const COALESCE_MS = 250
const JOBS_MAX = 200
const RING = 1_000
const LOOK_EVERY_MS = 2_000
const COUNTS_READ = 1_000

interface FeedOptions {
  readonly chronos: Chronos
  readonly store: () => Promise<Store>
  readonly clock: Clock
  readonly dice: Dice
  readonly maxListeners: number
}

/** How each event changes what people look at. */
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
}

const STATE_OF: Readonly<Partial<Record<EventName, readonly [JobState, Phase]>>> = {
  'job.enqueued': ['waiting', 'queued'],
  'job.started': ['running', 'running'],
  'job.retrying': ['waiting', 'retrying'],
  'job.succeeded': ['succeeded', 'succeeded'],
  'job.dead': ['dead', 'dead'],
  'job.cancelled': ['cancelled', 'cancelled'],
}

/** Tells browsers what changed: few messages, each of many changes, and none lost to whoever comes back in time. */
export class EventFeed {
  readonly #options: FeedOptions
  readonly #listeners = new Set<Listener>()
  readonly #ring: Message[] = []
  /** Ids of another process's messages mean nothing here. */
  readonly #boot: string
  #sequence = 0
  #pending: Pending = newPending()
  #flush: Timer | undefined
  #look: Timer | undefined
  #seen = ''
  #unhear: (() => void)[] = []
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

  /** A new listener; `after` is the last message that it has heard. */
  listen(tenantId: string | undefined, after: string | undefined): Listener {
    const listener: Listener = new Listener({
      clock: this.#options.clock,
      tenantId,
      onClosed: () => this.#left(listener),
    })
    this.#listeners.add(listener)
    if (this.#listeners.size === 1) this.#begin()
    listener.begin(`${this.#boot}-${this.#sequence}`)
    if (after !== undefined) this.#repeat(listener, after)
    return listener
  }

  /** Something changed that no event tells of. */
  changed(topics: readonly Topic[], tenantId?: string): void {
    if (this.#listeners.size === 0) return
    for (const topic of topics) this.#pending.topics.add(`${topic} ${tenantId ?? ''}`)
    this.#flush ??= this.#options.clock.timer(COALESCE_MS, () => this.#send())
  }

  close(): void {
    this.#isClosed = true
    for (const listener of [...this.#listeners]) listener.close()
  }

  #begin(): void {
    const { chronos } = this.#options
    this.#unhear = (Object.keys(TOPICS_OF) as EventName[]).map(name =>
      chronos.on(name, event => this.#heard(name, event)),
    )
    this.#lookLater()
  }

  #left(listener: Listener): void {
    this.#listeners.delete(listener)
    if (this.#listeners.size > 0) return
    for (const stop of this.#unhear.splice(0)) stop()
    this.#flush?.cancel()
    this.#look?.cancel()
    this.#flush = undefined
    this.#look = undefined
    // Nobody hears what happens from here on: whoever comes back has to look at everything.
    this.#ring.length = 0
    this.#sequence++
    this.#pending = newPending()
  }

  #heard(name: EventName, event: unknown): void {
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
    for (const listener of this.#listeners) listener.hear(message)
  }

  #repeat(listener: Listener, after: string): void {
    const [boot, number] = after.split('-')
    const sequence = Number(number)
    const oldest = this.#ring[0]?.sequence ?? this.#sequence + 1
    if (boot !== this.#boot || !(sequence >= oldest - 1 && sequence <= this.#sequence)) {
      listener.reset()
      return
    }
    for (const message of this.#ring) if (message.sequence > sequence) listener.hear(message)
  }

  /** Other processes work too: what they did shows in the counts. */
  #lookLater(): void {
    this.#look = this.#options.clock.timer(LOOK_EVERY_MS, () => {
      void this.#lookAround()
        .catch(() => {})
        .finally(() => {
          if (this.#listeners.size > 0) this.#lookLater()
        })
    })
  }

  async #lookAround(): Promise<void> {
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
