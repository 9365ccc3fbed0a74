import { type Histogram, quantiles } from '../../core/values/histogram.js'
import { about, type Infer, named, number } from '../../core/values/schema.js'
import { view } from '../../core/values/shape.js'
import {
  addTimings,
  countsId,
  noTimings,
  placeOfCounts,
  QUEUE_TIMINGS,
  RESOLUTION_MS,
  TIMING_PLACES,
  TIMING_PLACES_ID,
  TIMING_PLACES_MAX,
  TIMINGS,
  type TimingPlaces,
  type TimingSum,
  type Timings,
} from '../../store/fold.js'
import type { Store } from '../../store/store.js'
import { bodyOf } from '../records/records.js'
import { type CountsRange, type Figure, readFigures } from './counts.js'

export const percentiles = named('Percentiles', view({ p50: number(), p95: number(), p99: number() }))
export type Percentiles = Infer<typeof percentiles>

/** Fields of a view; both are absent without a run. */
export const timingFields = {
  runMs: about(
    percentiles,
    `Percentiles of the run time in milliseconds, within 2 % of the exact value. They are kept by job name for the first ${TIMING_PLACES_MAX.toLocaleString('en')} pairs of a queue and a job name.`,
  ),
  waitMs: about(percentiles, 'The same for the wait: from the time at which a job was due to the start of its run.'),
}

interface TimingsRange extends CountsRange {
  readonly queue?: string
  readonly name?: string
}

interface TimingsFound {
  readonly data: readonly Figure<Timings>[]
  /** The timings are complete from this time on. */
  readonly from: number
}

const BATCH = 2_000

/** Reads the timings of a queue, a job name, both, or (summed up by queue) all. */
export async function readTimings(store: Store, range: TimingsRange): Promise<TimingsFound> {
  const { queue, name, ...when } = range
  if (name === undefined && queue === undefined) return readFigures(store, QUEUE_TIMINGS, when)
  if (name === undefined) return readPlaces(store, QUEUE_TIMINGS, when, [queue!])
  const places = (await timingPlaces(store)).filter(
    place => place.name === name && (queue === undefined || place.queue === queue),
  )
  const own = places.map(place => `${place.queue} ${place.name}`)
  return readPlaces(store, TIMINGS, when, own)
}

/** The queues and job names with timings of their own. */
export async function timingPlaces(
  store: Store,
): Promise<readonly { readonly queue: string; readonly name: string; readonly lastHour: number }[]> {
  const records = await store.records(TIMING_PLACES, { ids: [TIMING_PLACES_ID] })
  const places = records.flatMap(bodyOf<TimingPlaces>).flatMap(body => Object.entries(body))
  return places.map(([place, lastHour]) => {
    const [queue = '', ...words] = place.split(' ')
    return { queue, name: words.join(' '), lastHour }
  })
}

/** Looks up every minute or hour by its id, newest first: the records of other job names are not read. */
async function readPlaces(
  store: Store,
  kind: string,
  { resolution, from, to, max }: CountsRange,
  places: readonly string[],
): Promise<TimingsFound> {
  const stepMs = RESOLUTION_MS[resolution]
  const ids: string[] = []
  const first = Math.floor(from / stepMs) * stepMs
  let at = Math.ceil(to / stepMs) * stepMs - stepMs
  for (; at >= first && ids.length + places.length <= max; at -= stepMs) {
    for (const place of places) ids.push(countsId(resolution, at, place))
  }
  const data: Figure<Timings>[] = []
  for (let done = 0; done < ids.length; done += BATCH) {
    for (const record of await store.records(kind, { ids: ids.slice(done, done + BATCH) })) {
      for (const body of bodyOf<Timings>(record)) data.push({ ...placeOfCounts(record.id), body })
    }
  }
  return { data, from: at < first ? from : at + stepMs }
}

/** The sum of all of these timings. */
export function sumOf(data: readonly { readonly body: Timings }[]): TimingSum {
  const sum = noTimings()
  for (const { body } of data) addTimings(sum, body)
  return sum
}

export function percentilesOf({ run, wait }: Pick<TimingSum, 'run' | 'wait'>): {
  readonly runMs?: Percentiles
  readonly waitMs?: Percentiles
} {
  const [runMs, waitMs] = [run, wait].map(shown)
  return { ...(runMs && { runMs }), ...(waitMs && { waitMs }) }
}

function shown(histogram: Histogram): Percentiles | undefined {
  const [p50, p95, p99] = quantiles(histogram, [0.5, 0.95, 0.99]) ?? []
  return p50 === undefined ? undefined : { p50, p95: p95!, p99: p99! }
}
