import { type EventJob, type EventName, type Events, eventJob } from '../job/event.js'
import type { Job } from '../job/job.js'
import { timeText } from '../job/view.js'
import type { Policy } from '../policy/policy.js'
import { RESERVED } from '../queue/internal.js'
import { DAY_MS } from '../values/duration.js'
import { ChronosError, shown } from '../values/error.js'
import { pattern } from '../values/schema.js'
import type { JobNews } from '../webhook/message.js'

/** The events that are stored together with the change that they report, so that every process can receive them. */
export const EVERYWHERE = ['job.succeeded', 'job.dead', 'job.cancelled', 'job.retrying'] as const
export type EverywhereEvent = (typeof EVERYWHERE)[number]

const QUEUE = `${RESERVED}events/`
export const EVENT_JOB = `${RESERVED}event`
/** A name under which no process has listened for this long is given up, with its events. */
export const LISTENER_KEPT_MS = 7 * DAY_MS
export const LISTENERS_MAX = 100

const AS_MAX = 64
/** Names the listener, in whichever process it runs. */
export const listenerName = pattern(
  AS_MAX,
  /^[A-Za-z0-9][A-Za-z0-9._-]*$/,
  `1 to ${AS_MAX} letters, digits or . _ - that begin with a letter or digit`,
)

/** A listener of all processes that share its name. */
export interface Listener {
  readonly as: string
  readonly event: EverywhereEvent
  readonly createdAt: number
  /** The last time that a process said that it listens. */
  readonly seenAt: number
}

/** The id of its record; a name contains no slash. */
export const listenerId = ({ as, event }: Pick<Listener, 'as' | 'event'>): string => `${as}/${event}`

/** Its events are jobs of this queue. */
export const eventsQueue = (listener: Pick<Listener, 'as' | 'event'>): string => QUEUE + listenerId(listener)

/** The id of the listener that a queue belongs to; undefined for any other queue. */
export const listenerOf = (queue: string): string | undefined =>
  queue.startsWith(QUEUE) ? queue.slice(QUEUE.length) : undefined

export function everywhereEvent(name: EventName): EverywhereEvent {
  const found = EVERYWHERE.find(each => each === name)
  if (found !== undefined) return found
  throw new ChronosError(
    'INVALID_OPTION',
    `on: ${shown(name)} is not stored, so only its own process can receive it; everywhere: true is for ${EVERYWHERE.join(', ')}`,
  )
}

/** What is stored of an event. The reader adds the limits of the job's policy. */
export interface StoredEvent {
  readonly job: Omit<EventJob, 'maxAttempts'> & Pick<Job, 'delivery' | 'policyId' | 'override'>
  readonly at: number
  readonly startedAt?: number
  readonly reason?: JobNews['reason']
  readonly error?: JobNews['error']
  readonly delayMs?: number
  /** JSON text. */
  readonly result?: string
}

export function storedEvent(news: JobNews): StoredEvent {
  const { type: _, job, ...rest } = news
  const { id, name, queue, tenantId, key, tags, generation, run, attempt, delivery, policyId, override } = job
  const facts = { id, name, queue, tenantId, key, tags, generation, run, attempt, delivery, policyId, override }
  return { job: facts as StoredEvent['job'], ...rest }
}

/** The event as a listener in the process that stored it would have received it. */
export function eventOf<Name extends EverywhereEvent>(name: Name, stored: StoredEvent, policy: Policy): Events[Name]
export function eventOf(name: EverywhereEvent, stored: StoredEvent, policy: Policy): Events[EverywhereEvent] {
  const { job: facts, at, startedAt = at, reason, error, delayMs = 0, result } = stored
  const job = eventJob(facts, policy)
  const failure = error && { error }
  switch (name) {
    case 'job.succeeded':
      return { job, durationMs: at - startedAt, ...(result !== undefined && { result: JSON.parse(result) as unknown }) }
    case 'job.dead':
      return { job, reason: reason!, ...failure }
    case 'job.cancelled':
      return { job }
    case 'job.retrying': {
      const nextRunAt = timeText(Math.ceil(at + delayMs))
      return { job, retry: job.attempt, maxRetries: policy.maxRetries, delayMs, nextRunAt, ...failure }
    }
  }
}
