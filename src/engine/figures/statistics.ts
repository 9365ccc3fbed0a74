import type { Phase } from '../../core/job/job.js'
import { timeText } from '../../core/job/view.js'
import { type Duration, HOUR_MS, toMs } from '../../core/values/duration.js'
import { ChronosError } from '../../core/values/error.js'
import { checkKeys, freeText } from '../../core/values/limits.js'
import { read } from '../../core/values/schema.js'
import { DELIVERIES } from '../../core/webhook/webhook.js'
import type { Count, QueueCensus, Store } from '../../store/store.js'
import { ALERT_TAG, countsOf, DEAD_MAX } from '../alerts/readings.js'
import { timeOf } from '../client/enqueuer.js'
import type { Environment } from '../client/environment.js'
import { bodyOf } from '../records/records.js'
import { isAlive, WORKER, WORKERS_MAX, type WorkerRecord } from '../worker/fleet.js'
import { type Counted, folded, readCounts } from './counts.js'

/** Activity in a time range. Runs are counted when they end. */
export interface Activity {
  readonly enqueued: number
  /** Runs, and those with attempt > 1. */
  readonly started: number
  readonly retries: number
  /** Jobs that succeeded. */
  readonly succeeded: number
  /** Runs that failed, timed out or were lost. */
  readonly failed: number
  /** Jobs that died, and jobs that were cancelled. */
  readonly dead: number
  readonly cancelled: number
}

export interface WorkerCounts {
  readonly alive: number
  readonly silent: number
  /** The total of the live workers. */
  readonly concurrency: number
  readonly running: number
}

/** The state of the whole fleet in numbers. */
export interface FleetStats {
  readonly at: string
  /** Counted up to 10,000. */
  readonly jobs: Readonly<Record<Phase, Count>>
  /** The start of the time range of the next five numbers. */
  readonly since: string
  /** Runs with attempt > 1, those of them that succeeded, and the quotient in percent. */
  readonly totalRetries: number
  readonly successfulRetries: number
  readonly retrySuccessRate: number
  /** Runs that failed, and jobs that died. */
  readonly failedRuns: number
  readonly failedJobs: number
  /** Retries to first attempts over the last five minutes, without deliveries and alerts. */
  readonly retryRate: number
  /** Dead jobs that are neither acknowledged nor discarded. */
  readonly deadLetters: Count
  /** How long the oldest due job waits, in queues that are not paused. */
  readonly oldestDueAgeMs?: number
  readonly workers: WorkerCounts
  readonly last5m: Activity
  readonly lastHour: Activity
}

export interface SeriesQuery {
  /** Default: an hour before `to`. */
  readonly from?: Date | string | number
  /** Default: now. */
  readonly to?: Date | string | number
  /** Whole minutes. Default: the shortest that gives at most 120 points. Minutes are kept for two days, hours for 90. */
  readonly step?: Duration
  readonly queue?: string
  readonly name?: string
}

export interface SeriesPoint {
  readonly at: string
  readonly enqueued: number
  /** Jobs that succeeded at the first attempt, and after retries. */
  readonly firstTry: number
  readonly retried: number
  /** Runs that failed, timed out or were lost. */
  readonly failed: number
  readonly dead: number
  readonly cancelled: number
  /** All runs, and those with attempt > 1. */
  readonly runs: number
  readonly retries: number
  /** The total duration of the runs. */
  readonly busyMs: number
}

export interface StatsSeries {
  readonly step: Duration
  readonly from: string
  readonly to: string
  readonly points: readonly SeriesPoint[]
  /** False: there are too many records, and the oldest points are not counted. */
  readonly complete: boolean
}

const COUNT_CAP = 10_000
const RATE_MS = 300_000
const MINUTE_MS = 60_000
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
  const [jobs, totals, retryRate, backlog, workers] = await Promise.all([
    readPhases(store),
    readTotals(store, now),
    readRetryRate(store, now),
    readBacklog(store, now),
    readWorkers(store, now),
  ])
  return {
    at: timeText(now),
    jobs,
    ...totals,
    retryRate,
    ...backlog,
    workers: workersIn(workers),
    last5m: activityOf(hour.data.filter(({ at }) => at > now - RATE_MS - MINUTE_MS)),
    lastHour: activityOf(hour.data),
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
  const sum = (phase: 'scheduled' | 'queued' | 'retrying'): Count => sumOf(census.map(queue => queue[phase]))
  return {
    scheduled: sum('scheduled'),
    queued: sum('queued'),
    retrying: sum('retrying'),
    running,
    succeeded,
    dead,
    cancelled,
  }
}

export type PhaseCounts = Omit<QueueCensus, 'queue'>

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
async function readRetryRate(store: Store, now: number): Promise<number> {
  let [first, retry] = [0, 0]
  for (const [queue, counts] of await countsOf({ store, now }, { windowMs: RATE_MS })) {
    if (queue === DELIVERIES) continue
    first += counts.first
    retry += counts.retry
  }
  return retry / Math.max(1, first)
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

function runsOf(data: readonly Counted[]): number {
  let total = 0
  for (const { counts } of data) {
    for (const [key, count] of Object.entries(counts)) if (key.startsWith('run:')) total += count
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

export async function readSeries(env: Environment, query: SeriesQuery): Promise<StatsSeries> {
  checkKeys(query, ['from', 'to', 'step', 'queue', 'name'], 'series')
  const { queue, name } = query
  if (queue !== undefined) read(freeText, queue, 'series: queue')
  if (name !== undefined) read(freeText, name, 'series: name')
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
  const stepMs =
    query.step === undefined ? stepFor(asked - start) : toMs(query.step, 'series: step', { min: MINUTE_MS })
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
