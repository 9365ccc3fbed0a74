import { type Phase, WAITING_PHASES } from '../../core/job/job.js'
import type { JobView } from '../../core/job/view.js'
import { delayWindow } from '../../core/policy/backoff.js'
import type { Tone } from '../charts/marks.js'

/** The fields of a `JobView` that it is drawn from. */
export type MiniFacts = Pick<JobView, 'attempt' | 'maxAttempts' | 'phase' | 'retry'>

export interface MiniDot {
  readonly x: number
  readonly tone: Tone
  readonly sign: 'failed' | 'succeeded' | 'dead' | 'none'
  /** Not yet run. */
  readonly isAhead: boolean
}

export interface Mini {
  readonly dots: readonly MiniDot[]
  readonly lines: readonly { readonly from: number; readonly to: number; readonly isAhead: boolean }[]
  /** The number of first runs that are left out. */
  readonly left: number
  readonly words: string
}

const WIDTH = 90
const EDGE = 6
/** More dots would not be distinguishable. */
const DOTS_MAX = 6
const LEFT_ROOM = 20

/** The runs of a job as dots, with gaps that grow with the waits. Needs no further request. */
export function miniOf(job: MiniFacts): Mini {
  const { attempt, phase } = job
  const isLive = (WAITING_PHASES as readonly string[]).includes(phase)
  const total = attempt + (isLive ? 1 : 0)
  const shown = Math.min(DOTS_MAX, Math.max(1, total))
  const left = Math.max(0, total - shown)
  const places = placesOf(job, left, shown)
  const dots = places.map((x, i): MiniDot => ({ x, ...lookOf(left + i + 1, job, isLive) }))
  const lines = places.slice(1).map((to, i) => ({ from: places[i]!, to, isAhead: dots[i + 1]!.isAhead }))
  return { dots, lines, left, words: wordsOf(job) }
}

function lookOf(run: number, { attempt, phase }: MiniFacts, isLive: boolean): Omit<MiniDot, 'x'> {
  if (isLive && run > attempt) return { tone: 'waiting', sign: 'none', isAhead: true }
  if (run < attempt || isLive) return { tone: 'failed', sign: 'failed', isAhead: false }
  switch (phase) {
    case 'succeeded':
      return { tone: 'succeeded', sign: 'succeeded', isAhead: false }
    case 'dead':
      return { tone: 'dead', sign: 'dead', isAhead: false }
    case 'running':
      return { tone: 'running', sign: 'none', isAhead: false }
    default:
      return { tone: 'cancelled', sign: 'none', isAhead: false }
  }
}

function placesOf({ retry }: MiniFacts, left: number, shown: number): readonly number[] {
  const gaps = Array.from({ length: shown - 1 }, (_, i) => {
    const window = delayWindow(retry, left + i + 1)
    return 2.5 + Math.log2(1 + (window === null ? 0 : (window.lo + window.hi) / 2_000))
  })
  const start = EDGE + (left > 0 ? LEFT_ROOM : 0)
  const total = gaps.reduce((sum, gap) => sum + gap, 0)
  const room = Math.min(WIDTH - EDGE - start, 6 * total)
  let x = start
  return [start, ...gaps.map(gap => (x += (room * gap) / Math.max(1, total)))].map(at => Math.round(at * 10) / 10)
}

const PHASES: Readonly<Record<Phase, string>> = {
  scheduled: 'scheduled',
  queued: 'queued',
  retrying: 'waiting for its next retry',
  blocked: 'blocked',
  running: 'running',
  succeeded: 'succeeded',
  dead: 'dead',
  cancelled: 'cancelled',
}

function wordsOf({ attempt, maxAttempts, phase }: MiniFacts): string {
  const run = attempt === 0 ? 'not run yet' : `attempt ${attempt} of ${Math.max(attempt, maxAttempts)}`
  return `${run}, ${PHASES[phase]}`
}
