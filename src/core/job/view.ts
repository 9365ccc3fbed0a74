import { units } from '../partition/limits.js'
import { type Policy, policy, storablePolicy } from '../policy/policy.js'
import { present } from '../values/present.js'
import {
  about,
  anyText,
  anything,
  boolean,
  type Infer,
  integer,
  literal,
  named,
  number,
  oneOf,
} from '../values/schema.js'
import { listOf, view } from '../values/shape.js'
import { timestamp } from '../values/time.js'
import {
  BLOCK_CODES,
  type BlockCode,
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
      kind: about(literal('job'), 'Where a schedule could be, tells that this is a job.'),
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
      blockedBy: about(oneOf(BLOCK_CODES), 'What holds the job back; only in the phase `blocked`.'),
      startedAt: timestamp,
      failedAt: about(timestamp, 'When the last run failed, while the job waits for its retry.'),
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
      partition: about(anyText, 'The partition whose limits it shares: the one given at enqueue, or its tenant.'),
      units: about(units, 'What its start was expected to cost, by unit.'),
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
      traceId: about(anyText, 'The id under which the run is traced, if its worker traces it and it is sampled.'),
      decision,
    },
  ),
)
export type AttemptView = Infer<typeof attemptView>

/** The record of one run, as far as a view shows it. */
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

export function viewJob(job: Job, policy: Policy, now: number, blockedBy?: BlockCode): JobView {
  const maxRetries = maxRetriesOf(job, policy)
  return present({
    kind: 'job' as const,
    id: job.id,
    name: job.name,
    queue: job.queue,
    state: job.state,
    phase: phaseOf(job, now, blockedBy !== undefined),
    reason: job.reason,
    blockedBy,
    priority: job.priority,
    attempt: job.attempt,
    maxAttempts: maxRetries + 1,
    maxRetries,
    retryCount: job.state === 'waiting' ? job.attempt : Math.max(0, job.attempt - 1),
    runAt: timeText(job.runAt),
    createdAt: timeText(job.createdAt),
    startedAt: timeText(job.startedAt),
    failedAt: job.state === 'waiting' ? timeText(job.failedAt) : undefined,
    finishedAt: timeText(job.finishedAt),
    tenantId: job.tenantId,
    key: job.key,
    tags: job.tags,
    delivery: job.delivery,
    payload: parsed(job.payload),
    result: parsed(job.result),
    error: job.error,
    lastError: job.error?.message,
    progress: parsed(job.progress),
    scheduleId: job.scheduleId,
    generation: job.generation,
    retry: storablePolicy(policy),
    ...moreOf(job),
  })
}

function moreOf(job: Job): Partial<JobView> {
  return present({
    run: job.run,
    fingerprint: job.fingerprint,
    dependency: job.dependency,
    deadline: timeText(job.deadline),
    timeoutMs: job.timeoutMs,
    webhook: job.webhook,
    partition: job.partition ?? (job.lane || undefined),
    units: job.units,
    redriveId: job.redriveId,
    ...(job.acknowledgedAt !== undefined && { acknowledged: true }),
    lockedBy: job.workerId,
    lockedUntil: timeText(job.leaseUntil),
  })
}

export function viewAttempt(record: AttemptFacts): AttemptView {
  const { traceId, ...decision }: Partial<Decision> = record.decision ?? {}
  return present({
    generation: record.generation,
    run: record.run,
    attempt: record.attempt,
    retry: Math.max(0, record.attempt - 1),
    label: runLabel(record, record.decision?.free === true),
    status: record.status,
    startedAt: timeText(record.startedAt),
    finishedAt: timeText(record.finishedAt),
    durationMs: Math.max(0, record.finishedAt - record.startedAt),
    error: record.error,
    note: record.note,
    workerId: record.workerId,
    delayMs: record.delayMs,
    nextRunAt: timeText(record.nextRunAt),
    fingerprint: record.fingerprint,
    traceId,
    decision: record.decision && (decision as Omit<Decision, 'traceId'>),
  })
}

/** RFC 3339 in UTC with milliseconds; an absent time stays absent. */
export function timeText<T extends number | undefined>(ms: T): T extends number ? string : undefined
export function timeText(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString()
}

/** A row with damaged JSON still has a view: the raw text. */
function parsed(text: string | undefined): unknown {
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
