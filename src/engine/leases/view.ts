import { type JobState, maxRetriesOf } from '../../core/job/job.js'
import type { Decision, Transition } from '../../core/job/lifecycle.js'
import { type JobView, timeText, viewJob } from '../../core/job/view.js'
import type { Policy } from '../../core/policy/policy.js'
import type { AttemptRecord, Settled } from '../../store/store.js'
import type { Attempt } from '../worker/attempt.js'

/** A job in the hands of a pull worker. */
export interface LeaseView {
  readonly job: JobView
  /** The same over all attempts and redrives: for the idempotency of who is called. */
  readonly key: string
  /** Proof of the lease: every further call carries it. */
  readonly token: string
  readonly leaseMs: number
  readonly expiresAt: string
  /** The run may take so long, however often its lease is extended. */
  readonly timeoutMs: number
  readonly isLastAttempt: boolean
  readonly deadline?: string
  /** It was lost before, and may be what killed its worker: it is handed out by itself. */
  readonly suspect?: true
  /** Headers that lead back to the trace in which it was enqueued: `traceparent`. */
  readonly trace?: Readonly<Record<string, string>>
}

/** What became of a job whose run has ended. */
export interface LeaseEnd {
  readonly id: string
  readonly state: JobState
  /** How the run ended. */
  readonly status: string
  readonly attempt: number
  readonly maxAttempts: number
  readonly reason?: string
  readonly nextRunAt?: string
  readonly delayMs?: number
  readonly decision?: Decision
  /** It was told before, and is told again: nothing was done twice. */
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

/** From the record of a run that ended before. */
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

/** Damaged by hand, it must not keep its job from being handed out. */
function headersOf(trace: string): Readonly<Record<string, string>> {
  try {
    return JSON.parse(trace) as Record<string, string>
  } catch {
    return {}
  }
}
