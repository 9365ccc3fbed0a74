import type { SeriesPoint, StatsSeries } from '../../engine/figures/series.js'
import { duration, short } from '../data/format.js'
import { minutesIn, stepOf } from '../data/series.js'
import { Panel } from '../parts/panel.js'
import { LineChart } from './line-chart.js'

type Shown = Pick<StatsSeries, 'points' | 'step' | 'from' | 'to' | 'complete'>

/** Throughput, run time and wait over the time range. */
export function Performance({ series, stale }: { readonly series: Shown; readonly stale: boolean }) {
  return (
    <>
      <Panel stale={stale}>
        <Throughput series={series} />
      </Panel>
      <Panel stale={stale}>
        <PercentileChart title="Run time" of="runMs" series={series} />
      </Panel>
      <Panel stale={stale}>
        <PercentileChart title="Wait" of="waitMs" series={series} />
      </Panel>
    </>
  )
}

/** The middle of each step. */
const timesOf = (series: Shown): readonly number[] => series.points.map(({ at }) => Date.parse(at) + stepOf(series) / 2)

function Throughput({ series }: { readonly series: Shown }) {
  const { points } = series
  const stepMs = stepOf(series)
  const perMinute = (of: (point: SeriesPoint) => number): readonly number[] =>
    points.map(point => of(point) / minutesIn(Date.parse(point.at), Date.parse(point.at) + stepMs))
  return (
    <LineChart
      title="Throughput"
      times={timesOf(series)}
      unit="per minute"
      format={value => short(Math.round(value * 10) / 10)}
      lines={[
        { name: 'runs', values: perMinute(({ runs }) => runs), token: 'run-fill', filled: true },
        { name: 'failed runs', values: perMinute(({ failed }) => failed), token: 'dead-fill' },
        { name: 'enqueued jobs', values: perMinute(({ enqueued }) => enqueued), token: 'ink-3', dash: true },
      ]}
    />
  )
}

interface PercentileChartProps {
  readonly title: string
  readonly of: 'runMs' | 'waitMs'
  readonly series: Shown
}

function PercentileChart({ title, of, series }: PercentileChartProps) {
  const values = (percentile: 'p50' | 'p95' | 'p99'): readonly (number | null)[] =>
    series.points.map(point => point[of]?.[percentile] ?? null)
  return (
    <LineChart
      title={title}
      times={timesOf(series)}
      unit="p50, p95 and p99"
      format={duration}
      lines={[
        { name: 'p50', values: values('p50'), token: 'ok-fill' },
        { name: 'p95', values: values('p95'), token: 'retry-fill', dash: true },
        { name: 'p99', values: values('p99'), token: 'dead-fill' },
      ]}
    />
  )
}
