import { useMemo, useRef, useState } from 'preact/hooks'
import type { Span } from '../../core/job/timeline.js'
import { Choice, Picture, type PictureTable } from '../charts/picture.js'
import { type AxisMode, type Room, type Scale, scaleOf } from '../charts/scale.js'
import { Tip } from '../charts/tip.js'
import { useWidth } from '../charts/use-width.js'
import { copyText } from '../data/copy.js'
import { clockText, plural } from '../data/format.js'
import { type Facts, factsOf, historyText, spoken, statusWords } from './facts.js'
import { type Frame, frameOf } from './frame.js'
import { type History, type HistoryFacts, type HistoryPart, historyOf, type RunPart, stretchesOf } from './history.js'
import { spanText } from './span-text.js'
import { TimelineDrawing } from './timeline-drawing.js'
import { END_ROOM } from './timeline-layout.js'

interface AttemptTimelineProps {
  readonly facts: HistoryFacts
  /** The number of the chosen run. */
  readonly selected?: number | undefined
  readonly onSelect?: (run: number) => void
  readonly mode?: AxisMode
  readonly onMode?: (mode: AxisMode) => void
  /** The final state of the job, drawn behind the last run. */
  readonly ending?: string | undefined
}

/** A part of the timeline under the pointer, and where its tip goes. */
export interface Pointed {
  readonly part: HistoryPart
  readonly x: number
  readonly top: number
  readonly bottom: number
}

/** Everything that the parts of the drawing share. */
export interface Scene {
  readonly history: History
  readonly scale: Scale
  readonly frame: Frame
  readonly mode: AxisMode
  readonly selected: number | undefined
  readonly ending: string | undefined
  /** The text for screen readers. */
  readonly describe: (part: HistoryPart) => string
  /** The run that the Tab key reaches; the arrow keys go on from there. */
  readonly reachable: number | undefined
  readonly onPoint: (pointed: Pointed | undefined) => void
  readonly onSelect: (run: number) => void
}

const NARROW = 640
/** A tip below a part must not hide the jitter windows: pixels. */
const TIP_GAP = 22
const SIDEWAYS: Omit<Room, 'length'> = { activeMin: 18, activeUsual: 40, activeMax: 170, cutMin: 58 }
const DOWN: Omit<Room, 'length'> = { activeMin: 40, activeUsual: 44, activeMax: 72, cutMin: 30 }

const MODES: readonly (readonly [AxisMode, string, string])[] = [
  ['compressed', 'Compressed', 'Shorten long waits'],
  ['linear', 'Linear', 'Draw everything to scale'],
  ['log', 'Log', 'Use the logarithm of the time since creation'],
]

/** One job on a time axis: its runs, the waits between them and why, and the runs to come. Narrow screens turn the axis. */
export function AttemptTimeline(props: AttemptTimelineProps) {
  const { facts, selected, onSelect = () => {}, onMode, ending } = props
  const [element, width] = useWidth<HTMLDivElement>()
  const [ownMode, setOwnMode] = useState<AxisMode>('compressed')
  const [pointed, setPointed] = useState<Pointed>()
  const isDown = width > 0 && width < NARROW
  const mode = isDown ? 'compressed' : (props.mode ?? ownMode)
  const history = useMemo(
    () => historyOf(mode === 'linear' ? { ...facts, ghosts: facts.ghosts.slice(0, 1) } : facts),
    [facts, mode],
  )
  const scale = useMemo(() => scaleFor(history, mode, width, isDown), [history, mode, width, isDown])
  const runs = history.parts.filter(part => part.kind === 'run')
  const tip = (part: HistoryPart): Facts => factsOf(part, moment, history.now)
  const scene: Scene = {
    history,
    scale,
    frame: frameOf(isDown, width),
    mode,
    selected,
    ending,
    describe: part => spoken(tip(part)),
    reachable: (chosen(runs, selected) ?? runs.at(-1))?.run,
    onPoint: setPointed,
    onSelect,
  }
  return (
    <Picture
      title="Attempts over time"
      summary={summaryOf(history, runs)}
      table={tableOf(history)}
      controls={
        <>
          {!isDown && <Choice label="Axis" choices={MODES} value={mode} onChange={onMode ?? setOwnMode} />}
          <button
            type="button"
            class="picture-choice"
            aria-label="Copy timeline"
            data-tip="Copy the timeline as text"
            onClick={() => void copyText(historyText(history.parts), 'Timeline copied')}
          >
            Copy
          </button>
        </>
      }
      legend={<Legend history={history} scale={scale} />}
    >
      <div class="timeline" ref={element}>
        <Arrows runs={runs} selected={selected} onSelect={onSelect}>
          {width > 0 && <TimelineDrawing scene={scene} />}
        </Arrows>
        {pointed && <Tip facts={tip(pointed.part)} x={pointed.x} y={pointed.top} bottom={pointed.bottom + TIP_GAP} />}
      </div>
    </Picture>
  )
}

const moment = (ms: number): string => clockText(ms, 'local', true)

