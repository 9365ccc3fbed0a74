import { retryRateOf } from '../../core/alert/rule.js'
import type { WaitingPhase } from '../../core/job/job.js'
import { timeText } from '../../core/job/view.js'
import { count } from '../../core/values/count.js'
import { type Duration, HOUR_MS, toMs } from '../../core/values/duration.js'
import { ChronosError } from '../../core/values/error.js'
import { freeText } from '../../core/values/limits.js'
import { present } from '../../core/values/present.js'
import { about, boolean, duration, type Infer, integer, named, number, read } from '../../core/values/schema.js'
import { listOf, object, view } from '../../core/values/shape.js'
import { time, timestamp } from '../../core/values/time.js'
import { DELIVERIES } from '../../core/webhook/webhook.js'
import type { Count, Store } from '../../store/store.js'
import { ALERT_TAG, countsOf, DEAD_MAX } from '../alerts/readings.js'
import { timeOf } from '../client/enqueuer.js'
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
  blocked: about(count, 'Jobs that their dependency holds back, and due jobs of a paused queue.'),
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

export const seriesQuery = object(
  {},
  {
    from: about(time, 'Default: an hour before `to`.'),
    to: about(time, 'Default: now.'),
    step: about(
      duration({ min: MINUTE_MS }),
      'Whole minutes. Default: the shortest that gives at most 120 points. Minutes are kept for two days, hours for 90.',
      { example: '5m' },
    ),
    queue: freeText,
    name: freeText,
  },
)
export type SeriesQuery = Infer<typeof seriesQuery>

export const seriesPoint = named(
  'SeriesPoint',
  view({
    at: timestamp,
    enqueued: integer(),
    firstTry: about(integer(), 'Jobs that succeeded at the first attempt.'),
    retried: about(integer(), 'Jobs that succeeded after retries.'),
    failed: about(integer(), 'Runs that failed, timed out or were lost.'),
    dead: integer(),
    cancelled: integer(),
    runs: integer(),
    retries: about(integer(), 'Runs with attempt > 1.'),
    busyMs: about(number(), 'The total duration of the runs.'),
  }),
)
export type SeriesPoint = Infer<typeof seriesPoint>

export const statsSeries = named(
  'Series',
  view({
    step: duration(),
    from: timestamp,
    to: timestamp,
    points: listOf(seriesPoint),
    complete: about(boolean, 'false: there are too many records, and the oldest points are not counted.'),
  }),
)
export type StatsSeries = Infer<typeof statsSeries>

const COUNT_CAP = 10_000
const RATE_MS = 300_000
const POINTS_MAX = 1_500
const POINTS_DEFAULT = 120
/** The maximum number of records read for one answer. */
const RECORDS_MAX = 20_000
const TOTALS_MAX = 5_000
const TOTALS_MS = 90 * 24 * HOUR_MS
/** Counters per minute that are older than this are pruned, or soon will be. */
const MINUTES_KEPT_MS = 47 * HOUR_MS
const STEPS_MS = [1, 5, 15, 60, 360, 1_440].map(minutes => minutes * MINUTE_MS)

export async function readStats(env: Environment): Promise<FleetStats> {
  const store = await folded(await env.connection.store())
  const { now } = await store.info()
  const hour = await readCounts(store, {
    resolution: '1m',
    from: now - HOUR_MS,
    to: now + MINUTE_MS,
    max: RECORDS_MAX,
  })
  const [jobs, totals, retryRate, backlog, workers, unhandled] = await Promise.all([
    readPhases(store),
    readTotals(store, now),
    readRetryRate(store, now),
    readBacklog(store, now),
    readWorkers(store, now),
    unhandledJobs(store, now),
  ])
  return {
    at: timeText(now),
    jobs,
    ...totals,
    ...present({ retryRate }),
    ...backlog,
    workers: workersIn(workers),
    last5m: activityOf(hour.data.filter(({ at }) => at > now - RATE_MS - MINUTE_MS)),
    lastHour: activityOf(hour.data),
    unhandled,
  }
}

async function readPhases(store: Store): Promise<FleetStats['jobs']> {
  const count = (state: 'running' | 'succeeded' | 'dead' | 'cancelled'): Promise<Count> =>
    store.count({ state }, COUNT_CAP, 10 * COUNT_CAP)
  const [census, running, succeeded, dead, cancelled] = await Promise.all([
    store.census({ cap: COUNT_CAP }),
    count('running'),
    count('succeeded'),
    count('dead'),
    count('cancelled'),
  ])
  const sum = (phase: WaitingPhase): Count => sumOf(census.map(queue => queue[phase]))
  return {
    scheduled: sum('scheduled'),
    queued: sum('queued'),
    retrying: sum('retrying'),
    blocked: sum('blocked'),
    running,
    succeeded,
    dead,
    cancelled,
  }
}

