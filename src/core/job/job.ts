import type { PartialPolicy, Policy } from '../policy/policy.js'

/** What is stored. `scheduled`, `queued` and `retrying` are labels, derived in `phaseOf`. */
export type JobState = 'waiting' | 'running' | 'succeeded' | 'dead' | 'cancelled'

export type Phase = 'scheduled' | 'queued' | 'retrying' | 'running' | 'succeeded' | 'dead' | 'cancelled'

export type Delivery = 'at-least-once' | 'at-most-once'

export type DeathReason =
  | 'exhausted'
  | 'too-old'
  | 'permanent'
  | 'failed'
  | 'unknown-outcome'
  | 'poison'
  | 'expired'
  | 'blocked'
  | 'gone'
  | 'endpoint-disabled'
  | 'discarded'

/** How one run of a job ended. */
export type RunStatus =
  | 'succeeded'
  | 'failed'
  | 'timed-out'
  | 'lost'
  | 'snoozed'
  | 'released'
  | 'deferred'
  | 'cancelled'

/** A thrown value, made safe to keep: bounded, valid Unicode, plain data. */
export interface StoredError {
  readonly name: string
  readonly message: string
  readonly code?: string
  readonly status?: number
  readonly stack?: string
}

/** The facts of a job, as a store keeps them. Times are epoch milliseconds on the store's clock. */
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
  /** What the enqueue call said about retrying; merged over the definition's policy. */
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
  /** Counts the claims over the whole life of the job. A job that is handed back before it starts gives its number back. */
  readonly run: number
  /** Runs of this generation that count; drives `maxRetries` and the labels. */
  readonly attempt: number
  readonly snoozes: number
  readonly releases: number
  /** Times this generation was lost together with others and got its attempt back. */
  readonly losses: number
  /** Times this generation was lost while it ran alone. Three make it poison. */
  readonly strikes: number
  /** Lost with others and not yet cleared by a success: it may be the one that killed the process. */
  readonly suspect: boolean
  /** The last computed backoff, which decorrelated jitter builds on. */
  readonly backoffMs?: number
  readonly begun: boolean
  readonly cancelRequested: boolean

  /** What it depends on; shared circuit and budget. */
  readonly dependency?: string
  /** The round of its dependency in which it was given its present time: it need not ask again. */
  readonly pass?: number
  /** The group of its last error, or the one that its enqueue named. */
  readonly fingerprint?: string
  readonly acknowledgedAt?: number
  /** The redrive that started this generation. */
  readonly redriveId?: string
  /** The schedule that it is an occurrence of. */
  readonly scheduleId?: string
  /** Where to tell of its end. */
  readonly webhook?: string
  /** JSON text of the headers that carry the trace that it was made in, where somebody traces. */
  readonly trace?: string

  readonly result?: string
  readonly error?: StoredError
  /** JSON text of the last `job.progress(…)`. */
  readonly progress?: string
}

/** What `decide` needs to know of a job; a `Job` is one, and so is what a worker holds. */
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
  | 'firstStartedAt'
  | 'deadline'
  | 'cancelRequested'
  | 'dependency'
> & {
  readonly policy: Policy
  /** At most once, but where a request certainly never left, the definition permits another try. */
  readonly retryUnsent?: boolean
}

export const TERMINAL: ReadonlySet<JobState> = new Set(['succeeded', 'dead', 'cancelled'])

export const PRIORITY_DEFAULT = 5
export const PRIORITY_MAX = 9

export function phaseOf(job: Pick<Job, 'state' | 'runAt' | 'attempt'>, now: number): Phase {
  if (job.state !== 'waiting') return job.state
  if (job.attempt > 0) return 'retrying'
  return job.runAt > now ? 'scheduled' : 'queued'
}

/** "Initial", "Retry #1", …: how people name the runs of a job. */
export function attemptLabel(attempt: number): string {
  return attempt <= 1 ? 'Initial' : `Retry #${attempt - 1}`
}

/** At most once means one run, whatever the policy says; unless the first is known not to have happened. */
export function maxRetriesOf(job: Pick<Job, 'delivery' | 'attempt'>, policy: Policy): number {
  return job.delivery === 'at-most-once' && job.attempt <= 1 ? 0 : policy.maxRetries
}
