import type { IncidentEntry, IncidentKind, IncidentReport } from '../../../core/incident/report.js'
import { Picture } from '../../charts/picture.js'
import { clockTicks, xOf } from '../../charts/time-chart.js'
import { useWidth } from '../../charts/use-width.js'
import { clockText } from '../../data/format.js'
import { Panel } from '../../parts/panel.js'
import { navigate } from '../../shell/router.js'
import { entryHref, KINDS } from './incident.js'

const ROW = 30
const LEFT = 84
const RIGHT = 18
const BOTTOM = 24

/** Every line of the report on one time axis, one row for each kind. */
export function IncidentAxis({ report: { from, to, timeline } }: { readonly report: IncidentReport }) {
  const [element, width] = useWidth<HTMLDivElement>()
  const rows = (Object.keys(KINDS) as IncidentKind[]).filter(kind => timeline.some(entry => entry.kind === kind))
  if (rows.length === 0) return null
  const frame = {
    width: Math.max(80, width - LEFT - RIGHT),
    height: rows.length * ROW,
    from: Date.parse(from),
    to: Date.parse(to),
    top: 1,
  }
  return (
    <Panel>
      <Picture
        title="Events on one axis"
        table={{
          columns: ['Time', 'Kind', 'Event'],
          rows: timeline.map(({ at, kind, text }) => [clockText(Date.parse(at), 'local'), kind, text]),
        }}
      >
        <div class="incident-axis" ref={element}>
          {width > 0 && (
            // biome-ignore lint/a11y/useSemanticElements: a fieldset can't be part of a drawing
            <svg width={width} height={frame.height + BOTTOM} role="group" aria-label="Events on one axis">
              {rows.map((kind, row) => (
                <g key={kind} transform={`translate(${LEFT} ${row * ROW})`} class={`axis-row ${KINDS[kind].hue}`}>
                  <text class="axis-text" x={-8} y={ROW / 2 + 4} text-anchor="end">
                    {KINDS[kind].text}
                  </text>
                  <path class="grid-line" d={`M0 ${ROW / 2}H${frame.width}`} />
                  {timeline
                    .filter(entry => entry.kind === kind)
                    .map((entry, i) => (
                      <Event key={i} entry={entry} x={xOf(Date.parse(entry.at), frame)} end={endOf(entry, frame)} />
                    ))}
                </g>
              ))}
              <g transform={`translate(${LEFT} ${frame.height})`}>
                <path class="axis-line" d={`M0 0H${frame.width}`} />
                {clockTicks(frame).map(({ x, text }) => (
                  <text
                    key={x}
                    class="axis-text"
                    x={Math.min(Math.max(x, 14), frame.width)}
                    y="16"
                    text-anchor="middle"
                  >
                    {text}
                  </text>
                ))}
              </g>
            </svg>
          )}
        </div>
      </Picture>
    </Panel>
  )
}

function endOf({ until }: IncidentEntry, frame: Parameters<typeof xOf>[1]): number | undefined {
  return until === undefined ? undefined : xOf(Date.parse(until), frame)
}

interface EventProps {
  readonly entry: IncidentEntry
  readonly x: number
  /** The end of the bar, if the event lasted. */
  readonly end: number | undefined
}

/** Trouble is a filled square, anything else a hollow circle, so that colour is not the only difference. */
function Event({ entry, x, end }: EventProps) {
  const to = entryHref(entry)
  return (
    <a
      href={to}
      aria-label={`${clockText(Date.parse(entry.at), 'local')}: ${entry.text}`}
      onClick={event => {
        event.preventDefault()
        navigate(to)
      }}
    >
      <title>{`${clockText(Date.parse(entry.at), 'local')}\n${entry.text}`}</title>
      {end !== undefined && <path class="axis-event-span" d={`M${x} ${ROW / 2}H${Math.max(x + 1, end)}`} />}
      {entry.isTrouble ? (
        <rect class="axis-event-mark is-trouble" x={x - 6} y={ROW / 2 - 6} width="12" height="12" rx="2" />
      ) : (
        <circle class="axis-event-mark" cx={x} cy={ROW / 2} r="6" />
      )}
    </a>
  )
}
