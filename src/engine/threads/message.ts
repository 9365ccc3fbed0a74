import type { MessagePort } from 'node:worker_threads'
import type { JobContext } from '../client/definition.js'

type Functions = 'signal' | 'clock' | 'snooze' | 'once' | 'complete' | 'log' | 'note' | 'progress' | 'spent'

/** Starts one run in a thread. */
export interface Order {
  readonly module: string
  readonly payload: unknown
  readonly facts: Omit<JobContext, Functions>
  /** How far the store's clock is ahead of this machine's. */
  readonly storeAheadMs: number
  /** Everything else about the run goes through this port. */
  readonly port: MessagePort
}

/** A thrown value as data: `thrown` if it is no object. */
export type FlatError =
  | { readonly thrown: unknown }
  | {
      readonly classes: readonly string[]
      readonly fields: Readonly<Record<string, unknown>>
      readonly response?: unknown
      readonly cause?: FlatError
      readonly errors?: readonly FlatError[]
    }

export type FromThread =
  | { readonly type: 'done'; readonly result?: unknown }
  /** The result can't be sent. */
  | { readonly type: 'unsent' }
  | { readonly type: 'snoozed'; readonly delay: unknown; readonly note: unknown }
  | { readonly type: 'failed'; readonly error: FlatError }
  | { readonly type: 'log'; readonly message: unknown; readonly data?: unknown }
  | { readonly type: 'note'; readonly text: unknown }
  | { readonly type: 'progress'; readonly value: unknown }
  | { readonly type: 'spent'; readonly units: unknown }
  | { readonly type: 'wait'; readonly id: number; readonly duration: unknown }
  | { readonly type: 'once'; readonly id: number; readonly name: string; readonly options?: unknown }
  | { readonly type: 'effect-done'; readonly id: number; readonly value?: unknown }
  | { readonly type: 'effect-failed'; readonly id: number; readonly error: FlatError }

export type ToThread =
  | { readonly type: 'abort'; readonly error: FlatError }
  /** Run the effect of this `job.once`. */
  | { readonly type: 'effect'; readonly id: number }
  | {
      readonly type: 'answer'
      readonly id: number
      readonly value?: unknown
      readonly error?: FlatError
      /** The effect itself threw it. */
      readonly isOwn?: boolean
    }
