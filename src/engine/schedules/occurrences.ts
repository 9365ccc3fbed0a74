import { type AttemptView, viewAttempt } from '../../core/job/view.js'
import { ChronosError } from '../../core/values/error.js'
import type { Page, PageRequest, Store } from '../../store/store.js'

/** A run of one of a schedule's jobs. */
export interface OccurrenceAttempt extends AttemptView {
  readonly jobId: string
}

/** How far a list has come: the page of jobs to go on with, and the job in the middle of whose runs it stopped. */
interface Place {
  /** Absent: no other job is left. */
  readonly jobs?: string
  readonly jobId?: string
  readonly runs?: string
}

/** The runs of all jobs of a schedule, newest job first, and of each job the newest run first. */
export async function occurrenceHistory(
  store: Store,
  scheduleId: string,
  { limit, cursor }: PageRequest,
): Promise<Page<OccurrenceAttempt>> {
  const data: OccurrenceAttempt[] = []
  let place: Place | undefined = cursor === undefined ? await nextJob(store, scheduleId) : readPlace(cursor)
  while (place?.jobId !== undefined) {
    const { jobId, runs, jobs }: Place = place
    if (data.length === limit) return { data, next: writePlace(place) }
    const page = await store.history(jobId, { limit: limit - data.length, ...(runs !== undefined && { cursor: runs }) })
    data.push(...page.data.map(record => ({ jobId, ...viewAttempt(record) })))
    if (page.next !== undefined) place = { ...place, runs: page.next }
    else place = jobs === undefined ? undefined : await nextJob(store, scheduleId, jobs)
  }
  return { data }
}

async function nextJob(store: Store, scheduleId: string, cursor?: string): Promise<Place> {
  const page = await store.list({ scheduleId }, { limit: 1, ...(cursor !== undefined && { cursor }) })
  const [job] = page.data
  return { ...(job && { jobId: job.id }), ...(page.next !== undefined && { jobs: page.next }) }
}

function writePlace(place: Place): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url')
}

function readPlace(cursor: string): Place {
  try {
    const place = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as Place
    if (typeof place.jobId === 'string') return place
  } catch {
    // Said below.
  }
  throw new ChronosError('INVALID_OPTION', 'cursor: this is not one that a list of runs has given')
}
