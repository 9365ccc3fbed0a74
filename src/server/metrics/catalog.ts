/** One metric of `/metrics`; `docs/metrics.md` describes each in more detail. */
export interface MetricFacts {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly labels: readonly string[]
  /** Upper bounds of a histogram, in its unit. */
  readonly buckets?: readonly number[]
}

export const PREFIX = 'chronos_'

// Bounds are dense where the interesting values are: handlers take about a second, a wait in a queue is a problem after some
// seconds, a retry starts after anything from a second to a day, and a store that takes a tenth of a second is in trouble.
const RUN_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900]
const WAIT_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600]
const RETRY_SECONDS = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 21_600, 86_400]
const STORE_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

const JOB = ['queue', 'name'] as const

export const CATALOG = {
  // Counted in this process: the jobs that it enqueued and the runs of its workers.
  jobs_enqueued_total: {
    type: 'counter',
    help: 'Jobs that this process enqueued, including jobs of schedules.',
    labels: JOB,
  },
  attempts_total: { type: 'counter', help: 'Runs that ended, by outcome.', labels: [...JOB, 'outcome'] },
  retries_total: { type: 'counter', help: 'Retries that started: runs after a failed run.', labels: JOB },
  retry_exhausted_total: {
    type: 'counter',
    help: 'Jobs that died because their retries, or the time for retries, were used up.',
    labels: JOB,
  },
  retry_budget_deferred_total: {
    type: 'counter',
    help: 'Retries that were deferred because the retry budget was spent.',
    labels: ['queue'],
  },
  jobs_finished_total: { type: 'counter', help: 'Jobs that ended, by result.', labels: [...JOB, 'result'] },
  dead_letters_total: { type: 'counter', help: 'Jobs that died, by reason.', labels: ['queue', 'reason'] },
  attempt_duration_seconds: {
    type: 'histogram',
    help: 'Run time of handlers.',
    labels: JOB,
    buckets: RUN_SECONDS,
  },
  queue_wait_seconds: {
    type: 'histogram',
    help: 'Time from due to started; delays and backoff do not count.',
    labels: ['queue'],
    buckets: WAIT_SECONDS,
  },
  retry_latency_seconds: {
    type: 'histogram',
    help: 'Time from a failure to the next start of the job, including backoff.',
    labels: ['queue'],
    buckets: RETRY_SECONDS,
  },
  leases_lost_total: {
    type: 'counter',
    help: 'Leases that expired before their run ended. A sweeper counts each once; a worker that is still alive counts it too.',
    labels: ['queue', 'noticed_by'],
  },
  webhook_deliveries_total: {
    type: 'counter',
    help: 'Webhook delivery attempts (delivered, failed), and deliveries without attempts left (dead).',
    labels: ['outcome'],
  },
  schedule_ticks_total: { type: 'counter', help: 'Jobs that schedules created.', labels: [] },
  schedule_skipped_total: {
    type: 'counter',
    help: 'Occurrences skipped because the previous one had not ended.',
    labels: [],
  },
  schedule_missed_total: { type: 'counter', help: 'Occurrences missed because no scheduler was running.', labels: [] },
  store_operation_seconds: {
    type: 'histogram',
    help: 'Duration of store operations, seen by this process.',
    labels: ['op'],
    buckets: STORE_SECONDS,
  },
  store_errors_total: { type: 'counter', help: 'Store operations that failed, by error code.', labels: ['op', 'code'] },
  build_info: { type: 'gauge', help: 'Always 1; the labels name the versions.', labels: ['version', 'node'] },
  store_up: { type: 'gauge', help: '1 if the last read of the store succeeded, otherwise 0.', labels: [] },
  reading_age_seconds: {
    type: 'gauge',
    help: 'Age of the gauges that are read from the store.',
    labels: [],
  },

  // Read from the store for the whole fleet: every process reports the same values.
  jobs: { type: 'gauge', help: 'Jobs by phase, counted up to 10,000 each.', labels: ['queue', 'phase'] },
  dead_letters: {
    type: 'gauge',
    help: 'Dead letters that are neither acknowledged nor discarded, among the newest 5,000.',
    labels: ['queue'],
  },
  queue_oldest_due_age_seconds: { type: 'gauge', help: 'Waiting time of the oldest due job.', labels: ['queue'] },
  queue_oldest_due_retry_age_seconds: {
    type: 'gauge',
    help: 'Waiting time of the oldest due retry.',
    labels: ['queue'],
  },
  queue_paused: { type: 'gauge', help: '1 while the queue is paused.', labels: ['queue'] },
  queue_concurrency_limit: {
    type: 'gauge',
    help: 'How many jobs of the queue may run at the same time; absent without such a limit.',
    labels: ['queue'],
  },
  queue_partitions_stopped: {
    type: 'gauge',
    help: 'Partitions that a dead letter stops, counted up to 100; absent without limits.',
    labels: ['queue'],
  },
  queue_workers: { type: 'gauge', help: 'Live workers of the queue.', labels: ['queue'] },
  retry_rate: {
    type: 'gauge',
    help: 'Ratio of retries to first attempts that ended in the last five minutes; absent without first attempts.',
    labels: ['queue'],
  },
  workers: { type: 'gauge', help: 'Live workers.', labels: [] },
  worker_slots: { type: 'gauge', help: 'Slots for concurrent handlers: busy, and in total.', labels: ['state'] },
  circuit_state: { type: 'gauge', help: '0 closed, 1 half-open or ramping, 2 open.', labels: ['key', 'tenant'] },
  webhook_endpoints_disabled: { type: 'gauge', help: 'Webhook endpoints that Chronos disabled.', labels: [] },
} as const satisfies Readonly<Record<string, MetricFacts>>

export type MetricName = keyof typeof CATALOG
