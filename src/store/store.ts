import type { JobChange } from '../core/job/changes.js'
import type { Job, JobState, RunStatus, StoredError } from '../core/job/job.js'
import type { Decision } from '../core/job/lifecycle.js'
import type { RunTime } from '../core/job/run-time.js'
import type { PartialPolicy } from '../core/policy/policy.js'
import type { Backlog, BacklogRequest, CensusRequest, QueueCensus, Wave, WaveRequest } from './census.js'
import type { AuditSnapshot } from './integrity.js'
import type { GivenField } from './job-columns.js'
import type { Put, RecordQuery, RecordWrite, StoredRecord } from './record.js'
import type {
  BeginRequest,
  Claim,
  ClaimRequest,
  Expired,
  Extended,
  Lease,
  LeaseStatus,
  LogRecord,
  Report,
  Settled,
  Settlement,
} from './run.js'

export type { JobChange, JobEdit, RedriveOptions } from '../core/job/changes.js'
export type { RunTime } from '../core/job/run-time.js'
export type { Backlog, BacklogRequest, CensusRequest, QueueCensus, Wave, WaveRequest } from './census.js'
export type * from './run.js'

/**
 * Keeps rows and resolves races; it decides nothing.
 *
 * Every verb is atomic, takes a batch where a batch makes sense, and may be repeated with the same ids and
 * tokens: an answer lost after the commit is unknown, not failed. Delays reach a store as durations; its own
 * clock turns them into times.
 */
export interface Store {
  /** What people call it: `memory`, `sqlite`, `postgres`, or the name of a store of yours. */
  readonly kind: string
  /** Every call is a commit of its own: a call does not see an earlier call that has no answer yet. */
  readonly commitsAlone?: boolean
  /** The store announces work of other processes at once, so workers need to poll only rarely. */
  readonly announcesWork?: boolean

  /** Brings the schema up to this code's version; refuses one that is newer. Safe from many processes at once. */
  migrate(): Promise<Migration>
  info(): Promise<StoreInfo>
  close(): Promise<void>

  enqueue(jobs: readonly NewJob[], tx?: unknown): Promise<readonly Enqueued[]>
  /**
   * What schedules decided: each record is written if it has the version that the decision was made on, and then, and
   * only then, its jobs are enqueued. All in one transaction; each is written or in conflict for itself.
   */
  fire(firings: readonly Firing[]): Promise<readonly Fired[]>

  /** waiting → running. The token makes it repeatable: the same one returns the same jobs. */
  claim(request: ClaimRequest): Promise<Claim>
  /** The running jobs that were claimed under this token, in the order of a claim. Waits for a claim that is still at work. */
  held(token: string): Promise<Claim>
  /**
   * The handler is about to start: after this an at-most-once job is never handed out again. Repeated, it answers the
   * same. One that was asked to stop answers `cancel-requested` and has not begun.
   */
  begin(requests: readonly BeginRequest[]): Promise<readonly LeaseStatus[]>
  extend(leases: readonly Lease[], leaseMs: number): Promise<readonly Extended[]>
  /** Log lines and progress of running jobs, fenced like everything else that a worker writes. */
  report(reports: readonly Report[], tx?: unknown): Promise<readonly LeaseStatus[]>
  /** The only way out of running. With `tx`, in a transaction of the caller, whose end decides. */
  settle(settlements: readonly Settlement[], tx?: unknown): Promise<readonly Settled[]>

  /** Running jobs of workers that seem dead: every lease of theirs ran out, or one did so a lease time ago. */
  expired(limit: { readonly workers: number }): Promise<Expired>
  /** Ids of waiting jobs whose deadline has passed, the earliest deadline first. */
  overdue(limit: number): Promise<readonly string[]>

  /**
   * Locks these jobs, asks the rule about each of them (`core/job/changes.ts`) and writes what it returns, with the jobs that
   * `following` names, in one transaction. Answers in the order of the ids.
   */
  change(ids: readonly string[], decide: JobChange, following?: Following): Promise<readonly Changed[]>
  /** Removes the record of jobs that do not run. Their keys stay remembered for `REMOVED_KEY_MS`, as after a prune. */
  remove(ids: readonly string[]): Promise<readonly Changed[]>
  /** Removes ended jobs older than asked for, oldest first, and keys whose time is over. */
  prune(request: PruneRequest): Promise<PruneReport>

  /** Gives waiting jobs of a dependency other times, the first of the line the first delay; see `ParkRequest`. */
  park(request: ParkRequest): Promise<Parked>

  get(id: string): Promise<Job | undefined>
  list(filter: JobFilter, page: PageRequest): Promise<Page<Job>>
  /** Counts up to `cap`; `at-least` says that there are, or (with `lookAt`, as for a page) may be, more. */
  count(filter: JobFilter, cap: number, lookAt?: number): Promise<Count>
  /** Which of these schedules have jobs that wait or run, and how many. */
  liveSchedules(ids: readonly string[]): Promise<readonly LiveSchedule[]>
  /** Queues with due jobs or with dead letters that are not acknowledged, by name. */
  backlog(request: BacklogRequest): Promise<readonly Backlog[]>
  /** Every queue that has been set or enqueued into, with what is in it, by name. */
  census(request: CensusRequest): Promise<readonly QueueCensus[]>
  wave(request: WaveRequest): Promise<Wave>
  /** How far the jobs of a redrive have come. */
  tally(redriveId: string): Promise<Tally>
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

