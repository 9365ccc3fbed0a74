import { toMs } from '../../../core/values/duration.js'
import type { SeriesPoint, StatsSeries } from '../../../engine/figures/series.js'
import { OutcomeChart } from '../../charts/outcome-chart.js'
import type { Outcome, OutcomePick } from '../../charts/outcomes.js'
import * as api from '../../data/api.js'
import { count, percent } from '../../data/format.js'
import { useQuery } from '../../data/query.js'
import { apiRange, between, range } from '../../data/range.js'
import type { Hue } from '../../parts/badge.js'
import { Answer } from '../../parts/empty.js'
import { Panel } from '../../parts/panel.js'
import { ShareBar } from '../../parts/sparkline.js'
import { go, type QueryChange } from '../../shell/router.js'

/** The outcomes of jobs in the time range of the screen, of all queues or one. */
export function Outcomes({ queue }: { readonly queue?: string | undefined }) {
  const asked = apiRange(range.value)
  const series = useQuery(
    `series ${JSON.stringify(asked)} ${queue ?? ''}`,
    signal => api.stats.series({ ...asked, queue }, signal),
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
              onPick={pick => showJobs(pick, queue)}
            />
            <Shares series={data} />
          </div>
        )}
      </Answer>
    </Panel>
  )
}

const ENDED: Readonly<Record<Outcome, QueryChange>> = {
  firstTry: { state: 'succeeded', retried: 'false' },
  retried: { state: 'succeeded', retried: 'true' },
  cancelled: { state: 'cancelled' },
  dead: { state: 'dead' },
}

/** A bar leads to the jobs that it counts: those that ended in its time. */
function showJobs({ outcome, from, to }: OutcomePick, queue: string | undefined): void {
  go('/jobs', { queue, by: 'finished', ...(outcome && ENDED[outcome]), ...between(from, to) })
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
      <ShareBar parts={parts} label={parts.map(({ value, label }) => `${count(value)} ${label}`).join(', ')} />
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
