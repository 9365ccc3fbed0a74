import { type AttemptView, viewAttempt } from '../../core/job/view.js'
import { ChronosError } from '../../core/values/error.js'
import type { Page, PageRequest, Store } from '../../store/store.js'

/** A run of one of a schedule's jobs. */
export interface OccurrenceAttempt extends AttemptView {
  readonly jobId: string
}

/** The position of a list: the page of jobs to continue with, and the job whose runs were listed in part. */
interface Position {
  /** Absent: no other job is left. */
  readonly jobs?: string
  readonly jobId?: string
  readonly runs?: string
}

/** The runs of all jobs of a schedule: newest job first, and for each job newest run first. */
export async function occurrenceHistory(
  store: Store,
  scheduleId: string,
  { limit, cursor }: PageRequest,
): Promise<Page<OccurrenceAttempt>> {
  const data: OccurrenceAttempt[] = []
  let position: Position | undefined = cursor === undefined ? await nextJob(store, scheduleId) : readPosition(cursor)
  while (position?.jobId !== undefined) {
    const { jobId, runs, jobs }: Position = position
    if (data.length === limit) return { data, next: writePosition(position) }
    const page = await store.history(jobId, { limit: limit - data.length, ...(runs !== undefined && { cursor: runs }) })
    data.push(...page.data.map(record => ({ jobId, ...viewAttempt(record) })))
    if (page.next !== undefined) position = { ...position, runs: page.next }
    else position = jobs === undefined ? undefined : await nextJob(store, scheduleId, jobs)
  }
  return { data }
}

async function nextJob(store: Store, scheduleId: string, cursor?: string): Promise<Position> {
  const page = await store.list({ scheduleId }, { limit: 1, ...(cursor !== undefined && { cursor }) })
  const [job] = page.data
  return { ...(job && { jobId: job.id }), ...(page.next !== undefined && { jobs: page.next }) }
}

function writePosition(position: Position): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url')
}

function readPosition(cursor: string): Position {
  try {
    const position = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as Position
    if (typeof position.jobId === 'string') return position
  } catch {
    // The error below covers this case as well.
  }
  throw new ChronosError('INVALID_OPTION', 'cursor: expected a cursor from a list of runs')
}
