import { type JobState, RUN_STATUSES } from '../../core/job/job.js'
import type { Transition } from '../../core/job/lifecycle.js'
import { zeros } from '../../core/values/count.js'

/** What one worker has done since it started. */
export interface WorkerStats {
  readonly workerId: string
  readonly startedAt: string
  /** Handlers that run now, and claimed jobs that wait for a slot. */
  readonly running: number
  readonly buffered: number
  /** Runs started. */
  readonly started: number
  readonly succeeded: number
  readonly failed: number
  readonly timedOut: number
  readonly snoozed: number
  readonly released: number
  readonly cancelled: number
  /** Jobs that died, and jobs that were retried. */
  readonly dead: number
  readonly retried: number
  /** Runs with attempt > 1, those of them that succeeded, and 100 × their quotient. */
  readonly totalRetries: number
  readonly successfulRetries: number
  readonly retrySuccessRate: number
  readonly leasesLost: number
  /** Handlers that ignored their abort signal and lost their slot. */
  readonly handlersStuck: number
}

/** Counters of a worker. They are plain fields because the hot path increments them. */
export class Counters {
  started = 0
  dead = 0
  retried = 0
  totalRetries = 0
  successfulRetries = 0
  leasesLost = 0
  handlersStuck = 0
  readonly ended = zeros(RUN_STATUSES)

  countEnd(attempt: number, { status, attemptBack }: Transition, state: JobState): void {
    this.ended[status]++
    if (status === 'succeeded' && attempt > 1) this.successfulRetries++
    if (state === 'dead') this.dead++
    if (state === 'waiting' && !attemptBack) this.retried++
  }

  report(workerId: string, startedAt: number, running: number, buffered: number): WorkerStats {
    const { ended, totalRetries, successfulRetries } = this
    return {
      workerId,
      startedAt: new Date(startedAt).toISOString(),
      running,
      buffered,
      started: this.started,
      succeeded: ended.succeeded,
      failed: ended.failed,
      timedOut: ended['timed-out'],
      snoozed: ended.snoozed,
      released: ended.released,
      cancelled: ended.cancelled,
      dead: this.dead,
      retried: this.retried,
      totalRetries,
      successfulRetries,
      retrySuccessRate: totalRetries === 0 ? 0 : (100 * successfulRetries) / totalRetries,
      leasesLost: this.leasesLost,
      handlersStuck: this.handlersStuck,
    }
  }
}
