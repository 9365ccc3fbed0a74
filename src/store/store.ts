import type { JobChange } from '../core/job/changes.js'
import type { Job } from '../core/job/job.js'
import type { Decision } from '../core/job/lifecycle.js'
import type { RunTime } from '../core/job/run-time.js'
import type { Replacement, Throttle } from '../core/job/unique.js'
import type { AttemptFacts } from '../core/job/view.js'
import type { Count } from '../core/values/count.js'
import type { Changed, Enqueued } from './answers.js'
import type { AuditSnapshot } from './integrity.js'
import type { GivenField } from './job-columns.js'
import type { PartitionQuery, PartitionRecord, QueueChange, QueueRecord } from './queue.js'
import type { Backlog, BacklogRequest, CensusRequest, QueueCensus, Wave, WaveRequest } from './reads/census.js'
import type { JobFilter } from './reads/filter.js'
import type { WaitingGroups, WaitingRequest } from './reads/waiting.js'
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
export type { Count } from '../core/values/count.js'
export type { Changed, Enqueued } from './answers.js'
export { REMOVED_KEY_MS, REPLACED_ID_MS } from './answers.js'
export type * from './queue.js'
export type { Backlog, BacklogRequest, CensusRequest, QueueCensus, Wave, WaveRequest } from './reads/census.js'
export type { JobFilter } from './reads/filter.js'
export type { Extent, WaitingGroup, WaitingGroups, WaitingRequest } from './reads/waiting.js'
export type * from './run.js'

/**
 * Keeps rows and resolves races; it decides nothing.
 *
 * Every operation is atomic, takes a batch where a batch makes sense, and may be repeated with the same ids and
 * tokens: if the answer is lost after the commit, the outcome is unknown, not failed. A store receives delays as
 * durations and turns them into times with its own clock.
 */
export interface Store {
  /** The name of the store: `memory`, `sqlite`, `postgres`, or the name of a custom store. */
  readonly kind: string
  /** Every call is a commit of its own: a call does not see an earlier call that has no answer yet. */
  readonly commitsAlone?: boolean
  /** The store announces work of other processes at once, so workers need to poll only rarely. */
  readonly announcesWork?: boolean
  /** `watch` can also call back when a run has ended in another process, so that callers who wait learn it at once. */
  readonly announcesEnds?: boolean

  /** Facts that the store knows at once, so that idle loops cost little. Absent if another process may change it. */
  pulse?(): Pulse | undefined

  /** Migrates the schema to this version and rejects a newer one. Many processes may call it at once. */
  migrate(): Promise<Migration>
  info(): Promise<StoreInfo>
  close(): Promise<void>

  enqueue(jobs: readonly NewJob[], tx?: unknown): Promise<readonly Enqueued[]>
  /**
   * Stores the decisions of schedules: each record is written if it still has the version that the decision is based
   * on, and only then are its jobs enqueued. All of them share one transaction; each one succeeds or conflicts on its
   * own.
   */
  fire(firings: readonly Firing[]): Promise<readonly Fired[]>

  /**
   * waiting → running. The token makes it idempotent: the same token returns the same jobs. Jobs of a queue with limits
   * start only as `takeTurns` (`core/partition/turn.ts`) allows; before, they are sorted into the lanes of their partitions.
   */
  claim(request: ClaimRequest): Promise<Claim>
  /** The running jobs that were claimed with this token, in claim order. Waits for a claim in progress. */
  held(token: string): Promise<Claim>
  /**
   * Marks the handler as about to start: from now on an at-most-once job is never claimed again. A repeated call
   * returns the same answer. A job with a requested cancellation answers `cancel-requested` and does not begin.
   */
  begin(requests: readonly BeginRequest[]): Promise<readonly LeaseStatus[]>
  extend(leases: readonly Lease[], leaseMs: number): Promise<readonly Extended[]>
  /** Stores log lines and progress of running jobs, fenced by the lease like every write of a worker. */
  report(reports: readonly Report[], tx?: unknown): Promise<readonly LeaseStatus[]>
  /** The only way out of running. With `tx`, it is part of the caller's transaction. */
  settle(settlements: readonly Settlement[], tx?: unknown): Promise<readonly Settled[]>

  /**
   * Running jobs of workers that seem dead: all of their leases expired, or one expired a full lease time ago. The workers
   * of one process (`processOf`) count as one.
   */
  expired(limit: { readonly workers: number }): Promise<Expired>
  /** Ids of waiting jobs whose deadline has passed, the earliest deadline first. */
  overdue(limit: number): Promise<readonly string[]>

