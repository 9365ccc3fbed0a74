import { Sign, toneOf } from '../charts/marks.js'
import type { Scene } from './attempt-timeline.js'
import { type GhostPart, type LifePart, outcomesOf, type RunPart } from './life.js'
import {
  bandsOf,
  hatch,
  insideOf,
  logTicks,
  type Placed,
  place,
  roundTicks,
  type Tick,
  ticksOf,
  torn,
  zigzag,
} from './timeline-layout.js'

/** Pixels from the top. */
const LABEL_Y = 13
const TOOK_Y = 27
const LANE_Y = 36
const LANE = 34
const MIDDLE_Y = LANE_Y + LANE / 2
const TRACK_Y = LANE_Y + LANE + 7
const TRACK = 5
const TRACK_STEP = 8
const AXIS_Y = TRACK_Y + 2 * TRACK_STEP + 8
const TICK_Y = AXIS_Y + 17
const HEIGHT = TICK_Y + 7
const PAD = 6
/** Room for the last words behind the last run. */
export const END_ROOM = 112

/** From left to right, in one lane. */
export function AcrossTimeline({ scene }: { readonly scene: Scene }) {
  const { life, scale, mode } = scene
  const placed = place(life, scale)
  const end = life.parts.length === 0 ? 0 : scale.length
  return (
    // biome-ignore lint/a11y/useSemanticElements: a drawing with buttons inside is a group, and no part of a form
    <svg class="timeline-svg" width={end + END_ROOM} height={HEIGHT} role="group" aria-label="Attempts over time">
      <g transform={`translate(${PAD} 0)`}>
        <Axis ticks={ticksFor(scene)} length={end} placed={mode === 'compressed' ? placed : []} />
        <Bands scene={scene} />
        {placed.map((each, i) => (
          <Part key={keyOf(each.part, i)} placed={each} scene={scene} before={placed[i - 1]?.part} />
        ))}
        <Ending scene={scene} at={endOf(scene)} />
        <Deadline scene={scene} />
        <Now scene={scene} />
      </g>
    </svg>
  )
}

/** The same part keeps its element while the picture grows, so that nothing flickers and the focus stays. */
export function keyOf(part: LifePart, i: number): string {
  return part.kind === 'run' ? `run-${part.run}` : `${part.kind}-${i}`
}

function ticksFor({ life, scale, mode }: Scene): readonly Tick[] {
  if (mode === 'compressed') return ticksOf(life, scale)
  const to = Math.max(life.to, scale.pieces.at(-1)?.to ?? life.to)
  return mode === 'linear' ? roundTicks(life.from, to, scale) : logTicks(life.from, to, scale)
}

interface AxisProps {
  readonly ticks: readonly Tick[]
  readonly length: number
  readonly placed: readonly Placed[]
}

function Axis({ ticks, length, placed }: AxisProps) {
  const cuts = placed.filter(({ piece }) => piece.isCut).map(({ piece }) => (piece.start + piece.end) / 2)
  return (
    <g class="timeline-axis">
      <path class="axis-line" d={`M0 ${AXIS_Y}H${length}`} />
      {cuts.map(at => (
        <g key={at}>
          <path class="axis-gap" d={`M${at - 5} ${AXIS_Y}h10`} />
          <path class="axis-cut" d={zigzag(at, AXIS_Y)} />
        </g>
      ))}
      {ticks.map(({ at, text }) => (
        <g key={`${at} ${text}`}>
          <path class="axis-tick" d={`M${at} ${AXIS_Y}v4`} />
          <text
            class="axis-text"
            x={at === 0 ? 0 : insideOf(at, text, length + END_ROOM / 2)}
            y={TICK_Y}
            text-anchor={at === 0 ? 'start' : 'middle'}
          >
            {text}
          </text>
        </g>
      ))}
    </g>
  )
}

/** Where the dice could have put the end of a wait, and where they did. */
function Bands({ scene: { life, scale } }: { readonly scene: Scene }) {
  return (
    <g class="timeline-bands">
      {bandsOf(life, scale).map(({ from, to, drawn, track }, i) => {
        const y = TRACK_Y + track * TRACK_STEP
        return (
          <g key={i}>
            <rect class="band" x={from} y={y} width={Math.max(2, to - from)} height={TRACK} rx="2.5" />
            <path class="band-drawn" d={`M${drawn} ${y - 2}v${TRACK + 4}`} />
          </g>
        )
      })}
    </g>
  )
}

interface PartProps {
  readonly placed: Placed
  readonly scene: Scene
  readonly before: LifePart | undefined
}

