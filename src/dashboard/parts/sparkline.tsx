import type { Hue } from './badge.js'

export interface SparklineProps {
  /** Oldest first. */
  readonly values: readonly number[]
  /** A second series stacked on top, such as failures. */
  readonly over?: readonly number[] | undefined
  readonly hue?: Hue | undefined
  readonly overHue?: Hue | undefined
  readonly width?: number | undefined
  readonly height?: number | undefined
  /** The text for screen readers. */
  readonly label: string
}

export function Sparkline(props: SparklineProps) {
  const { values, over = [], hue = 'accent', overHue = 'dead', width = 88, height = 22, label } = props
  const peak = Math.max(1, ...values.map((value, i) => value + (over[i] ?? 0)))
  const step = width / Math.max(1, values.length)
  const bar = Math.max(1, step - (step > 3 ? 1 : 0))
  const scaled = (value: number): number => (value === 0 ? 0 : Math.max(1, (value / peak) * (height - 1)))
  return (
    <svg
      class="sparkline"
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={label}
      data-tip={label}
    >
      <rect class="floor" x="0" y={height - 1} width={width} height="1" />
      {values.map((value, i) => (
        <g key={i}>
          <rect class={`fill ${hue}`} x={i * step} y={height - scaled(value)} width={bar} height={scaled(value)} />
          {(over[i] ?? 0) > 0 && (
            <rect
              class={`fill ${overHue}`}
              x={i * step}
              y={height - scaled(value) - scaled(over[i]!)}
              width={bar}
              height={scaled(over[i]!)}
            />
          )}
        </g>
      ))}
    </svg>
  )
}

export interface MeterProps {
  readonly value: number
  readonly max: number
  readonly hue?: Hue | undefined
  /** The text beside it: `3 of 20`. */
  readonly text?: string | undefined
  readonly label: string
}

export function Meter({ value, max, hue = 'run', text, label }: MeterProps) {
  const share = max <= 0 ? 0 : Math.min(1, Math.max(0, value / max))
  return (
    <span class="meter-box">
      <svg
        class="meter"
        width="64"
        height="6"
        viewBox="0 0 64 6"
        role="img"
        aria-label={text === undefined ? label : `${label}: ${text}`}
      >
        <rect class="floor" width="64" height="6" rx="3" />
        {share > 0 && <rect class={`fill ${hue}`} width={Math.max(6, share * 64)} height="6" rx="3" />}
      </svg>
      {text !== undefined && <span class="nowrap">{text}</span>}
    </span>
  )
}

export interface ShareBarProps {
  readonly parts: readonly { readonly value: number; readonly hue: Hue; readonly label: string }[]
  readonly label: string
}

export function ShareBar({ parts, label }: ShareBarProps) {
  const total = parts.reduce((sum, { value }) => sum + value, 0)
  let x = 0
  return (
    <svg class="share-bar" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label={label}>
      <rect class="floor" width="100" height="8" />
      {total > 0 &&
        parts.map(({ value, hue, label: name }) => {
          const from = x
          x += (100 * value) / total
          return (
            value > 0 && <rect key={name} class={`fill ${hue}`} x={from} width={Math.max(0, x - from)} height="8" />
          )
        })}
    </svg>
  )
}
