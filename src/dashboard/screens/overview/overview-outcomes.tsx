import { shareTexts } from '../../../core/values/number.js'
import type { StatsSeries } from '../../../engine/figures/series.js'
import { OutcomeChart } from '../../charts/outcome-chart.js'
import type { Outcome, OutcomePick } from '../../charts/outcomes.js'
import { count } from '../../data/format.js'
import { between } from '../../data/range.js'
import { stepOf, sumOf, useSeries } from '../../data/series.js'
import type { Hue } from '../../parts/badge.js'
import { Answer } from '../../parts/empty.js'
import { Panel } from '../../parts/panel.js'
import { ShareBar } from '../../parts/sparkline.js'
import { go, type QueryChange } from '../../shell/router.js'

/** The outcomes of all jobs in the time range of the screen. */
export function Outcomes() {
  const series = useSeries({})
  return (
    <Answer query={series} lines={9}>
      {found => <OutcomesPanel series={found} stale={series.problem !== undefined} />}
    </Answer>
  )
}

interface OutcomesProps {
  readonly series: Pick<StatsSeries, 'points' | 'step'>
  /** The jobs that are counted. */
  readonly filter?: { readonly queue?: string; readonly name?: string }
  readonly stale: boolean
}

/** The outcomes of jobs in the time range of the screen, of all queues, one queue or one job name. */
export function OutcomesPanel({ series, filter = {}, stale }: OutcomesProps) {
  return (
    <Panel stale={stale}>
      <div class="stack">
        <OutcomeChart
          title="Job outcomes"
          points={series.points}
          stepMs={stepOf(series)}
          onPick={pick => showJobs(pick, filter)}
        />
        <Shares points={series.points} />
      </div>
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
function showJobs({ outcome, from, to }: OutcomePick, filter: QueryChange): void {
  go('/jobs', { ...filter, by: 'finished', ...(outcome && ENDED[outcome]), ...between(from, to) })
}

/** The outcomes as shares of one bar. */
function Shares({ points }: Pick<StatsSeries, 'points'>) {
  const parts: readonly { value: number; hue: Hue; label: string }[] = [
    { value: sumOf(points, 'firstTry'), hue: 'ok', label: 'at first attempt' },
    { value: sumOf(points, 'retried'), hue: 'run', label: 'after retries' },
    { value: sumOf(points, 'dead'), hue: 'dead', label: 'dead' },
    { value: sumOf(points, 'cancelled'), hue: 'off', label: 'cancelled' },
  ]
  const all = parts.reduce((sum, { value }) => sum + value, 0)
  const shares = shareTexts(parts.map(({ value }) => value))
  if (all === 0) return <p class="muted">No job has ended in this time range.</p>
  return (
    <div class="stack tight">
      <ShareBar parts={parts} label={parts.map(({ value, label }) => `${count(value)} ${label}`).join(', ')} />
      <ul class="row wrap loose shares">
        {parts
          .map((part, i) => ({ ...part, share: shares[i] }))
          .filter(({ value }) => value > 0)
          .map(({ value, hue, label, share }) => (
            <li key={label} class="row tight">
              <span class={`swatch ${hue}`} />
              <span class="strong">{share}</span>
              <span class="muted">
                {label} · {count(value)}
              </span>
            </li>
          ))}
      </ul>
    </div>
  )
}
