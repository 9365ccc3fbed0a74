import { retryRateOf } from '../../core/alert/rule.js'
import type { WaitingPhase } from '../../core/job/job.js'
import { timeText } from '../../core/job/view.js'
import { isInternal } from '../../core/queue/internal.js'
import { count, sumOfCounts } from '../../core/values/count.js'
import { HOUR_MS } from '../../core/values/duration.js'
import { present } from '../../core/values/present.js'
import { about, type Infer, integer, named, number } from '../../core/values/schema.js'
import { listOf, view } from '../../core/values/shape.js'
import { timestamp } from '../../core/values/time.js'
import { DELIVERIES } from '../../core/webhook/delivery.js'
import type { Count, JobFilter, QueueRecord, Store } from '../../store/store.js'
import { ALERT_TAG, countsOf, DEAD_MAX } from '../alerts/readings.js'
import type { Environment } from '../client/environment.js'
import { unhandledJobs, unhandledView } from '../jobs/handlers.js'
import { bodyOf } from '../records/records.js'
import { isAlive, WORKER, WORKERS_MAX, type WorkerRecord } from '../worker/fleet.js'
import { type Counted, folded, readCounts } from './counts.js'

const MINUTE_MS = 60_000

/** Activity in a time range. Runs are counted when they end. */
export const activity = named(
  'Activity',
  view({
    enqueued: integer(),
    started: about(integer(), 'Runs that ended; a deferral is no run.'),
    retries: about(integer(), 'Runs that ended with attempt > 1.'),
    succeeded: about(integer(), 'Jobs that succeeded.'),
    failed: about(integer(), 'Runs that failed, timed out or were lost.'),
    dead: integer(),
    cancelled: integer(),
  }),
)
export type Activity = Infer<typeof activity>

export const phaseCounts = view({
  scheduled: count,
  queued: count,
  retrying: count,
  blocked: about(count, 'Jobs that their dependency holds back, and due jobs that wait for a limit or a paused queue.'),
  running: count,
  dead: count,
})

const workerCounts = view({
  alive: integer(),
  silent: integer(),
  concurrency: about(integer(), 'The total of the live workers.'),
  running: integer(),
})
export type WorkerCounts = Infer<typeof workerCounts>

/** The state of the whole fleet in numbers. */
export const fleetStats = named(
  'Stats',
  view(
    {
      at: timestamp,
      jobs: about(
        view({ ...phaseCounts.required, succeeded: count, cancelled: count }),
        'Jobs by phase, up to 10,000 of each.',
      ),
      runningDeliveries: about(count, 'Webhook deliveries among the running jobs; they use no slot of a worker.'),
      since: about(timestamp, 'The start of the period of the next five fields.'),
      totalRetries: about(integer(), 'Runs with attempt > 1.'),
      successfulRetries: about(integer(), 'Runs with attempt > 1 that succeeded.'),
      retrySuccessRate: about(number(), '100 × successfulRetries ÷ totalRetries.'),
      failedRuns: integer(),
      failedJobs: about(integer(), 'Jobs that died.'),
      deadLetters: about(count, 'Dead jobs that are neither acknowledged nor discarded.'),
      workers: workerCounts,
      last5m: activity,
      lastHour: activity,
      unhandled: about(listOf(unhandledView), 'Waiting jobs that no live worker of their queue has a handler for.'),
    },
    {
      retryRate: about(
        number(),
        'Ratio of retries to first attempts over the last five minutes, without deliveries and alerts; absent without first attempts.',
      ),
      oldestDueAgeMs: about(integer(), 'How long the oldest due job waits, in queues that are not paused.'),
    },
  ),
)
export type FleetStats = Infer<typeof fleetStats>

const COUNT_CAP = 10_000
const CENSUS_QUEUES_MAX = 1_000
const RATE_MS = 300_000
/** The maximum number of records read for one answer. */
const RECORDS_MAX = 20_000
const TOTALS_MAX = 5_000
const TOTALS_MS = 90 * 24 * HOUR_MS

export async function readStats(env: Environment): Promise<FleetStats> {
  const store = await folded(await env.connection.store())
  const { now } = await store.info()
  const hour = await readCounts(store, {
    resolution: '1m',
    from: now - HOUR_MS,
    to: now + MINUTE_MS,
    max: RECORDS_MAX,
  })
  const queues = await store.queues()
  const [jobs, runningDeliveries, totals, retryRate, backlog, workers, unhandled] = await Promise.all([
    readPhases(store, queues),
    store.count({ state: 'running', queue: DELIVERIES }, COUNT_CAP),
    readTotals(store, now),
    readRetryRate(store, now),
    readBacklog(store, queues, now),
    readWorkers(store, now),
    unhandledJobs(store, now),
  ])
  return {
    at: timeText(now),
    jobs,
    runningDeliveries,
    ...totals,
    ...present({ retryRate }),
    ...backlog,
    workers: workersIn(workers),
    last5m: activityOf(hour.data.filter(({ at }) => at > now - RATE_MS - MINUTE_MS)),
    lastHour: activityOf(hour.data),
    unhandled,
  }
}

