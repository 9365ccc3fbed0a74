import type { RunStatus } from '../../core/job/job.js'

/** What one worker has done since it started. */
export interface WorkerStats {
  readonly workerId: string
  readonly startedAt: string
  /** Handlers running now, and jobs held for them. */
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
  /** Jobs that ended without success, and jobs sent into another attempt. */
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

/** Counters of a worker; plain fields, because the hot path raises them. */
export class Counters {
  started = 0
  dead = 0
  retried = 0
  totalRetries = 0
  successfulRetries = 0
  leasesLost = 0
  handlersStuck = 0
  readonly ended: Record<RunStatus, number> = {
    succeeded: 0,
    failed: 0,
    'timed-out': 0,
    lost: 0,
    snoozed: 0,
    released: 0,
    deferred: 0,
    cancelled: 0,
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
