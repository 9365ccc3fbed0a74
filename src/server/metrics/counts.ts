import { DEATH_REASONS, RUN_STATUSES } from '../../core/job/job.js'
import { zeros } from '../../core/values/count.js'
import { ChronosError } from '../../core/values/error.js'
import { DELIVERY_JOB } from '../../core/webhook/delivery.js'
import type { JobMeasured, Meter, Place, RunMeasured, TicksMeasured } from '../../engine/figures/telemetry.js'
import { CATALOG, type MetricName } from './catalog.js'
import { Buckets, type Sample } from './exposition.js'
import { Bounded } from './labels.js'

type Counter<Key extends string> = Record<Key, number>
type Result = JobMeasured['result']

/** Every outcome has a series from the first start of a job on, because `increase()` misses the step of a series that appears at 1. */
const NO_ATTEMPTS = zeros(RUN_STATUSES)
const NO_DEATHS = zeros(DEATH_REASONS)

/** Plain fields, because they are incremented thousands of times a second. */
class JobCounts {
  readonly labels: { readonly queue: string; readonly name: string }
  enqueued = 0
  retries = 0
  exhausted = 0
  readonly attempts = { ...NO_ATTEMPTS }
  readonly finished: Counter<Result> = { succeeded: 0, dead: 0, cancelled: 0 }
  readonly tookSeconds = new Buckets(CATALOG.attempt_duration_seconds.buckets)

  constructor(queue: string, name: string) {
    this.labels = { queue, name }
  }
}

class QueueCounts {
  readonly labels: { readonly queue: string }
  budgetDeferred = 0
  readonly leasesLost = { worker: 0, sweeper: 0 }
  readonly deaths = { ...NO_DEATHS }
  readonly waitSeconds = new Buckets(CATALOG.queue_wait_seconds.buckets)
  readonly retrySeconds = new Buckets(CATALOG.retry_latency_seconds.buckets)

  constructor(queue: string) {
    this.labels = { queue }
  }
}

/** Counters and histograms of this process since measuring began. */
export class Counts implements Meter {
  readonly stopwatch: () => number
  readonly #jobs = new Bounded((queue, name) => new JobCounts(queue, name))
  readonly #queues = new Bounded(queue => new QueueCounts(queue))
  readonly #operations = new Bounded(op => ({ op, seconds: new Buckets(CATALOG.store_operation_seconds.buckets) }))
  readonly #errors = new Bounded((op, code) => ({ op, code, count: 0 }))
  readonly #deliveries = { delivered: 0, failed: 0, dead: 0 }
  #fired = 0
  #skipped = 0
  #missed = 0

  constructor(stopwatch: () => number) {
    this.stopwatch = stopwatch
  }

  enqueued({ queue, name }: Place, count: number): void {
    this.#queues.of(queue)
    this.#jobs.of(queue, name).enqueued += count
  }

  started({ queue, name }: Place, attempt: number, waitMs: number): void {
    this.#queues.of(queue).waitSeconds.observe(waitMs / 1000)
    const counts = this.#jobs.of(queue, name)
    if (attempt > 1) counts.retries++
  }

  retried({ queue }: Place, latencyMs: number): void {
    this.#queues.of(queue).retrySeconds.observe(latencyMs / 1000)
  }

  ended({ queue, name }: Place, { status, tookMs, deferredBy }: RunMeasured): void {
    const counts = this.#jobs.of(queue, name)
    counts.attempts[status]++
    if (tookMs !== undefined) counts.tookSeconds.observe(tookMs / 1000)
    if (deferredBy === 'budget') this.#queues.of(queue).budgetDeferred++
    if (name !== DELIVERY_JOB) return
    if (status === 'succeeded') this.#deliveries.delivered++
    else if (status === 'failed' || status === 'timed-out') this.#deliveries.failed++
  }

  finished({ queue, name }: Place, { result, reason }: JobMeasured): void {
    const counts = this.#jobs.of(queue, name)
    counts.finished[result]++
    if (reason === undefined) return
    this.#queues.of(queue).deaths[reason]++
    if (reason === 'exhausted' || reason === 'too-old') counts.exhausted++
    if (name === DELIVERY_JOB) this.#deliveries.dead++
  }

  leaseLost({ queue }: Place, noticedBy: 'worker' | 'sweeper'): void {
    this.#queues.of(queue).leasesLost[noticedBy]++
  }

  ticked({ fired, skipped, missed }: TicksMeasured): void {
    this.#fired += fired
    this.#skipped += skipped
    this.#missed += missed
  }

  stored(operation: string, tookMs: number, error?: unknown): void {
    this.#operations.of(operation).seconds.observe(tookMs / 1000)
    if (error === undefined) return
    this.#errors.of(operation, error instanceof ChronosError ? error.code : 'UNEXPECTED').count++
  }

  samples(): ReadonlyMap<MetricName, readonly Sample[]> {
    const jobs = this.#jobs.values()
    const queues = this.#queues.values()
    return new Map<MetricName, readonly Sample[]>([
      ['jobs_enqueued_total', jobs.map(({ labels, enqueued }) => ({ labels, value: enqueued }))],
      ['retries_total', jobs.map(({ labels, retries }) => ({ labels, value: retries }))],
      ['retry_exhausted_total', jobs.map(({ labels, exhausted }) => ({ labels, value: exhausted }))],
      ['attempts_total', jobs.flatMap(({ labels, attempts }) => byKey(labels, 'outcome', attempts))],
      ['jobs_finished_total', jobs.flatMap(({ labels, finished }) => byKey(labels, 'result', finished))],
      ['attempt_duration_seconds', jobs.map(({ labels, tookSeconds }) => ({ labels, value: tookSeconds }))],
      ['queue_wait_seconds', queues.map(({ labels, waitSeconds }) => ({ labels, value: waitSeconds }))],
      ['retry_latency_seconds', queues.map(({ labels, retrySeconds }) => ({ labels, value: retrySeconds }))],
      ['retry_budget_deferred_total', queues.map(({ labels, budgetDeferred }) => ({ labels, value: budgetDeferred }))],
      ['dead_letters_total', queues.flatMap(({ labels, deaths }) => byKey(labels, 'reason', deaths))],
      ['leases_lost_total', queues.flatMap(({ labels, leasesLost }) => byKey(labels, 'noticed_by', leasesLost))],
      ['webhook_deliveries_total', byKey({}, 'outcome', this.#deliveries)],
      ['schedule_ticks_total', [{ labels: {}, value: this.#fired }]],
      ['schedule_skipped_total', [{ labels: {}, value: this.#skipped }]],
      ['schedule_missed_total', [{ labels: {}, value: this.#missed }]],
      [
        'store_operation_seconds',
        this.#operations.values().map(({ op, seconds: value }) => ({ labels: { op }, value })),
      ],
      [
        'store_errors_total',
        this.#errors.values().map(({ op, code, count }) => ({ labels: { op, code }, value: count })),
      ],
    ])
  }
}

function byKey(labels: Sample['labels'], label: string, counts: Readonly<Record<string, number>>): readonly Sample[] {
  return Object.entries(counts).map(([key, value]) => ({ labels: { ...labels, [label]: key }, value }))
}
