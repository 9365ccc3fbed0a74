import type { AlertView } from '../alert/alert.js'
import type { Policy } from '../policy/policy.js'
import type { DisabledReason } from '../webhook/webhook.js'
import { type DeathReason, type Job, maxRetriesOf, type StoredError } from './job.js'

/** The job that an event is about. */
export interface EventJob {
  readonly id: string
  readonly name: string
  readonly queue: string
  readonly tenantId?: string
  readonly key?: string
  readonly tags: readonly string[]
  readonly generation: number
  readonly run: number
  readonly attempt: number
  readonly maxAttempts: number
}

/** The events of `chronos.on`, by name. */
export interface Events {
  'job.enqueued': { readonly id: string; readonly name: string; readonly queue: string; readonly tenantId?: string }
  'job.started': { readonly job: EventJob; readonly workerId: string }
  'job.retrying': {
    readonly job: EventJob
    /** 1 follows the first failure. */
    readonly retry: number
    readonly maxRetries: number
    readonly delayMs: number
    readonly nextRunAt: string
    readonly error?: StoredError
  }
  'job.succeeded': { readonly job: EventJob; readonly durationMs: number; readonly result?: unknown }
  'job.dead': { readonly job: EventJob; readonly reason: DeathReason; readonly error?: StoredError }
  'job.cancelled': { readonly job: EventJob }
  'attempt.failed': { readonly job: EventJob; readonly error: StoredError; readonly timedOut: boolean }
  'circuit.opened': {
    readonly key: string
    readonly tenantId?: string
    readonly reason?: string
    readonly openUntil?: string
  }
  'circuit.closed': { readonly key: string; readonly tenantId?: string }
  'schedule.skipped': {
    readonly scheduleId: string
    readonly tenantId?: string
    /** The occurrence that was skipped because an earlier one had not ended. */
    readonly tickAt: string
    /** All occurrences skipped so far. */
    readonly skipped: number
    readonly nextOccurrenceAt?: string
  }
  'webhook.disabled': {
    readonly endpointId: string
    readonly url: string
    readonly reason: DisabledReason
    readonly tenantId?: string
    readonly failingSince?: string
  }
  /** Raised only by the process that stored it. */
  'alert.firing': { readonly alert: AlertView; readonly isRepeat: boolean }
  'alert.resolved': { readonly alert: AlertView }
  'lease.lost': { readonly job: EventJob; readonly workerId: string }
  /** A worker of this process has stopped because an operator asked it to drain. */
  'worker.drained': { readonly workerId: string }
}

export type EventName = keyof Events

export function eventJob(job: Omit<EventJob, 'maxAttempts'> & Pick<Job, 'delivery'>, policy: Policy): EventJob {
  const { id, name, queue, tenantId, key, tags, generation, run, attempt } = job
  return {
    id,
    name,
    queue,
    ...(tenantId !== undefined && { tenantId }),
    ...(key !== undefined && { key }),
    tags,
    generation,
    run,
    attempt,
    maxAttempts: maxRetriesOf(job, policy) + 1,
  }
}
