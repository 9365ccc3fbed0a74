import { useState } from 'preact/hooks'
import type { Series } from '../../core/simulation/series.js'
import { Picture } from '../charts/picture.js'
import { clamp } from '../charts/scale.js'
import { Tip } from '../charts/tip.js'
import { useWidth } from '../charts/use-width.js'
import { count } from '../data/format.js'
import type { Facts } from '../timeline/facts.js'
import { spanText } from '../timeline/span-text.js'
import { type HerdFrame, herdPath, peakAt, roundUp, timeTicks, valueTicks } from './herd.js'

/** One series of the chart. */
export interface HerdLayer {
  readonly name: string
  /** `grey` is the baseline. */
  readonly look: 'main' | 'other' | 'grey'
  readonly series: Series
  /** The most attempts in a second after the recovery. */
  readonly peakPerSecond: number
  readonly doneMs: number
}

interface HerdChartProps {
  /** The first is drawn on top. */
  readonly layers: readonly HerdLayer[]
  readonly outageMs: number
  readonly capacityPerSecond: number | undefined
  readonly spanMs: number
}

const HEIGHT = 230
const TOP = 20
const BOTTOM = 26
const LEFT = 52
const RIGHT = 10

/** Attempts per second over time: the peak of every column and the capacity of the dependency. */
export function HerdChart({ layers, outageMs, capacityPerSecond, spanMs }: HerdChartProps) {
  const [element, width] = useWidth<HTMLDivElement>()
  const [at, setAt] = useState<number>()
  const frame: HerdFrame = {
    width: Math.max(120, width - LEFT - RIGHT),
    height: HEIGHT - TOP - BOTTOM,
    spanMs,
    topPerSecond: topFor(layers, capacityPerSecond),
  }
  const point = (event: MouseEvent & { readonly currentTarget: Element }): void => {
    const x = event.clientX - event.currentTarget.getBoundingClientRect().left - LEFT
    setAt(clamp((x / frame.width) * spanMs, 0, spanMs))
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = STEPS[event.key]
    if (step === undefined) return
    event.preventDefault()
    setAt(clamp((at ?? outageMs) + (step * spanMs) / 60, 0, spanMs))
  }
  return (
    <Picture
      title="Attempts per second"
      table={tableOf(layers, outageMs)}
      legend={<Legend layers={layers} capacityPerSecond={capacityPerSecond} outageMs={outageMs} />}
    >
      <div
        class="herd-chart"
        ref={element}
        role="img"
        aria-label={spokenOf(layers, outageMs, capacityPerSecond)}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys move along the time axis
        tabIndex={0}
        onMouseMove={point}
        onMouseLeave={() => setAt(undefined)}
        onKeyDown={onKeyDown}
        onBlur={() => setAt(undefined)}
      >
        {width > 0 && (
          <Drawing frame={frame} layers={layers} outageMs={outageMs} capacity={capacityPerSecond} at={at} />
        )}
        {at !== undefined && (
          <Tip
            facts={factsAt(at, layers, outageMs, capacityPerSecond)}
            x={LEFT + (at / spanMs) * frame.width}
            y={TOP + 20}
            bottom={HEIGHT}
          />
        )}
      </div>
    </Picture>
  )
}

const STEPS: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowRight: 1, Home: -1_000, End: 1_000 }

/**
 * The scale fits the capacity and the peak after recovery. The first runs and a series without jitter may exceed it; they are cut and labelled with their height.
 */
function topFor(layers: readonly HerdLayer[], capacity: number | undefined): number {
  const coloured = layers.filter(({ look }) => look !== 'grey')
  const seen = Math.max(...coloured.map(({ peakPerSecond }) => peakPerSecond * 1.15), (capacity ?? 0) * 2.2)
  const all = Math.max(...layers.map(({ series }) => Math.max(0, ...series.peaks)))
  return roundUp(Math.max(2, Math.min(all, seen > 0 ? seen : all)))
}

interface DrawingProps {
  readonly frame: HerdFrame
  readonly layers: readonly HerdLayer[]
  readonly outageMs: number
  readonly capacity: number | undefined
  readonly at: number | undefined
}

