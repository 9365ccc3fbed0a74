import { Sign, toneOf } from '../charts/marks.js'
import { clockText } from '../data/format.js'
import type { Scene } from './attempt-timeline.js'
import { statusWords, windowWords } from './facts.js'
import type { LifePart, RunPart } from './life.js'
import { spanText } from './span-text.js'
import { endOf, isFatal, keyOf } from './timeline-across.js'
import { bandsOf, hatch, type Placed, place, torn } from './timeline-layout.js'

/** Pixels from the left. */
const LANE_X = 6
const LANE = 26
const MIDDLE_X = LANE_X + LANE / 2
const TRACK_X = LANE_X + LANE + 6
const TRACK = 4
const TRACK_STEP = 7
const TEXT_X = TRACK_X + 2 * TRACK_STEP + 8
const PAD = 8
const END_ROOM = 40
const CHAR = 6.6

/** From top to bottom, for narrow screens: beside each part what it was. */
export function DownTimeline({ scene, width }: { readonly scene: Scene; readonly width: number }) {
  const { life, scale } = scene
  const placed = place(life, scale)
  const chars = Math.floor((width - TEXT_X) / CHAR)
  return (
    // biome-ignore lint/a11y/useSemanticElements: a drawing with buttons inside is a group, and no part of a form
    <svg
      class="timeline-svg"
      width={width}
      height={scale.length + 2 * PAD + END_ROOM}
      role="group"
      aria-label="Attempts over time"
    >
      <g transform={`translate(0 ${PAD})`}>
        <Bands scene={scene} />
        {placed.map((each, i) => (
          <Part key={keyOf(each.part, i)} placed={each} scene={scene} chars={chars} />
        ))}
        <Ending scene={scene} />
        <Lines scene={scene} width={width} />
      </g>
    </svg>
  )
}

function Bands({ scene: { life, scale } }: { readonly scene: Scene }) {
  return (
    <g class="timeline-bands">
      {bandsOf(life, scale).map(({ from, to, drawn, track }, i) => {
        const x = TRACK_X + track * TRACK_STEP
        return (
          <g key={i}>
            <rect class="band" x={x} y={from} width={TRACK} height={Math.max(2, to - from)} rx="2" />
            <path class="band-drawn" d={`M${x - 2} ${drawn}h${TRACK + 4}`} />
          </g>
        )
      })}
    </g>
  )
}

interface PartProps {
  readonly placed: Placed
  readonly scene: Scene
  readonly chars: number
}

function Part({ placed: { part, piece }, scene, chars }: PartProps) {
  const [y, height] = [piece.start, piece.end - piece.start]
  const middle = y + height / 2
  switch (part.kind) {
    case 'run':
      return <Run part={part} y={y} height={height} scene={scene} chars={chars} />
    case 'ghost':
      return (
        <g class="ghost">
          <rect class="ghost-box" x={LANE_X + 0.5} y={y + 0.5} width={LANE - 1} height={height - 1} rx="5" />
          <Sign status="next" x={MIDDLE_X} y={middle} size={10} />
          <Words
            y={middle}
            chars={chars}
            first={`${part.label}${part.skipped > 0 ? `, ${part.skipped} more before it` : ''}`}
            then={ghostWords(part, scene.life.now)}
          />
        </g>
      )
    case 'end':
      return null
    case 'queue':
      return (
        <g class="wait is-queue">
          <rect class="queue-box" x={MIDDLE_X - 6} y={y} width={12} height={height} />
          <path class="queue-lines" d={hatch(MIDDLE_X - 6, y, 12, height, 6)} />
          {height >= 16 && <Words y={middle} chars={chars} then={waitWords(part)} />}
        </g>
      )
    default:
      return (
        <g class={`wait is-${part.kind}`}>
          <path class="wait-line" d={`M${MIDDLE_X} ${y}V${y + height}`} />
          {height >= 16 && <Words y={middle} chars={chars} then={waitWords(part)} />}
        </g>
      )
  }
}

function ghostWords({ earliest, latest }: { readonly earliest: number; readonly latest: number }, now: number): string {
  const [from, to] = [spanText(Math.max(0, earliest - now)), spanText(Math.max(0, latest - now))]
  return from === to ? `in ${from}` : `in ${from} to ${to}, if all before fail`
}

