import { useState } from 'preact/hooks'
import type { RetryWave as Wave } from '../../engine/jobs/queue-report.js'
import { clockText, count, plural } from '../data/format.js'
import { roundUp, timeTicks } from '../simulator/herd.js'
import type { Facts } from '../timeline/facts.js'
import { spanText } from '../timeline/span-text.js'
import { barsOf } from './bars.js'
import { Picture } from './picture.js'
import { clamp } from './scale.js'
import { Tip } from './tip.js'
import { useWidth } from './use-width.js'

interface RetryWaveProps {
  readonly wave: Wave
  readonly controls?: preact.ComponentChildren
}

const HEIGHT = 150
const TOP = 16
const BOTTOM = 24
const LEFT = 44

/** The coming runs of waiting jobs over time. */
export function RetryWave({ wave, controls }: RetryWaveProps) {
  const [element, width] = useWidth<HTMLDivElement>()
  const [chosen, setChosen] = useState<number>()
  const { buckets, scheduled } = wave
  const inner = Math.max(100, width - LEFT)
  const both = buckets.map((retries, i) => retries + (scheduled[i] ?? 0))
  const onKeyDown = (event: KeyboardEvent): void => {
    const at = chosen ?? -1
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: both.length - 1 }[event.key]
    if (to === undefined) return
    event.preventDefault()
    setChosen(clamp(to, 0, both.length - 1))
  }
  return (
    <Picture
      title="Upcoming runs"
      summary={summaryOf(wave)}
      table={tableOf(wave)}
      controls={controls}
      legend={<Legend />}
    >
      {/* biome-ignore lint/a11y/useSemanticElements: no HTML element exists for a drawing with arrow key navigation */}
      <div
        class="wave"
        ref={element}
        role="group"
        aria-label={`${summaryOf(wave)} Use the arrow keys to move between bars.`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys move between bars
        tabIndex={0}
        onKeyDown={onKeyDown}
        onBlur={() => setChosen(undefined)}
        onMouseLeave={() => setChosen(undefined)}
        onMouseMove={event => {
          const x = event.clientX - event.currentTarget.getBoundingClientRect().left - LEFT
          setChosen(clamp(Math.floor((x / inner) * both.length), 0, both.length - 1))
        }}
      >
        {width > 0 && <Bars wave={wave} both={both} width={inner} chosen={chosen} />}
        {chosen !== undefined && (
          <Tip
            x={LEFT + ((chosen + 0.5) / both.length) * inner}
            y={TOP + 30}
            bottom={HEIGHT}
            facts={factsOf(wave, chosen)}
          />
        )}
      </div>
    </Picture>
  )
}

interface BarsProps {
  readonly wave: Wave
  /** The sum of retries and first runs. */
  readonly both: readonly number[]
  readonly width: number
  readonly chosen: number | undefined
}

function Bars({ wave: { buckets, bucketMs }, both, width, chosen }: BarsProps) {
  const high = HEIGHT - TOP - BOTTOM
  const top = roundUp(Math.max(1, ...both))
  const look = (kind: string, i: number): string => `wave-bar is-${kind}${i === chosen ? ' is-chosen' : ''}`
  return (
    <svg width={width + LEFT} height={HEIGHT} aria-hidden="true" focusable="false">
      <g transform={`translate(${LEFT} ${TOP})`}>
        <path class="grid-line" d={`M0 0H${width}M0 ${high / 2}H${width}`} />
        <text class="axis-text" x="-8" y="4" text-anchor="end">
          {count(top)}
        </text>
        {barsOf(both, width, high, top).map((bar, i) => (
          <rect key={i} class={look('scheduled', i)} {...bar} />
        ))}
        {barsOf(buckets, width, high, top).map((bar, i) => (
          <rect key={i} class={look('retry', i)} {...bar} />
        ))}
        <path class="axis-line" d={`M0 ${high}H${width}`} />
        {timeTicks(bucketMs * both.length, width).map(({ at, text }) => (
          <text
            key={at}
            class="axis-text"
            x={at}
            y={high + 16}
            text-anchor={at === 0 ? 'start' : at > width - 20 ? 'end' : 'middle'}
          >
            {at === 0 ? 'now' : `+${text}`}
          </text>
        ))}
      </g>
    </svg>
  )
}

function factsOf({ buckets, scheduled, bucketMs }: Wave, i: number): Facts {
  const [retries, first] = [buckets[i] ?? 0, scheduled[i] ?? 0]
  return {
    title: `${spanText(i * bucketMs)} to ${spanText((i + 1) * bucketMs)} from now`,
    lines: [
      ['retries', count(retries)],
      ['first runs', count(first)],
      ['per second', String(Math.round(((retries + first) / bucketMs) * 10_000) / 10)],
    ],
  }
}

function summaryOf({ buckets, scheduled, bucketMs, due, beyond, complete }: Wave): string {
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
  const coming = sum(buckets) + sum(scheduled)
  const window = spanText(bucketMs * buckets.length)
  const parts = [
    coming === 0 ? `No runs in the next ${window}` : `${plural(coming, 'run')} in the next ${window}`,
    ...(due > 0 ? [`${plural(due, 'retry', 'retries')} due already`] : []),
    ...(beyond > 0 ? [`${count(beyond)} later`] : []),
    ...(complete ? [] : ['counted in part']),
  ]
  return `${parts.join('; ')}.`
}

function tableOf({ from, buckets, scheduled, bucketMs }: Wave) {
  const start = Date.parse(from)
  return {
    columns: ['From', 'Retries', 'First runs'],
    rows: buckets.map((retries, i) => [clockText(start + i * bucketMs, 'local'), retries, scheduled[i] ?? 0]),
  }
}

function Legend() {
  return (
    <>
      <span class="key key-retry-fill">retries</span>
      <span class="key key-wait-fill">first runs</span>
    </>
  )
}
