import type { Demise, Ghost, Projection } from '../../core/job/projection.js'
import type { Timeline, TimelineRow } from '../../core/job/timeline.js'
import type { AttemptView } from '../../core/job/view.js'
import { present } from '../../core/values/present.js'
import type { Stretch } from '../charts/scale.js'

/** The facts of a job that its timeline is drawn from, as `jobs.timeline` returns them. */
export interface HistoryFacts extends Timeline, Projection {
  /** No run starts after it. */
  readonly deadline?: number
}

/** One run, or several that are drawn as one bar. */
export interface RunPart {
  readonly kind: 'run'
  readonly from: number
  readonly to: number
  readonly label: string
  readonly generation: number
  /** `running` while it has not ended. */
  readonly status: string
  /** The number by which it is chosen: the first of several. */
  readonly run: number
  readonly rows: readonly TimelineRow[]
}

/** Time in which the job did not run. `ended`: between its end and a restart; `ahead`: in the future. */
export interface WaitPart {
  readonly kind: 'wait' | 'queue' | 'ended' | 'ahead'
  readonly from: number
  readonly to: number
  /** The run whose decision led to this wait. */
  readonly after?: AttemptView
  /** The jitter window: between which moments the wait could have ended. */
  readonly window?: readonly [from: number, to: number]
}

/** A coming run. */
export interface GhostPart extends Ghost {
  readonly kind: 'ghost'
  readonly from: number
  readonly to: number
  /** How many runs before this one are left out. */
  readonly skipped: number
  /** If this one fails too, the job is dead. */
  readonly isLast: boolean
}

/** The end of a job without a run: it expired, was cancelled or discarded. */
export interface EndPart {
  readonly kind: 'end'
  readonly from: number
  readonly to: number
  readonly status: string
}

export type HistoryPart = RunPart | WaitPart | GhostPart | EndPart

export interface History {
  readonly parts: readonly HistoryPart[]
  readonly from: number
  readonly to: number
  readonly now: number
  /** How many runs before the first one are not shown. */
  readonly earlier: number
  readonly deadline?: number
  /** When the job would die if every coming run failed. */
  readonly dies?: Demise
}

/** With this many runs or more, neighbours are drawn as one bar. */
const RUNS_MAX = 60
const BUCKETS = 40
const GHOSTS_MAX = 4

export function historyOf(facts: HistoryFacts): History {
  const { ghosts, deadline, dies } = facts
  const past = merged(pastOf(facts))
  const parts = [...past, ...toCome(past, ghosts, facts.now)]
  return {
    parts,
    from: parts[0]?.from ?? facts.from,
    to: parts.at(-1)?.to ?? facts.to,
    now: facts.now,
    earlier: facts.earlier,
    ...present({ deadline, dies }),
  }
}

/** The spans of all rows in order, without gaps or overlaps: the clocks of two workers may disagree a little. */
function pastOf({ rows, earlier }: Timeline): readonly HistoryPart[] {
  const parts: HistoryPart[] = []
  let before: AttemptView | undefined
  let at: number | undefined
  rows.forEach((row, i) => {
    for (const span of row.spans) {
      const from = Math.max(at ?? span.from, span.from)
      const to = Math.max(from, span.to)
      if (at !== undefined && from > at) parts.push({ kind: 'ended', from: at, to: from })
      parts.push(
        span.kind === 'running' ? runPart(row, from, to, earlier + i + 1) : waitPart(span.kind, from, to, before),
      )
      at = to
    }
    if (row.attempt === undefined && isEnd(row.status)) {
      const end = at ?? 0
      parts.push({ kind: 'end', from: end, to: end, status: row.status })
    }
    before = row.attempt
  })
  return parts
}

const isEnd = (status: string): boolean => status === 'dead' || status === 'cancelled'

function runPart(row: TimelineRow, from: number, to: number, number: number): RunPart {
  const { label, generation, status, attempt } = row
  return { kind: 'run', from, to, label, generation, status, run: attempt?.run ?? number, rows: [row] }
}

const WAITS = { waiting: 'wait', queued: 'queue', ended: 'ended' } as const

