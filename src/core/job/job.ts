import type { Units } from '../partition/limits.js'
import type { PartialPolicy, Policy } from '../policy/policy.js'
import { anyText, type Infer, integer, named } from '../values/schema.js'
import { view } from '../values/shape.js'

/** The stored state. `scheduled`, `queued`, `retrying` and `blocked` are labels that `phaseOf` derives. */
export const JOB_STATES = ['waiting', 'running', 'succeeded', 'dead', 'cancelled'] as const
export type JobState = (typeof JOB_STATES)[number]

/** A state, with `waiting` split by what the job waits for. */
export const WAITING_PHASES = ['scheduled', 'queued', 'retrying', 'blocked'] as const
export type WaitingPhase = (typeof WAITING_PHASES)[number]
export const PHASES = [...WAITING_PHASES, 'running', 'succeeded', 'dead', 'cancelled'] as const
export type Phase = (typeof PHASES)[number]

/** What holds a job back whose time has come: its queue is paused, or its dependency or a limit does not let it start. */
export const BLOCK_CODES = [
  'queue-paused',
  'circuit-open',
  'circuit-probing',
  'circuit-ramping',
  'not-before',
  'budget',
  'limit',
  'rate',
  'order',
  'stopped',
] as const
export type BlockCode = (typeof BLOCK_CODES)[number]

export const DELIVERIES = ['at-least-once', 'at-most-once'] as const
export type Delivery = (typeof DELIVERIES)[number]

export const DEATH_REASONS = [
  'exhausted',
  'too-old',
  'permanent',
  'failed',
  'unknown-outcome',
  'poison',
  'expired',
  'blocked',
  'gone',
  'endpoint-disabled',
  'discarded',
] as const
export type DeathReason = (typeof DEATH_REASONS)[number]

/** The outcome of one run of a job. */
export const RUN_STATUSES = [
  'succeeded',
  'failed',
  'timed-out',
  'lost',
  'snoozed',
  'released',
  'deferred',
  'cancelled',
] as const
export type RunStatus = (typeof RUN_STATUSES)[number]

/** The statuses of failed runs. They belong to an error group, and the next start is a retry. */
export const FAILED: ReadonlySet<RunStatus> = new Set(['failed', 'timed-out', 'lost'])

/** A thrown value that is safe to store: bounded, valid Unicode, plain data. */
export const storedError = named(
  'JobError',
  view({ name: anyText, message: anyText }, { code: anyText, status: integer(), stack: anyText }),
)
export type StoredError = Infer<typeof storedError>

/** The fields of a job, as a store keeps them. Times are epoch milliseconds on the store's clock. */
export interface Job {
  readonly id: string
  readonly name: string
  readonly queue: string
  readonly priority: number
  readonly delivery: Delivery
  /** JSON text, exactly as it was accepted. */
  readonly payload: string
  readonly tenantId?: string
  readonly key?: string
  readonly unique?: string
  readonly tags: readonly string[]
  /** The retry settings of the enqueue call; merged over the definition's policy. */
  readonly override?: PartialPolicy
  /** Hash of the merged policy of definition, queue and instance; refreshed by every claim. */
  readonly policyId?: string
  readonly timeoutMs?: number
  readonly deadline?: number

  readonly state: JobState
  readonly reason?: DeathReason
  readonly runAt: number
  readonly createdAt: number
  /** Start of the first run of this generation; `maxElapsed` counts from here. */
  readonly firstStartedAt?: number
  readonly startedAt?: number
  readonly finishedAt?: number

  readonly generation: number
  /** Counts the claims of the job in all generations. A job that is released before it starts gives its number back. */
  readonly run: number
  /** Runs of this generation that count; `maxRetries` and the labels depend on it. */
  readonly attempt: number
  readonly snoozes: number
  readonly releases: number
  /** How often this generation was lost together with other jobs. */
  readonly losses: number
  /** How often this generation was lost while it ran alone. Three times make it poison. */
  readonly strikes: number
  /** Lost with other jobs and not cleared by a success since: it may have crashed the process. */
  readonly suspect: boolean
  /** The last computed backoff, on which decorrelated jitter builds. */
  readonly backoffMs?: number
  /**
   * The end of the last failed run of this generation, if no handler has started since. The latency of a retry counts
   * from here.
   */
  readonly failedAt?: number
  readonly begun: boolean
  readonly cancelRequested: boolean
  /** The worker that runs it and the end of its lease; set only while it runs. */
  readonly workerId?: string
  readonly leaseUntil?: number

