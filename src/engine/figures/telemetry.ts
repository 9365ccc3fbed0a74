import type { DeathReason, RunStatus } from '../../core/job/job.js'
import type { Decision, Transition } from '../../core/job/lifecycle.js'
import type { Claimed, Enqueued, NewJob, Settled } from '../../store/store.js'
import type { Attempt } from '../worker/attempt.js'
import type { Tracing } from './tracing.js'

/** The labels of a job's metrics. */
export interface Place {
  readonly queue: string
  readonly name: string
}

export interface RunMeasured {
  readonly status: RunStatus
  /** Absent if the handler did not start. */
  readonly tookMs?: number
  readonly deferredBy?: Decision['deferredBy']
}

export interface JobMeasured {
  readonly result: 'succeeded' | 'dead' | 'cancelled'
  readonly reason?: DeathReason
}

export interface TicksMeasured {
  readonly fired: number
  readonly skipped: number
  readonly missed: number
}

/** Receives the measurements of this process. */
export interface Meter {
  /** Milliseconds with fractions, from an arbitrary start: measured durations are below the resolution of the clock. */
  stopwatch(): number
  enqueued(place: Place, count: number): void
  /** A handler starts; `waitMs` is the time since its job was due. */
  started(place: Place, attempt: number, waitMs: number): void
  /** The handler is a retry; `latencyMs` is the time since the failure. */
  retried(place: Place, latencyMs: number): void
  ended(place: Place, run: RunMeasured): void
  finished(place: Place, job: JobMeasured): void
  /**
   * A worker finds that it lost a lease, or a sweeper takes the job of a dead worker, which happens once for each lost
   * lease.
   */
  leaseLost(place: Place, noticedBy: 'worker' | 'sweeper'): void
  ticked(ticks: TicksMeasured): void
  stored(operation: string, tookMs: number, error?: unknown): void
}

/** A run as far as it is measured; an attempt is one. */
interface Run {
  readonly claimed: Claimed
  readonly startedAt: number
}

/** Outcomes of runs that did not take place and have no duration. */
const NOT_RUN: ReadonlySet<RunStatus> = new Set(['deferred', 'lost'])

/** Measures and traces. Without a meter, the hot path pays one comparison: `if (telemetry.meter)`. */
export class Telemetry {
  readonly tracing: Tracing | undefined
  meter: Meter | undefined

  constructor(tracing: Tracing | undefined) {
    this.tracing = tracing
  }

  enqueued(jobs: readonly NewJob[], answers: readonly Enqueued[]): void {
    for (const [index, job] of jobs.entries()) {
      if (answers[index]?.status === 'created') this.meter?.enqueued(job, 1)
    }
  }

  started(attempt: Attempt): void {
    if (this.meter) this.#measureStart(this.meter, attempt)
    this.tracing?.started(attempt)
  }

  /** The job runs in another process, which makes its own spans. */
  handedOut(attempt: Attempt): void {
    if (this.meter) this.#measureStart(this.meter, attempt)
  }

  within<T>(attempt: Attempt, run: () => T): T {
    return this.tracing ? this.tracing.within(attempt, run) : run()
  }

  /** The outcome of a run is stored. */
  ended(run: Run, transition: Transition, settled: Settled, finishedAt: number): void {
    const { meter } = this
    if (!meter) return
    const { claimed, startedAt } = run
    const { status, reason, decision } = transition
    const state = settled.status === 'settled' ? settled.state : transition.to
    meter.ended(claimed, {
      status,
      ...(!NOT_RUN.has(status) && { tookMs: Math.max(0, finishedAt - startedAt) }),
      ...(decision.deferredBy !== undefined && { deferredBy: decision.deferredBy }),
    })
    if (state === 'waiting' || state === 'running') return
    meter.finished(claimed, { result: state, ...(state === 'dead' && reason !== undefined && { reason }) })
  }

  /** This process finds that the lease is lost. */
  lost(attempt: Attempt): void {
    this.meter?.leaseLost(attempt, 'worker')
    this.tracing?.lost(attempt)
  }

  #measureStart(meter: Meter, { claimed, startedAt }: Run): void {
    meter.started(claimed, claimed.attempt, Math.max(0, startedAt - claimed.runAt))
    const { attempt, failedAt } = claimed
    if (attempt > 1 && failedAt !== undefined) meter.retried(claimed, Math.max(0, startedAt - failedAt))
  }
}
