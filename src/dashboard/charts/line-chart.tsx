import { clockText, short } from '../data/format.js'
import { Chart } from './chart.js'
import { areaPath, dotPath, linePath, valueScale } from './time-chart.js'

export type LineToken = 'accent' | 'ok-fill' | 'run-fill' | 'retry-fill' | 'dead-fill' | 'wait-fill' | 'ink-3'

export interface Line {
  readonly name: string
  /** One value for each time; null for none. */
  readonly values: readonly (number | null)[]
  readonly token: LineToken
  /** Distinguishes lines by more than colour. */
  readonly dash?: boolean
  readonly filled?: boolean
}

interface LineChartProps {
  readonly title: string
  /** Epoch milliseconds, oldest first. */
  readonly times: readonly number[]
  readonly lines: readonly Line[]
  /** What the values are: `jobs per second`. */
  readonly unit: string
  /** Formats a value, such as a duration or a share. */
  readonly format?: (value: number) => string
  readonly height?: number
}

/** Values over time, such as throughput or latency. */
export function LineChart({ title, times, lines, unit, format = short, height = 180 }: LineChartProps) {
  const written = (value: number | null | undefined): string =>
    value === null || value === undefined ? '–' : format(value)
  return (
    <Chart
      title={title}
      spoken={`${lines.map(({ name, values }) => `${name} is ${written(values.at(-1))}`).join(', ')}.`}
      table={{
        columns: ['Time', ...lines.map(({ name }) => name)],
        rows: times
          .map((at, i) => [clockText(at, 'local'), ...lines.map(({ values }) => written(values[i]))])
          .reverse(),
      }}
      legend={lines.map(({ name, token, dash }) => (
        <span key={name} class={`key key-line key-${token}${dash ? ' is-dashed' : ''}`}>
          {name}
        </span>
      ))}
      times={times}
      stepMs={0}
      height={height}
      unit={unit}
      format={format}
      scale={valueScale(Math.max(0, ...lines.flatMap(({ values }) => values.map(value => value ?? 0))))}
      factsAt={index => ({
        title: clockText(times[index]!, 'local'),
        lines: lines.map(({ name, values }) => [name, written(values[index])] as const),
      })}
      draw={frame =>
        lines.map(({ name, values, token, dash, filled }) => (
          <g key={name} class={`line-${token}`}>
            {filled && <path class="line-area" d={areaPath(times, values, frame)} />}
            <path class="line-dot" d={dotPath(times, values, frame)} />
            <path class={`line${dash ? ' is-dashed' : ''}`} d={linePath(times, values, frame)} />
          </g>
        ))
      }
    />
  )
}
