import { type Clock, type Dice, wait } from '../../../core/values/clock.js'
import { ChronosError } from '../../../core/values/error.js'
import { errorOf, noChronos, unreachable } from './problem.js'

const TIMEOUT_MS = 30_000
const TRIES = 3
const PAUSE_MS = 200

/** A request, apart from its method and path. */
export interface Asked {
  /** Undefined values are left out; a list repeats its name. */
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
  /** Fail if the resource has another version. */
  readonly ifMatch?: string | undefined
  /** Send an idempotency key, so that the request can be repeated if the response is lost. */
  readonly creates?: true
  readonly timeoutMs?: number
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

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

  get<T>(path: string, asked: Asked = {}): Promise<T> {
    return this.#call('GET', path, asked)
  }

  post<T>(path: string, asked: Asked = {}): Promise<T> {
    return this.#call('POST', path, { body: {}, ...asked })
  }

  put<T>(path: string, asked: Asked): Promise<T> {
    return this.#call('PUT', path, asked)
  }

  patch<T>(path: string, asked: Asked): Promise<T> {
    return this.#call('PATCH', path, asked)
  }

  async delete(path: string): Promise<void> {
    await this.#call('DELETE', path, {})
  }

  async #call<T>(method: Method, path: string, asked: Asked): Promise<T> {
    const headers = this.#headers(asked)
    const tries = method === 'GET' || asked.creates ? TRIES : 1
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#send<T>(method, path, asked, headers)
      } catch (error) {
        if (!(error instanceof Lost) || attempt >= tries) throw error instanceof Lost ? error.reason : error
        await wait(this.#options.clock, PAUSE_MS * attempt)
      }
    }
  }

  /** Made once for all tries, because the idempotency key must stay the same. */
  #headers({ body, ifMatch, creates }: Asked): Readonly<Record<string, string>> {
    const { token, dice } = this.#options
    return {
      accept: 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(ifMatch !== undefined && { 'if-match': `"${ifMatch}"` }),
      ...(creates && { 'idempotency-key': dice.token() }),
    }
  }

  async #send<T>(method: Method, path: string, asked: Asked, headers: Readonly<Record<string, string>>): Promise<T> {
    const { clock, fetch: send = fetch } = this.#options
    const { body, query = {}, timeoutMs = TIMEOUT_MS } = asked
    const silence = new AbortController()
    const timer = clock.timer(timeoutMs, () => silence.abort(new Silent(timeoutMs)))
    try {
      const response = await send(`${this.url}/api/v1${path}${queryText(query)}`, {
        method,
        headers,
        redirect: 'manual',
        signal: silence.signal,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      return await this.#read<T>(response)
    } catch (error) {
      if (error instanceof ChronosError) throw error
      if (silence.signal.aborted) throw unreachable(this.url, silence.signal.reason)
      throw isLost(error) ? new Lost(unreachable(this.url, error)) : error
    } finally {
      timer.cancel()
    }
  }

  async #read<T>(response: Response): Promise<T> {
    const { status } = response
    if (status === 204) return undefined as T
    if (status >= 300 && status < 400) throw noChronos(this.url, `it redirects to ${response.headers.get('location')}`)
    const text = await response.text()
    const body = parsed(text)
    if (!response.ok) throw errorOf(status, body, this.url)
    if (body === undefined) throw noChronos(this.url, `${response.headers.get('content-type') ?? 'no type'}`)
    return body as T
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
    for (const one of value === undefined ? [] : [value].flat()) all.append(name, String(one))
  }
  const text = all.toString()
  return text === '' ? '' : `?${text}`
}

/** Encodes a segment of a path. */
export function part(text: string): string {
  return encodeURIComponent(text)
}