function scaleFor(history: History, mode: AxisMode, width: number, isDown: boolean): Scale {
  if (isDown) {
    const runs = history.parts.filter(({ kind }) => kind === 'run' || kind === 'ghost').length
    const waits = history.parts.filter(({ kind, from, to }) => kind !== 'run' && to > from).length
    return scaleOf(stretchesOf(history, true), mode, {
      ...DOWN,
      length: runs * DOWN.activeMin + waits * DOWN.cutMin * 1.4,
    })
  }
  const isFar = history.deadline !== undefined && history.deadline - history.from > 2 * (history.to - history.from)
  return scaleOf(stretchesOf(history, mode === 'compressed' || !isFar), mode, {
    ...SIDEWAYS,
    length: width - END_ROOM.sideways,
  })
}

function chosen(runs: readonly RunPart[], selected: number | undefined): RunPart | undefined {
  return selected === undefined ? undefined : runs.findLast(({ run }) => run <= selected)
}

interface ArrowsProps {
  readonly runs: readonly RunPart[]
  readonly selected: number | undefined
  readonly onSelect: (run: number) => void
  readonly children: preact.ComponentChildren
}

/** The arrow keys go from run to run, Home and End to the first and the last. */
function Arrows({ runs, selected, onSelect, children }: ArrowsProps) {
  const element = useRef<HTMLDivElement>(null)
  const onKeyDown = (event: KeyboardEvent): void => {
    const to = destination(event.key, runs, chosen(runs, selected))
    if (to === undefined) return
    event.preventDefault()
    event.stopPropagation()
    onSelect(to.run)
    element.current?.querySelector<SVGElement>(`[data-run="${to.run}"]`)?.focus()
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the runs inside have the focus; this element only handles their arrow keys
    <div class="timeline-scroll" ref={element} onKeyDown={onKeyDown}>
      {children}
    </div>
  )
}

function destination(key: string, runs: readonly RunPart[], from: RunPart | undefined): RunPart | undefined {
  const at = from === undefined ? runs.length - 1 : runs.indexOf(from)
  switch (key) {
    case 'ArrowLeft':
    case 'ArrowUp':
      return runs[Math.max(0, at - 1)]
    case 'ArrowRight':
    case 'ArrowDown':
      return runs[Math.min(runs.length - 1, at + 1)]
    case 'Home':
      return runs[0]
    case 'End':
      return runs.at(-1)
    default:
      return undefined
  }
}

function summaryOf({ from, now, to, earlier, parts }: History, runs: readonly RunPart[]): string {
  const deferrals = runs.flatMap(({ rows }) => rows).filter(({ status }) => status === 'deferred').length
  const count = runs.reduce((sum, { rows }) => sum + rows.length, 0) - deferrals + earlier
  const last = runs.at(-1)
  const lived = Math.min(
    now,
    Math.max(from, parts.findLast(({ kind }) => kind !== 'ghost' && kind !== 'ahead')?.to ?? to),
  )
  const held = deferrals === 0 ? '' : ` and ${plural(deferrals, 'deferral')}`
  const many = `${count === 1 ? 'One run' : plural(count, 'run')}${held}`
  const ran = runs.flatMap(({ rows }) => rows.flatMap(({ spans }) => spans)).reduce(ranIn, 0)
  if (last === undefined) return `No run yet; created ${spanText(now - from)} ago.`
  const left = earlier > 0 ? ` The first ${earlier} are not shown.` : ''
  return `${many} in ${spanText(lived - from)}, ${spanText(ran)} of it running; ${lastWords(last.rows.at(-1)?.status ?? last.status)}.${left}`
}

const lastWords = (status: string): string =>
  status === 'running' ? 'the last is still running' : `the last ${statusWords(status)}`

const ranIn = (sum: number, { kind, from, to }: Span): number => (kind === 'running' ? sum + to - from : sum)

function tableOf({ parts, now }: History): PictureTable {
  return {
    columns: ['Part', 'Outcome', 'From', 'To', 'Duration', 'Details'],
    rows: parts.map(part => {
      const { title, lines } = factsOf(part, moment, now)
      const more = lines.filter(
        ([what]) => !['started', 'ended', 'took', 'from', 'to', 'at', 'running for'].includes(what),
      )
      const [what, how] = part.kind === 'run' ? [part.label, statusWords(part.status)] : [title, '']
      const words = more.map(([name, value]) => `${name}: ${value}`).join('; ')
      return [what, how, moment(part.from), moment(part.to), spanText(part.to - part.from), words]
    }),
  }
}

/** Explains only the signs that are in the drawing. */
function Legend({ history, scale }: { readonly history: History; readonly scale: Scale }) {
  const has = (kind: HistoryPart['kind']): boolean => history.parts.some(part => part.kind === kind)
  const hasWindow = history.parts.some(
    part => (part.kind === 'wait' && part.window) || (part.kind === 'ghost' && part.latest > part.earliest),
  )
  return (
    <>
      {has('wait') && <span class="key key-wait">planned wait</span>}
      {has('queue') && <span class="key key-queue">due, waiting for a worker</span>}
      {hasWindow && <span class="key key-band">jitter window</span>}
      {has('ghost') && <span class="key key-ghost">coming run, if all before fail</span>}
      {scale.pieces.some(({ isCut }) => isCut) && <span class="key key-cut">longer than drawn</span>}
    </>
  )
}