  /** Small documents that many processes share, each changed by compare-and-set on its version. */
  records(kind: string, query: RecordQuery): Promise<readonly StoredRecord[]>
  /** All in one transaction; each is written or in conflict for itself. */
  putRecords(writes: readonly RecordWrite[]): Promise<readonly Put[]>
  /** Adds the deltas that enqueues, ends and removals left to the records of `fold.ts`; how many were taken. */
  fold(limit: number): Promise<number>
  /** Ledger and rows of one moment, for `chronos verify`. */
  audit(): Promise<AuditSnapshot>

  /** A side effect that is remembered over attempts (`job.once`), per generation-spanning job and name. */
  beginEffect(lease: Lease, name: string): Promise<EffectStatus>
  endEffect(lease: Lease, name: string, result: string): Promise<'done' | 'lost'>

  /** Calls back when another process may have added work, and once when it starts to listen. Returns a function that stops it. */
  watch(onChange: () => void): () => void
  /** Extends a worker's leases from a thread of its own while this thread is blocked. Absent where a store can't. */
  guard?(options: GuardOptions): Guard
}

/** How long the key of a removed job is remembered. */
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

/** The optional fields are those of `Job`; see the table in `job-columns.ts`. */
export interface NewJob
  extends Pick<Job, 'name' | 'queue' | 'priority' | 'delivery' | 'payload' | 'tags' | Exclude<GivenField, 'deadline'>> {
  /** UUIDv7, chosen by the client, so that a repeated call finds its own row. */
  readonly id: string
  /** Hash of the canonical payload; present when `key` is. */
  readonly payloadHash?: string
  readonly runAt: RunTime
  readonly deadline?: RunTime
}

/** Jobs that come into being with the change of this one, or not at all. Decided in the transaction of the change. */
export type Following = (job: Job) => readonly NewJob[]

/** One decision of a schedule: its record as it is to be, and the jobs that follow from it. */
export interface Firing {
  readonly record: RecordWrite & { readonly expect: number }
  readonly jobs: readonly NewJob[]
}

export type Fired =
  | { readonly status: 'written'; readonly version: number; readonly enqueued: readonly Enqueued[] }
  | Extract<Put, { status: 'conflict' }>

export interface LiveSchedule {
  readonly id: string
  readonly live: number
}

/** So many due jobs of a queue and priority are looked at for one that is retried. */
export const BACKLOG_DUE_MAX = 1_000

export type Enqueued =
  | { readonly status: 'created'; readonly id: string }
  | { readonly status: 'existing'; readonly id: string }
  /** The key belongs to a job with another payload. */
  | { readonly status: 'conflict'; readonly id: string; readonly payloadHash: string }

export type Changed =
  | { readonly id: string; readonly status: 'changed'; readonly job: Job }
  /** Asked to stop; it ends when its worker hears of it. */
  | { readonly id: string; readonly status: 'requested'; readonly job: Job }
  /** Its state does not allow it, or (redrive) another live job has its `unique` value. */
  | { readonly id: string; readonly status: 'refused'; readonly job: Job; readonly conflictId?: string }
  | { readonly id: string; readonly status: 'not-found' }

export interface Tally {
  /** Not started since the redrive. */
  readonly pending: number
  readonly running: number
  /** Waiting again after a run that counted. */
  readonly retrying: number
  readonly succeeded: number
  readonly dead: number
  readonly cancelled: number
}

/**
 * Which waiting jobs of a dependency get another time: those due within so many milliseconds that do not have this request's
 * pass yet, or those that have another one. In the order of their times, then ids; as many as there are delays. Only
 * the latter may move to an earlier time than they have. One whose deadline has passed stays where it is.
 */
export interface ParkRequest {
  readonly dependency: string
  readonly from: { readonly dueWithinMs: number } | { readonly pass: number }
  readonly delaysMs: readonly number[]
  readonly pass: number
  /** Only jobs with a run that counted. */
  readonly retriesOnly?: boolean
  /** Only jobs that may start twice. */
  readonly repeatableOnly?: boolean
  readonly exceptId?: string
}

export interface Parked {
  readonly moved: number
}

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
  readonly fingerprint?: string
  readonly dependency?: string
  readonly redriveId?: string
  readonly scheduleId?: string
  readonly acknowledged?: boolean
  /** Ended before this time. */
  readonly finishedBefore?: number
  /** From this time on … */
  readonly createdAfter?: number
  /** … and before this one. */
  readonly createdBefore?: number
  /** Part of the name, code or message of its last error; of ASCII, upper and lower case are the same … */
  readonly error?: string
  /** … and of its id, name, queue, key, tags, payload or error. */
  readonly text?: string
}

export interface PageRequest {
  readonly limit: number
  readonly cursor?: string
  /** Newest first unless asked for; a cursor goes on in the order that it came from. Only `list` knows another. */
  readonly order?: 'newest' | 'oldest'
  /** After about so many jobs a `list` that has no index to go by stops looking, and its page says where to go on. */
  readonly lookAt?: number
}

export interface Page<T> {
  readonly data: readonly T[]
  readonly next?: string
  /** How many jobs were looked at, where `lookAt` was given and a text was looked for. */
  readonly looked?: number
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
  readonly fingerprint?: string
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
