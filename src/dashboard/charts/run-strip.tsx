import './pictures.css'
import { statusWords } from '../timeline/facts.js'
import { spanText } from '../timeline/span-text.js'
import { toneOf } from './marks.js'

export interface StripRun {
  readonly id: string
  /** The outcome of a run, the state of a job, or `skipped` and `missed` of an occurrence. */
  readonly status: string
  /** The time as text. */
  readonly at: string
  readonly durationMs?: number | undefined
  readonly href?: string | undefined
}

interface RunStripProps {
  /** Oldest first. */
  readonly runs: readonly StripRun[]
  /** The number of runs shown; default 30. */
  readonly max?: number
  readonly label: string
}

const STEP = 7
const HIGH = 20
const LOW = 6

/** The last runs as bars. The height is the duration, and a notch marks a failure. */
export function RunStrip({ runs, max = 30, label }: RunStripProps) {
  const shown = runs.slice(-max)
  const longest = Math.max(1, ...shown.map(({ durationMs }) => durationMs ?? 0))
  const good = shown.filter(({ status }) => status === 'succeeded').length
  return (
    // biome-ignore lint/a11y/useSemanticElements: a drawing with links inside is a group, and no part of a form
    <svg
      class="strip"
      width={max * STEP}
      height={HIGH}
      role="group"
      aria-label={`${label}: ${good} of ${shown.length} succeeded`}
    >
      {shown.map((run, i) => {
        const x = (max - shown.length + i) * STEP
        const height = LOW + Math.sqrt((run.durationMs ?? 0) / longest) * (HIGH - LOW)
        return run.href === undefined ? (
          <StripBar key={run.id} run={run} x={x} height={height} />
        ) : (
          <a key={run.id} href={run.href} tabIndex={-1} aria-label={words(run)}>
            <StripBar run={run} x={x} height={height} />
          </a>
        )
      })}
    </svg>
  )
}

function StripBar({ run, x, height }: { readonly run: StripRun; readonly x: number; readonly height: number }) {
  const isGood = run.status === 'succeeded' || run.status === 'running'
  const tone = run.status === 'skipped' || run.status === 'missed' ? 'cancelled' : toneOf(run.status)
  return (
    <g class={`tone-${tone}`} data-tip={words(run)}>
      <rect class="strip-hit" x={x} y="0" width={STEP} height={HIGH} />
      <rect class="strip-bar" x={x} y={HIGH - height} width={STEP - 2} height={height} rx="1.5" />
      {!isGood && <path class="strip-notch" d={`M${x} ${HIGH - height + 3}l${STEP - 2} 3`} />}
    </g>
  )
}

function words({ status, at, durationMs }: StripRun): string {
  return `${statusWords(status)} ${at}${durationMs === undefined ? '' : `, took ${spanText(durationMs)}`}`
}