function waitPart(
  span: 'waiting' | 'queued' | 'ended',
  from: number,
  to: number,
  after: AttemptView | undefined,
): WaitPart {
  const kind = WAITS[span]
  const window = kind === 'wait' && after ? windowOf(after) : undefined
  return { kind, from, to, ...present({ after, window }) }
}

/** Between which moments the decision could have planned the next run. */
function windowOf({ finishedAt, decision }: AttemptView): readonly [number, number] | undefined {
  const { windowMs, source } = decision ?? {}
  if (windowMs === undefined || windowMs[0] === windowMs[1] || source === 'retry-after') return undefined
  const end = Date.parse(finishedAt)
  return [end + windowMs[0], end + windowMs[1]]
}

/** Groups many runs into few bars. A bar never spans two generations and never contains the current run. */
function merged(parts: readonly HistoryPart[]): readonly HistoryPart[] {
  const runs = parts.filter(part => part.kind === 'run').length
  if (runs < RUNS_MAX) return parts
  const size = Math.ceil(runs / BUCKETS)
  const result: HistoryPart[] = []
  let bucket: RunPart | undefined
  let waits: HistoryPart[] = []
  const close = (): void => {
    if (bucket) result.push(bucket)
    result.push(...waits)
    bucket = undefined
    waits = []
  }
  for (const part of parts) {
    if (part.kind === 'run' && bucket && joins(bucket, part, size)) {
      bucket = joined(bucket, part)
      waits = []
    } else if (part.kind === 'run') {
      close()
      bucket = part
    } else {
      waits.push(part)
    }
  }
  close()
  return result
}

function joins(bucket: RunPart, part: RunPart, size: number): boolean {
  return bucket.rows.length < size && bucket.generation === part.generation && part.status !== 'running'
}

function joined(bucket: RunPart, part: RunPart): RunPart {
  const first = bucket.rows[0]!.label
  return {
    ...bucket,
    to: part.to,
    label: `${first} – ${part.label}`,
    status: bucket.status === part.status ? part.status : 'mixed',
    rows: [...bucket.rows, ...part.rows],
  }
}

/** The next few runs and the last one, each in the middle of its window. */
function toCome(past: readonly HistoryPart[], ghosts: readonly Ghost[], now: number): readonly HistoryPart[] {
  const shown = ghosts.length <= GHOSTS_MAX ? ghosts : [...ghosts.slice(0, GHOSTS_MAX - 1), ghosts.at(-1)!]
  const parts: HistoryPart[] = []
  let at = past.at(-1)?.to ?? now
  let attempt = (shown[0]?.attempt ?? 1) - 1
  for (const ghost of shown) {
    const middle = Math.max(at, (ghost.earliest + ghost.latest) / 2)
    if (middle > at) parts.push({ kind: 'ahead', from: at, to: middle })
    parts.push({
      kind: 'ghost',
      ...ghost,
      from: middle,
      to: middle,
      skipped: Math.max(0, ghost.attempt - attempt - 1),
      isLast: ghost === ghosts.at(-1),
    })
    at = middle
    attempt = ghost.attempt
  }
  return parts
}

/** The parts as stretches of the scale. */
export function stretchesOf({ parts, deadline, to }: History, withDeadline: boolean): readonly Stretch[] {
  const stretches = parts.map((part): Stretch => ({ from: part.from, to: part.to, kind: stretchKind(part) }))
  if (!withDeadline || deadline === undefined || deadline <= to) return stretches
  return [...stretches, { from: to, to: deadline, kind: 'idle' }]
}

function stretchKind(part: HistoryPart): Stretch['kind'] {
  switch (part.kind) {
    case 'run':
      return 'active'
    case 'ghost':
    case 'end':
      return 'point'
    default:
      return 'idle'
  }
}

/** The number of runs for each outcome, most frequent first. */
export function outcomesOf({ rows }: RunPart): readonly (readonly [status: string, count: number])[] {
  const counts = new Map<string, number>()
  for (const { status } of rows) counts.set(status, (counts.get(status) ?? 0) + 1)
  return [...counts].sort(([, a], [, b]) => b - a)
}
