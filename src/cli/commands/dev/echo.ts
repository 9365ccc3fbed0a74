import { type Clock, wait } from '../../../core/values/clock.js'
import { toMs } from '../../../core/values/duration.js'
import { ChronosError } from '../../../core/values/error.js'
import { present } from '../../../core/values/present.js'
import { usage } from '../../exit.js'

export const ECHO_PATH = '/__echo'

const CALLERS_MAX = 10_000
const DELAY_MAX_MS = 60_000
const BODY_SHOWN = 2_000

/**
 * An endpoint to try things out: `/__echo?status=503&fail=2&delay=1s` answers 503 to the first two calls of a job, each
 * after one second, and returns the request. Without `fail` it always answers `status`.
 */
export class Echo {
  readonly #clock: Clock
  /** Calls of each job since its last success. */
  readonly #calls = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Undefined for another path. */
  async answer(request: Request): Promise<Response | undefined> {
    const url = new URL(request.url)
    if (!url.pathname.endsWith(ECHO_PATH)) return undefined
    try {
      return await this.#answer(request, url)
    } catch (error) {
      if (!(error instanceof ChronosError)) throw error
      return Response.json({ error: error.message }, { status: 400 })
    }
  }

  async #answer(request: Request, url: URL): Promise<Response> {
    const { status, fail, delayMs } = askedIn(url.searchParams)
    const call = this.#count(`${url.pathname}${url.search} ${request.headers.get('x-chronos-job-id') ?? ''}`, fail)
    if (delayMs > 0) await wait(this.#clock, delayMs)
    const isFailing = fail === undefined || call <= fail
    return Response.json(
      {
        method: request.method,
        call,
        ...present({
          failing: fail === undefined ? undefined : isFailing ? `call ${call} of ${fail} that fail` : 'no more',
        }),
        headers: Object.fromEntries([...request.headers].filter(([name]) => name !== 'cookie')),
        body: (await request.text()).slice(0, BODY_SHOWN),
      },
      { status: isFailing ? status : 200 },
    )
  }

  /** Counts from 1, and starts again after a success. */
  #count(caller: string, fail: number | undefined): number {
    const call = (this.#calls.get(caller) ?? 0) + 1
    if (fail === undefined) return call
    // Deleting and setting again keeps the map in order of use, so that the oldest is forgotten first.
    this.#calls.delete(caller)
    if (call <= fail) this.#calls.set(caller, call)
    for (const oldest of this.#calls.keys()) {
      if (this.#calls.size <= CALLERS_MAX) break
      this.#calls.delete(oldest)
    }
    return call
  }
}

interface Asked {
  readonly status: number
  readonly fail: number | undefined
  readonly delayMs: number
}

const BODILESS = new Set([204, 205, 304])

function askedIn(query: URLSearchParams): Asked {
  const fail = wholeNumber(query, 'fail', 0, 1_000)
  const status = wholeNumber(query, 'status', 200, 599) ?? (fail === undefined ? 200 : 503)
  if (BODILESS.has(status)) throw usage(`status: ${status} has no body`)
  const delay = query.get('delay')
  return { status, fail, delayMs: delay === null ? 0 : toMs(delay, 'delay', { max: DELAY_MAX_MS }) }
}

function wholeNumber(query: URLSearchParams, name: string, min: number, max: number): number | undefined {
  const text = query.get(name)
  if (text === null) return undefined
  const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN
  if (value >= min && value <= max) return value
  throw usage(`${name}: expected a whole number from ${min} to ${max}, got "${text}"`)
}
