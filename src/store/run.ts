import type { Delivery, Job, JobState, StoredError } from '../core/job/job.js'
import type { Transition } from '../core/job/lifecycle.js'
import type { UnheldField } from './job-columns.js'
import type { NewJob } from './store.js'

// A run, from its claim to its end, as a worker and a store speak of it.

export interface ClaimRequest {
  readonly workerId: string
  /** 128 random bits in hex, new for every claim, the same when one is repeated. */
  readonly token: string
  readonly queues: readonly string[]
  readonly limit: number
  readonly leaseMs: number
  /**
   * Policy id by `queue name`, joined with a space, for what this worker knows; by the queue alone, for jobs that carry
   * none.
   */
  readonly policyIds: Readonly<Record<string, string>>
  /** Made for an enqueue of the same moment: where the store can, in one transaction with it. */
  readonly isAlong?: boolean
  /** Takes only jobs with these names, or with others; only the first `NAMED_DUE_MAX` due ones may be looked at. */
  readonly names?: NameChoice
}

/** A queue may be called like something that every object has. */
export function policyIdOf(
  { name, queue, policyId }: Pick<Job, 'name' | 'queue' | 'policyId'>,
  policyIds: ClaimRequest['policyIds'],
): string | undefined {
  const known = policyIds[`${queue} ${name}`] ?? policyId
  return known === undefined && Object.hasOwn(policyIds, queue) ? policyIds[queue] : known
}

export interface NameChoice {
  readonly list: readonly string[]
  readonly isExcluded: boolean
}

/** So many due jobs of a queue and priority are looked at for those with the right names. */
export const NAMED_DUE_MAX = 1_000

export interface Claim {
  /** The store's clock at the claim. */
  readonly now: number
  /** Highest priority first, then by due time. */
  readonly jobs: readonly Claimed[]
  /** When the next waiting job of these queues falls due, where fewer were due than asked for and there is one. */
  readonly nextDueAt?: number
  /** It was one with the enqueue that it was made for, or came behind it. */
  readonly isAlong?: boolean
}

/** A job with its lease, as a worker holds it. */
export type Claimed = Omit<Job, 'state' | UnheldField> & {
  readonly token: string
  readonly workerId: string
  readonly leaseUntil: number
}

/** The fence: every write of a running job is a compare-and-set on both. */
export interface Lease {
  readonly id: string
  readonly token: string
}

/** `delivery` is what the worker's definition says; where it is stricter than the row, it wins and is kept. */
export interface BeginRequest extends Lease {
  readonly delivery?: Delivery
}

export type LeaseStatus = 'held' | 'cancel-requested' | 'lost'

/** `locked`: a transaction of somebody else has its row at this moment, so it was not extended; nobody can take it meanwhile. */
export type Extended = LeaseStatus | 'locked'

export interface Report {
  readonly lease: Lease
  readonly logs: readonly LogLine[]
  /** Number of the first line within its run, from 0, as the worker counts: it makes a repeated report harmless. */
  readonly from?: number
  /** JSON text. */
  readonly progress?: string
}

export interface LogLine {
  readonly at: number
  readonly message: string
  /** JSON text. */
  readonly data?: string
}

export interface LogRecord extends LogLine {
  readonly run: number
}

export interface Settlement {
  readonly lease: Lease
  /** From the claim; they can't change while the lease is held. */
  readonly generation: number
  readonly run: number
  readonly attempt: number
  readonly workerId: string
  /** For the counters; from the claim too. */
  readonly queue: string
  readonly name: string
  readonly tenantId?: string
  readonly startedAt: number
  readonly finishedAt: number
  readonly end: RunEnd
  /** Set by the sweeper: settles only while the lease is still run out, checked in the write. */
  readonly onlyIfExpired?: boolean
}

export type RunEnd =
  | {
      readonly kind: 'ended'
      readonly transition: Transition
      readonly error?: StoredError
      readonly note?: string
      /** JSON text. */
      readonly result?: string
      /** The group of its error; kept with the attempt, and on a job that has not succeeded. */
      readonly group?: ErrorGroupName
      /** Written to a job that waits again and has none. */
      readonly dependency?: string
      /** The slot that a dependency gave a job which waits again; every other end takes it away. */
      readonly pass?: number
      /** Jobs that come into being with this end, or not at all. */
      readonly spawn?: readonly NewJob[]
      /** The same, instead of those, where a cancel came in between and the job does not wait again. */
      readonly spawnIfCancelled?: readonly NewJob[]
    }
  /** Held but never started: waiting again as if it had not been claimed. No attempt, no run, no row. */
  | { readonly kind: 'handed-back'; readonly delayMs: number; readonly spawnIfCancelled?: readonly NewJob[] }

/**
 * `state` is what the job has become, and `runAt` when it runs again; a cancel that came in between turns waiting into
 * cancelled. `already`: this very run was settled before with the same status; `lost`: somebody else ended it, or it was
 * handed back.
 */
export type Settled =
  | { readonly status: 'settled'; readonly state: 'waiting'; readonly runAt: number }
  | { readonly status: 'settled'; readonly state: Exclude<JobState, 'waiting'> }
  | { readonly status: 'already' }
  | { readonly status: 'lost' }

export function settledAs(state: JobState, runAt: number): Extract<Settled, { status: 'settled' }> {
  return state === 'waiting' ? { status: 'settled', state, runAt } : { status: 'settled', state }
}

export interface Expired {
  readonly now: number
  readonly jobs: readonly ExpiredJob[]
}

export interface ExpiredJob extends Claimed {
  /** No other job was held by its worker. */
  readonly alone: boolean
}

export interface ErrorGroupName {
  readonly fingerprint: string
  /** The message with what differs from job to job masked. */
  readonly title: string
}

/** Which jobs come into being with an end, by what the job has become. */
export function spawnedBy(end: RunEnd, state: JobState): readonly NewJob[] {
  if (end.kind === 'ended' && end.transition.to === state) return end.spawn ?? []
  return state === 'cancelled' ? (end.spawnIfCancelled ?? []) : []
}
