import { toMs } from '../../../core/values/duration.js'
import type { SeriesPoint, StatsSeries } from '../../../engine/figures/statistics.js'
import { OutcomeChart } from '../../charts/outcome-chart.js'
import type { OutcomePick } from '../../charts/outcomes.js'
import * as api from '../../data/api.js'
import { serverNow } from '../../data/clock.js'
import { count, percent } from '../../data/format.js'
import { useQuery } from '../../data/query.js'
import type { Hue } from '../../parts/badge.js'
import { Answer } from '../../parts/empty.js'
import { chosenIn, UrlChoice } from '../../parts/form/field.js'
import { Panel } from '../../parts/panel.js'
import { ShareBar } from '../../parts/sparkline.js'
import { go } from '../../shell/router.js'

const HOUR_MS = 3_600_000

const RANGES = [
  { value: '1h', text: '1 h', ms: HOUR_MS },
  { value: '6h', text: '6 h', ms: 6 * HOUR_MS },
  { value: '24h', text: '24 h', ms: 24 * HOUR_MS },
  { value: '7d', text: '7 d', ms: 7 * 24 * HOUR_MS },
  { value: '30d', text: '30 d', ms: 30 * 24 * HOUR_MS },
] as const

/** The outcomes of jobs, of all queues or one. */
export function Outcomes({ queue }: { readonly queue?: string | undefined }) {
  const range = chosenIn('range', RANGES)
  const series = useQuery(
    `series ${range.value} ${queue ?? ''}`,
    signal => api.stats.series({ from: new Date(serverNow() - range.ms).toISOString(), queue }, signal),
    { topics: ['jobs'], everyMs: 5_000 },
  )
  return (
    <Panel stale={series.problem !== undefined}>
      <Answer query={series} lines={9}>
        {data => (
          <div class="stack">
            <OutcomeChart
              title="Job outcomes"
              points={data.points}
              stepMs={toMs(data.step, 'step')}
              controls={<UrlChoice label="Time range" name="range" options={RANGES} />}
              onPick={pick => showJobs(pick, queue)}
            />
            <Shares series={data} />
          </div>
        )}
      </Answer>
    </Panel>
  )
}

/** A bar links to the jobs created in its time. */
function showJobs({ outcome, from, to }: OutcomePick, queue: string | undefined): void {
  const state = outcome === 'dead' ? 'dead' : outcome === 'firstTry' || outcome === 'retried' ? 'succeeded' : undefined
  go('/jobs', { queue, state, after: new Date(from).toISOString(), before: new Date(to).toISOString() })
}

const total = (points: readonly SeriesPoint[], what: 'firstTry' | 'retried' | 'dead' | 'cancelled'): number =>
  points.reduce((sum, point) => sum + point[what], 0)

/** The outcomes as shares of one bar. */
function Shares({ series: { points } }: { readonly series: StatsSeries }) {
  const parts: readonly { value: number; hue: Hue; label: string }[] = [
    { value: total(points, 'firstTry'), hue: 'ok', label: 'at first attempt' },
    { value: total(points, 'retried'), hue: 'run', label: 'after retries' },
    { value: total(points, 'dead'), hue: 'dead', label: 'dead' },
    { value: total(points, 'cancelled'), hue: 'off', label: 'cancelled' },
  ]
  const all = parts.reduce((sum, { value }) => sum + value, 0)
  if (all === 0) return <p class="muted">No job has ended in this time range.</p>
  return (
    <div class="stack tight">
      <ShareBar parts={parts} label={parts.map(({ value, label }) => `${value} ${label}`).join(', ')} />
      <ul class="row wrap loose shares">
        {parts
          .filter(({ value }) => value > 0)
          .map(({ value, hue, label }) => (
            <li key={label} class="row tight">
              <span class={`swatch ${hue}`} />
              <span class="strong">{percent(value / all)}</span>
              <span class="muted">
                {label} · {count(value)}
              </span>
            </li>
          ))}
      </ul>
    </div>
  )
}
