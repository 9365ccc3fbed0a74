import '../charts/pictures.css'
import { type MiniDot, type MiniFacts, miniOf } from './mini.js'

const MIDDLE = 8
const SIGNS: Readonly<Record<MiniDot['sign'], string>> = {
  failed: 'M-1.6-1.6l3.2 3.2M1.6-1.6l-3.2 3.2',
  succeeded: 'M-2 0l1.4 1.5 2.4-3',
  dead: 'M-1.6-1.6l3.2 3.2M1.6-1.6l-3.2 3.2',
  none: '',
}

/** The history of a job in a table row: a dot for each run, with gaps that grow with the waits. 90 × 16 pixels. */
export function MiniTimeline({ job }: { readonly job: MiniFacts }) {
  const { dots, lines, left, words } = miniOf(job)
  return (
    <svg class="mini" width="90" height="16" role="img" aria-label={words}>
      <title>{words}</title>
      {left > 0 && (
        <text x="0" y={MIDDLE + 3.5}>
          {`${left}+`}
        </text>
      )}
      {lines.map(({ from, to, isAhead }) => (
        <path key={from} class={`mini-line${isAhead ? ' is-ahead' : ''}`} d={`M${from} ${MIDDLE}H${to}`} />
      ))}
      {dots.map(({ x, tone, sign, isAhead }) => (
        <g key={x} class={`tone-${tone}`} transform={`translate(${x} ${MIDDLE})`}>
          {sign === 'dead' ? (
            <rect class="mini-dot" x="-4" y="-4" width="8" height="8" rx="1.5" />
          ) : (
            <circle class={`mini-dot${isAhead ? ' is-ahead' : ''}`} r={isAhead ? 3.25 : 4} />
          )}
          {sign !== 'none' && <path class="mini-cross" d={SIGNS[sign]} />}
        </g>
      ))}
    </svg>
  )
}
