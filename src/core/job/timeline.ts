import { about, anyText, type Infer, integer, named, oneOf } from '../values/schema.js'
import { listOf, view } from '../values/shape.js'
import { attemptLabel, type JobState } from './job.js'
import { type AttemptView, attemptView, type JobView } from './view.js'

/**
 * A phase in a job's life. `waiting`: its policy or a request made it wait; `queued`: it was due and not claimed yet;
 * `ended`: it had ended, until it was started again.
 */
const spanView = named(
  'TimelineSpan',
  view({
    kind: oneOf(['waiting', 'queued', 'running', 'ended']),
    from: about(integer(), 'Epoch milliseconds.'),
    to: integer(),
  }),
)
export type Span = Infer<typeof spanView>

/** One run and the phase before it: one row of the chart. */
const timelineRow = named(
  'TimelineRow',
  view(
    {
      label: anyText,
      generation: integer(),
      status: about(
        anyText,
        'The outcome of the run; `running` during it, `next` for the next run, or the end of the job without another run.',
      ),
      spans: listOf(spanView),
    },
    { attempt: about(attemptView, 'The record of the run, if it has ended.') },
  ),
)
export type TimelineRow = Infer<typeof timelineRow>

export const timeline = view({
  from: about(integer(), 'Epoch milliseconds.'),
  to: integer(),
  now: integer(),
  earlier: about(integer(), 'The number of earlier runs that are left out.'),
  rows: listOf(timelineRow),
})
export type Timeline = Infer<typeof timeline>

/** The rows to draw for a job, from its newest attempts in any order. The dashboard and the CLI both use it. */
export function timelineOf(job: JobView, attempts: readonly AttemptView[], now: number): Timeline {
  const ordered = [...attempts].sort((a, b) => a.run - b.run)
  const first = ordered[0]
  const earlier = first ? first.run - 1 : 0
  const rows: TimelineRow[] = []
  // The wait before the first row is known only if that is the first run of all.
  let before: Before = {
    at: earlier > 0 ? time(first!.startedAt) : time(job.createdAt),
    generation: first?.generation ?? 1,
  }
  for (const attempt of ordered) {
    const [from, to] = [time(attempt.startedAt), time(attempt.finishedAt)]
    const spans = [...waitUntil(from, before, attempt.generation), ...span('running', from, Math.max(from, to))]
    rows.push({ label: attempt.label, generation: attempt.generation, status: attempt.status, spans, attempt })
    before = {
      at: Math.max(from, to),
      generation: attempt.generation,
      ...(attempt.nextRunAt !== undefined && { plannedAt: time(attempt.nextRunAt) }),
    }
  }
  rows.push(...present(job, before, now))
  const spans = rows.flatMap(row => row.spans)
  return { from: spans[0]?.from ?? time(job.createdAt), to: spans.at(-1)?.to ?? now, now, earlier, rows }
}

/** The outcome of the last row, and when the next run was planned at that time. */
interface Before {
  readonly at: number
  readonly generation: number
  readonly plannedAt?: number
}

/** The rows that have no attempt record: the current run, the next run, an end without a run. */
function present(job: JobView, before: Before, now: number): TimelineRow[] {
  const row = (status: string, label: string, spans: readonly Span[]): TimelineRow[] => [
    { label, generation: job.generation, status, spans },
  ]
  switch (job.state) {
    case 'running': {
      const from = time(job.startedAt ?? job.runAt)
      const run = span('running', from, Math.max(from, now))
      return row('running', attemptLabel(job.attempt, job.generation), [
        ...waitUntil(from, before, job.generation),
        ...run,
      ])
    }
    case 'waiting': {
      // An operator may have moved the job, so the earlier plan no longer holds.
      const planned = { ...before, plannedAt: time(job.runAt) }
      const until = Math.max(now, planned.plannedAt)
      return row('next', attemptLabel(job.attempt + 1, job.generation), waitUntil(until, planned, job.generation))
    }
    case 'succeeded':
    case 'dead':
    case 'cancelled': {
      const at = time(job.finishedAt ?? job.runAt)
      return at > before.at && endedWithoutRun(job.state)
        ? row(job.state, 'End', waitUntil(at, before, job.generation))
        : []
    }
  }
}

const endedWithoutRun = (state: JobState): boolean => state !== 'succeeded'

function waitUntil(at: number, before: Before, generation: number): readonly Span[] {
  if (generation > before.generation) return span('ended', before.at, at)
  const planned = Math.min(at, before.plannedAt ?? at)
  return [...span('waiting', before.at, planned), ...span('queued', Math.max(before.at, planned), at)]
}

function span(kind: Span['kind'], from: number, to: number): readonly Span[] {
  return to > from || (kind === 'running' && to === from) ? [{ kind, from, to }] : []
}

const time = (text: string): number => Date.parse(text)
