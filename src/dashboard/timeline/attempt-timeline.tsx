import { useMemo, useRef, useState } from 'preact/hooks'
import type { Span } from '../../core/job/timeline.js'
import { Choice, Picture, type PictureTable } from '../charts/picture.js'
import { type AxisMode, type Room, type Scale, scaleOf } from '../charts/scale.js'
import { Tip } from '../charts/tip.js'
import { useWidth } from '../charts/use-width.js'
import { copyText } from '../data/copy.js'
import { clockText } from '../data/format.js'
import { type Facts, factsOf, lifeText, spoken, statusWords } from './facts.js'
import { type Life, type LifeFacts, type LifePart, lifeOf, type RunPart, stretchesOf } from './life.js'
import { spanText } from './span-text.js'
import { AcrossTimeline, END_ROOM } from './timeline-across.js'
import { DownTimeline } from './timeline-down.js'

interface AttemptTimelineProps {
  readonly facts: LifeFacts
  /** The run that is chosen; its number. */
  readonly selected?: number | undefined
  readonly onSelect?: (run: number) => void
  readonly mode?: AxisMode
  readonly onMode?: (mode: AxisMode) => void
  /** How it ended, where it did: drawn behind the last run. */
  readonly ending?: string | undefined
}

/** What a part of the drawing needs of the whole. */
export interface Scene {
  readonly life: Life
  readonly scale: Scale
  readonly mode: AxisMode
  readonly selected: number | undefined
  readonly ending: string | undefined
  /** What is said aloud of a run. */
  readonly says: (part: LifePart) => string
  /** Which run the Tab key reaches; from there the arrows go on. */
  readonly reachable: number | undefined
  readonly onPoint: (part: LifePart | undefined, x: number, y: number) => void
  readonly onSelect: (run: number) => void
}

const NARROW = 640
/** A run and its tracks: what a tip below it must not hide. */
const TIP_BELOW = 56
const ACROSS: Omit<Room, 'length'> = { activeMin: 18, activeUsual: 40, activeMax: 170, cutMin: 58 }
const DOWN: Omit<Room, 'length'> = { activeMin: 40, activeUsual: 44, activeMax: 72, cutMin: 30 }

const MODES: readonly (readonly [AxisMode, string, string])[] = [
  ['compressed', 'Compressed', 'Long waits are drawn shorter than they were'],
  ['linear', 'Linear', 'Everything to scale'],
  ['log', 'Log', 'By the logarithm of the time since it was created'],
]

/** The life of one job on a time axis: its runs, why and how long it waited between them, and what is to come. */
export function AttemptTimeline(props: AttemptTimelineProps) {
  const { facts, selected, onSelect = () => {}, onMode, ending } = props
  const [element, width] = useWidth<HTMLDivElement>()
  const [ownMode, setOwnMode] = useState<AxisMode>('compressed')
  const [pointed, setPointed] = useState<{ part: LifePart; x: number; y: number }>()
  const isDown = width > 0 && width < NARROW
  const mode = isDown ? 'compressed' : (props.mode ?? ownMode)
  const life = useMemo(
    () => lifeOf(mode === 'linear' ? { ...facts, ghosts: facts.ghosts.slice(0, 1) } : facts),
    [facts, mode],
  )
  const scale = useMemo(() => scaleFor(life, mode, width, isDown), [life, mode, width, isDown])
  const runs = life.parts.filter(part => part.kind === 'run')
  const tip = (part: LifePart): Facts => factsOf(part, moment, life.now)
  const scene: Scene = {
    life,
    scale,
    mode,
    selected,
    ending,
    says: part => spoken(tip(part)),
    reachable: (chosen(runs, selected) ?? runs.at(-1))?.run,
    onPoint: (part, x, y) => setPointed(part && { part, x, y }),
    onSelect,
  }
  return (
    <Picture
      title="Attempts over time"
      summary={summaryOf(life, runs)}
      table={tableOf(life)}
      controls={
        <>
          {!isDown && <Choice label="Axis" choices={MODES} value={mode} onChange={onMode ?? setOwnMode} />}
          <button
            type="button"
            class="picture-choice"
            title="Copy it as a line of text"
            onClick={() => void copyText(lifeText(life.parts), 'Timeline copied')}
          >
            Copy
          </button>
        </>
      }
      legend={<Legend life={life} scale={scale} />}
    >
      <div class="timeline" ref={element}>
        <Arrows runs={runs} selected={selected} onSelect={onSelect}>
          {width > 0 && (isDown ? <DownTimeline scene={scene} width={width} /> : <AcrossTimeline scene={scene} />)}
        </Arrows>
        {pointed && <Tip facts={tip(pointed.part)} x={pointed.x} y={pointed.y} bottom={pointed.y + TIP_BELOW} />}
      </div>
    </Picture>
  )
}

