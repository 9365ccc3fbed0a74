import type { Scene } from './attempt-timeline.js'
import { crossPath, pointOf } from './frame.js'
import type { History } from './history.js'
import {
  CHAR,
  END_ROOM,
  insideOf,
  LABEL_Y,
  logTicks,
  roundTicks,
  TICK_Y,
  type Tick,
  ticksOf,
  zigzag,
} from './timeline-layout.js'

/** Half of the word "now": pixels. */
const NOW_ROOM = 14

function ticksFor({ history, scale, mode }: Scene): readonly Tick[] {
  if (mode === 'compressed') return ticksOf(history, scale)
  const to = Math.max(history.to, scale.pieces.at(-1)?.to ?? history.to)
  return mode === 'linear' ? roundTicks(history.from, to, scale) : logTicks(history.from, to, scale)
}

/** The axis below the runs, with a mark where a wait is longer than drawn. */
export function Axis({ scene, length }: { readonly scene: Scene; readonly length: number }) {
  const { edge } = scene.frame
  const cuts = scene.scale.pieces.filter(({ isCut }) => isCut).map(({ start, end }) => (start + end) / 2)
  return (
    <g class="timeline-axis">
      <path class="axis-line" d={`M0 ${edge}H${length}`} />
      {cuts.map(at => (
        <g key={at}>
          <path class="axis-gap" d={`M${at - 5} ${edge}h10`} />
          <path class="axis-cut" d={zigzag(at, edge)} />
        </g>
      ))}
      {ticksFor(scene)
        .filter(({ at, text }) => !isUnderNow(scene, at, text))
        .map(({ at, text }) => (
          <g key={`${at} ${text}`}>
            <path class="axis-tick" d={`M${at} ${edge}v4`} />
            <text
              class="axis-text"
              x={at === 0 ? 0 : insideOf(at, text, length + END_ROOM.sideways / 2)}
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

export function Deadline({ scene: { history, scale, frame } }: { readonly scene: Scene }) {
  const { deadline } = history
  if (deadline === undefined || deadline > (scale.pieces.at(-1)?.to ?? 0)) return null
  const at = scale.at(deadline)
  const [line, text] = frame.isDown
    ? [crossPath(frame, at, 0, frame.width), { x: frame.width - 2, y: at - 4, 'text-anchor': 'end' as const }]
    : [
        crossPath(frame, at, LABEL_Y + 5, frame.edge),
        {
          x: insideOf(at, 'deadline', scale.length + END_ROOM.sideways / 2),
          y: LABEL_Y,
          'text-anchor': 'middle' as const,
        },
      ]
  return (
    <g class="deadline">
      <path class="deadline-line" d={line} />
      <text class="deadline-text" {...text}>
        deadline
      </text>
    </g>
  )
}

const isLive = ({ parts, now }: History): boolean =>
  parts.some(part => part.kind === 'ghost' || (part.kind === 'run' && part.status === 'running') || part.to > now)

/** The word "now" would hide this text. */
function isUnderNow({ history, scale }: Scene, at: number, text: string): boolean {
  return at > 0 && isLive(history) && Math.abs(scale.at(history.now) - at) < (text.length * CHAR) / 2 + NOW_ROOM
}

/** The current time; a job that has ended does not show it. */
export function Now({ scene: { history, scale, frame } }: { readonly scene: Scene }) {
  if (!isLive(history)) return null
  const at = scale.at(history.now)
  const { x, y } = pointOf(frame, at, frame.isDown ? frame.edge : frame.lane - 6)
  return (
    <g class="now">
      <path class="now-line" d={crossPath(frame, at, frame.lane - 6, frame.isDown ? frame.edge : frame.edge + 3)} />
      <circle class="now-dot" cx={x} cy={y} r="3" />
      {!frame.isDown && (
        <text
          class="now-text"
          x={insideOf(at, 'now', scale.length + END_ROOM.sideways)}
          y={TICK_Y}
          text-anchor="middle"
        >
          now
        </text>
      )}
    </g>
  )
}
