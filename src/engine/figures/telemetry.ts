import type { DeathReason, RunStatus } from '../../core/job/job.js'
import type { Decision, Transition } from '../../core/job/lifecycle.js'
import type { Claimed, Enqueued, NewJob, Settled } from '../../store/store.js'
import type { Connection } from '../client/connection.js'
import type { Attempt } from '../worker/attempt.js'
import { RetryLatency } from './retry-latency.js'
import type { Tracing } from './tracing.js'

/** Where a job belongs, for who counts. */
export interface Place {
  readonly queue: string
  readonly name: string
}

export interface RunMeasured {
  readonly status: RunStatus
  /** Absent where the handler never started. */
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

/** Who counts and times what happens in this process. */
export interface Meter {
  /** Milliseconds with fractions, from anywhere: what is timed here is shorter than a tick of the clock. */
  stopwatch(): number
  enqueued(place: Place, count: number): void
  /** A handler starts, so long after its job was due. */
  started(place: Place, attempt: number, waitMs: number): void
  /** It is a retry, and starts so long after the failure. */
  retried(place: Place, latencyMs: number): void
  ended(place: Place, run: RunMeasured): void
  finished(place: Place, job: JobMeasured): void
  /** A worker finds that its lease is gone; or a sweeper takes what a worker left, which happens once for each. */
  leaseLost(place: Place, noticedBy: 'worker' | 'sweeper'): void
  ticked(ticks: TicksMeasured): void
  stored(operation: string, tookMs: number, error?: unknown): void
}

/** A run, as far as it is measured; an attempt is one. */
interface Run {
  readonly claimed: Claimed
  readonly startedAt: number
}

/** Runs that never were: nothing to time. */
const NOT_RUN: ReadonlySet<RunStatus> = new Set(['deferred', 'lost'])
const FAILED: ReadonlySet<RunStatus> = new Set(['failed', 'timed-out', 'lost'])

/** What is measured and traced where it happens. With nobody there, the hot path pays one comparison: `if (telemetry.meter)`. */
export class Telemetry {
  readonly tracing: Tracing | undefined
  meter: Meter | undefined
  readonly #latency: RetryLatency

  constructor(connection: Connection, tracing: Tracing | undefined) {
    this.tracing = tracing
    this.#latency = new RetryLatency(connection)
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

  /** It runs in another process, whose spans are its own. */
  handedOut(attempt: Attempt): void {
    if (this.meter) this.#measureStart(this.meter, attempt)
  }

  within<T>(attempt: Attempt, run: () => T): T {
    return this.tracing ? this.tracing.within(attempt, run) : run()
  }

  /** The end of a run is stored. */
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
    if (state === 'waiting' && FAILED.has(status)) this.#latency.failed(claimed.id, finishedAt)
    if (state === 'waiting' || state === 'running') return
    meter.finished(claimed, { result: state, ...(state === 'dead' && reason !== undefined && { reason }) })
  }

  /** This process finds that the lease is gone. */
  lost(attempt: Attempt): void {
    this.meter?.leaseLost(attempt, 'worker')
    this.tracing?.lost(attempt)
  }

  #measureStart(meter: Meter, { claimed, startedAt }: Run): void {
    meter.started(claimed, claimed.attempt, Math.max(0, startedAt - claimed.runAt))
    if (claimed.attempt > 1) this.#latency.started(claimed, startedAt, ms => meter.retried(claimed, ms))
  }
}
