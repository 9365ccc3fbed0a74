import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { short } from '../data/format.js'
import { rangeDefault, setRange } from '../data/range.js'
import type { Facts } from '../timeline/facts.js'
import { Picture, type PictureTable } from './picture.js'
import { clamp } from './scale.js'
import { clockTicks, type TimeFrame, type TimeTick, tickX, xOf, yOf } from './time-chart.js'
import { Tip } from './tip.js'
import { useWidth } from './use-width.js'

interface ChartProps {
  readonly title: string
  /** The summary for screen readers. */
  readonly spoken: string
  /** One sentence that summarizes the chart. */
  readonly summary?: string | undefined
  readonly table: PictureTable
  readonly legend: ComponentChildren
  readonly controls?: ComponentChildren
  /** The times of the points or the starts of the bars: epoch milliseconds. */
  readonly times: readonly number[]
  /** The length of each bar; 0 for points. */
  readonly stepMs: number
  /** The top of the value axis and its grid lines. */
  readonly scale: { readonly top: number; readonly ticks: readonly number[] }
  /** What the value axis counts: `jobs per 1m`. */
  readonly unit: string
  /** What the other axis shows; default `local time`. */
  readonly across?: string
  readonly height: number
  /** Room above the top, for the title of the axis and texts; default 24 pixels. */
  readonly above?: number
  readonly format?: (value: number) => string
  /** The labels of the time axis; default the time of day. */
  readonly ticks?: (frame: TimeFrame) => readonly TimeTick[]
  readonly draw: (frame: TimeFrame) => ComponentChildren
  /** The tip of a point. `value` is the value under the pointer, undefined for the keyboard. */
  readonly factsAt: (index: number, value: number | undefined) => Facts
  readonly onPick?: ((index: number, value: number | undefined) => void) | undefined
  /** false: its times are not points in time, so it can't set the time range of the screen. */
  readonly isBrushable?: boolean
  /** Called by the ↑ and ↓ keys. */
  readonly onStep?: ((by: 1 | -1) => void) | undefined
}

interface Pointed {
  readonly index: number
  readonly value: number | undefined
}

const BOTTOM = 40
const LEFT = 48
const RIGHT = 18

