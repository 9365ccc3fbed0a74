import { type Timeline, timelineOf } from '../../../core/job/timeline.js'
import { type JobView, timeText } from '../../../core/job/view.js'
import { present } from '../../../core/values/present.js'
import { withBackend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'
import { show } from '../../output/show.js'
import { scheduleLine } from '../schedules/line.js'
import { found, standing, title } from './job.js'
import { draw } from './picture.js'

interface TimelineOptions extends BackendOptions {
  readonly limit?: number
}

const ROWS_DEFAULT = 20

export async function showTimeline(id: string, options: TimelineOptions, io: Io): Promise<void> {
  await withBackend(options, io, async backend => {
    const subject = await found(backend, id)
    const job = subject.kind === 'job' ? subject : subject.occurrence
    const { limit = ROWS_DEFAULT } = options
    if (!job) return show(io, options, subject, style => title(subject, style) + standing(subject, 0, style))
    const [{ data }, { now }] = await Promise.all([backend.jobs.history(job.id, { limit }), backend.info()])
    const timeline = timelineOf(job, data, now)
    const { nextOccurrenceAt } = subject.kind === 'job' ? {} : subject
    show(io, options, { ...wire(job, timeline), ...present({ nextOccurrenceAt }) }, style => {
      const picture = draw(job, timeline, style)
      return subject.kind === 'job' ? picture : `${picture}\n${scheduleLine(subject)}\n`
    })
  })
}

function wire({ id, name, state, phase, attempt, maxAttempts }: JobView, timeline: Timeline): object {
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
