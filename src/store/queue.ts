import type { QueueLimits } from '../core/partition/limits.js'
import type { TurnState } from '../core/partition/turn.js'
import type { PartialPolicy } from '../core/policy/policy.js'
import type { Count } from '../core/values/count.js'

// The settings of queues, and the partitions of queues with limits.

export interface QueueRecord {
  readonly name: string
  readonly paused: boolean
  readonly retry?: PartialPolicy
  readonly limits?: QueueLimits
  /** The state of the queue's own limit; absent if it has none or nothing has started. */
  readonly turn?: TurnState
}

export interface QueueChange {
  readonly paused?: boolean
  /** null removes the queue's policy override. */
  readonly retry?: PartialPolicy | null
  /** null removes them. Limits from code do not replace those of an operator. */
  readonly limits?: QueueLimits | null
}

/** A partition of a queue with limits that has something to remember: waiting or running jobs, or a rate. */
export interface PartitionRecord {
  readonly name: string
  readonly running: number
  /** Up to `cap` of the query. */
  readonly waiting: Count
  readonly state: TurnState
  /** The oldest dead letter that stops it. */
  readonly stoppedBy?: string
}

/** Partitions by name, or a page of them, sorted by name and beginning after `after`. */
export type PartitionQuery = { readonly cap: number } & (
  | { readonly names: readonly string[] }
  | { readonly limit: number; readonly after?: string; readonly which?: 'all' | 'stopped' }
)
