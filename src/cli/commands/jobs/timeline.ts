import { type Timeline, timelineOf } from '../../../core/job/timeline.js'
import { type JobView, timeText } from '../../../core/job/view.js'
import { withBackend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'
import { show } from '../../output/show.js'
import { found } from './job.js'
import { draw } from './picture.js'

interface TimelineOptions extends BackendOptions {
  readonly limit?: number
}

const ROWS_DEFAULT = 20

export async function showTimeline(id: string, options: TimelineOptions, io: Io): Promise<void> {
  await withBackend(options, io, async backend => {
    const job = await found(backend, id)
    const { limit = ROWS_DEFAULT } = options
    const [{ data }, { now }] = await Promise.all([backend.jobs.history(job.id, { limit }), backend.info()])
    const timeline = timelineOf(job, data, now)
    show(io, options, wire(job, timeline), style => draw(job, timeline, style))
  })
}

function wire({ id, name, state, phase, attempt, maxAttempts }: JobView, timeline: Timeline): unknown {
  const { from, to, now, earlier, rows } = timeline
  const times = <T extends { from: number; to: number }>(span: T) => ({
    ...span,
    from: timeText(span.from),
    to: timeText(span.to),
  })
  return {
    job: { id, name, state, phase, attempt, maxAttempts },
    ...times({ from, to }),
    now: timeText(now),
    earlier,
    rows: rows.map(row => ({ ...row, spans: row.spans.map(times) })),
  }
}
