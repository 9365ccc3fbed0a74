import type { Demise, Ghost, Projection } from '../../core/job/projection.js'
import type { Timeline, TimelineRow } from '../../core/job/timeline.js'
import type { AttemptView } from '../../core/job/view.js'
import type { Stretch } from '../charts/scale.js'

/** What a picture of a job's life is drawn from; what `jobs.timeline` answers is one. */
export interface LifeFacts extends Timeline, Projection {
  /** No run starts after it. */
  readonly deadline?: number
}

/** One run, or many that are drawn as one. */
export interface RunPart {
  readonly kind: 'run'
  readonly from: number
  readonly to: number
  readonly label: string
  readonly generation: number
  /** `running` while it has not ended. */
  readonly status: string
  /** The number by which it is chosen; of many, the first. */
  readonly run: number
  readonly rows: readonly TimelineRow[]
}

/** Time in which nothing ran. `over`: it had ended, until somebody started it again; `ahead`: not yet lived. */
export interface WaitPart {
  readonly kind: 'wait' | 'queue' | 'over' | 'ahead'
  readonly from: number
  readonly to: number
  /** The run that decided on this wait. */
  readonly after?: AttemptView
  /** Between which moments the dice could have put its end. */
  readonly window?: readonly [from: number, to: number]
}

/** A run to come. */
export interface GhostPart extends Ghost {
  readonly kind: 'ghost'
  readonly from: number
  readonly to: number
  /** Runs between the one before and this one that are left out. */
  readonly skipped: number
  /** If this one fails too, the job is dead. */
  readonly isLast: boolean
}

/** How it ended without a run: it expired, was cancelled or discarded. */
export interface EndPart {
  readonly kind: 'end'
  readonly from: number
  readonly to: number
  readonly status: string
}

export type LifePart = RunPart | WaitPart | GhostPart | EndPart

export interface Life {
  readonly parts: readonly LifePart[]
  readonly from: number
  readonly to: number
  readonly now: number
  /** Runs before the first that is shown. */
  readonly earlier: number
  readonly deadline?: number
  /** When it would be over if every run from now on failed. */
  readonly dies?: Demise
}

/** From so many runs on, neighbours are drawn as one. */
const RUNS_MAX = 60
const BUCKETS = 40
const GHOSTS_MAX = 4

export function lifeOf(facts: LifeFacts): Life {
  const { ghosts, deadline, dies } = facts
  const past = merged(pastOf(facts))
  const parts = [...past, ...toCome(past, ghosts, facts.now)]
  return {
    parts,
    from: parts[0]?.from ?? facts.from,
    to: parts.at(-1)?.to ?? facts.to,
    now: facts.now,
    earlier: facts.earlier,
    ...(deadline !== undefined && { deadline }),
    ...(dies && { dies }),
  }
}

/** The spans of all rows, one after the other and without gaps or overlaps: clocks of two workers may disagree a little. */
function pastOf({ rows, earlier }: Timeline): readonly LifePart[] {
  const parts: LifePart[] = []
  let before: AttemptView | undefined
  let at: number | undefined
  rows.forEach((row, i) => {
    for (const span of row.spans) {
      const from = Math.max(at ?? span.from, span.from)
      const to = Math.max(from, span.to)
      if (at !== undefined && from > at) parts.push({ kind: 'over', from: at, to: from })
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

const WAITS = { waiting: 'wait', queued: 'queue', ended: 'over' } as const

function waitPart(
  span: 'waiting' | 'queued' | 'ended',
  from: number,
  to: number,
  after: AttemptView | undefined,
): WaitPart {
  const kind = WAITS[span]
  const window = kind === 'wait' && after ? windowOf(after) : undefined
  return { kind, from, to, ...(after && { after }), ...(window && { window }) }
}

/** From when to when the next run could have been planned: as the decision says. */
function windowOf({ finishedAt, decision }: AttemptView): readonly [number, number] | undefined {
  const { windowMs, source } = decision ?? {}
  if (windowMs === undefined || windowMs[0] === windowMs[1] || source === 'retry-after') return undefined
  const end = Date.parse(finishedAt)
  return [end + windowMs[0], end + windowMs[1]]
}

/** Many runs become few buckets; never over the border of a generation, and never with the one that is on. */
function merged(parts: readonly LifePart[]): readonly LifePart[] {
  const runs = parts.filter(part => part.kind === 'run').length
  if (runs < RUNS_MAX) return parts
  const size = Math.ceil(runs / BUCKETS)
  const result: LifePart[] = []
  let bucket: RunPart | undefined
  let waits: LifePart[] = []
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

/** The next few runs and the last of all. Each stands in the middle of what is possible. */
function toCome(past: readonly LifePart[], ghosts: readonly Ghost[], now: number): readonly LifePart[] {
  const shown = ghosts.length <= GHOSTS_MAX ? ghosts : [...ghosts.slice(0, GHOSTS_MAX - 1), ghosts.at(-1)!]
  const parts: LifePart[] = []
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

/** The same parts for the scale. */
export function stretchesOf({ parts, deadline, to }: Life, withDeadline: boolean): readonly Stretch[] {
  const stretches = parts.map((part): Stretch => ({ from: part.from, to: part.to, kind: stretchKind(part) }))
  if (!withDeadline || deadline === undefined || deadline <= to) return stretches
  return [...stretches, { from: to, to: deadline, kind: 'idle' }]
}

function stretchKind(part: LifePart): Stretch['kind'] {
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

/** How many of a bucket's runs ended in which way, most first. */
export function outcomesOf({ rows }: RunPart): readonly (readonly [status: string, count: number])[] {
  const counts = new Map<string, number>()
  for (const { status } of rows) counts.set(status, (counts.get(status) ?? 0) + 1)
  return [...counts].sort(([, a], [, b]) => b - a)
}
