import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { clockText, count } from '../data/format.js'
import type { Facts } from '../timeline/facts.js'
import { Chart } from './chart.js'
import { OUTCOMES, type Outcome, type OutcomePick, type OutcomePoint, outcomeAt, stacked } from './outcomes.js'
import { clamp } from './scale.js'
import { barPaths, valueScale } from './time-chart.js'

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

/** Outcomes over time as stacked bars, successes at the bottom. */
export function OutcomeChart(props: OutcomeChartProps) {
  const { points, stepMs, title = 'Outcomes', height = 220, onPick, controls } = props
  const [walked, setWalked] = useState<Outcome>()
  const times = points.map(({ at }) => Date.parse(at))
  const sums = stacked(points)
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
      scale={valueScale(Math.max(0, ...(sums.at(-1) ?? [])))}
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
      draw={frame =>
        barPaths(times, stepMs, sums, frame).map((path, i) => (
          <path key={OUTCOMES[i]!.key} class={`outcome is-${OUTCOMES[i]!.key}`} d={path} />
        ))
      }
    />
  )
}

function factsOf(point: OutcomePoint, stepMs: number, chosen: Outcome | undefined): Facts {
  const from = Date.parse(point.at)
  return {
    title: `${clockText(from, 'local').slice(0, 16)} – ${clockText(from + stepMs, 'local').slice(11, 16)}`,
    lines: [...OUTCOMES]
      .reverse()
      .map(({ key, text }) => [`${key === chosen ? '▸ ' : ''}${text}`, count(point[key])] as const),
  }
}

function tableOf(points: readonly OutcomePoint[]) {
  return {
    columns: ['From', ...OUTCOMES.map(({ text }) => text)],
    rows: [...points]
      .reverse()
      .map(point => [clockText(Date.parse(point.at), 'local'), ...OUTCOMES.map(({ key }) => point[key])]),
  }
}

const totalOf = (points: readonly OutcomePoint[], key: Outcome): number =>
  points.reduce((sum, point) => sum + point[key], 0)

function spoken(points: readonly OutcomePoint[]): string {
  return `${OUTCOMES.map(({ key, text }) => `${count(totalOf(points, key))} ${text}`).join(', ')}.`
}

function Legend({ points }: { readonly points: readonly OutcomePoint[] }) {
  return (
    <>
      {OUTCOMES.map(({ key, text }) => (
        <span key={key} class={`key key-outcome is-${key}`}>
          {text} <span class="key-count">{count(totalOf(points, key))}</span>
        </span>
      ))}
    </>
  )
}
