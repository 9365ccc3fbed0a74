import type { Delivery, Job, JobState, RunStatus, StoredError } from '../core/job.js'
import type { Decision, Transition } from '../core/lifecycle.js'
import type { PartialPolicy } from '../core/policy.js'

/**
 * Keeps facts and settles races; decides nothing.
 *
 * Every verb is atomic, takes a batch where a batch makes sense, and may be repeated with the same ids and
 * tokens: an answer lost after the commit is unknown, not failed. Delays reach a store as durations; its own
 * clock turns them into times.
 */
export interface Store {
  readonly kind: 'memory' | 'sqlite' | 'postgres'

  /** Brings the schema up to this code's version; refuses one that is newer. Safe from many processes at once. */
  migrate(): Promise<Migration>
  info(): Promise<StoreInfo>
  close(): Promise<void>

  enqueue(jobs: readonly NewJob[], tx?: unknown): Promise<readonly Enqueued[]>

  /** waiting → running. The token makes it repeatable: the same one returns the same jobs. */
  claim(request: ClaimRequest): Promise<Claim>
  /**
   * The handler is about to start: after this an at-most-once job is never handed out again. Repeated, it answers the
   * same. One that was asked to stop answers `cancel-requested` and has not begun.
   */
  begin(requests: readonly BeginRequest[]): Promise<readonly LeaseStatus[]>
  extend(leases: readonly Lease[], leaseMs: number): Promise<readonly LeaseStatus[]>
  /** Log lines and progress of running jobs, fenced like everything else that a worker writes. */
  report(reports: readonly Report[]): Promise<readonly LeaseStatus[]>
  /** The only way out of running. */
  settle(settlements: readonly Settlement[]): Promise<readonly Settled[]>

  /** Running jobs of workers that seem dead: every lease of theirs ran out, or one did so a lease time ago. */
  expired(limit: { readonly workers: number }): Promise<Expired>
  /** waiting → dead (expired) for jobs whose deadline has passed. */
  expireDeadlines(limit: number): Promise<readonly Job[]>

  /** waiting → cancelled; running → asked to stop. */
  cancel(ids: readonly string[]): Promise<readonly Changed[]>
  /** Moves a waiting job to another time. */
  reschedule(id: string, at: RunTime): Promise<Changed>
  /** dead | cancelled → waiting, as a new generation. */
  redrive(ids: readonly string[]): Promise<readonly Changed[]>
  /** Removes the record of jobs that do not run. Their keys stay remembered for `REMOVED_KEY_MS`, as after a prune. */
  remove(ids: readonly string[]): Promise<readonly Changed[]>
  /** Removes ended jobs older than asked for, oldest first, and keys whose time is over. */
  prune(request: PruneRequest): Promise<PruneReport>

  get(id: string): Promise<Job | undefined>
  list(filter: JobFilter, page: PageRequest): Promise<Page<Job>>
  /** Counts up to `cap`; `at-least` says that there are more. */
  count(filter: JobFilter, cap: number): Promise<Count>
  /** Attempts, newest first. */
  history(id: string, page: PageRequest): Promise<Page<AttemptRecord>>
  /** Log lines, in the order in which they were written. */
  logs(id: string, page: PageRequest): Promise<Page<LogRecord>>

  /** Every queue that was ever set or enqueued into, by name. */
  queues(): Promise<readonly QueueRecord[]>
  setQueue(name: string, change: QueueChange): Promise<QueueRecord>

  /** Policies by content hash; they are never changed, only added. */
  putPolicies(policies: readonly PolicyRecord[]): Promise<void>
  policies(ids: readonly string[]): Promise<readonly PolicyRecord[]>

  /** A side effect that is remembered over attempts (`job.once`), per generation-spanning job and name. */
  beginEffect(lease: Lease, name: string): Promise<EffectStatus>
  endEffect(lease: Lease, name: string, result: string): Promise<'done' | 'lost'>

  /** Calls back when another process may have added work; a hint only. Returns how to stop. */
  watch(onChange: () => void): () => void
  /** Extends a worker's leases from a thread of its own while this thread is blocked. Absent where a store can't. */
  guard?(options: GuardOptions): Guard
}

/** How long the key of a job that somebody removed stays remembered. */
export const REMOVED_KEY_MS = 86_400_000

/** Log lines kept per run; one more line says that others were dropped. */
export const LOG_LINES_MAX = 1_000
export const LOG_LINES_DROPPED = `only the first ${LOG_LINES_MAX} lines of a run are kept`

export interface Migration {
  readonly from: number
  readonly to: number
}

export interface StoreInfo {
  readonly kind: Store['kind']
  readonly now: number
  readonly schemaVersion: number
  /** Name and version of what keeps the data: `SQLite 3.53.0`. */
  readonly engine: string
  /** What an acknowledged write survives. */
  readonly durability: 'none' | 'process-crash' | 'power-loss'
  readonly location: string
}

export type RunTime = { readonly delayMs: number } | { readonly at: number }

export interface NewJob {
  /** UUIDv7, chosen by the client, so that a repeated call finds its own row. */
  readonly id: string
  readonly name: string
  readonly queue: string
  readonly priority: number
  readonly delivery: Delivery
  readonly payload: string
  /** Hash of the canonical payload; present when `key` is. */
  readonly payloadHash?: string
  readonly runAt: RunTime
  readonly deadline?: RunTime
  readonly timeoutMs?: number
  readonly tenantId?: string
  /** Idempotency key: unique per tenant and job name for as long as it is remembered. */
  readonly key?: string
  /** At most one waiting or running job per tenant, job name and value. */
  readonly unique?: string
  readonly tags: readonly string[]
  readonly override?: PartialPolicy
  readonly policyId?: string
}

