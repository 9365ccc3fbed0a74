import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { formatMs } from '../../core/values/duration.js'
import { clockText, count } from '../data/format.js'
import type { Facts } from '../timeline/facts.js'
import { Chart } from './chart.js'
import { FAILED, OUTCOMES, type Outcome, type OutcomePick, type OutcomePoint, outcomeAt, stacked } from './outcomes.js'
import { clamp } from './scale.js'
import { barPaths, linePath, valueScale } from './time-chart.js'

export type { OutcomePick, OutcomePoint } from './outcomes.js'

interface OutcomeChartProps {
  /** `points` of `stats.series`, oldest first. */
  readonly points: readonly OutcomePoint[]
  /** The length of time of each point. */
  readonly stepMs: number
  readonly title?: string
  readonly height?: number
  /** Called with the chosen bar and outcome, to open the jobs behind it. */
  readonly onPick?: (pick: OutcomePick) => void
  readonly controls?: ComponentChildren
}

/** The jobs that ended, as stacked bars by outcome, and the failed attempts as a line. */
export function OutcomeChart(props: OutcomeChartProps) {
  const { points, stepMs, title = 'Outcomes', height = 220, onPick, controls } = props
  const [walked, setWalked] = useState<Outcome>()
  const times = points.map(({ at }) => Date.parse(at))
  const sums = stacked(points)
  const failed = points.map(point => point.failed)
  const outcomeOf = (index: number, value: number | undefined): Outcome | undefined =>
    value === undefined ? walked : outcomeAt(points[index]!, value)
  return (
    <Chart
      title={title}
      spoken={spoken(points)}
      table={tableOf(points)}
      controls={controls}
      legend={<Legend points={points} />}
      times={times}
      stepMs={stepMs}
      height={height}
      unit={`jobs per ${formatMs(stepMs)}`}
      scale={valueScale(Math.max(0, ...(sums.at(-1) ?? []), ...failed))}
      factsAt={(index, value) => factsOf(points[index]!, stepMs, outcomeOf(index, value))}
      onStep={by => {
        const at = OUTCOMES.findIndex(({ key }) => key === walked)
        setWalked(OUTCOMES[clamp(at + by, 0, OUTCOMES.length - 1)]!.key)
      }}
      onPick={
        onPick &&
        ((index, value) =>
          onPick({ outcome: outcomeOf(index, value), from: times[index]!, to: times[index]! + stepMs }))
      }
      draw={frame => (
        <>
          <Hatches />
          {barPaths(times, stepMs, sums, frame).map((path, i) => (
            <g key={OUTCOMES[i]!.key} class={`outcome is-${OUTCOMES[i]!.key}`}>
              <path d={path} />
              {HATCHED.includes(OUTCOMES[i]!.key) && (
                <path class="outcome-hatch" d={path} fill={`url(#hatch-${OUTCOMES[i]!.key})`} />
              )}
            </g>
          ))}
          <path
            class="outcome-line"
            d={linePath(
              times.map(at => at + stepMs / 2),
              failed,
              frame,
            )}
          />
        </>
      )}
    />
  )
}

/** Outcomes that differ by more than their colour. */
const HATCHED: readonly Outcome[] = ['retried', 'dead']

/** Lines that rise and lines that fall, as in the strips of runs. */
function Hatches() {
  return (
    <defs>
      <pattern id="hatch-retried" width="6" height="6" patternUnits="userSpaceOnUse">
        <path class="hatch-line" d="M-1 7 7 -1" />
      </pattern>
      <pattern id="hatch-dead" width="4" height="4" patternUnits="userSpaceOnUse">
        <path class="hatch-line" d="M-1 -1 5 5" />
      </pattern>
    </defs>
  )
}

function factsOf(point: OutcomePoint, stepMs: number, chosen: Outcome | undefined): Facts {
  const from = Date.parse(point.at)
  return {
    title: `${clockText(from, 'local').slice(0, 16)} – ${clockText(from + stepMs, 'local').slice(11, 16)}`,
    lines: [
      ...[...OUTCOMES]
        .reverse()
        .map(({ key, text }) => [`${key === chosen ? '▸ ' : ''}${text}`, count(point[key])] as const),
      [FAILED, count(point.failed)],
    ],
  }
}

function tableOf(points: readonly OutcomePoint[]) {
  return {
    columns: ['From', ...OUTCOMES.map(({ text }) => text), FAILED],
    rows: [...points]
      .reverse()
      .map(point => [clockText(Date.parse(point.at), 'local'), ...OUTCOMES.map(({ key }) => point[key]), point.failed]),
  }
}

const totalOf = (points: readonly OutcomePoint[], key: Outcome | 'failed'): number =>
  points.reduce((sum, point) => sum + point[key], 0)

function spoken(points: readonly OutcomePoint[]): string {
  const jobs = OUTCOMES.map(({ key, text }) => `${count(totalOf(points, key))} ${text}`).join(', ')
  return `Jobs that ended: ${jobs}; ${count(totalOf(points, 'failed'))} ${FAILED}.`
}

function Legend({ points }: { readonly points: readonly OutcomePoint[] }) {
  return (
    <>
      {OUTCOMES.map(({ key, text }) => (
        <span key={key} class={`key key-outcome is-${key}`}>
          {text} <span class="key-count">{count(totalOf(points, key))}</span>
        </span>
      ))}
      <span class="key key-outcome-line">
        {FAILED} <span class="key-count">{count(totalOf(points, 'failed'))}</span>
      </span>
    </>
  )
}
