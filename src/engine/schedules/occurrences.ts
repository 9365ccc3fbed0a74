import { type AttemptView, viewAttempt } from '../../core/job/view.js'
import { ChronosError } from '../../core/values/error.js'
import { present } from '../../core/values/present.js'
import type { Page, PageRequest, Store } from '../../store/store.js'

/** A run of one of a schedule's jobs. */
export interface OccurrenceAttempt extends AttemptView {
  readonly jobId: string
}

/** Selects the jobs of a schedule. An earlier schedule of another tenant may have had the same id. */
export interface OfSchedule {
  readonly scheduleId: string
  readonly tenantId?: string
}

/** The position of a list: the page of jobs to continue with, and the job whose runs were listed in part. */
interface Position {
  /** Absent: no other job is left. */
  readonly jobs?: string
  readonly jobId?: string
  readonly runs?: string
  readonly order?: PageRequest['order']
}

/** The runs of all jobs of a schedule: newest job first, and for each job newest run first; or both oldest first. */
export async function occurrenceHistory(
  store: Store,
  filter: OfSchedule,
  { limit, cursor, order: asked }: PageRequest,
): Promise<Page<OccurrenceAttempt>> {
  const data: OccurrenceAttempt[] = []
  const first = cursor === undefined ? undefined : readPosition(cursor)
  const order = first ? first.order : asked
  let position: Position | undefined = first ?? (await nextJob(store, filter, order))
  while (position?.jobId !== undefined) {
    const { jobId, runs, jobs }: Position = position
    if (data.length === limit) return { data, next: writePosition(position) }
    const page = await store.history(jobId, { limit: limit - data.length, ...present({ cursor: runs, order }) })
    data.push(...page.data.map(record => ({ jobId, ...viewAttempt(record) })))
    if (page.next !== undefined) position = { ...position, runs: page.next }
    else position = jobs === undefined ? undefined : await nextJob(store, filter, order, jobs)
  }
  return { data }
}

async function nextJob(
  store: Store,
  filter: OfSchedule,
  order: PageRequest['order'],
  cursor?: string,
): Promise<Position> {
  const page = await store.list(filter, { limit: 1, ...present({ cursor, order }) })
  return present({ jobId: page.data[0]?.id, jobs: page.next, order })
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
