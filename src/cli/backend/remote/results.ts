import { TERMINAL } from '../../../core/job/job.js'
import { checkName, noJob, resultOf, stillLive } from '../../../core/job/result.js'
import type { AttemptView, JobView } from '../../../core/job/view.js'
import { type Clock, wait } from '../../../core/values/clock.js'
import { toMs } from '../../../core/values/duration.js'
import type { WaitOptions } from '../../../engine/results/waiters.js'
import type { Rest } from './rest.js'

type WithAttempts = Omit<JobView, 'kind'> & {
  readonly kind: 'job' | 'schedule'
  readonly attempts: readonly AttemptView[]
}

/** A server answers within the time of a request, 30 s by default; then it is asked again. */
const ASK_MAX_S = 25
/** The pause after a server has answered early, because too many requests wait there. */
const PAUSE_MS = 500

/** Waits at the server until the job has ended, and returns it with its attempts. */
export async function endedJob(
  rest: Pick<Rest, 'call'>,
  clock: Clock,
  id: string,
  { within, signal: given }: WaitOptions = {},
): Promise<WithAttempts> {
  const withinMs = within === undefined ? Number.POSITIVE_INFINITY : toMs(within, 'within')
  const until = clock.now() + withinMs
  const timeout = new AbortController()
  const timer = within === undefined ? undefined : clock.timer(withinMs, () => timeout.abort(stillLive(id, withinMs)))
  const signal = given ? AbortSignal.any([given, timeout.signal]) : timeout.signal
  try {
    for (;;) {
      signal.throwIfAborted()
      const askedAt = clock.now()
      const waitS = Math.max(1, Math.min(ASK_MAX_S, Math.ceil((until - askedAt) / 1_000)))
      const job = (await rest.call('get', `/jobs/${encodeURIComponent(id)}`, { waitS, signal })) as WithAttempts
      if (job.kind !== 'job') throw noJob(id)
      if (TERMINAL.has(job.state)) return job
      if (clock.now() - askedAt < PAUSE_MS) await wait(clock, PAUSE_MS, signal)
    }
  } finally {
    timer?.cancel()
  }
}

/** The result of the job, or the error that the library throws. */
export function resultIn(job: WithAttempts, name: string): unknown {
  checkName(job, name, 'jobs.result')
  return resultOf(job as JobView, job.attempts[0]?.decision)
}
