import {
  DEATH_REASONS,
  type DeathReason,
  JOB_STATES,
  type JobState,
  maxRetriesOf,
  RUN_STATUSES,
} from '../../core/job/job.js'
import type { Transition } from '../../core/job/lifecycle.js'
import { decision } from '../../core/job/transition.js'
import { jobView, timeText, viewJob } from '../../core/job/view.js'
import type { Policy } from '../../core/policy/policy.js'
import { present } from '../../core/values/present.js'
import {
  about,
  anyText,
  boolean,
  type Infer,
  integer,
  literal,
  named,
  number,
  oneOf,
} from '../../core/values/schema.js'
import { record, view } from '../../core/values/shape.js'
import { timestamp } from '../../core/values/time.js'
import type { AttemptRecord, Settled } from '../../store/store.js'
import type { Attempt } from '../worker/attempt.js'

/** A job that a pull worker holds. */
export const leaseView = named(
  'Lease',
  view(
    {
      job: jobView,
      key: about(anyText, 'The same for all attempts and redrives: use it as an idempotency key.'),
      token: about(anyText, 'Proves that the caller holds the lease; every further call needs it.'),
      leaseMs: integer(),
      expiresAt: timestamp,
      timeoutMs: about(integer(), 'The maximum duration of the run, however often its lease is renewed.'),
      isLastAttempt: boolean,
    },
    {
      deadline: timestamp,
      suspect: about(literal(true), 'It was lost before and may have killed its worker, so it is handed out alone.'),
      trace: about(record(anyText), 'Trace context of the enqueue, as headers: `traceparent`.'),
    },
  ),
)
export type LeaseView = Infer<typeof leaseView>

/** The state of a job after its run has ended. */
export const leaseEnd = named(
  'LeaseEnd',
  view(
    {
      id: anyText,
      state: oneOf(JOB_STATES),
      status: about(oneOf(RUN_STATUSES), 'The outcome of the run.'),
      attempt: integer(),
      maxAttempts: integer(),
    },
    {
      reason: about(oneOf(DEATH_REASONS), 'Why the job is dead.'),
      nextRunAt: timestamp,
      delayMs: number(),
      decision,
      repeated: about(literal(true), 'The same end was reported before; nothing was done twice.'),
    },
  ),
)
export type LeaseEnd = Infer<typeof leaseEnd>

export function viewLease(attempt: Attempt, leaseMs: number, now: number): LeaseView {
  const { claimed, policy, key, timeoutMs, isLastAttempt } = attempt
  const { token, leaseUntil, deadline, suspect, trace } = claimed
  return present({
    job: viewJob({ ...claimed, state: 'running' }, policy, now),
    key,
    token,
    leaseMs,
    expiresAt: timeText(leaseUntil),
    timeoutMs,
    isLastAttempt,
    deadline: timeText(deadline),
    ...(suspect && { suspect }),
    trace: trace === undefined ? undefined : headersOf(trace),
  })
}

export function viewEnd(
  attempt: Attempt,
  { status, reason, delayMs, decision, attemptBack, to }: Transition,
  settled: Settled,
): LeaseEnd {
  const state = settled.status === 'settled' ? settled.state : to
  const runAt = 'runAt' in settled ? settled.runAt : undefined
  return {
    id: attempt.id,
    state,
    status,
    attempt: attemptBack ? attempt.attempt - 1 : attempt.attempt,
    maxAttempts: attempt.maxAttempts,
    ...(state === 'dead' && reason !== undefined && { reason }),
    ...(state === 'waiting' && present({ delayMs, nextRunAt: timeText(runAt) })),
    decision,
  }
}

/** The view of a run that had ended before this call. */
export function viewRepeat(
  record: AttemptRecord,
  job: Parameters<typeof maxRetriesOf>[0] & { readonly state: JobState; readonly reason?: DeathReason },
  policy: Policy,
): LeaseEnd {
  const { jobId: id, status, nextRunAt, delayMs, decision } = record
  return present({
    id,
    state: job.state,
    status,
    attempt: job.attempt,
    maxAttempts: maxRetriesOf(job, policy) + 1,
    reason: job.reason,
    delayMs,
    nextRunAt: timeText(nextRunAt),
    decision,
    repeated: true,
  })
}

/** A damaged trace must not prevent the job from being claimed. */
function headersOf(trace: string): Readonly<Record<string, string>> {
  try {
    return JSON.parse(trace) as Record<string, string>
  } catch {
    return {}
  }
}
