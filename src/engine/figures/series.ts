import { timeText } from '../../core/job/view.js'
import { type Duration, HOUR_MS, toMs } from '../../core/values/duration.js'
import { ChronosError } from '../../core/values/error.js'
import { freeText } from '../../core/values/limits.js'
import { present } from '../../core/values/present.js'
import { about, boolean, duration, type Infer, integer, named, number, read } from '../../core/values/schema.js'
import { listOf, object, view } from '../../core/values/shape.js'
import { time, timestamp } from '../../core/values/time.js'
import type { Timings } from '../../store/fold.js'
import type { Store } from '../../store/store.js'
import { timeOf } from '../client/enqueuer.js'
import type { Environment } from '../client/environment.js'
import { type Counted, type CountsRange, type Figure, folded, readCounts } from './counts.js'
import { activityOf, sum } from './statistics.js'
import { percentilesOf, readTimings, sumOf, timingFields } from './timings.js'

const MINUTE_MS = 60_000

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
    percentiles: about(boolean, 'Add `runMs` and `waitMs` to the points. Default false.'),
  },
)
export type SeriesQuery = Infer<typeof seriesQuery>

export const seriesPoint = named(
  'SeriesPoint',
  view(
    {
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
    },
    { ...timingFields },
  ),
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

const POINTS_MAX = 1_500
const POINTS_DEFAULT = 120
/** The maximum number of records read for one answer. */
const RECORDS_MAX = 20_000
/** Counters per minute that are older than this are pruned, or soon will be. */
const MINUTES_KEPT_MS = 47 * HOUR_MS
const STEPS_MS = [1, 5, 15, 60, 360, 1_440].map(minutes => minutes * MINUTE_MS)

export async function readSeries(env: Environment, asked: SeriesQuery): Promise<StatsSeries> {
  const query = read(seriesQuery, asked, 'series:')
  return (await seriesIn(await folded(await env.connection.store()), query)).series
}

/** A series with the figures that it was made of. */
export interface SeriesFound {
  readonly series: StatsSeries
  readonly counted: readonly Counted[]
  /** Empty without `percentiles`. */
  readonly timings: readonly Figure<Timings>[]
  readonly range: CountsRange
}

export async function seriesIn(store: Store, query: SeriesQuery): Promise<SeriesFound> {
  const { queue, name } = query
  const { now } = await store.info()
  const { from, to, stepMs, step } = rangeOf(query, now)
  const isCoarse = stepMs % HOUR_MS === 0 && (stepMs > HOUR_MS || from < now - MINUTES_KEPT_MS)
  const resolution = isCoarse ? '1h' : '1m'
  const range = { resolution, from, to, max: RECORDS_MAX } as const
  const [found, timings] = await Promise.all([
    readCounts(store, range),
    query.percentiles ? readTimings(store, { ...range, ...present({ queue, name }) }) : undefined,
  ])
  const isWanted = (counted: Counted): boolean =>
    (queue === undefined || counted.queue === queue) && (name === undefined || counted.name === name)
  const counted = found.data.filter(isWanted)
  const timed = bySteps(timings?.data ?? [], stepMs)
  const parts = bySteps(counted, stepMs)
  const points: SeriesPoint[] = []
  for (let at = from; at < to; at += stepMs) {
    points.push({ ...pointOf(at, parts.get(at) ?? []), ...percentilesOf(sumOf(timed.get(at) ?? [])) })
  }
  const complete = found.from <= from && (timings?.from ?? from) <= from
  const series = { step, from: timeText(from), to: timeText(to), points, complete }
  return { series, counted, timings: timings?.data ?? [], range }
}

function bySteps<T extends { readonly at: number }>(
  data: readonly T[],
  stepMs: number,
): ReadonlyMap<number, readonly T[]> {
  const steps = new Map<number, T[]>()
  for (const one of data) {
    const at = Math.floor(one.at / stepMs) * stepMs
    const step = steps.get(at)
    if (step) step.push(one)
    else steps.set(at, [one])
  }
  return steps
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