/** A chart over time with axes, and a tip that follows the pointer and the arrow keys. */
export function Chart(props: ChartProps) {
  const { title, spoken, times, stepMs, scale, height, above = 24, onPick, onStep, factsAt } = props
  const [element, width] = useWidth<HTMLDivElement>()
  const [seen, setPointed] = useState<Pointed>()
  // Another time range may have fewer points than the one that was pointed at.
  const pointed = seen && seen.index < times.length ? seen : undefined
  const frame: TimeFrame = {
    width: Math.max(80, width - LEFT - RIGHT),
    height: height - above - BOTTOM,
    from: times[0] ?? 0,
    to: Math.max((times.at(-1) ?? 1) + stepMs, (times[0] ?? 0) + 1),
    top: scale.top,
  }
  const last = times.length - 1
  const brush = useBrush(frame, stepMs, props.isBrushable !== false && rangeDefault.value !== undefined)
  const onKeyDown = (event: KeyboardEvent): void => {
    const at = pointed?.index ?? last + 1
    if (brush.onKey(event, times[pointed?.index ?? last] ?? 0)) return
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[event.key]
    if (to !== undefined && last >= 0) setPointed({ index: clamp(to, 0, last), value: undefined })
    else if (onStep && (event.key === 'ArrowUp' || event.key === 'ArrowDown')) onStep(event.key === 'ArrowUp' ? 1 : -1)
    else if (event.key === 'Enter' && pointed) onPick?.(pointed.index, pointed.value)
    else return
    event.preventDefault()
  }
  const point = (event: MouseEvent & { readonly currentTarget: Element }): void => {
    const box = event.currentTarget.getBoundingClientRect()
    const at = frame.from + ((event.clientX - box.left - LEFT) / frame.width) * (frame.to - frame.from)
    const value = frame.top * (1 - (event.clientY - box.top - above) / frame.height)
    setPointed(last < 0 ? undefined : { index: nearest(times, at, stepMs), value })
    brush.onMove(at, event)
  }
  const middle = pointed && xOf(times[pointed.index]! + stepMs / 2, frame)
  return (
    <Picture title={title} summary={props.summary} table={props.table} controls={props.controls} legend={props.legend}>
      {/* biome-ignore lint/a11y: no HTML element exists for a drawing with arrow key navigation */}
      <div
        class={`chart${onPick ? ' is-pickable' : ''}${brush.isOn ? ' is-brushable' : ''}`}
        ref={element}
        role="group"
        aria-label={`${title}. ${spoken} Use the arrow keys to move${brush.isOn ? ', with Shift to select a time range, and Enter to apply it' : ''}.`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys move along the time axis
        tabIndex={0}
        onKeyDown={onKeyDown}
        onMouseDown={event => {
          point(event)
          brush.onStart(event)
        }}
        onMouseMove={point}
        onMouseUp={brush.onEnd}
        onMouseLeave={() => {
          setPointed(undefined)
          brush.stop()
        }}
        onBlur={() => setPointed(undefined)}
        onClick={() => {
          if (!brush.wasUsed() && pointed) onPick?.(pointed.index, pointed.value)
        }}
      >
        {width > 0 && (
          <svg width={width} height={height} aria-hidden="true" focusable="false">
            <g transform={`translate(${LEFT} ${above})`}>
              <Axes
                frame={frame}
                values={scale.ticks}
                format={props.format ?? short}
                ticks={(props.ticks ?? clockTicks)(frame)}
              />
              <text class="axis-title" x={-LEFT + 4} y={-above + 11}>
                {props.unit}
              </text>
              <text class="axis-title" x={frame.width} y={frame.height + 33} text-anchor="end">
                {props.across ?? 'local time'}
              </text>
              {props.draw(frame)}
              {brush.span && (
                <rect
                  class="chart-brush"
                  x={xOf(brush.span[0], frame)}
                  width={Math.max(1, xOf(brush.span[1], frame) - xOf(brush.span[0], frame))}
                  height={frame.height}
                />
              )}
              {middle !== undefined && <path class="chart-cursor" d={`M${middle} 0V${frame.height}`} />}
            </g>
          </svg>
        )}
        {pointed && middle !== undefined && (
          <Tip facts={factsAt(pointed.index, pointed.value)} x={LEFT + middle} y={above + 8} bottom={height - BOTTOM} />
        )}
      </div>
    </Picture>
  )
}

const MINUTE_MS = 60_000
/** A shorter movement is a click. */
const BRUSH_MIN_PIXELS = 6

/** Dragging over a chart selects the time range of the screen, in whole bars. */
function useBrush(frame: TimeFrame, stepMs: number, isOn: boolean) {
  const [span, setSpan] = useState<readonly [from: number, to: number]>()
  const start = useRef<{ at: number; x: number } | undefined>(undefined)
  const isUsed = useRef(false)
  const unit = stepMs > 0 ? stepMs : MINUTE_MS
  const at = useRef(0)
  const snapped = (a: number, b: number): readonly [number, number] => {
    const [low, high] = [clamp(Math.min(a, b), frame.from, frame.to), clamp(Math.max(a, b), frame.from, frame.to)]
    const first = frame.from + Math.floor((low - frame.from) / unit) * unit
    return [first, Math.max(first + unit, frame.from + Math.ceil((high - frame.from) / unit) * unit)]
  }
  const stop = (): void => {
    start.current = undefined
    setSpan(undefined)
  }
  const apply = (): void => {
    if (span) setRange(...span)
    stop()
  }
  return {
    isOn,
    span,
    stop,
    onStart: (event: MouseEvent): void => {
      isUsed.current = false
      if (isOn && event.button === 0) start.current = { at: at.current, x: event.clientX }
    },
    onMove: (time: number, event: MouseEvent): void => {
      at.current = time
      const from = start.current
      if (!from) return
      if ((event.buttons & 1) === 0) stop()
      else if (span || Math.abs(event.clientX - from.x) >= BRUSH_MIN_PIXELS) setSpan(snapped(from.at, time))
    },
    onEnd: (): void => {
      isUsed.current = span !== undefined
      apply()
    },
    /** Whether the click ends a selection. */
    wasUsed: (): boolean => isUsed.current,
    /** Shift with an arrow key extends the selection by a bar; Enter applies it, Escape drops it. */
    onKey: (event: KeyboardEvent, from: number): boolean => {
      const by = event.key === 'ArrowLeft' ? -1 : event.key === 'ArrowRight' ? 1 : 0
      if (isOn && event.shiftKey && by !== 0) {
        start.current ??= { at: from + unit / 2, x: 0 }
        at.current = span ? at.current + by * unit : from + unit / 2
        setSpan(snapped(start.current.at, at.current))
      } else if (span && event.key === 'Enter') apply()
      else if (span && event.key === 'Escape') stop()
      else return false
      event.preventDefault()
      return true
    },
  }
}

interface AxesProps {
  readonly frame: TimeFrame
  readonly values: readonly number[]
  readonly format: (value: number) => string
  readonly ticks: readonly TimeTick[]
}

function Axes({ frame, values, format, ticks }: AxesProps) {
  const { width, height } = frame
  return (
    <>
      {values.map(value => (
        <g key={value}>
          <path class="grid-line" d={`M0 ${yOf(value, frame)}H${width}`} />
          <text class="axis-text" x="-8" y={yOf(value, frame) + 4} text-anchor="end">
            {format(value)}
          </text>
        </g>
      ))}
      <path class="axis-line" d={`M0 ${height}H${width}`} />
      {ticks.map(tick => (
        <text key={tick.x} class="axis-text" x={tickX(tick, width)} y={height + 16} text-anchor="middle">
          {tick.text}
        </text>
      ))}
    </>
  )
}

/** The bar that contains a moment, or the nearest point. */
function nearest(times: readonly number[], at: number, stepMs: number): number {
  const next = times.findIndex(time => time > at)
  const after = next === -1 ? times.length : next
  const before = Math.max(0, after - 1)
  if (stepMs > 0 || after >= times.length) return before
  return at - times[before]! < times[after]! - at ? before : after
}
