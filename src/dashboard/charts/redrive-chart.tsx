import type { RedriveView } from '../../engine/dead/redrives.js'
import { count } from '../data/format.js'
import { LineChart } from './line-chart.js'
import { Picture } from './picture.js'
import { type RateSample, ratesOf } from './rate.js'
import { useWidth } from './use-width.js'

export type { RateSample } from './rate.js'

interface RedriveChartProps {
  readonly redrive: Pick<RedriveView, 'results' | 'total' | 'skipped'>
  readonly isBrief?: boolean
}

const PARTS = [
  ['succeeded', 'succeeded', 'ok'],
  ['dead', 'died again', 'dead'],
  ['retrying', 'failed, retrying', 'retry'],
  ['running', 'running', 'run'],
  ['cancelled', 'cancelled', 'off'],
  ['pending', 'waiting to run', 'wait'],
] as const

const HEIGHT = 26

/** The progress of a redrive by outcome; in a list only the bar. */
export function RedriveProgress({ redrive: { results, total, skipped }, isBrief = false }: RedriveChartProps) {
  const [element, width] = useWidth<HTMLDivElement>()
  const done = PARTS.map(([key, text, hue]) => ({ text, hue, value: results[key] }))
  const started = done.reduce((sum, { value }) => sum + value, 0)
  const parts = [
    ...done,
    { text: 'skipped', hue: 'off', value: skipped },
    { text: 'not started', hue: 'rest', value: Math.max(0, total.value - started - skipped) },
  ].filter(({ value }) => value > 0)
  const sum = Math.max(
    1,
    parts.reduce((all, { value }) => all + value, 0),
  )
  let x = 0
  const height = isBrief ? 8 : HEIGHT
  const bar = (
    <div class={`progress${isBrief ? ' is-brief' : ''}`} ref={element}>
      <svg
        width={Math.max(1, width)}
        height={height}
        role="img"
        aria-label={parts.map(({ text, value }) => `${count(value)} ${text}`).join(', ')}
      >
        {parts.map(({ text, hue, value }) => {
          const wide = (value / sum) * width
          const at = x
          x += wide
          return (
            <rect
              key={text}
              class={`fill progress-${hue} ${hue}`}
              x={at}
              y="0"
              width={Math.max(1, wide - 1)}
              height={height}
              data-tip={`${count(value)} ${text}`}
            />
          )
        })}
      </svg>
    </div>
  )
  if (isBrief) return bar
  return (
    <Picture
      title="Progress"
      table={{ columns: ['Outcome', 'Jobs'], rows: parts.map(({ text, value }) => [text, value]) }}
      legend={parts.map(({ text, hue, value }) => (
        <span key={text} class={`key key-${hue}-fill`}>
          {text} <span class="key-count">{count(value)}</span>
        </span>
      ))}
    >
      {bar}
    </Picture>
  )
}

interface RedriveRateProps {
  /** The samples since the page was opened, oldest first. */
  readonly samples: readonly RateSample[]
  readonly perSecond: number
}

/** The actual rate and the rate limit. */
export function RedriveRate({ samples, perSecond }: RedriveRateProps) {
  const rates = ratesOf(samples)
  return (
    <LineChart
      title="Rate"
      unit="jobs per second"
      times={rates.map(({ at }) => at)}
      lines={[
        { name: 'started', values: rates.map(rate => rate.started), token: 'accent', filled: true },
        { name: 'succeeded', values: rates.map(rate => rate.succeeded), token: 'ok-fill' },
        { name: 'died again', values: rates.map(rate => rate.dead), token: 'dead-fill', dash: true },
        { name: 'rate limit', values: rates.map(() => perSecond), token: 'ink-3', dash: true },
      ]}
      height={150}
    />
  )
}