  /** The dependency, whose circuit and retry budget it shares. */
  readonly dependency?: string
  /** The round of its dependency that gave it its present time, so that it need not ask again. */
  readonly pass?: number
  /** The partition that its enqueue call named, and what its start costs; see `core/partition/`. */
  readonly partition?: string
  readonly units?: Units
  /** The partition in which it waits for its turn. Stores set it for the jobs of limited queues. */
  readonly lane?: string
  /** The group of its last error, or the one that its enqueue call named. */
  readonly fingerprint?: string
  readonly acknowledgedAt?: number
  /** The redrive that started this generation. */
  readonly redriveId?: string
  /** The schedule of which it is an occurrence. */
  readonly scheduleId?: string
  /** The webhook endpoint that is notified of its outcome. */
  readonly webhook?: string
  /** JSON text of the headers with the trace context in which it was enqueued, if tracing is on. */
  readonly trace?: string

  readonly result?: string
  readonly error?: StoredError
  /** JSON text of the last `job.progress(…)`. */
  readonly progress?: string
}

/** The fields of a job that `decide` needs; both a `Job` and a worker's claimed job have them. */
export type JobFacts = Pick<
  Job,
  | 'attempt'
  | 'delivery'
  | 'begun'
  | 'snoozes'
  | 'releases'
  | 'losses'
  | 'strikes'
  | 'suspect'
  | 'backoffMs'
  | 'failedAt'
  | 'firstStartedAt'
  | 'deadline'
  | 'cancelRequested'
  | 'dependency'
> & {
  readonly policy: Policy
  /** Whether the definition allows another try of an at-most-once job whose request was certainly not sent. */
  readonly retryUnsent?: boolean
}

export const TERMINAL: ReadonlySet<JobState> = new Set(['succeeded', 'dead', 'cancelled'])

export const PRIORITY_DEFAULT = 5
export const PRIORITY_MAX = 9

/** A waiting job that its dependency holds back: its present time is the slot that the dependency gave it. */
export function isHeld(job: Pick<Job, 'state' | 'runAt' | 'pass'>, now: number): boolean {
  return job.state === 'waiting' && job.pass !== undefined && job.runAt > now
}

/** `isHeldBack`: its queue is paused or a limit keeps it waiting, so it is blocked once its time has come. */
export function phaseOf(
  job: Pick<Job, 'state' | 'runAt' | 'attempt' | 'pass'>,
  now: number,
  isHeldBack = false,
): Phase {
  if (job.state !== 'waiting') return job.state
  if (isHeld(job, now) || (isHeldBack && job.runAt <= now)) return 'blocked'
  if (job.attempt > 0) return 'retrying'
  return job.runAt > now ? 'scheduled' : 'queued'
}

/** "Initial", "Retry #1", …: the name of a run that counts. A later generation begins with "Restart #1". */
export function attemptLabel(attempt: number, generation = 1): string {
  if (attempt > 1) return `Retry #${attempt - 1}`
  return generation > 1 ? `Restart #${generation - 1}` : 'Initial'
}

interface LabelledRun extends Pick<Job, 'run' | 'attempt' | 'generation'> {
  readonly status: RunStatus
}

/** The name of an ended run. One that did not count is named by its number, and one that did not start is no run. */
export function runLabel({ run, attempt, generation, status }: LabelledRun, isFree: boolean): string {
  if (status === 'deferred') return 'Deferred'
  return isFree ? `Run ${run}` : attemptLabel(attempt, generation)
}

/** A lost run counts by default, so this attempt is the last one that may start. */
export function isLastPermitted({ attempt }: Pick<Job, 'attempt'>, { maxRetries, crashes }: Policy): boolean {
  return attempt > maxRetries && crashes !== 'forgive'
}

/**
 * Whether the start of this run is committed by `begin` before its handler runs. If such a run is lost before that, it
 * certainly did not start.
 */
export function needsBegin(job: Pick<Job, 'delivery' | 'suspect' | 'attempt'>, policy: Policy): boolean {
  return job.delivery === 'at-most-once' || job.suspect || isLastPermitted(job, policy)
}

/** At most once means one run, whatever the policy says, unless the first run certainly did not happen. */
export function maxRetriesOf(job: Pick<Job, 'delivery' | 'attempt'>, policy: Policy): number {
  return job.delivery === 'at-most-once' && job.attempt <= 1 ? 0 : policy.maxRetries
}
