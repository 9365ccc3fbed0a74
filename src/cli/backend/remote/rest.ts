import { type Clock, type Dice, wait } from '../../../core/values/clock.js'
import { ChronosError } from '../../../core/values/error.js'
import { present } from '../../../core/values/present.js'
import { errorOf, noChronos, unreachable } from './problem.js'

const TIMEOUT_MS = 30_000
const LONG_TIMEOUT_MS = 600_000
const TRIES = 3
const PAUSE_MS = 200

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

interface RestOptions {
  readonly url: string
  readonly token?: string | undefined
  readonly clock: Clock
  readonly dice: Dice
  readonly fetch?: typeof fetch
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
    const headers = this.#headers(asked)
    const tries = method === 'get' || asked.creates ? TRIES : 1
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#send(method, path, asked, headers)
      } catch (error) {
        if (!(error instanceof Lost) || attempt >= tries) throw error instanceof Lost ? error.reason : error
        await wait(this.#options.clock, PAUSE_MS * attempt)
      }
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

  async #send(method: Method, path: string, asked: Asked, headers: Readonly<Record<string, string>>): Promise<unknown> {
    const { clock, fetch: send = fetch } = this.#options
    const { body, query = {}, takesLong, signal } = asked
    const timeoutMs = takesLong ? LONG_TIMEOUT_MS : TIMEOUT_MS
    const silence = new AbortController()
    const timer = clock.timer(timeoutMs, () => silence.abort(new Silent(timeoutMs)))
    try {
      const response = await send(`${this.url}/api/v1${path}${queryText(query)}`, {
        method: method.toUpperCase(),
        headers,
        redirect: 'manual',
        signal: signal ? AbortSignal.any([signal, silence.signal]) : silence.signal,
        ...present({ body: body === undefined ? undefined : JSON.stringify(body) }),
      })
      return await this.#read(response)
    } catch (error) {
      signal?.throwIfAborted()
      if (error instanceof ChronosError) throw error
      if (silence.signal.aborted) throw unreachable(this.url, silence.signal.reason)
      throw isLost(error) ? new Lost(unreachable(this.url, error)) : error
    } finally {
      timer.cancel()
    }
  }

  async #read(response: Response): Promise<unknown> {
    const { status } = response
    if (status === 204) return undefined
    if (status >= 300 && status < 400) throw noChronos(this.url, `it redirects to ${response.headers.get('location')}`)
    const text = await response.text()
    const body = parsed(text)
    if (!response.ok) throw errorOf(status, body, this.url)
    if (body === undefined) throw noChronos(this.url, `${response.headers.get('content-type') ?? 'no type'}`)
    return body
  }
}

/** The connection broke, so it is unknown whether the request arrived. */
class Lost extends Error {
  readonly reason: ChronosError

  constructor(reason: ChronosError) {
    super(reason.message)
    this.reason = reason
  }
}

class Silent extends Error {
  constructor(ms: number) {
    super(`no answer within ${ms / 1_000}s`)
  }
}

/** `fetch` throws a TypeError with a cause if there is no response. */
function isLost(error: unknown): boolean {
  return error instanceof TypeError && error.cause !== undefined
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
