import { formatMs } from '../values/duration.js'
import { ChronosError } from '../values/error.js'
import { present } from '../values/present.js'
import type { StoredError } from './job.js'
import type { Decision } from './transition.js'
import type { JobView } from './view.js'

/** The fields of a job that decide what a caller who waits for its result gets. */
export type EndedJob = Pick<JobView, 'id' | 'name' | 'state' | 'attempt' | 'result' | 'reason' | 'error'>

/** The result of a job that has ended, or the error that says why it has none. */
export function resultOf(job: EndedJob, decision?: Decision): unknown {
  if (job.state === 'succeeded') return job.result
  throw job.state === 'cancelled' ? cancelled(job) : dead(job, decision)
}

function cancelled({ id, name, attempt }: EndedJob): ChronosError {
  return new ChronosError('JOB_CANCELLED', `job ${id} ("${name}") was cancelled, so it has no result`, {
    details: { jobId: id, name, attempts: attempt },
  })
}

function dead({ id, name, attempt, reason, error }: EndedJob, decision: Decision | undefined): ChronosError {
  const isUnknown = reason === 'unknown-outcome'
  const ran = `job ${id} ("${name}")`
  const words = isUnknown
    ? `${ran} ended with an unknown outcome: its work may or may not have been done`
    : `${ran} died (${reason}) after ${attempt === 1 ? '1 attempt' : `${attempt} attempts`}`
  const last = error ? `: ${errorWords(error)}` : ''
  const why = decision ? `; ${decision.why}` : ''
  return new ChronosError(isUnknown ? 'OUTCOME_UNKNOWN' : 'JOB_DEAD', `${words}${last}${why}`, {
    ...(error && { cause: error }),
    details: present({ jobId: id, name, attempts: attempt, reason, error, decision }),
  })
}

const errorWords = ({ name, message }: StoredError): string => (message === '' ? name : `${name}: ${message}`)

export function noJob(id: string): ChronosError {
  return new ChronosError('NOT_FOUND', `there is no job ${id}; it was deleted, or pruned after its retention`, {
    details: { jobId: id },
  })
}

/** The time of a caller is over. The job goes on. */
export function stillLive(id: string, withinMs: number): ChronosError {
  return new ChronosError('TIMED_OUT', `job ${id} has not ended within ${formatMs(withinMs)}; it goes on without you`, {
    details: { jobId: id, withinMs },
  })
}

/** A caller that waits for `asked` must not get the result of another kind of job. */
export function checkName(job: Pick<EndedJob, 'id' | 'name'>, asked: string, where: string): void {
  if (job.name === asked) return
  throw new ChronosError('INVALID_OPTION', `${where}: job ${job.id} is a "${job.name}", not a "${asked}"`)
}
