import type { Delivery, Job, JobState, StoredError } from '../core/job/job.js'
import type { Transition } from '../core/job/lifecycle.js'
import type { Units } from '../core/partition/limits.js'
import type { Lesson } from '../core/partition/pace.js'
import type { UnheldField } from './job-columns.js'
import type { NewJob } from './store.js'

// The types of a run, from claim to settlement, that workers and stores share.

export interface ClaimRequest {
  readonly workerId: string
  /** 128 random bits in hex. Each claim has a new token; a repeated claim uses the same one. */
  readonly token: string
  readonly queues: readonly string[]
  readonly limit: number
  readonly leaseMs: number
  /**
   * Policy ids by `queue name`, joined with a space, for the jobs that this worker defines; by the queue alone, for
   * jobs without a policy.
   */
  readonly policyIds: Readonly<Record<string, string>>
  /**
   * Which jobs begin with the claim, as by `begin`: those with these keys of `policyIds`, if `beginsWithClaim` agrees. The
   * worker has a free slot for every job of such a claim and starts them at once.
   */
  readonly begins?: readonly string[]
  /** The claim belongs to an enqueue of the same moment. A store may run both in one transaction. */
  readonly isAlong?: boolean
  /**
   * Claims only jobs with these names, or only jobs with other names. The store may read only the first
   * `NAMED_DUE_MAX` due jobs.
   */
  readonly names?: NameChoice
}

/** The lookup ignores inherited properties, because a queue can have the name of one. */
export function policyIdOf(
  { name, queue, policyId }: Pick<Job, 'name' | 'queue' | 'policyId'>,
  policyIds: ClaimRequest['policyIds'],
): string | undefined {
  const known = policyIds[`${queue} ${name}`] ?? policyId
  return known === undefined && Object.hasOwn(policyIds, queue) ? policyIds[queue] : known
}

/** Only a first run, because it is no suspect's, and only under the policy of its definition and queue. */
export function beginsWithClaim(
  { name, queue, run, delivery, override }: Pick<Job, 'name' | 'queue' | 'run' | 'delivery' | 'override'>,
  begins: ClaimRequest['begins'],
): boolean {
  if (begins === undefined || run !== 1 || override !== undefined || delivery === 'at-most-once') return false
  return begins.includes(`${queue} ${name}`)
}

/** At least half of the jobs can begin with their claim. */
export function mostlyBegin(jobs: readonly Claimed[], begins: ClaimRequest['begins']): boolean {
  return 2 * jobs.filter(job => beginsWithClaim(job, begins)).length >= jobs.length
}

export interface NameChoice {
  readonly list: readonly string[]
  readonly isExcluded: boolean
}

/** The maximum number of due jobs of a queue and priority that a claim reads to find matching names. */
export const NAMED_DUE_MAX = 100_000

export interface Claim {
  /** The store's time of the claim. */
  readonly now: number
  /** Highest priority first, then by due time. */
  readonly jobs: readonly Claimed[]
  /**
   * The due time of the next waiting job in these queues. It is set if fewer jobs were due than requested and another
   * one waits.
   */
  readonly nextDueAt?: number
  /** Whether the claim shared the transaction of its enqueue, or ran after it. */
  readonly isAlong?: boolean
}

/** A job with its lease, as a worker holds it. */
export type Claimed = Omit<Job, 'state' | UnheldField> & {
  readonly token: string
  readonly workerId: string
  readonly leaseUntil: number
}

/** The fence: every write of a running job is a compare-and-set on both fields. */
export interface Lease {
  readonly id: string
  readonly token: string
}

/** `delivery` comes from the worker's definition. If it is stricter than the stored one, it wins and is stored. */
export interface BeginRequest extends Lease {
  readonly delivery?: Delivery
}

export type LeaseStatus = 'held' | 'cancel-requested' | 'lost'

/**
 * `locked`: another transaction holds the row now, so the lease was not renewed; no other worker can claim the job
 * meanwhile.
 */
export type Extended = LeaseStatus | 'locked'

export interface Report {
  readonly lease: Lease
  readonly logs: readonly LogLine[]
  /**
   * The number of the first line within its run, counted from 0 by the worker. It makes a repeated report idempotent.
   */
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
  /** The values from the claim; they can't change while the lease is held. */
  readonly generation: number
  readonly run: number
  readonly attempt: number
  readonly workerId: string
  /** The fields that counters need, also from the claim. */
  readonly queue: string
  readonly name: string
  readonly tenantId?: string
  readonly failedAt?: number
  /** The partition whose turn it took; its end lets others start. */
  readonly lane?: string
  /** What the run says about the rates of its partition. */
  readonly lesson?: Lesson
  /** What it spent beyond its estimate, by unit; negative if it gave something back. */
  readonly spent?: Units
  /** When it was claimed, if it has spent something. */
  readonly claimedAt?: number
  /** The time at which the job was due. */
  readonly dueAt?: number
  readonly startedAt: number
  readonly finishedAt: number
  readonly end: RunEnd
  /**
   * Set by the sweeper: settle only if the lease of this very run is still expired when the write happens. A repeated claim
   * may have started the next run under the same token.
   */
  readonly onlyIfExpired?: boolean
  /**
   * Also set by the sweeper: settle only if the run has begun, or has not, as when its end was decided. A worker whose clock
   * says that its lease is valid may begin it in between, and then it counts.
   */
  readonly ifBegun?: boolean
}

export type RunEnd =
  | {
      readonly kind: 'ended'
      readonly transition: Transition
      readonly error?: StoredError
      readonly note?: string
      /** JSON text. */
      readonly result?: string
      /** The error group. It is stored with the attempt, and on a job that has not succeeded. */
      readonly group?: ErrorGroupName
      /** Stored on a job that waits again and has no dependency yet. */
      readonly dependency?: string
      /** The slot that a dependency assigned to a job that waits again. Every other outcome clears it. */
      readonly pass?: number
      /** Jobs that are created atomically with this settlement. */
      readonly spawn?: readonly NewJob[]
      /** The jobs to create instead if a cancellation arrived meanwhile and the job does not wait again. */
      readonly spawnIfCancelled?: readonly NewJob[]
    }
  /**
   * The job was claimed but never started: it waits again as if it had not been claimed, without an attempt, a run or
   * a row.
   */
  | { readonly kind: 'handed-back'; readonly delayMs: number; readonly spawnIfCancelled?: readonly NewJob[] }

/**
 * `state` is the job's new state, and `runAt` its next start; a cancellation that arrived meanwhile turns waiting into
 * cancelled. `already`: this run was already settled with the same status. `lost`: another process ended the run, or
 * it was handed back.
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
  /** Whether its process held no other job. */
  readonly alone: boolean
}

/** Workers of one process end together. Their ids are equal up to this sign. */
export const SIBLING_SIGN = '~'

export const siblingOf = (workerId: string, number: number): string => `${workerId}${SIBLING_SIGN}${number}`

export function processOf(workerId: string): string {
  return workerId.split(SIBLING_SIGN, 1)[0]!
}

export interface ErrorGroupName {
  readonly fingerprint: string
  /** The message with the parts that differ from job to job masked. */
  readonly title: string
}

/** The jobs to create with a settlement, given the job's new state. */
export function spawnedBy(end: RunEnd, state: JobState): readonly NewJob[] {
  if (end.kind === 'ended' && end.transition.to === state) return end.spawn ?? []
  return state === 'cancelled' ? (end.spawnIfCancelled ?? []) : []
}
