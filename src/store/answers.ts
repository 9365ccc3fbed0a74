import type { Job } from '../core/job/job.js'

// The answers to an enqueue and to a change, and how long a store remembers them.

export type Enqueued =
  | { readonly status: 'created'; readonly id: string }
  | { readonly status: 'existing'; readonly id: string }
  /** The waiting job with the `unique` value took the payload. It is due in `delayMs`. */
  | { readonly status: 'replaced'; readonly id: string; readonly delayMs: number }
  /** The key belongs to a job with a different payload. */
  | { readonly status: 'conflict'; readonly id: string; readonly payloadHash: string }

export type Changed =
  | { readonly id: string; readonly status: 'changed'; readonly job: Job }
  /** Cancellation was requested; the job ends when its worker notices it. */
  | { readonly id: string; readonly status: 'requested'; readonly job: Job }
  /** Its state does not allow the change, or (redrive) another live job has its `unique` value. */
  | { readonly id: string; readonly status: 'refused'; readonly job: Job; readonly conflictId?: string }
  | { readonly id: string; readonly status: 'not-found' }

/** How long the key of a removed job is remembered. */
export const REMOVED_KEY_MS = 86_400_000

/**
 * How long the id of an enqueue that replaced a payload is remembered, so that a repeated call changes nothing. A client
 * that lost the response repeats the call within a minute.
 */
export const REPLACED_ID_MS = 600_000
