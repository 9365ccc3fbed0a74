/** The meaning of a colour. A sign or a word always repeats it. */
export type Tone = 'succeeded' | 'failed' | 'running' | 'waiting' | 'dead' | 'cancelled'

const TONES: Readonly<Record<string, Tone>> = {
  succeeded: 'succeeded',
  failed: 'failed',
  'timed-out': 'failed',
  lost: 'failed',
  snoozed: 'waiting',
  deferred: 'waiting',
  released: 'cancelled',
  cancelled: 'cancelled',
  running: 'running',
  dead: 'dead',
  next: 'waiting',
}

/** A failure that killed the job has a stronger tone than one that is retried. */
export function toneOf(status: string, isFatal = false): Tone {
  const tone = TONES[status] ?? 'waiting'
  return tone === 'failed' && isFatal ? 'dead' : tone
}

/** Drawn in a box of 12 × 12. */
const SIGNS: Readonly<Record<string, string>> = {
  succeeded: 'M2.5 6.5 5 9l4.5-6',
  failed: 'M3 3l6 6M9 3 3 9',
  'timed-out': 'M6 1.5a4.5 4.5 0 1 1 0 9a4.5 4.5 0 1 1 0-9M6 3.5V6l2 1.5',
  lost: 'M1.5 8l2.5-4 2 4 2-4 2.5 4',
  snoozed: 'M3 3h6L3 9h6',
  released: 'M4.5 3 2 5.5 4.5 8M2 5.5h5a2.5 2.5 0 0 1 0 5H5',
  deferred: 'M4 2.5v7M8 2.5v7',
  cancelled: 'M2.5 6h7',
  running: 'M4 2.5v7L9.5 6z',
  dead: 'M3 3h6v6H3z',
  next: 'M6 1.5 10.5 6 6 10.5 1.5 6z',
  mixed: 'M2 4h8M2 8h8',
}

interface SignProps {
  readonly status: string
  readonly x: number
  readonly y: number
  readonly size?: number
}

/** The sign of a status, centred on a point. */
export function Sign({ status, x, y, size = 12 }: SignProps) {
  const scale = size / 12
  return (
    <path
      class={`outcome-mark mark-${status}`}
      d={SIGNS[status] ?? SIGNS['mixed']}
      transform={`translate(${x - size / 2} ${y - size / 2}) scale(${scale})`}
    />
  )
}
