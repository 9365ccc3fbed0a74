import { Sign, toneOf } from '../charts/marks.js'
import type { Scene } from './attempt-timeline.js'
import { alongPath, boxOf, crossPath, type Frame, laneBox, middleOf, pointOf } from './frame.js'
import { type HistoryPart, outcomesOf, type RunPart } from './history.js'
import { Axis, Deadline, Now } from './timeline-axis.js'
import {
  bandsOf,
  END_ROOM,
  HEIGHT,
  hatch,
  insideOf,
  LABEL_Y,
  type Placed,
  place,
  TEXT_X,
  TOOK_Y,
  torn,
} from './timeline-layout.js'

const PAD = 6

/** All runs and waits of a job in one row. */
export function TimelineDrawing({ scene }: { readonly scene: Scene }) {
  const { history, scale, frame } = scene
  const placed = place(history, scale, frame)
  const length = history.parts.length === 0 ? 0 : scale.length
  const size = frame.isDown
    ? { width: frame.width, height: length + 2 * PAD + END_ROOM.down }
    : { width: length + END_ROOM.sideways, height: HEIGHT }
  return (
    // biome-ignore lint/a11y/useSemanticElements: a drawing with buttons inside is a group, and no part of a form
    <svg class="timeline-svg" {...size} role="group" aria-label="Attempts over time">
      <g transform={frame.isDown ? `translate(0 ${PAD})` : `translate(${PAD} 0)`}>
        {!frame.isDown && <Axis scene={scene} length={length} />}
        <Bands scene={scene} />
        {placed.map((each, i) => (
          <Part key={keyOf(each.part, i)} placed={each} scene={scene} before={placed[i - 1]?.part} />
        ))}
        <Ending scene={scene} />
        <Deadline scene={scene} />
        <Now scene={scene} />
      </g>
    </svg>
  )
}

/** A part keeps its element while the timeline grows, so that nothing flickers and the focus stays. */
function keyOf(part: HistoryPart, i: number): string {
  return part.kind === 'run' ? `run-${part.run}` : `${part.kind}-${i}`
}

/** The jitter window of each wait, and the moment in it that was drawn. */
function Bands({ scene: { history, scale, frame } }: { readonly scene: Scene }) {
  const { track: first, trackStep, trackSize } = frame
  return (
    <g class="timeline-bands">
      {bandsOf(history, scale).map(({ from, to, drawn, track }, i) => {
        const side = first + track * trackStep
        return (
          <g key={i}>
            <rect class="band" {...boxOf(frame, from, Math.max(2, to - from), side, trackSize)} rx={trackSize / 2} />
            <path class="band-drawn" d={crossPath(frame, drawn, side - 2, side + trackSize + 2)} />
          </g>
        )
      })}
    </g>
  )
}

interface PartProps {
  readonly placed: Placed
  readonly scene: Scene
  readonly before: HistoryPart | undefined
}

function Part({ placed, scene, before }: PartProps) {
  const { part } = placed
  switch (part.kind) {
    case 'run':
      return (
        <Run placed={placed} part={part} scene={scene} isRestart={before?.kind === 'ended' && part.generation > 1} />
      )
    case 'end':
      return null
    default:
      return (
        // biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: it shows a tip and has no action
        <g
          class={part.kind === 'ghost' ? 'ghost' : `wait is-${part.kind}`}
          role="img"
          aria-label={scene.describe(part)}
          {...tipProps(scene, placed)}
        >
          {part.kind === 'ghost' ? <GhostBox placed={placed} scene={scene} /> : <Wait placed={placed} scene={scene} />}
          <Words placed={placed} scene={scene} />
        </g>
      )
  }
}

/** Shows the tip while the pointer is on a part. */
function tipProps({ frame, onPoint }: Scene, { part, piece: { start, end } }: Placed) {
  const { x, y } = pointOf(frame, (start + end) / 2, frame.lane)
  const { height } = laneBox(frame, start, end - start)
  const top = frame.isDown ? start : y
  return {
    onMouseEnter: () => onPoint({ part, x, top, bottom: top + height }),
    onMouseLeave: () => onPoint(undefined),
  }
}

function Wait({ placed: { part, piece }, scene: { frame } }: { readonly placed: Placed; readonly scene: Scene }) {
  const [start, length] = [piece.start, piece.end - piece.start]
  const middle = middleOf(frame)
  const box = boxOf(frame, start, length, middle - 7, 14)
  return (
    <>
      <rect class="part-hit" {...laneBox(frame, start, length)} />
      {part.kind === 'queue' ? (
        <>
          <rect class="queue-box" {...box} />
          <path class="queue-lines" d={hatch(box, 6)} />
        </>
      ) : (
        <path class="wait-line" d={alongPath(frame, start, piece.end, middle)} />
      )}
    </>
  )
}

function GhostBox({ placed: { piece }, scene: { frame } }: { readonly placed: Placed; readonly scene: Scene }) {
  const length = Math.max(6, piece.end - piece.start)
  return (
    <>
      <rect class="part-hit" {...boxOf(frame, piece.start, length, 0, frame.edge)} />
      <rect class="ghost-box" {...laneBox(frame, piece.start, length, -0.5)} rx="5" />
      {length >= 15 && <Sign status="next" {...pointOf(frame, piece.start + length / 2, middleOf(frame))} size={10} />}
    </>
  )
}

