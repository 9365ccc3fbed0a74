import type { JobView } from '../../../core/job/view.js'
import { ChronosError, shown } from '../../../core/values/error.js'
import type { Backend } from '../../backend/backend.js'
import { relative, timeOf } from '../../output/moment.js'
import { paint, type Style } from '../../output/print.js'
import { many } from '../../output/show.js'
import { markText, PHASE_MARKS } from '../../output/symbols.js'
import { oneLine } from '../../output/width.js'

export async function found({ jobs }: Backend, id: string): Promise<JobView> {
  const job = await jobs.get(id)
  if (job) return job
  throw new ChronosError('NOT_FOUND', `there is no job ${shown(id)}`, { details: { jobId: id } })
}

export function title({ name, id }: JobView, style: Style): string {
  return `${paint(oneLine(name), 'strong', style)}  ${paint(id, 'dim', style)}\n`
}

/** State, reason, attempts and time in one line. */
export function standing(job: JobView, now: number, style: Style): string {
  const attempts = job.attempt === 0 ? many(job.maxAttempts, 'attempt') : `attempt ${job.attempt} of ${job.maxAttempts}`
  const mark = markText(PHASE_MARKS[job.phase], style)
  return `${[mark, ...(job.reason ? [job.reason] : []), attempts, timing(job, now)].join(style.unicode ? ' · ' : ', ')}\n`
}

function timing(job: JobView, now: number): string {
  if (job.state === 'waiting') return `${timeOf(job.runAt) > now + 1_000 ? 'runs' : 'due'} ${relative(job.runAt, now)}`
  if (job.state === 'running') return `started ${relative(job.startedAt ?? job.runAt, now)}`
  return `ended ${relative(job.finishedAt ?? job.runAt, now)}`
}