const moment = (ms: number): string => clockText(ms, 'local', true)

function scaleFor(life: Life, mode: AxisMode, width: number, isDown: boolean): Scale {
  if (isDown) {
    const runs = life.parts.filter(({ kind }) => kind === 'run' || kind === 'ghost').length
    const waits = life.parts.filter(({ kind, from, to }) => kind !== 'run' && to > from).length
    return scaleOf(stretchesOf(life, true), mode, {
      ...DOWN,
      length: runs * DOWN.activeMin + waits * DOWN.cutMin * 1.4,
    })
  }
  const isFar = life.deadline !== undefined && life.deadline - life.from > 2 * (life.to - life.from)
  return scaleOf(stretchesOf(life, mode === 'compressed' || !isFar), mode, { ...ACROSS, length: width - END_ROOM })
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

/** ← and → go from run to run, Home and End to the first and the last. */
function Arrows({ runs, selected, onSelect, children }: ArrowsProps) {
  const element = useRef<HTMLDivElement>(null)
  const onKeyDown = (event: KeyboardEvent): void => {
    const to = target(event.key, runs, chosen(runs, selected))
    if (to === undefined) return
    event.preventDefault()
    event.stopPropagation()
    onSelect(to.run)
    element.current?.querySelector<SVGElement>(`[data-run="${to.run}"]`)?.focus()
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the runs inside have the focus; only their arrows are heard here
    <div class="timeline-scroll" ref={element} onKeyDown={onKeyDown}>
      {children}
    </div>
  )
}

function target(key: string, runs: readonly RunPart[], from: RunPart | undefined): RunPart | undefined {
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

function summaryOf({ from, now, to, earlier, parts }: Life, runs: readonly RunPart[]): string {
  const count = runs.reduce((sum, { rows }) => sum + rows.length, 0) + earlier
  const last = runs.at(-1)
  const lived = Math.min(
    now,
    Math.max(from, parts.findLast(({ kind }) => kind !== 'ghost' && kind !== 'ahead')?.to ?? to),
  )
  const many = count === 1 ? 'One run' : `${count} runs`
  const ran = runs.flatMap(({ rows }) => rows.flatMap(({ spans }) => spans)).reduce(ranIn, 0)
  if (last === undefined) return `No run yet; created ${spanText(now - from)} ago.`
  const left = earlier > 0 ? ` The first ${earlier} are not drawn.` : ''
  return `${many} in ${spanText(lived - from)}, ${spanText(ran)} of it running; ${lastWords(last.rows.at(-1)?.status ?? last.status)}.${left}`
}

const lastWords = (status: string): string =>
  status === 'running' ? 'the last is still running' : `the last ${statusWords(status)}`

const ranIn = (sum: number, { kind, from, to }: Span): number => (kind === 'running' ? sum + to - from : sum)

function tableOf({ parts, now }: Life): PictureTable {
  return {
    columns: ['What', 'How', 'From', 'To', 'Took', 'More'],
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

/** Only what is in the picture. */
function Legend({ life, scale }: { readonly life: Life; readonly scale: Scale }) {
  const has = (kind: LifePart['kind']): boolean => life.parts.some(part => part.kind === kind)
  const hasWindow = life.parts.some(
    part => (part.kind === 'wait' && part.window) || (part.kind === 'ghost' && part.latest > part.earliest),
  )
  return (
    <>
      {has('wait') && <span class="key key-wait">waits by its policy</span>}
      {has('queue') && <span class="key key-queue">due, no worker yet</span>}
      {hasWindow && <span class="key key-band">where jitter may put it</span>}
      {has('ghost') && <span class="key key-ghost">to come, if all before fail</span>}
      {scale.pieces.some(({ isCut }) => isCut) && <span class="key key-cut">longer than drawn</span>}
    </>
  )
}