function Part({ placed, scene, before }: PartProps) {
  const { part, piece } = placed
  const [x, width] = [piece.start, piece.end - piece.start]
  const middle = x + width / 2
  const point = {
    role: 'img' as const,
    'aria-label': scene.says(part),
    onMouseEnter: () => scene.onPoint(part, middle, LANE_Y),
    onMouseLeave: () => scene.onPoint(undefined, 0, 0),
  }
  switch (part.kind) {
    case 'run':
      return <Run placed={placed} part={part} scene={scene} startsAgain={startsAgain(part, before)} />
    case 'ghost':
      return <GhostRun part={part} placed={placed} scene={scene} />
    case 'end':
      return null
    case 'queue':
      return (
        <g class="wait is-queue" {...point}>
          <rect class="life-hit" x={x} y={LANE_Y} width={width} height={LANE} />
          <rect class="queue-box" x={x} y={MIDDLE_Y - 7} width={width} height={14} />
          <path class="queue-lines" d={hatch(x, MIDDLE_Y - 7, width, 14, 6)} />
          <Written placed={placed} middle={middle} />
        </g>
      )
    default:
      return (
        <g class={`wait is-${part.kind}`} {...point}>
          <rect class="life-hit" x={x} y={LANE_Y} width={width} height={LANE} />
          <path class="wait-line" d={`M${x} ${MIDDLE_Y}H${x + width}`} />
          <Written placed={placed} middle={middle} />
        </g>
      )
  }
}

function startsAgain(part: RunPart, before: LifePart | undefined): boolean {
  return before?.kind === 'over' && part.generation > 1
}

/** How long a wait lasted, written on its line. */
function Written({ placed: { written }, middle }: { readonly placed: Placed; readonly middle: number }) {
  if (written === undefined) return null
  const width = written.length * 6.4 + 8
  return (
    <>
      <rect class="written-back" x={middle - width / 2} y={MIDDLE_Y - 8} width={width} height={16} rx="3" />
      <text class="written" x={middle} y={MIDDLE_Y + 4} text-anchor="middle">
        {written}
      </text>
    </>
  )
}

interface RunProps {
  readonly placed: Placed
  readonly part: RunPart
  readonly scene: Scene
  readonly startsAgain: boolean
}

function Run({ placed: { piece, label, took }, part, scene, startsAgain }: RunProps) {
  const [x, width] = [piece.start, Math.max(3, piece.end - piece.start)]
  const middle = x + width / 2
  const end = scene.scale.length + END_ROOM / 2
  const isChosen =
    scene.selected !== undefined && part.rows.some(row => (row.attempt?.run ?? part.run) === scene.selected)
  const point = (): void => scene.onPoint(part, middle, LANE_Y)
  const leave = (): void => scene.onPoint(undefined, 0, 0)
  const choose = (): void => scene.onSelect(part.run)
  return (
    <>
      {/* biome-ignore lint/a11y/useSemanticElements: a button can't stand inside a drawing */}
      <g
        class={`life-run tone-${toneOf(part.status, isFatal(part))}${isChosen ? ' is-chosen' : ''}`}
        role="button"
        tabIndex={part.run === scene.reachable ? 0 : -1}
        aria-label={scene.says(part)}
        aria-pressed={isChosen}
        data-run={part.run}
        onClick={choose}
        onKeyDown={event => {
          if (event.key !== 'Enter' && event.key !== ' ') return
          event.preventDefault()
          choose()
        }}
        onMouseEnter={point}
        onMouseLeave={leave}
        onFocus={point}
        onBlur={leave}
      >
        {startsAgain && <path class="generation" d={`M${x - 3} ${LANE_Y - 12}V${AXIS_Y}`} />}
        <rect class="life-hit" x={x - 2} y={0} width={width + 4} height={AXIS_Y} />
        <Bar part={part} x={x} width={width} />
        {isChosen && <rect class="chosen" x={x - 3} y={LANE_Y - 3} width={width + 6} height={LANE + 6} rx="6" />}
      </g>
      {label && (
        <text class="run-label" x={insideOf(middle, label, end)} y={LABEL_Y} text-anchor="middle">
          {label}
        </text>
      )}
      {took && (
        <text class="run-took" x={insideOf(middle, took, end)} y={TOOK_Y} text-anchor="middle">
          {took}
        </text>
      )}
    </>
  )
}

/** Its decision says that the job died of it. */
export function isFatal({ rows }: RunPart): boolean {
  return rows.length === 1 && rows[0]?.attempt?.decision?.action === 'die'
}

function Bar({ part, x, width }: { readonly part: RunPart; readonly x: number; readonly width: number }) {
  const middle = x + width / 2
  if (part.rows.length > 1) return <Bucket part={part} x={x} width={width} />
  return (
    <>
      {part.status === 'lost' ? (
        <path class="run-bar" d={torn(x, LANE_Y, width, LANE)} />
      ) : (
        <rect class="run-bar" x={x} y={LANE_Y} width={width} height={LANE} rx={Math.min(5, width / 3)} />
      )}
      {width >= 15 && <Sign status={part.status} x={middle} y={MIDDLE_Y} />}
    </>
  )
}

