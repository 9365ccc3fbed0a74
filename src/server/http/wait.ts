import { TERMINAL } from '../../core/job/job.js'
import type { JobView } from '../../core/job/view.js'
import { ChronosError } from '../../core/values/error.js'
import type { Answer, Call } from '../endpoint.js'

const WAIT = /(?:^|[,;\s])wait\s*=\s*"?(\d{1,6})"?\s*(?:$|[,;])/i
/** What remains of the time of a request to read the job and answer. */
const ANSWER_MS = 1_000
const APPLIED = { 'Preference-Applied': 'wait' }

type AnyCall = Pick<Call<unknown, unknown, unknown>, 'app' | 'header' | 'signal' | 'startedAt'>
type Job = Pick<JobView, 'kind' | 'id' | 'state'>

/**
 * With `Prefer: wait=30` (RFC 7240), waits up to 30 s until the job of the answer has ended. `again` makes the answer with
 * the job as it is then. `Preference-Applied` is absent if too many requests are waiting.
 */
export async function waitAsPreferred(
  call: AnyCall,
  given: Answer,
  again: (hasEnded: boolean) => Promise<Answer>,
): Promise<Answer> {
  const waitMs = preferredMs(call)
  const job = given.body as Job
  if (waitMs === undefined || job.kind !== 'job') return given
  const hasEnded = TERMINAL.has(job.state) || (await endsWithin(call, job.id, waitMs))
  const answer = await again(hasEnded === true)
  if (hasEnded === undefined) return { ...given, ...answer }
  return { ...given, ...answer, headers: { ...given.headers, ...answer.headers, ...APPLIED } }
}

function preferredMs({ app, header, startedAt }: AnyCall): number | undefined {
  const seconds = WAIT.exec(header('Prefer') ?? '')?.[1]
  if (seconds === undefined) return undefined
  const leftMs = app.settings.requestTimeoutMs - ANSWER_MS - (app.clock.now() - startedAt)
  return Math.max(1, Math.min(Number(seconds) * 1_000, leftMs))
}

/** Undefined if too many requests are waiting: each holds a connection. */
async function endsWithin({ app, signal }: AnyCall, id: string, within: number): Promise<boolean | undefined> {
  const free = app.waiting.take()
  if (!free) return undefined
  const ending = AbortSignal.any([signal, app.closing])
  try {
    await app.chronos.jobs.ended(id, { within, signal: ending })
    return true
  } catch (error) {
    if (ending.aborted || (error instanceof ChronosError && error.code === 'TIMED_OUT')) return false
    throw error
  } finally {
    free()
  }
}