function waitWords(part: Exclude<LifePart, RunPart>): string {
  const span = spanText(part.to - part.from)
  switch (part.kind) {
    case 'queue':
      return `due for ${span}, no worker yet`
    case 'over':
      return `over for ${span}, then started again`
    case 'wait':
      return `waits ${span}${part.window && part.after ? ` of ${windowWords(part.after)}` : ''}`
    default:
      return ''
  }
}

interface RunProps {
  readonly part: RunPart
  readonly y: number
  readonly height: number
  readonly scene: Scene
  readonly chars: number
}

function Run({ part, y, height, scene, chars }: RunProps) {
  const isChosen =
    scene.selected !== undefined && part.rows.some(row => (row.attempt?.run ?? part.run) === scene.selected)
  const choose = (): void => scene.onSelect(part.run)
  const status = part.rows[0]?.attempt?.error?.status
  const took = `${clockText(part.from, 'local').slice(11)} · ${spanText(part.to - part.from)}${status ? ` · HTTP ${status}` : ''}`
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
      >
        <rect class="life-hit" x={0} y={y} width={TEXT_X + chars * CHAR} height={height} />
        {part.status === 'lost' ? (
          <path class="run-bar" d={torn(LANE_X, y, LANE, height)} />
        ) : (
          <rect class="run-bar" x={LANE_X} y={y} width={LANE} height={height} rx="5" />
        )}
        <Sign status={part.status} x={MIDDLE_X} y={y + height / 2} />
        {isChosen && <rect class="chosen" x={LANE_X - 3} y={y - 3} width={LANE + 6} height={height + 6} rx="7" />}
      </g>
      <Words
        y={y + height / 2}
        chars={chars}
        first={`${part.rows.length > 1 ? `${part.rows.length} runs` : part.label} · ${statusWords(part.status)}`}
        then={took}
      />
    </>
  )
}

interface WordsProps {
  readonly y: number
  readonly chars: number
  readonly first?: string
  readonly then: string
}

function Words({ y, chars, first, then }: WordsProps) {
  const cut = (text: string): string => (text.length > chars ? `${text.slice(0, Math.max(1, chars - 1))}…` : text)
  return (
    <>
      {first && (
        <text class="run-label is-start" x={TEXT_X} y={y - 3}>
          {cut(first)}
        </text>
      )}
      <text class="run-took" x={TEXT_X} y={first ? y + 13 : y + 4}>
        {cut(then)}
      </text>
    </>
  )
}

function Ending({ scene }: { readonly scene: Scene }) {
  const { life, ending } = scene
  const would = ending === undefined && life.dies !== undefined
  const status = ending ?? (would ? 'dead' : undefined)
  if (status === undefined || status === 'succeeded') return null
  const y = endOf(scene)
  return (
    <g class={`ending tone-${toneOf(status)}${would ? ' is-would' : ''}`}>
      <path class="ending-line" d={`M${MIDDLE_X} ${y}v10`} />
      <rect class="ending-box" x={MIDDLE_X - 9} y={y + 10} width={18} height={18} rx="4" />
      <Sign status={status} x={MIDDLE_X} y={y + 19} size={10} />
      <text class="ending-text" x={TEXT_X} y={y + 23}>
        {would ? 'then dead' : status}
      </text>
    </g>
  )
}

/** Now and the deadline. */
function Lines({ scene: { life, scale }, width }: { readonly scene: Scene; readonly width: number }) {
  const isLive = life.parts.some(part => part.kind === 'ghost' || part.to > life.now)
  const [now, deadline] = [scale.at(life.now), life.deadline === undefined ? undefined : scale.at(life.deadline)]
  return (
    <>
      {deadline !== undefined && (
        <g class="deadline">
          <path class="deadline-line" d={`M0 ${deadline}H${width}`} />
          <text class="deadline-text" x={width - 2} y={deadline - 4} text-anchor="end">
            deadline
          </text>
        </g>
      )}
      {isLive && (
        <g class="now">
          <path class="now-line" d={`M0 ${now}H${TEXT_X - 6}`} />
          <circle class="now-dot" cx={TEXT_X - 6} cy={now} r="3" />
        </g>
      )}
    </>
  )
}
