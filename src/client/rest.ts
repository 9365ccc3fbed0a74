import { type Clock, type Dice, wait } from '../core/values/clock.js'
import { ChronosError } from '../core/values/error.js'
import { present } from '../core/values/present.js'
import { errorOf, type Hints, noChronos, unreachable } from './problem.js'

const TIMEOUT_MS = 30_000
const LONG_TIMEOUT_MS = 600_000
const TRIES = 3
const PATIENT_TRIES = 5
const PAUSE_MS = 200
const PAUSE_MAX_MS = 10_000
/** The request was not performed: too many requests, a server that starts or stops, a gateway without one. */
const UNAVAILABLE: ReadonlySet<number> = new Set([429, 502, 503, 504])

/** A request, apart from its method and path. */
export interface Asked {
  /** Undefined values are left out; a list repeats its name. */
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
  /** Fail if the resource has another version. */
  readonly ifMatch?: unknown
  /** Send an idempotency key, so that the request can be repeated if the response is lost. */
  readonly creates?: boolean | undefined
  /** Wait for minutes: the server reads or changes many jobs. */
  readonly takesLong?: boolean | undefined
  /** Wait at the server so many seconds for the end of the job. */
  readonly waitS?: number
  /** Gives up at once, with the reason of the signal. */
  readonly signal?: AbortSignal
}

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'

interface Answer {
  readonly response: Response
  readonly text: string
}

interface RestOptions {
  readonly url: string
  readonly token?: string | undefined
  readonly clock: Clock
  readonly dice: Dice
  readonly hints: Hints
  /** Repeats requests also if the server is unavailable, not only if a connection broke. */
  readonly isPatient?: boolean
  readonly fetch?: typeof fetch | undefined
}

/** A client of the REST API. It throws the same errors as a store. */
export class Rest {
  readonly url: string
  readonly #options: RestOptions

  constructor(options: RestOptions) {
    this.url = options.url
    this.#options = options
  }

  async call(method: Method, path: string, asked: Asked = {}): Promise<unknown> {
    const { clock, isPatient } = this.#options
    const headers = this.#headers(asked)
    const isRepeatable = method === 'get' || asked.creates
    const tries = isRepeatable ? (isPatient ? PATIENT_TRIES : TRIES) : 1
    for (let attempt = 1; ; attempt++) {
      try {
        const { response, text } = await this.#send(method, path, asked, headers)
        return this.#read(response, text)
      } catch (error) {
        if (!(error instanceof Lost) || attempt >= tries) throw error instanceof Lost ? error.reason : error
        await wait(clock, this.pauseMs(attempt, error.retryAfterMs), asked.signal)
      }
    }
  }

  /** How long to wait before a request is repeated: doubling, with jitter, and as long as the server asks for. */
  pauseMs(attempt: number, retryAfterMs = 0): number {
    const backoffMs = PAUSE_MS * 2 ** (attempt - 1) * (0.5 + this.#options.dice.random())
    return Math.min(PAUSE_MAX_MS, Math.max(backoffMs, retryAfterMs))
  }

  /** Opens a stream of server-sent events. Undefined: there is nothing more to come. */
  async stream(
    path: string,
    lastEventId: string | undefined,
    signal: AbortSignal,
  ): Promise<ReadableStream | undefined> {
    const { token, hints, fetch: send = fetch } = this.#options
    const headers = present({
      accept: 'text/event-stream',
      authorization: token === undefined ? undefined : `Bearer ${token}`,
      'last-event-id': lastEventId,
    })
    try {
      const response = await send(`${this.url}/api/v1${path}`, { headers, redirect: 'manual', signal })
      if (response.status === 204) return undefined
      const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
      if (response.ok && isStream && response.body) return response.body
      this.#read(response, await response.text())
      throw noChronos(this.url, 'it sends no events', hints)
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof ChronosError || error instanceof Lost) throw error
      throw new Lost(unreachable(this.url, error, hints))
    }
  }

  /** Made once for all tries, because the idempotency key must stay the same. */
  #headers({ body, ifMatch, creates, waitS }: Asked): Readonly<Record<string, string>> {
    const { token, dice } = this.#options
    return present({
      accept: 'application/json',
      authorization: token === undefined ? undefined : `Bearer ${token}`,
      'content-type': body === undefined ? undefined : 'application/json',
      'if-match': ifMatch === undefined ? undefined : `"${ifMatch}"`,
      'idempotency-key': creates ? dice.token() : undefined,
      prefer: waitS === undefined ? undefined : `wait=${waitS}`,
    })
  }

  /** Any error until the response is complete means that it was lost: runtimes throw different errors for that. */
  async #send(method: Method, path: string, asked: Asked, headers: Readonly<Record<string, string>>): Promise<Answer> {
    const { clock, hints, fetch: send = fetch } = this.#options
    const { body, query = {}, takesLong, signal } = asked
    const content = body === undefined ? undefined : JSON.stringify(body)
    const timeoutMs = takesLong ? LONG_TIMEOUT_MS : TIMEOUT_MS
    const silence = new AbortController()
    const timer = clock.timer(timeoutMs, () => silence.abort(new Silent(timeoutMs)))
    try {
      const response = await send(`${this.url}/api/v1${path}${queryText(query)}`, {
        method: method.toUpperCase(),
        headers,
        redirect: 'manual',
        signal: signal ? AbortSignal.any([signal, silence.signal]) : silence.signal,
        ...present({ body: content }),
      })
      return { response, text: await response.text() }
    } catch (error) {
      signal?.throwIfAborted()
      if (silence.signal.aborted) throw unreachable(this.url, silence.signal.reason, hints)
      throw new Lost(unreachable(this.url, error, hints))
    } finally {
      timer.cancel()
    }
  }

  #read({ ok, status, headers }: Response, text: string): unknown {
    const { hints, isPatient } = this.#options
    if (status === 204) return undefined
    if (status >= 300 && status < 400) throw noChronos(this.url, `it redirects to ${headers.get('location')}`, hints)
    const body = parsed(text)
    if (!ok) {
      const error = errorOf(status, body, this.url, hints)
      throw isPatient && UNAVAILABLE.has(status) ? new Lost(error, retryAfterMs(headers)) : error
    }
    if (body === undefined) throw noChronos(this.url, `${headers.get('content-type') ?? 'no type'}`, hints)
    return body
  }
}

/** The request may be repeated: the connection broke, or the server is unavailable. */
export class Lost extends Error {
  readonly reason: Error
  readonly retryAfterMs: number | undefined

  constructor(reason: Error, retryAfterMs?: number) {
    super(reason.message)
    this.reason = reason
    this.retryAfterMs = retryAfterMs
  }
}

function retryAfterMs(headers: Headers): number | undefined {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  return Number.isFinite(seconds) ? seconds * 1_000 : undefined
}

class Silent extends Error {
  constructor(ms: number) {
    super(`no answer within ${ms / 1_000}s`)
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function queryText(query: Readonly<Record<string, unknown>>): string {
  const all = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    // Many ids would make the address too long if each repeated the name.
    const values = value === undefined ? [] : name === 'ids' ? [String(value)] : [value].flat()
    for (const one of values) all.append(name, one instanceof Date ? one.toISOString() : String(one))
  }
  const text = all.toString()
  return text === '' ? '' : `?${text}`
}