  /**
   * Locks these jobs, applies the rule (`core/job/changes.ts`) to each of them and writes the result, together with
   * the jobs that `following` returns, in one transaction. The answers are in the order of the ids.
   */
  change(ids: readonly string[], decide: JobChange, following?: Following): Promise<readonly Changed[]>
  /** Removes the records of jobs that are not running. Their keys are kept for `REMOVED_KEY_MS`, as after a prune. */
  remove(ids: readonly string[], which?: Removable): Promise<readonly Changed[]>
  /** Removes ended jobs older than requested, oldest first, and expired keys. */
  prune(request: PruneRequest): Promise<PruneReport>

  /** Defers waiting jobs of a dependency: the first job gets the first delay; see `DeferRequest`. */
  defer(request: DeferRequest): Promise<Deferred>

  get(id: string): Promise<Job | undefined>
  list(filter: JobFilter, page: PageRequest): Promise<Page<Job>>
  /**
   * Counts up to `cap`. `at-least` means that there are more, or that there may be more if `lookAt` limited the
   * search.
   */
  count(filter: JobFilter, cap: number, lookAt?: number): Promise<Count>
  /** The schedules with waiting or running jobs, and the number of these jobs. */
  liveSchedules(ids: readonly string[]): Promise<readonly LiveSchedule[]>
  /** Queues with due jobs or with dead letters that are not acknowledged, by name. */
  backlog(request: BacklogRequest): Promise<readonly Backlog[]>
  /** Every queue that was ever configured or enqueued into, with its job counts, sorted by name. */
  census(request: CensusRequest): Promise<readonly QueueCensus[]>
  wave(request: WaveRequest): Promise<Wave>
  /** Waiting jobs in groups that the same rules apply to, for forecasts. */
  waiting(request: WaitingRequest): Promise<WaitingGroups>
  /** The progress of a redrive. */
  tally(redriveId: string): Promise<Tally>
  /** Attempts, newest first unless `order` says otherwise. */
  history(id: string, page: PageRequest): Promise<Page<AttemptRecord>>
  /** Log lines, in the order in which they were written. */
  logs(id: string, page: PageRequest): Promise<Page<LogRecord>>

  /** Every queue that was ever configured or enqueued into, sorted by name. */
  queues(): Promise<readonly QueueRecord[]>
  setQueue(name: string, change: QueueChange): Promise<QueueRecord>
  /**
   * Removes those queues that have no waiting or running job, with their settings; `unset`: only those that are not
   * paused and have neither a policy nor limits. Returns their names. A later enqueue creates the queue again.
   */
  removeQueues(names: readonly string[], which: 'any' | 'unset'): Promise<readonly string[]>
  /**
   * The partitions of a queue with limits. Names that have nothing to remember are absent. A store without this operation
   * does not support limits.
   */
  partitions?(queue: string, query: PartitionQuery): Promise<readonly PartitionRecord[]>

  /** Policies by content hash. They are immutable: new ones are only added. */
  putPolicies(policies: readonly PolicyRecord[]): Promise<void>
  policies(ids: readonly string[]): Promise<readonly PolicyRecord[]>

  /** Small documents that many processes share. Each is changed by compare-and-set on its version. */
  records(kind: string, query: RecordQuery): Promise<readonly StoredRecord[]>
  /** All writes share one transaction; each one succeeds or conflicts on its own. */
  putRecords(writes: readonly RecordWrite[]): Promise<readonly Put[]>
  /** Adds pending deltas to the records of `fold.ts` and returns how many it added. */
  fold(limit: number): Promise<number>
  /** Ledger and rows of one moment, for `chronos verify`. */
  audit(): Promise<AuditSnapshot>

  /** Begins a side effect that is remembered across attempts and generations (`job.once`), by job and name. */
  beginEffect(lease: Lease, name: string): Promise<EffectStatus>
  endEffect(lease: Lease, name: string, result: string): Promise<'done' | 'lost'>

  /** Calls back when another process may have added work, or ended a run (`ends`), and once when it starts to listen. */
  watch(onChange: () => void, what?: 'work' | 'ends'): () => void
  /**
   * Renews a worker's leases from a separate thread while this thread is blocked. Absent if the store does not support
   * it.
   */
  guard?(options: GuardOptions): Guard
}

export interface Pulse {
  /** Grows with every change of a job or a queue. */
  readonly changes: number
  /** Whether there is a running job, a waiting job with a deadline, a pending delta. */
  readonly runs: boolean
  readonly hasDeadlines: boolean
  readonly hasDeltas: boolean
}

/** The maximum number of log lines kept per run; one extra line says that later lines were dropped. */
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
  /** Name and version of the database engine, such as `SQLite 3.53.0`. */
  readonly engine: string
  /** What an acknowledged write survives. */
  readonly durability: 'none' | 'process-crash' | 'power-loss'
  readonly location: string
}

