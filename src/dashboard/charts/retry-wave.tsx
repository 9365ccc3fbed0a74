import type { RetryWave as Wave } from '../../engine/jobs/queue-report.js'
import { clockText, count, plural } from '../data/format.js'
import { timeTicks } from '../simulator/herd.js'
import type { Facts } from '../timeline/facts.js'
import { spanText } from '../timeline/span-text.js'
import { Chart } from './chart.js'
import { barPaths, valueScale } from './time-chart.js'

/** The coming runs of waiting jobs over time. */
export function RetryWave({ wave, controls }: { readonly wave: Wave; readonly controls?: preact.ComponentChildren }) {
  const { buckets, scheduled, blocked, bucketMs } = wave
  const both = buckets.map((retries, i) => retries + (scheduled[i] ?? 0))
  const all = both.map((free, i) => free + (blocked[i] ?? 0))
  const times = buckets.map((_, i) => i * bucketMs)
  return (
    <Chart
      title="Upcoming runs"
      summary={summaryOf(wave)}
      spoken={summaryOf(wave)}
      table={tableOf(wave)}
      controls={controls}
      legend={<Legend />}
      times={times}
      stepMs={bucketMs}
      scale={valueScale(Math.max(0, ...all))}
      height={176}
      unit={`jobs per ${spanText(bucketMs)}`}
      across="time from now"
      isBrushable={false}
      ticks={({ width }) =>
        timeTicks(bucketMs * all.length, width).map(({ at, text }) => ({ x: at, text: at === 0 ? 'now' : `+${text}` }))
      }
      factsAt={index => factsOf(wave, index)}
      draw={frame =>
        barPaths(times, bucketMs, [buckets, both, all], frame).map((path, i) => (
          <path key={i} class={`wave-bar is-${LAYERS[i]}`} d={path} />
        ))
      }
    />
  )
}

const LAYERS = ['retry', 'scheduled', 'blocked'] as const

function factsOf({ buckets, scheduled, blocked, bucketMs }: Wave, i: number): Facts {
  const [retries, first, held] = [buckets[i] ?? 0, scheduled[i] ?? 0, blocked[i] ?? 0]
  return {
    title: `${spanText(i * bucketMs)} to ${spanText((i + 1) * bucketMs)} from now`,
    lines: [
      ['retries', count(retries)],
      ['first runs', count(first)],
      ['blocked, at the latest', count(held)],
      ['per second', String(Math.round(((retries + first + held) / bucketMs) * 10_000) / 10)],
    ],
  }
}

function summaryOf({ buckets, scheduled, blocked, bucketMs, due, beyond, complete }: Wave): string {
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
  const coming = sum(buckets) + sum(scheduled)
  const held = sum(blocked)
  const window = spanText(bucketMs * buckets.length)
  const parts = [
    coming === 0 ? `No runs in the next ${window}` : `${plural(coming, 'run')} in the next ${window}`,
    ...(held > 0 ? [`${plural(held, 'blocked job')}, released by then at the latest`] : []),
    ...(due > 0 ? [`${plural(due, 'retry', 'retries')} due already`] : []),
    ...(beyond > 0 ? [`${count(beyond)} later`] : []),
    ...(complete ? [] : ['counted in part']),
  ]
  return `${parts.join('; ')}.`
}

function tableOf({ from, buckets, scheduled, blocked, bucketMs }: Wave) {
  const start = Date.parse(from)
  return {
    columns: ['From', 'Retries', 'First runs', 'Blocked'],
    rows: buckets.map((retries, i) => [
      clockText(start + i * bucketMs, 'local'),
      retries,
      scheduled[i] ?? 0,
      blocked[i] ?? 0,
    ]),
  }
}

function Legend() {
  return (
    <>
      <span class="key key-retry-fill">retries</span>
      <span class="key key-wait-fill">first runs</span>
      <span class="key key-off-fill">blocked</span>
    </>
  )
}