async function readPhases(store: Store, queues: readonly QueueRecord[]): Promise<FleetStats['jobs']> {
  const count = (filter: JobFilter): Promise<Count> => store.count(filter, COUNT_CAP, 10 * COUNT_CAP)
  const [waiting, running, succeeded, dead, cancelled] = await Promise.all([
    readWaiting(store, queues.length, count),
    count({ state: 'running' }),
    count({ state: 'succeeded' }),
    count({ state: 'dead' }),
    count({ state: 'cancelled' }),
  ])
  return { ...waiting, running, succeeded, dead, cancelled }
}

/**
 * A census finds the jobs of each phase even behind a million of another one, and costs as much as there are queues. With
 * many queues, jobs are counted whatever their queue is.
 */
async function readWaiting(
  store: Store,
  queues: number,
  count: (filter: JobFilter) => Promise<Count>,
): Promise<Record<WaitingPhase, Count>> {
  const isMany = queues > CENSUS_QUEUES_MAX
  const census = isMany ? [] : await store.census({ cap: COUNT_CAP })
  const of = async (phase: WaitingPhase): Promise<Count> =>
    isMany ? count({ phase }) : cappedSum(census.map(queue => queue[phase]))
  const [scheduled, queued, retrying, blocked] = await Promise.all([
    of('scheduled'),
    of('queued'),
    of('retrying'),
    of('blocked'),
  ])
  return { scheduled, queued, retrying, blocked }
}

function cappedSum(counts: readonly Count[]): Count {
  const sum = sumOfCounts(counts)
  return sum.value > COUNT_CAP ? { value: COUNT_CAP, relation: 'at-least' } : sum
}

async function readTotals(store: Store, now: number) {
  const range = { resolution: '1h', from: now - TOTALS_MS, to: now + HOUR_MS, max: TOTALS_MAX } as const
  const { data, from } = await readCounts(store, range)
  const since = from > range.from ? from : (data.at(-1)?.at ?? now)
  const { retries: totalRetries, failed: failedRuns, dead: failedJobs } = activityOf(data)
  const successfulRetries = sum(data, 'retry:succeeded')
  return {
    since: timeText(since),
    totalRetries,
    successfulRetries,
    retrySuccessRate: totalRetries === 0 ? 0 : (100 * successfulRetries) / totalRetries,
    failedRuns,
    failedJobs,
  }
}

/** Computed as in the alert rule, over all queues. */
async function readRetryRate(store: Store, now: number): Promise<number | undefined> {
  let [first, retry] = [0, 0]
  for (const [queue, counts] of (await countsOf({ store, now }, RATE_MS)).queues) {
    if (isInternal(queue)) continue
    first += counts.first
    retry += counts.retry
  }
  return retryRateOf({ first, retry })
}

async function readBacklog(
  store: Store,
  queues: readonly QueueRecord[],
  now: number,
): Promise<Pick<FleetStats, 'deadLetters' | 'oldestDueAgeMs'>> {
  const backlog = await store.backlog({ exceptTag: ALERT_TAG, deadMax: DEAD_MAX })
  const paused = new Set(queues.filter(queue => queue.paused).map(({ name }) => name))
  const due = backlog.flatMap(({ queue, dueAt }) => (dueAt === undefined || paused.has(queue) ? [] : dueAt))
  const dead = backlog.reduce((sum, queue) => sum + queue.dead, 0)
  return {
    deadLetters: { value: dead, relation: dead < DEAD_MAX ? 'exact' : 'at-least' },
    ...(due.length > 0 && { oldestDueAgeMs: Math.max(0, now - due.reduce((a, b) => Math.min(a, b))) }),
  }
}

export async function readWorkers(store: Store, now: number): Promise<readonly (WorkerRecord & { alive: boolean })[]> {
  const records = await store.records(WORKER, { limit: WORKERS_MAX, order: 'down' })
  return records.flatMap(bodyOf<WorkerRecord>).map(worker => ({ ...worker, alive: isAlive(worker, now) }))
}

function workersIn(workers: readonly (WorkerRecord & { alive: boolean })[]): WorkerCounts {
  const alive = workers.filter(worker => worker.alive)
  return {
    alive: alive.length,
    silent: workers.length - alive.length,
    concurrency: alive.reduce((sum, { concurrency }) => sum + concurrency, 0),
    running: alive.reduce((sum, { running }) => sum + running, 0),
  }
}

const FAILED = ['run:failed', 'run:timed-out', 'run:lost'] as const

export function sum(data: readonly Counted[], ...what: readonly string[]): number {
  let total = 0
  for (const { counts } of data) for (const key of what) total += counts[key] ?? 0
  return total
}

/** A deferral did not start, so it is no run. */
const isRun = (key: string): boolean => key.startsWith('run:') && key !== 'run:deferred'

function runsOf(data: readonly Counted[]): number {
  let total = 0
  for (const { counts } of data) {
    for (const [key, count] of Object.entries(counts)) if (isRun(key)) total += count
  }
  return total
}

export function activityOf(data: readonly Counted[]): Activity {
  return {
    enqueued: sum(data, 'enqueued'),
    started: runsOf(data),
    retries: sum(data, 'retry'),
    succeeded: sum(data, 'end:succeeded'),
    failed: sum(data, ...FAILED),
    dead: sum(data, 'end:dead'),
    cancelled: sum(data, 'end:cancelled'),
  }
}
