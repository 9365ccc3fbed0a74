import type { JobView } from '../../../core/job/view.js'
import { ChronosError, shown } from '../../../core/values/error.js'
import type { JobOrSchedule } from '../../../engine/jobs/by-id.js'
import type { Backend } from '../../backend/backend.js'
import { relative, timeOf } from '../../output/moment.js'
import { paint, type Style } from '../../output/print.js'
import { many } from '../../output/show.js'
import { markText, PHASE_MARKS } from '../../output/symbols.js'
import { oneLine } from '../../output/width.js'
import { scheduleLine } from '../schedules/line.js'

/** A job, or a schedule, whose id works wherever that of a job does. */
export async function found({ byId }: Backend, id: string): Promise<JobOrSchedule> {
  const job = await byId.get(id)
  if (job) return job
  throw new ChronosError('NOT_FOUND', `there is no job ${shown(id)}`, { details: { jobId: id } })
}

export const nameOf = (found: JobOrSchedule): string => oneLine(found.kind === 'job' ? found.name : found.job)

export function title(found: JobOrSchedule, style: Style): string {
  return `${paint(nameOf(found), 'strong', style)}  ${paint(oneLine(found.id), 'dim', style)}\n`
}

/** State, reason, attempts and time in one line. */
export function standing(job: JobOrSchedule, now: number, style: Style): string {
  if (job.kind === 'schedule')
    return `${scheduleLine(job)}\n${job.occurrence ? standing(job.occurrence, now, style) : ''}`
  const attempts = job.attempt === 0 ? many(job.maxAttempts, 'attempt') : `attempt ${job.attempt} of ${job.maxAttempts}`
  const mark = markText(PHASE_MARKS[job.phase], style)
  return `${[mark, ...(job.reason ? [job.reason] : []), attempts, timing(job, now)].join(style.unicode ? ' · ' : ', ')}\n`
}

function timing(job: JobView, now: number): string {
  if (job.state === 'waiting') return `${timeOf(job.runAt) > now + 1_000 ? 'runs' : 'due'} ${relative(job.runAt, now)}`
  if (job.state === 'running') return `started ${relative(job.startedAt ?? job.runAt, now)}`
  return `ended ${relative(job.finishedAt ?? job.runAt, now)}`
}