function sumOf(counts: readonly Count[]): Count {
  const value = counts.reduce((sum, count) => sum + count.value, 0)
  if (value > COUNT_CAP) return { value: COUNT_CAP, relation: 'at-least' }
  return { value, relation: counts.every(({ relation }) => relation === 'exact') ? 'exact' : 'at-least' }
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
    if (queue === DELIVERIES) continue
    first += counts.first
    retry += counts.retry
  }
  return retryRateOf({ first, retry })
}

async function readBacklog(store: Store, now: number): Promise<Pick<FleetStats, 'deadLetters' | 'oldestDueAgeMs'>> {
  const [backlog, queues] = await Promise.all([
    store.backlog({ exceptTag: ALERT_TAG, deadMax: DEAD_MAX }),
    store.queues(),
  ])
  const paused = new Set(queues.filter(queue => queue.paused).map(({ name }) => name))
  const due = backlog.flatMap(({ queue, dueAt }) => (dueAt === undefined || paused.has(queue) ? [] : dueAt))
  const dead = backlog.reduce((sum, queue) => sum + queue.dead, 0)
  return {
    deadLetters: { value: dead, relation: dead < DEAD_MAX ? 'exact' : 'at-least' },
    ...(due.length > 0 && { oldestDueAgeMs: Math.max(0, now - Math.min(...due)) }),
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

function sum(data: readonly Counted[], ...what: readonly string[]): number {
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

export async function readSeries(env: Environment, asked: SeriesQuery): Promise<StatsSeries> {
  const query = read(seriesQuery, asked, 'series:')
  const { queue, name } = query
  const store = await folded(await env.connection.store())
  const { now } = await store.info()
  const { from, to, stepMs, step } = rangeOf(query, now)
  const isCoarse = stepMs % HOUR_MS === 0 && (stepMs > HOUR_MS || from < now - MINUTES_KEPT_MS)
  const resolution = isCoarse ? '1h' : '1m'
  const found = await readCounts(store, { resolution, from, to, max: RECORDS_MAX })
  const parts = new Map<number, Counted[]>()
  for (const counted of found.data) {
    if ((queue !== undefined && counted.queue !== queue) || (name !== undefined && counted.name !== name)) continue
    const at = Math.floor(counted.at / stepMs) * stepMs
    const part = parts.get(at)
    if (part) part.push(counted)
    else parts.set(at, [counted])
  }
  const points: SeriesPoint[] = []
  for (let at = from; at < to; at += stepMs) points.push(pointOf(at, parts.get(at) ?? []))
  return { step, from: timeText(from), to: timeText(to), points, complete: found.from <= from }
}

function rangeOf(query: SeriesQuery, now: number) {
  const asked = query.to === undefined ? now : timeOf(query.to, 'series: to')
  const start = query.from === undefined ? asked - HOUR_MS : timeOf(query.from, 'series: from')
  if (start >= asked) throw new ChronosError('INVALID_OPTION', 'series: from must be before to')
  const stepMs = query.step === undefined ? stepFor(asked - start) : toMs(query.step, 'series: step')
  if (stepMs % MINUTE_MS !== 0) throw new ChronosError('INVALID_OPTION', 'series: step: expected whole minutes')
  // Aligned to whole steps, so that the same time is always in the same point.
  const from = Math.floor(start / stepMs) * stepMs
  const to = Math.max(from + stepMs, Math.ceil(asked / stepMs) * stepMs)
  const count = (to - from) / stepMs
  if (count > POINTS_MAX) {
    throw new ChronosError(
      'INVALID_OPTION',
      `series: ${count} points from ${timeText(from)} to ${timeText(to)}; at most ${POINTS_MAX}, so choose a longer step`,
    )
  }
  return { from, to, stepMs, step: query.step ?? stepText(stepMs) }
}

function stepFor(lengthMs: number): number {
  return STEPS_MS.find(ms => lengthMs / ms <= POINTS_DEFAULT) ?? STEPS_MS.at(-1)!
}

const stepText = (ms: number): Duration => (ms % HOUR_MS === 0 ? `${ms / HOUR_MS}h` : `${ms / MINUTE_MS}m`)

function pointOf(at: number, data: readonly Counted[]): SeriesPoint {
  const retried = sum(data, 'retry:succeeded')
  const { enqueued, started: runs, retries, succeeded, failed, dead, cancelled } = activityOf(data)
  return {
    at: timeText(at),
    enqueued,
    firstTry: succeeded - retried,
    retried,
    failed,
    dead,
    cancelled,
    runs,
    retries,
    busyMs: sum(data, 'ms'),
  }
}
