/** Everything at `/metrics` that is Chronos' own, without the prefix; `docs/metrics.md` says the same in more words. */
export interface MetricFacts {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly labels: readonly string[]
  /** Upper bounds of a histogram, in its unit. */
  readonly buckets?: readonly number[]
}

export const PREFIX = 'chronos_'

// Where people look decides where the bounds are close: a handler is fast or slow around a second, a queue is late after
// some, a retry comes after anything from a second to a day, and a store that takes a tenth of a second is in trouble.
const RUN_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900]
const WAIT_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600]
const RETRY_SECONDS = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 21_600, 86_400]
const STORE_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

const JOB = ['queue', 'name'] as const

export const CATALOG = {
  // Of this process: what its calls enqueued and its workers did.
  jobs_enqueued_total: {
    type: 'counter',
    help: 'Jobs that this process enqueued, schedules included.',
    labels: JOB,
  },
  attempts_total: { type: 'counter', help: 'Runs that ended, by how they did.', labels: [...JOB, 'outcome'] },
  retries_total: { type: 'counter', help: 'Retries that started: runs after a failed one.', labels: JOB },
  retry_exhausted_total: {
    type: 'counter',
    help: 'Jobs that died because their retries, or the time for them, were used up.',
    labels: JOB,
  },
  retry_budget_deferred_total: {
    type: 'counter',
    help: 'Retries that were put off because the retry budget was spent.',
    labels: ['queue'],
  },
  jobs_finished_total: { type: 'counter', help: 'Jobs that ended, by what with.', labels: [...JOB, 'result'] },
  dead_letters_total: { type: 'counter', help: 'Jobs that died, by why.', labels: ['queue', 'reason'] },
  attempt_duration_seconds: {
    type: 'histogram',
    help: 'How long handlers ran.',
    labels: JOB,
    buckets: RUN_SECONDS,
  },
  queue_wait_seconds: {
    type: 'histogram',
    help: 'How long due jobs waited for their start; wanted delays do not count.',
    labels: ['queue'],
    buckets: WAIT_SECONDS,
  },
  retry_latency_seconds: {
    type: 'histogram',
    help: 'From a failure to the next start of the job, its backoff included.',
    labels: ['queue'],
    buckets: RETRY_SECONDS,
  },
  leases_lost_total: {
    type: 'counter',
    help: 'Leases that ended before their run did: by a sweeper once for each, by the worker where it lived to see it.',
    labels: ['queue', 'noticed_by'],
  },
  webhook_deliveries_total: {
    type: 'counter',
    help: 'Attempts to deliver webhooks (delivered, failed), and deliveries that were given up (dead).',
    labels: ['outcome'],
  },
  schedule_ticks_total: { type: 'counter', help: 'Jobs that schedules made.', labels: [] },
  schedule_skipped_total: {
    type: 'counter',
    help: 'Ticks that made no job because an earlier occurrence was not over.',
    labels: [],
  },
  schedule_missed_total: { type: 'counter', help: 'Ticks at which no scheduler was alive.', labels: [] },
  store_operation_seconds: {
    type: 'histogram',
    help: 'How long this process waited for its store.',
    labels: ['op'],
    buckets: STORE_SECONDS,
  },
  store_errors_total: { type: 'counter', help: 'Calls to the store that failed, by code.', labels: ['op', 'code'] },
  build_info: { type: 'gauge', help: 'Always 1; the labels tell what runs here.', labels: ['version', 'node'] },
  store_up: { type: 'gauge', help: 'Whether the store answered when it was last asked.', labels: [] },
  reading_age_seconds: {
    type: 'gauge',
    help: 'How old the numbers are that come from the store.',
    labels: [],
  },

  // Of the whole fleet, read from the store: every process says the same.
  jobs: { type: 'gauge', help: 'Jobs by phase, counted up to 10,000 each.', labels: ['queue', 'phase'] },
  dead_letters: {
    type: 'gauge',
    help: 'Dead letters that nobody has acknowledged or discarded, among the newest 5,000.',
    labels: ['queue'],
  },
  queue_oldest_due_age_seconds: { type: 'gauge', help: 'How long the oldest due job waits.', labels: ['queue'] },
  queue_oldest_due_retry_age_seconds: {
    type: 'gauge',
    help: 'How long the oldest due retry waits.',
    labels: ['queue'],
  },
  queue_paused: { type: 'gauge', help: 'Whether the queue is paused.', labels: ['queue'] },
  queue_workers: { type: 'gauge', help: 'Live workers that take jobs of the queue.', labels: ['queue'] },
  retry_rate: {
    type: 'gauge',
    help: 'Retries to first attempts that ended in the last five minutes.',
    labels: ['queue'],
  },
  workers: { type: 'gauge', help: 'Live workers.', labels: [] },
  worker_slots: { type: 'gauge', help: 'Handlers that run, and that could.', labels: ['state'] },
  circuit_state: { type: 'gauge', help: '0 closed, 1 half-open or ramping, 2 open.', labels: ['key'] },
  webhook_endpoints_disabled: { type: 'gauge', help: 'Webhooks that Chronos disabled.', labels: [] },
} as const satisfies Readonly<Record<string, MetricFacts>>

export type MetricName = keyof typeof CATALOG
