import { type JobState, maxRetriesOf } from '../../core/job/job.js'
import type { Decision, Transition } from '../../core/job/lifecycle.js'
import { type JobView, timeText, viewJob } from '../../core/job/view.js'
import type { Policy } from '../../core/policy/policy.js'
import type { AttemptRecord, Settled } from '../../store/store.js'
import type { Attempt } from '../worker/attempt.js'

/** A job that a pull worker holds. */
export interface LeaseView {
  readonly job: JobView
  /** The same for all attempts and redrives: use it as an idempotency key. */
  readonly key: string
  /** Proves that the caller holds the lease; every further call needs it. */
  readonly token: string
  readonly leaseMs: number
  readonly expiresAt: string
  /** The maximum duration of the run, however often its lease is renewed. */
  readonly timeoutMs: number
  readonly isLastAttempt: boolean
  readonly deadline?: string
  /** It was lost before and may have killed its worker, so it is handed out alone. */
  readonly suspect?: true
  /** Trace context of the enqueue, as headers: `traceparent`. */
  readonly trace?: Readonly<Record<string, string>>
}

/** The state of a job after its run has ended. */
export interface LeaseEnd {
  readonly id: string
  readonly state: JobState
  /** The outcome of the run. */
  readonly status: string
  readonly attempt: number
  readonly maxAttempts: number
  readonly reason?: string
  readonly nextRunAt?: string
  readonly delayMs?: number
  readonly decision?: Decision
  /** The same end was reported before; nothing was done twice. */
  readonly repeated?: true
}

export function viewLease(attempt: Attempt, leaseMs: number, now: number): LeaseView {
  const { claimed, policy, key, timeoutMs, isLastAttempt } = attempt
  const { token, leaseUntil, deadline, suspect, trace } = claimed
  return {
    job: viewJob({ ...claimed, state: 'running' }, policy, now),
    key,
    token,
    leaseMs,
    expiresAt: timeText(leaseUntil),
    timeoutMs,
    isLastAttempt,
    ...(deadline !== undefined && { deadline: timeText(deadline) }),
    ...(suspect && { suspect }),
    ...(trace !== undefined && { trace: headersOf(trace) }),
  }
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
    ...(state === 'waiting' && { delayMs, ...(runAt !== undefined && { nextRunAt: timeText(runAt) }) }),
    decision,
  }
}

/** The view of a run that had ended before this call. */
export function viewRepeat(
  record: AttemptRecord,
  job: Parameters<typeof maxRetriesOf>[0] & { readonly state: JobState; readonly reason?: string },
  policy: Policy,
): LeaseEnd {
  const { jobId: id, status, nextRunAt, delayMs, decision } = record
  return {
    id,
    state: job.state,
    status,
    attempt: job.attempt,
    maxAttempts: maxRetriesOf(job, policy) + 1,
    ...(job.reason !== undefined && { reason: job.reason }),
    ...(nextRunAt !== undefined && { nextRunAt: timeText(nextRunAt) }),
    ...(delayMs !== undefined && { delayMs }),
    decision,
    repeated: true,
  }
}

/** A damaged trace must not prevent the job from being claimed. */
function headersOf(trace: string): Readonly<Record<string, string>> {
  try {
    return JSON.parse(trace) as Record<string, string>
  } catch {
    return {}
  }
}