/** The optional fields are those of `Job`; see the table in `job-columns.ts`. */
export interface NewJob
  extends Pick<Job, 'name' | 'queue' | 'priority' | 'delivery' | 'payload' | 'tags' | Exclude<GivenField, 'deadline'>> {
  /** A UUIDv7 chosen by the client, so that a repeated call finds its own row. */
  readonly id: string
  /** Hash of the canonical payload; present if `key` is. */
  readonly payloadHash?: string
  readonly runAt: RunTime
  readonly deadline?: RunTime
  /** With `unique`: a waiting job with the value takes this payload (`takeNewest`). */
  readonly replacement?: Replacement
  /** Without `unique`. Nothing is created if a job was created with this value within the time (`throttleScope`). */
  readonly throttle?: Throttle
}

/** Jobs that are created atomically with the change of this job. It is called inside the transaction of the change. */
export type Following = (job: Job) => readonly NewJob[]

/** One decision of a schedule: its new record, and the jobs to enqueue with it. */
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

/** The maximum number of due jobs of a queue and priority to read when looking for a retry. */
export const BACKLOG_DUE_MAX = 1_000

export interface Tally {
  /** Jobs that have not started since the redrive. */
  readonly pending: number
  readonly running: number
  /** Jobs that wait again after a run that counted. */
  readonly retrying: number
  readonly succeeded: number
  readonly dead: number
  readonly cancelled: number
}

/**
 * Which waiting jobs of a dependency to defer: those due within `dueWithinMs` that have neither this request's pass
 * nor its negative, or those that have a different pass. A negative pass marks a job that was called to probe its
 * circuit. Jobs are taken by due time, then id, as many as there are delays. Only jobs with a different pass can move to
 * an earlier time. A job whose deadline has passed is not moved.
 */
export interface DeferRequest {
  readonly dependency: string
  /** Only jobs of this tenant; null: only jobs without a tenant. If absent, the tenant does not matter. */
  readonly tenantId?: string | null
  readonly from: { readonly dueWithinMs: number } | { readonly pass: number }
  readonly delaysMs: readonly number[]
  readonly pass: number
  /** Only jobs with a run that counted. */
  readonly retriesOnly?: boolean
  /** Only jobs that may run more than once. */
  readonly repeatableOnly?: boolean
  readonly exceptId?: string
}

export interface Deferred {
  readonly moved: number
}

/** Which jobs a removal accepts. `ended`: one that was started again meanwhile stays. Default: `idle`. */
export type Removable = 'idle' | 'ended'

export function isRemovable({ state }: Pick<Job, 'state'>, which: Removable = 'idle'): boolean {
  return state !== 'running' && !(which === 'ended' && state === 'waiting')
}

export interface PruneRequest {
  /** The age at which an ended job is removed, by state. Jobs in a state that is absent are kept forever. */
  readonly olderThanMs: Readonly<Partial<Record<'succeeded' | 'dead' | 'cancelled', number>>>
  /** How long the key of a pruned job is kept. */
  readonly keyMs: number
  readonly limit: number
}

export interface PruneReport {
  readonly pruned: Readonly<Record<'succeeded' | 'dead' | 'cancelled', number>>
  readonly keys: number
}

export interface PageRequest {
  readonly limit: number
  readonly cursor?: string
  /**
   * The default is newest first; a cursor keeps the order of the list that returned it. Only `list` and `history`
   * support another order.
   */
  readonly order?: 'newest' | 'oldest'
  /**
   * A `list` without a suitable index stops after reading about this many jobs; its page then has a cursor to
   * continue.
   */
  readonly lookAt?: number
}

export interface Page<T> {
  readonly data: readonly T[]
  readonly next?: string
  /** The number of jobs read; set if `lookAt` was given and a text was searched for. */
  readonly looked?: number
}

/** One run of a job, written once, when it ended. */
export interface AttemptRecord extends AttemptFacts {
  readonly jobId: string
  readonly decision: Decision
}

export interface PolicyRecord {
  readonly id: string
  /** JSON text of a `Policy`. */
  readonly policy: string
}

export type EffectStatus =
  | { readonly status: 'new' }
  /** An earlier run began the effect and did not record its end: the effect may have happened. */
  | { readonly status: 'begun' }
  | { readonly status: 'done'; readonly result: string }
  | { readonly status: 'lost' }

export interface GuardOptions {
  readonly workerId: string
  readonly leaseMs: number
  /** After this long without a heartbeat the thread is considered stuck, and its leases expire. */
  readonly stuckAfterMs: number
}

export interface Guard {
  /** Reports that this thread is alive and holds leases. */
  beat(): void
  /** Reports that no leases are held, so there is nothing to renew until the next heartbeat. */
  rest(): void
  /** The time until which it renewed the leases, on this process's clock; 0 if it never had to. */
  keptUntil(): number
  stop(): Promise<void>
}
