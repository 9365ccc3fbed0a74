import { TERMINAL } from '../core/job/job.js'
import { checkName, noJob, resultOf, stillLive } from '../core/job/result.js'
import type { AttemptView, JobView } from '../core/job/view.js'
import { type Clock, type Timer, wait } from '../core/values/clock.js'
import { toMs } from '../core/values/duration.js'
import { ChronosError, ERROR_CODES, type ErrorCode } from '../core/values/error.js'
import type { FollowOptions, JobUpdate } from '../engine/results/follow.js'
import type { WaitOptions } from '../engine/results/waiters.js'
import { eventsIn } from './events.js'
import { Lost, type Rest } from './rest.js'

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

/** How long a stream may be silent: the server sends a heartbeat every 15 s. */
const SILENCE_MS = 40_000

/** The updates of a job, read from the server. A stream that breaks off is continued after the last update. */
export async function* followRemotely(
  rest: Rest,
  clock: Clock,
  id: string,
  { cursor, signal }: FollowOptions = {},
): AsyncGenerator<JobUpdate, void, undefined> {
  let last = cursor
  for (let failures = 0; ; failures++) {
    const silence = new Silence(clock, signal)
    try {
      const body = await rest.stream(`/jobs/${encodeURIComponent(id)}/events`, last, silence.signal)
      if (!body) return
      for await (const { name, data, id: at } of eventsIn(body, () => silence.heard())) {
        if (name === 'problem') throw errorOfEvent(data)
        if (at === undefined) continue
        failures = 0
        last = at
        yield { type: name, ...(data as object), cursor: at } as JobUpdate
        if (name === 'end') return
      }
    } catch (error) {
      signal?.throwIfAborted()
      if (error instanceof ChronosError) throw error
      if (failures >= BROKEN_MAX) throw error instanceof Lost ? error.reason : error
    } finally {
      silence.end()
    }
    await wait(clock, rest.pauseMs(failures + 1), signal)
  }
}

/** How often in a row a stream may break off without a single update. */
const BROKEN_MAX = 10

/** Aborts a stream on which nothing arrives for too long. */
class Silence {
  readonly #clock: Clock
  readonly #controller = new AbortController()
  readonly signal: AbortSignal
  #timer: Timer | undefined

  constructor(clock: Clock, signal: AbortSignal | undefined) {
    this.#clock = clock
    this.signal = signal ? AbortSignal.any([signal, this.#controller.signal]) : this.#controller.signal
    this.heard()
  }

  heard(): void {
    this.#timer?.cancel()
    this.#timer = this.#clock.timer(SILENCE_MS, () => this.#controller.abort(new Error('the stream is silent')))
  }

  /** Also ends a stream that the caller has left. */
  end(): void {
    this.#timer?.cancel()
    this.#controller.abort()
  }
}

function errorOfEvent(data: unknown): ChronosError {
  const { code, detail } = data as { readonly code: string; readonly detail: string }
  const known = (ERROR_CODES as readonly string[]).includes(code) ? (code as ErrorCode) : 'STORE_UNAVAILABLE'
  return new ChronosError(known, detail)
}
