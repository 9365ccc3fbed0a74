import { type Policy, storablePolicy } from '../policy/policy.js'
import {
  attemptLabel,
  type Delivery,
  type Job,
  type JobState,
  maxRetriesOf,
  type Phase,
  phaseOf,
  type StoredError,
} from './job.js'
import type { Decision } from './lifecycle.js'

/** A job as users see it, the same in TypeScript, REST and `--json`. Times are RFC 3339 with milliseconds. */
export interface JobView {
  readonly id: string
  readonly name: string
  readonly queue: string
  readonly state: JobState
  readonly phase: Phase
  readonly reason?: string
  readonly priority: number
  readonly attempt: number
  readonly maxAttempts: number
  readonly maxRetries: number
  readonly runAt: string
  readonly createdAt: string
  readonly startedAt?: string
  readonly finishedAt?: string
  readonly tenantId?: string
  readonly key?: string
  readonly tags: readonly string[]
  readonly delivery: Delivery
  readonly payload: unknown
  readonly result?: unknown
  readonly error?: StoredError
  readonly progress?: unknown
  readonly scheduleId?: string
  readonly generation: number
  readonly retry: Policy
  /** Grows with every claim; a claim that is released before it starts does not count. */
  readonly run?: number
  /** The group of its last error. */
  readonly fingerprint?: string
  /** Its dependency. */
  readonly dependency?: string
  /** The job does not start after this time. */
  readonly deadline?: string
  readonly timeoutMs?: number
  /** The webhook endpoint that is notified of its outcome. */
  readonly webhook?: string
  /** The redrive that started this generation. */
  readonly redriveId?: string
  /** An operator has acknowledged that it is dead. */
  readonly acknowledged?: boolean
}

export interface AttemptView {
  readonly generation: number
  readonly run: number
  readonly attempt: number
  readonly retry: number
  readonly label: string
  readonly status: string
  readonly startedAt: string
  readonly finishedAt: string
  readonly durationMs: number
  readonly error?: StoredError
  readonly note?: string
  readonly workerId: string
  readonly delayMs?: number
  readonly nextRunAt?: string
  readonly fingerprint?: string
  readonly decision?: Decision
}

/** The fields of a run's record that a view needs; a store's record has them. */
export interface AttemptFacts {
  readonly generation: number
  readonly run: number
  readonly attempt: number
  readonly status: string
  readonly startedAt: number
  readonly finishedAt: number
  readonly workerId: string
  readonly error?: StoredError
  readonly note?: string
  readonly delayMs?: number
  readonly nextRunAt?: number
  readonly fingerprint?: string
  readonly decision?: Decision
}

export function viewJob(job: Job, policy: Policy, now: number): JobView {
  const maxRetries = maxRetriesOf(job, policy)
  return {
    id: job.id,
    name: job.name,
    queue: job.queue,
    state: job.state,
    phase: phaseOf(job, now),
    ...(job.reason !== undefined && { reason: job.reason }),
    priority: job.priority,
    attempt: job.attempt,
    maxAttempts: maxRetries + 1,
    maxRetries,
    runAt: timeText(job.runAt),
    createdAt: timeText(job.createdAt),
    ...(job.startedAt !== undefined && { startedAt: timeText(job.startedAt) }),
    ...(job.finishedAt !== undefined && { finishedAt: timeText(job.finishedAt) }),
    ...(job.tenantId !== undefined && { tenantId: job.tenantId }),
    ...(job.key !== undefined && { key: job.key }),
    tags: job.tags,
    delivery: job.delivery,
    payload: parsed(job.payload),
    ...(job.result !== undefined && { result: parsed(job.result) }),
    ...(job.error !== undefined && { error: job.error }),
    ...(job.progress !== undefined && { progress: parsed(job.progress) }),
    ...(job.scheduleId !== undefined && { scheduleId: job.scheduleId }),
    generation: job.generation,
    retry: storablePolicy(policy),
    ...moreOf(job),
  }
}

function moreOf(job: Job): Partial<JobView> {
  return {
    run: job.run,
    ...(job.fingerprint !== undefined && { fingerprint: job.fingerprint }),
    ...(job.dependency !== undefined && { dependency: job.dependency }),
    ...(job.deadline !== undefined && { deadline: timeText(job.deadline) }),
    ...(job.timeoutMs !== undefined && { timeoutMs: job.timeoutMs }),
    ...(job.webhook !== undefined && { webhook: job.webhook }),
    ...(job.redriveId !== undefined && { redriveId: job.redriveId }),
    ...(job.acknowledgedAt !== undefined && { acknowledged: true }),
  }
}

export function viewAttempt(record: AttemptFacts): AttemptView {
  return {
    generation: record.generation,
    run: record.run,
    attempt: record.attempt,
    retry: Math.max(0, record.attempt - 1),
    label: attemptLabel(record.attempt),
    status: record.status,
    startedAt: timeText(record.startedAt),
    finishedAt: timeText(record.finishedAt),
    durationMs: Math.max(0, record.finishedAt - record.startedAt),
    ...(record.error !== undefined && { error: record.error }),
    ...(record.note !== undefined && { note: record.note }),
    workerId: record.workerId,
    ...(record.delayMs !== undefined && { delayMs: record.delayMs }),
    ...(record.nextRunAt !== undefined && { nextRunAt: timeText(record.nextRunAt) }),
    ...(record.fingerprint !== undefined && { fingerprint: record.fingerprint }),
    ...(record.decision !== undefined && { decision: record.decision }),
  }
}

/** RFC 3339 in UTC with milliseconds. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString()
}

/** A row with damaged JSON still has a view: the raw text. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
