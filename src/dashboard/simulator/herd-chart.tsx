import type { Series } from '../../core/simulation/series.js'
import { Chart } from '../charts/chart.js'
import { clamp } from '../charts/scale.js'
import { type TimeFrame, xOf, yOf } from '../charts/time-chart.js'
import { count } from '../data/format.js'
import type { Facts } from '../timeline/facts.js'
import { spanText } from '../timeline/span-text.js'
import { herdPath, peakAt, roundUp, timeTicks, valueTicks } from './herd.js'

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

/** The places that the pointer and the arrow keys can reach. */
const POINTS = 120

const perSecond = (value: number): string => `${count(value)}/s`

/** Attempts per second over time: the peak of every column and the capacity of the dependency. */
export function HerdChart({ layers, outageMs, capacityPerSecond, spanMs }: HerdChartProps) {
  const top = topFor(layers, capacityPerSecond)
  const times = Array.from({ length: POINTS + 1 }, (_, i) => (i * spanMs) / POINTS)
  return (
    <Chart
      title="Load"
      unit="attempts per second"
      across="time since the first run"
      spoken={spokenOf(layers, outageMs, capacityPerSecond)}
      table={tableOf(layers, outageMs)}
      legend={<Legend layers={layers} capacityPerSecond={capacityPerSecond} outageMs={outageMs} />}
      times={times}
      stepMs={0}
      scale={{ top, ticks: valueTicks(top) }}
      height={260}
      above={36}
      format={perSecond}
      ticks={({ width }) => timeTicks(spanMs, width).map(({ at, text }) => ({ x: at, text }))}
      factsAt={index => factsAt(times[index]!, layers, outageMs, capacityPerSecond)}
      draw={frame => <Drawing frame={frame} layers={layers} outageMs={outageMs} capacity={capacityPerSecond} />}
    />
  )
}

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
  readonly frame: TimeFrame
  readonly layers: readonly HerdLayer[]
  readonly outageMs: number
  readonly capacity: number | undefined
}

function Drawing({ frame, layers, outageMs, capacity }: DrawingProps) {
  const { width, height, to, top } = frame
  const downWidth = Math.min(width, xOf(outageMs, frame))
  return (
    <>
      {outageMs > 0 && <rect class="herd-down" x="0" y="-16" width={downWidth} height={height + 16} />}
      {outageMs > 0 && downWidth > 100 && (
        <text class="herd-down-text" x="8" y="-4">
          {downWidth > 190 ? `dependency down for ${spanText(outageMs)}` : 'down'}
        </text>
      )}
      {[...layers].reverse().map(({ name, look, series }) => (
        <path
          key={name}
          class={`herd-layer is-${look}`}
          d={herdPath(series, { width, height, spanMs: to, topPerSecond: top })}
        />
      ))}
      {capacity !== undefined && capacity <= top && (
        <g>
          <path class="herd-limit" d={`M0 ${yOf(capacity, frame)}H${width}`} />
          <text
            class="herd-limit-text"
            x={width - 4}
            y={yOf(capacity, frame) - 5}
            text-anchor="end"
          >{`capacity ${perSecond(capacity)}`}</text>
        </g>
      )}
      <Over frame={frame} layers={layers} outageMs={outageMs} />
    </>
  )
}

/** The height of a peak that exceeds the scale. */
function Over({ frame, layers, outageMs }: Pick<DrawingProps, 'frame' | 'layers' | 'outageMs'>) {
  const { width, top } = frame
  const over = layers.filter(({ peakPerSecond }) => peakPerSecond > top)
  return (
    <>
      {over.map(({ name, look, series, peakPerSecond }) => {
        const bin = series.peaks.findIndex((peak, i) => peak === peakPerSecond && (i + 1) * series.binMs > outageMs)
        const x = clamp(xOf(bin * series.binMs, frame), 34, width - 34)
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
