import { type Policy, policy, storablePolicy } from '../policy/policy.js'
import { about, anyText, anything, boolean, type Infer, integer, named, number, oneOf } from '../values/schema.js'
import { listOf, view } from '../values/shape.js'
import { timestamp } from '../values/time.js'
import {
  DEATH_REASONS,
  DELIVERIES,
  JOB_STATES,
  type Job,
  maxRetriesOf,
  PHASES,
  phaseOf,
  RUN_STATUSES,
  type RunStatus,
  runLabel,
  type StoredError,
  storedError,
} from './job.js'
import { type Decision, decision } from './transition.js'

/** A job as users see it, the same in TypeScript, REST and `--json`. Times are RFC 3339 with milliseconds. */
export const jobView = named(
  'Job',
  view(
    {
      id: anyText,
      name: anyText,
      queue: anyText,
      state: oneOf(JOB_STATES),
      phase: about(oneOf(PHASES), 'The reason for `waiting`; otherwise the state.'),
      priority: integer(),
      attempt: about(integer(), 'Runs of this generation that count.'),
      maxAttempts: integer(),
      maxRetries: integer(),
      retryCount: about(integer(), 'The retry that it waits for, runs or ran last; 0 before the first one.'),
      runAt: timestamp,
      createdAt: timestamp,
      tags: listOf(anyText),
      delivery: oneOf(DELIVERIES),
      payload: anything,
      generation: about(integer(), 'Grows when a job that has ended is started again.'),
      retry: about(policy, 'The policy in force.'),
    },
    {
      reason: about(oneOf(DEATH_REASONS), 'Why the job is dead.'),
      startedAt: timestamp,
      finishedAt: timestamp,
      tenantId: anyText,
      key: about(anyText, 'The idempotency key of its enqueue.'),
      result: about(anything, 'The return value of the run that succeeded.'),
      error: about(storedError, 'The error of the last run that failed, until the job succeeds.'),
      lastError: about(anyText, 'The message of `error`.'),
      lockedBy: about(anyText, 'The worker that runs it.'),
      lockedUntil: about(timestamp, 'The end of its lease, which the worker renews.'),
      progress: about(anything, 'The last progress that a run reported.'),
      scheduleId: anyText,
      run: about(integer(), 'Grows with every claim; a claim that is released before it starts does not count.'),
      fingerprint: about(anyText, 'The group of its last error.'),
      dependency: about(anyText, 'Its dependency.'),
      deadline: about(timestamp, 'The job does not start after this time.'),
      timeoutMs: integer(),
      webhook: about(anyText, 'The webhook endpoint that is notified of its outcome.'),
      redriveId: about(anyText, 'The redrive that started this generation.'),
      acknowledged: about(boolean, 'An operator has acknowledged that it is dead.'),
    },
  ),
)
export type JobView = Infer<typeof jobView>

export const attemptView = named(
  'Attempt',
  view(
    {
      generation: integer(),
      run: integer(),
      attempt: integer(),
      retry: integer(),
      label: anyText,
      status: about(oneOf(RUN_STATUSES), 'The outcome of the run.'),
      startedAt: timestamp,
      finishedAt: timestamp,
      durationMs: integer(),
      workerId: anyText,
    },
    {
      error: storedError,
      note: anyText,
      delayMs: about(number(), 'The wait until the next run.'),
      nextRunAt: timestamp,
      fingerprint: anyText,
      decision,
    },
  ),
)
export type AttemptView = Infer<typeof attemptView>

/** The fields of a run's record that a view needs; a store's record has them. */
export interface AttemptFacts {
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
    retryCount: job.state === 'waiting' ? job.attempt : Math.max(0, job.attempt - 1),
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
    ...(job.error !== undefined && { error: job.error, lastError: job.error.message }),
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
    ...(job.workerId !== undefined && { lockedBy: job.workerId }),
    ...(job.leaseUntil !== undefined && { lockedUntil: timeText(job.leaseUntil) }),
  }
}

export function viewAttempt(record: AttemptFacts): AttemptView {
  return {
    generation: record.generation,
    run: record.run,
    attempt: record.attempt,
    retry: Math.max(0, record.attempt - 1),
    label: runLabel(record, record.decision?.free === true),
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