export type Enqueued =
  | { readonly status: 'created'; readonly id: string }
  | { readonly status: 'existing'; readonly id: string }
  /** The key belongs to a job with another payload. */
  | { readonly status: 'conflict'; readonly id: string; readonly payloadHash: string }

export interface ClaimRequest {
  readonly workerId: string
  /** 128 random bits in hex, new for every claim, the same when one is repeated. */
  readonly token: string
  readonly queues: readonly string[]
  readonly limit: number
  readonly leaseMs: number
  /** Policy id by `queue name`, joined with a space, for what this worker knows. */
  readonly policyIds: Readonly<Record<string, string>>
}

export interface Claim {
  /** The store's clock at the claim. */
  readonly now: number
  /** Highest priority first, then by due time. */
  readonly jobs: readonly Claimed[]
  /** When the next waiting job of these queues falls due, where fewer were due than asked for and there is one. */
  readonly nextDueAt?: number
}

/** A job with its lease, as a worker holds it. */
export type Claimed = Pick<
  Job,
  | 'id'
  | 'name'
  | 'queue'
  | 'priority'
  | 'delivery'
  | 'payload'
  | 'tenantId'
  | 'key'
  | 'tags'
  | 'override'
  | 'policyId'
  | 'timeoutMs'
  | 'deadline'
  | 'runAt'
  | 'createdAt'
  | 'firstStartedAt'
  | 'startedAt'
  | 'generation'
  | 'run'
  | 'attempt'
  | 'snoozes'
  | 'releases'
  | 'losses'
  | 'strikes'
  | 'suspect'
  | 'backoffMs'
  | 'begun'
  | 'cancelRequested'
> & {
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
    }
  /** Held but never started: waiting again as if it had not been claimed. No attempt, no run, no row. */
  | { readonly kind: 'handed-back'; readonly delayMs: number }

/**
 * `state` and `runAt` are what the job has become; a cancel that came in between turns waiting into cancelled.
 * `already`: this very run was settled before with the same status; `lost`: somebody else ended it, or it was handed back.
 */
export type Settled =
  | { readonly status: 'settled'; readonly state: JobState; readonly runAt: number }
  | { readonly status: 'already' }
  | { readonly status: 'lost' }

export interface Expired {
  readonly now: number
  readonly jobs: readonly ExpiredJob[]
}

export interface ExpiredJob extends Claimed {
  /** No other job was held by its worker. */
  readonly alone: boolean
}

export type Changed =
  | { readonly id: string; readonly status: 'changed'; readonly job: Job }
  /** Asked to stop; it ends when its worker hears of it. */
  | { readonly id: string; readonly status: 'requested'; readonly job: Job }
  /** Its state does not allow it, or (redrive) another live job has its `unique` value. */
  | { readonly id: string; readonly status: 'refused'; readonly job: Job; readonly conflictId?: string }
  | { readonly id: string; readonly status: 'not-found' }

export interface PruneRequest {
  /** Age at which an ended job goes, by state; a state that is absent is kept for ever. */
  readonly olderThanMs: Readonly<Partial<Record<'succeeded' | 'dead' | 'cancelled', number>>>
  /** How long the key of a pruned job stays remembered. */
  readonly keyMs: number
  readonly limit: number
}

export interface PruneReport {
  readonly pruned: Readonly<Record<'succeeded' | 'dead' | 'cancelled', number>>
  readonly keys: number
}

export interface JobFilter {
  readonly ids?: readonly string[]
  readonly state?: JobState | readonly JobState[]
  /** Label derived from the facts; only these need the clock, the others are states. */
  readonly phase?: 'scheduled' | 'queued' | 'retrying'
  readonly queue?: string
  readonly name?: string
  readonly tenantId?: string
  readonly key?: string
  readonly tag?: string
  readonly reason?: string
  /** From this time on … */
  readonly createdAfter?: number
  /** … and before this one. */
  readonly createdBefore?: number
}

export interface PageRequest {
  readonly limit: number
  readonly cursor?: string
}

export interface Page<T> {
  readonly data: readonly T[]
  readonly next?: string
}

export interface Count {
  readonly value: number
  readonly relation: 'exact' | 'at-least'
}

/** One run of a job, written once, when it ended. */
export interface AttemptRecord {
  readonly jobId: string
  readonly generation: number
  readonly run: number
  readonly attempt: number
  readonly status: RunStatus
  readonly startedAt: number
  readonly finishedAt: number
  readonly workerId: string
  readonly error?: StoredError
  readonly note?: string
  readonly delayMs?: number
  readonly nextRunAt?: number
  readonly decision: Decision
}

export interface QueueRecord {
  readonly name: string
  readonly paused: boolean
  readonly retry?: PartialPolicy
}

export interface QueueChange {
  readonly paused?: boolean
  /** null takes the queue's own policy away. */
  readonly retry?: PartialPolicy | null
}

export interface PolicyRecord {
  readonly id: string
  /** JSON text of a `Policy`. */
  readonly policy: string
}

export type EffectStatus =
  | { readonly status: 'new' }
  /** Begun by an earlier run that did not record its end: the effect may have happened. */
  | { readonly status: 'begun' }
  | { readonly status: 'done'; readonly result: string }
  | { readonly status: 'lost' }

export interface GuardOptions {
  readonly workerId: string
  readonly leaseMs: number
  /** Without a beat for this long the thread is taken to be stuck for good, and its leases run out. */
  readonly stuckAfterMs: number
}

export interface Guard {
  /** This thread is alive and holds leases. */
  beat(): void
  /** Nothing is held: there is nothing to keep until the next beat. */
  rest(): void
  /** Until when it has kept the leases, on this process's clock; 0 where it never had to. */
  keptUntil(): number
  stop(): Promise<void>
}
