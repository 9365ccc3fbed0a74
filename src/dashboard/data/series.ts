import { toMs } from '../../core/values/duration.js'
import type { SeriesPoint, StatsSeries } from '../../engine/figures/series.js'
import * as api from './api.js'
import { serverNow } from './clock.js'
import { type QueryState, useQuery } from './query.js'
import { apiRange, range } from './range.js'

interface SeriesOf {
  readonly queue?: string | undefined
  /** With percentiles. */
  readonly percentiles?: true
}

/** The statistics of the time range of the screen, of all queues or one. */
export function useSeries({ queue, percentiles }: SeriesOf): QueryState<StatsSeries> {
  const asked = { ...apiRange(range.value), queue, ...(percentiles && { percentiles: 'true' }) }
  return useQuery(`series ${JSON.stringify(asked)}`, signal => api.stats.series(asked, signal), {
    topics: ['jobs'],
    everyMs: 5_000,
  })
}

type Counted = 'enqueued' | 'firstTry' | 'retried' | 'failed' | 'dead' | 'cancelled' | 'runs' | 'retries'

export const sumOf = (points: readonly SeriesPoint[], ...what: readonly Counted[]): number =>
  points.reduce((sum, point) => what.reduce((all, key) => all + point[key], sum), 0)

const MINUTE_MS = 60_000

/** The minutes of a point, or of all points, that have passed: a rate must not be too low while they last. */
export const minutesIn = (from: number, to: number): number =>
  Math.max(1, (Math.min(to, serverNow()) - from) / MINUTE_MS)

export const minutesOf = ({ from, to }: Pick<StatsSeries, 'from' | 'to'>): number =>
  minutesIn(Date.parse(from), Date.parse(to))

export const stepOf = ({ step }: Pick<StatsSeries, 'step'>): number => toMs(step, 'step')