function Drawing({ frame, layers, outageMs, capacity, at }: DrawingProps) {
  const { width, height, spanMs, topPerSecond } = frame
  const y = (value: number): number => height - (Math.min(value, topPerSecond) / topPerSecond) * height
  const downWidth = Math.min(width, (outageMs / spanMs) * width)
  return (
    <svg width={width + LEFT + RIGHT} height={HEIGHT} aria-hidden="true" focusable="false">
      <g transform={`translate(${LEFT} ${TOP})`}>
        {outageMs > 0 && <rect class="herd-down" x="0" y={-TOP + 4} width={downWidth} height={height + TOP - 4} />}
        {outageMs > 0 && downWidth > 100 && (
          <text class="herd-down-text" x="8" y="-4">
            {downWidth > 190 ? `dependency down for ${spanText(outageMs)}` : 'down'}
          </text>
        )}
        {valueTicks(topPerSecond).map(value => (
          <g key={value}>
            <path class="grid-line" d={`M0 ${y(value)}H${width}`} />
            <text class="axis-text" x="-8" y={y(value) + 4} text-anchor="end">{`${count(value)}/s`}</text>
          </g>
        ))}
        {[...layers].reverse().map(({ name, look, series }) => (
          <path key={name} class={`herd-layer is-${look}`} d={herdPath(series, frame)} />
        ))}
        {capacity !== undefined && capacity <= topPerSecond && (
          <g>
            <path class="herd-limit" d={`M0 ${y(capacity)}H${width}`} />
            <text
              class="herd-limit-text"
              x={width - 4}
              y={y(capacity) - 5}
              text-anchor="end"
            >{`capacity ${count(capacity)}/s`}</text>
          </g>
        )}
        <path class="axis-line" d={`M0 ${height}H${width}`} />
        {timeTicks(spanMs, width).map(({ at: x, text }) => (
          <text
            key={x}
            class="axis-text"
            x={x}
            y={height + 17}
            text-anchor={x === 0 ? 'start' : x > width - 20 ? 'end' : 'middle'}
          >
            {text}
          </text>
        ))}
        <Over frame={frame} layers={layers} outageMs={outageMs} />
        {at !== undefined && <path class="herd-cursor" d={`M${(at / spanMs) * width} 0V${height}`} />}
      </g>
    </svg>
  )
}

/** The height of a peak that exceeds the scale. */
function Over({ frame, layers, outageMs }: Pick<DrawingProps, 'frame' | 'layers' | 'outageMs'>) {
  const { width, spanMs, topPerSecond } = frame
  const over = layers.filter(({ peakPerSecond }) => peakPerSecond > topPerSecond)
  return (
    <>
      {over.map(({ name, look, series, peakPerSecond }) => {
        const bin = series.peaks.findIndex((peak, i) => peak === peakPerSecond && (i + 1) * series.binMs > outageMs)
        const x = clamp(((bin * series.binMs) / spanMs) * width, 34, width - 34)
        return (
          <text
            key={name}
            class={`herd-over is-${look}`}
            x={x}
            y="-6"
            text-anchor="middle"
          >{`↑ ${count(peakPerSecond)}/s`}</text>
        )
      })}
    </>
  )
}

function factsAt(at: number, layers: readonly HerdLayer[], outageMs: number, capacity: number | undefined): Facts {
  return {
    title: `${spanText(at)} after the first run`,
    lines: [
      ...layers.map(({ name, series }) => [name, `${count(peakAt(series, at))}/s`] as const),
      ['dependency', at < outageMs ? 'down' : capacity === undefined ? 'up' : `capacity ${count(capacity)}/s`],
    ],
  }
}

function spokenOf(layers: readonly HerdLayer[], outageMs: number, capacity: number | undefined): string {
  const herds = layers.map(
    ({ name, peakPerSecond, doneMs }) =>
      `${name}: ${count(peakPerSecond)} attempts per second at most after the recovery, all done after ${spanText(doneMs)}`,
  )
  return `Attempts per second over time. The dependency is down for ${spanText(outageMs)}${capacity === undefined ? '' : `, then serves ${count(capacity)} per second`}. ${herds.join('. ')}.`
}

const ROWS = 40

function tableOf(layers: readonly HerdLayer[], outageMs: number) {
  const end = Math.max(...layers.map(({ doneMs }) => doneMs), outageMs)
  const binMs = layers[0]?.series.binMs ?? 1_000
  const step = Math.max(binMs, Math.ceil(end / ROWS / binMs) * binMs)
  const rows: (string | number)[][] = []
  for (let from = 0; from <= end; from += step) {
    const most = ({ series }: HerdLayer): number =>
      Math.max(0, ...series.peaks.slice(from / binMs, (from + step) / binMs))
    rows.push([spanText(from), from < outageMs ? 'down' : 'up', ...layers.map(most)])
  }
  return { columns: ['From', 'Dependency', ...layers.map(({ name }) => `${name}, most per second`)], rows }
}

function Legend({
  layers,
  capacityPerSecond,
  outageMs,
}: Pick<HerdChartProps, 'layers' | 'capacityPerSecond' | 'outageMs'>) {
  return (
    <>
      {layers.map(({ name, look }) => (
        <span key={name} class={`key key-herd is-${look}`}>
          {name}
        </span>
      ))}
      {capacityPerSecond !== undefined && <span class="key key-limit">capacity</span>}
      {outageMs > 0 && <span class="key key-down">dependency down</span>}
    </>
  )
}