/** The texts of a part: above it and on it, or to its right where time runs down. */
function Words({
  placed: { piece, label, took, written, part },
  scene,
}: {
  readonly placed: Placed
  readonly scene: Scene
}) {
  const { frame, scale } = scene
  const middle = (piece.start + piece.end) / 2
  const place = (text: string, y: number) =>
    frame.isDown
      ? { x: TEXT_X, y: middle + y }
      : { x: insideOf(middle, text, scale.length + END_ROOM.sideways / 2), y, 'text-anchor': 'middle' as const }
  return (
    <>
      {label && (
        <text
          class={`run-label${part.kind === 'ghost' ? ' is-ghost' : ''}`}
          {...place(label, frame.isDown ? -3 : LABEL_Y)}
        >
          {label}
        </text>
      )}
      {took && (
        <text class="run-took" {...place(took, frame.isDown ? (label ? 13 : 4) : TOOK_Y)}>
          {took}
        </text>
      )}
      {written && <Written text={written} x={middle} y={middleOf(frame)} />}
    </>
  )
}

/** How long a wait lasted, written on its line. */
function Written({ text, x, y }: { readonly text: string; readonly x: number; readonly y: number }) {
  const width = text.length * 6.4 + 8
  return (
    <>
      <rect class="written-back" x={x - width / 2} y={y - 8} width={width} height={16} rx="3" />
      <text class="written" x={x} y={y + 4} text-anchor="middle">
        {text}
      </text>
    </>
  )
}

interface RunProps {
  readonly placed: Placed
  readonly part: RunPart
  readonly scene: Scene
  readonly isRestart: boolean
}

function Run({ placed, part, scene, isRestart }: RunProps) {
  const { frame } = scene
  const { start, end } = placed.piece
  const length = Math.max(3, end - start)
  const isChosen =
    scene.selected !== undefined && part.rows.some(row => (row.attempt?.run ?? part.run) === scene.selected)
  const { onMouseEnter: point, onMouseLeave: leave } = tipProps(scene, placed)
  const choose = (): void => scene.onSelect(part.run)
  return (
    <>
      {/* biome-ignore lint/a11y/useSemanticElements: a button can't stand inside a drawing */}
      <g
        class={`history-run tone-${toneOf(part.status, isFatal(part))}${isChosen ? ' is-chosen' : ''}`}
        role="button"
        tabIndex={part.run === scene.reachable ? 0 : -1}
        aria-label={scene.describe(part)}
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
        {isRestart && <path class="generation" d={crossPath(frame, start - 3, frame.lane - 12, frame.edge)} />}
        <rect class="part-hit" {...boxOf(frame, start - 2, length + 4, 0, frame.isDown ? frame.width : frame.edge)} />
        <Bar part={part} start={start} length={length} frame={frame} />
        {isChosen && <rect class="chosen" {...laneBox(frame, start, length, 3)} rx="6" />}
      </g>
      <Words placed={placed} scene={scene} />
    </>
  )
}

/** Whether the job died of this run. */
function isFatal({ rows }: RunPart): boolean {
  return rows.length === 1 && rows[0]?.attempt?.decision?.action === 'die'
}

interface BarProps {
  readonly part: RunPart
  readonly start: number
  readonly length: number
  readonly frame: Frame
}

function Bar({ part, start, length, frame }: BarProps) {
  if (part.rows.length > 1) return <Bucket part={part} start={start} length={length} frame={frame} />
  const box = laneBox(frame, start, length)
  return (
    <>
      {part.status === 'lost' ? (
        <path class="run-bar" d={torn(box)} />
      ) : (
        <rect class="run-bar" {...box} rx={Math.min(5, length / 3)} />
      )}
      {length >= 15 && <Sign status={part.status} {...pointOf(frame, start + length / 2, middleOf(frame))} />}
    </>
  )
}

/** Many runs as one bar: a stripe for each outcome, as thick as its share. */
function Bucket({ part, start, length, frame }: BarProps) {
  let side = frame.lane
  return (
    <>
      {outcomesOf(part).map(([status, count]) => {
        const size = (frame.laneSize * count) / part.rows.length
        const from = side
        side += size
        return (
          <g key={status} class={`tone-${toneOf(status)}`}>
            <rect class="run-bar" {...boxOf(frame, start, length, from, size)} />
            {size >= 14 && length >= 15 && (
              <Sign status={status} {...pointOf(frame, start + length / 2, from + size / 2)} size={10} />
            )}
          </g>
        )
      })}
    </>
  )
}

/** The end of the job, or the end it would have if every coming run failed. */
function Ending({ scene: { history, scale, frame, ending } }: { readonly scene: Scene }) {
  const { dies, deadline, parts } = history
  const isProjected = ending === undefined && dies !== undefined
  const status = ending ?? (isProjected ? 'dead' : undefined)
  if (status === undefined || status === 'succeeded') return null
  const at =
    dies?.by === 'deadline' && deadline !== undefined ? scale.at(deadline) : (scale.pieces[parts.length - 1]?.end ?? 0)
  const middle = middleOf(frame)
  const text = frame.isDown ? { x: TEXT_X, y: at + 27 } : { x: at + 37, y: middle + 4 }
  return (
    <g class={`ending tone-${toneOf(status)}${isProjected ? ' is-projected' : ''}`}>
      <path class="ending-line" d={alongPath(frame, at, at + 14, middle)} />
      <rect class="ending-box" {...boxOf(frame, at + 14, 18, middle - 9, 18)} rx="4" />
      <Sign status={status} {...pointOf(frame, at + 23, middle)} size={10} />
      <text class="ending-text" {...text}>
        {isProjected ? 'then dead' : status}
      </text>
    </g>
  )
}