/** Many runs as one: a stripe for each way that they ended, as high as its share. */
function Bucket({ part, x, width }: { readonly part: RunPart; readonly x: number; readonly width: number }) {
  let y = LANE_Y
  return (
    <>
      {outcomesOf(part).map(([status, count]) => {
        const height = (LANE * count) / part.rows.length
        const top = y
        y += height
        return (
          <g key={status} class={`tone-${toneOf(status)}`}>
            <rect class="run-bar" x={x} y={top} width={width} height={height} />
            {height >= 14 && width >= 15 && <Sign status={status} x={x + width / 2} y={top + height / 2} size={10} />}
          </g>
        )
      })}
    </>
  )
}

function GhostRun({
  part,
  placed: { piece, label },
  scene,
}: {
  readonly part: GhostPart
  readonly placed: Placed
  readonly scene: Scene
}) {
  const [x, width] = [piece.start, Math.max(6, piece.end - piece.start)]
  const middle = x + width / 2
  return (
    // biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: it is only looked at
    <g
      class="ghost"
      role="img"
      aria-label={scene.says(part)}
      onMouseEnter={() => scene.onPoint(part, middle, LANE_Y)}
      onMouseLeave={() => scene.onPoint(undefined, 0, 0)}
    >
      <rect class="life-hit" x={x} y={0} width={width} height={AXIS_Y} />
      <rect class="ghost-box" x={x + 0.5} y={LANE_Y + 0.5} width={width - 1} height={LANE - 1} rx="5" />
      {width >= 15 && <Sign status="next" x={middle} y={MIDDLE_Y} size={10} />}
      {label && (
        <text
          class="run-label is-ghost"
          x={insideOf(middle, label, scene.scale.length + END_ROOM / 2)}
          y={LABEL_Y}
          text-anchor="middle"
        >
          {label}
        </text>
      )}
      {part.skipped > 0 && (
        <text class="run-took" x={middle} y={TOOK_Y} text-anchor="middle">
          {`+${part.skipped} before`}
        </text>
      )}
    </g>
  )
}

/** Behind the last run, or at the deadline where that would be its end. */
export function endOf({ life: { parts, dies, deadline }, scale }: Scene): number {
  if (dies?.by === 'deadline' && deadline !== undefined) return scale.at(deadline)
  return scale.pieces[parts.length - 1]?.end ?? 0
}

/** What stands behind the last run: how it ended, or where it would. */
function Ending({ scene: { life, ending }, at }: { readonly scene: Scene; readonly at: number }) {
  const would = ending === undefined && life.dies !== undefined
  const status = ending ?? (would ? 'dead' : undefined)
  if (status === undefined || status === 'succeeded') return null
  return (
    <g class={`ending tone-${toneOf(status)}${would ? ' is-would' : ''}`}>
      <path class="ending-line" d={`M${at} ${MIDDLE_Y}h14`} />
      <rect class="ending-box" x={at + 14} y={MIDDLE_Y - 9} width={18} height={18} rx="4" />
      <Sign status={status} x={at + 23} y={MIDDLE_Y} size={10} />
      <text class="ending-text" x={at + 37} y={MIDDLE_Y + 4}>
        {would ? 'then dead' : status}
      </text>
    </g>
  )
}

function Deadline({ scene: { life, scale } }: { readonly scene: Scene }) {
  const { deadline } = life
  if (deadline === undefined || deadline > (scale.pieces.at(-1)?.to ?? 0)) return null
  const x = scale.at(deadline)
  return (
    <g class="deadline">
      <path class="deadline-line" d={`M${x} ${LABEL_Y + 5}V${AXIS_Y}`} />
      <text
        class="deadline-text"
        x={insideOf(x, 'deadline', scale.length + END_ROOM / 2)}
        y={LABEL_Y}
        text-anchor="middle"
      >
        deadline
      </text>
    </g>
  )
}

/** Only where it lies inside: a job that has ended has no now. */
function Now({ scene: { life, scale } }: { readonly scene: Scene }) {
  const isLive = life.parts.some(
    part => part.kind === 'ghost' || (part.kind === 'run' && part.status === 'running') || part.to > life.now,
  )
  if (!isLive) return null
  const x = scale.at(life.now)
  return (
    <g class="now">
      <path class="now-line" d={`M${x} ${LANE_Y - 6}V${AXIS_Y + 3}`} />
      <circle class="now-dot" cx={x} cy={LANE_Y - 6} r="3" />
      <text class="now-text" x={insideOf(x, 'now', scale.length + END_ROOM)} y={TICK_Y} text-anchor="middle">
        now
      </text>
    </g>
  )
}
