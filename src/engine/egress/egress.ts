import type { Agent } from 'undici'
import type { Clock } from '../../core/values/clock.js'
import { ChronosError } from '../../core/values/error.js'
import { present } from '../../core/values/present.js'
import type { Log } from '../client/log.js'
import { EgressBlocked } from './blocked.js'
import { type ConnectionWitness, guardedConnector } from './connector.js'
import { type Answer, Exchange, type Hop } from './exchange.js'
import { nextHop, tooManyRedirects } from './redirect.js'
import { withoutRepeatedHeaders } from './repeated-headers.js'
import type { EgressRules, Trust } from './rules.js'
import { checkTarget } from './target.js'

export interface EgressRequest extends Omit<Hop, 'url'> {
  readonly url: string
  /** From the DNS lookup to the last byte that is read, including all redirects. */
  readonly timeoutMs: number
  /** How much of the response body is read; if there is more, the connection is closed. */
  readonly bodyMaxBytes: number
  /** Default 0: a redirect is returned like any other response. */
  readonly redirectsMax?: number
  /** Default `untrusted`. */
  readonly trust?: Trust
  /**
   * Uses a new connection. An idle one may be closing, and then it would be unknown whether the request was carried
   * out.
   */
  readonly freshConnection?: boolean
  readonly signal?: AbortSignal
}

export interface EgressAnswer extends Answer {
  readonly redirects: number
}

export interface EgressParts {
  readonly clock: Clock
  readonly log: Log
  readonly rules: EgressRules
}

/** How long an idle connection is kept. Its address was checked only when it was opened. */
const KEEP_ALIVE_MS = 4_000
const KEEP_ALIVE_MAX_MS = 30_000
const RESPONSE_HEADERS_MAX_BYTES = 16 * 1024

/** The only place that opens connections to other hosts. */
export class Egress {
  readonly #parts: EgressParts
  readonly #agents = new Map<string, Agent>()
  #undici: Promise<typeof import('undici')> | undefined
  /** The request that is being passed to undici; a connection that undici opens meanwhile is for this one. */
  #sending: ConnectionWitness | undefined
  readonly #live = new Set<Exchange>()
  #closed = false

  constructor(parts: EgressParts) {
    this.#parts = parts
  }

  /** Checks a URL as far as possible without a DNS lookup. Throws if it is not allowed. */
  check(url: string | URL, trust: Trust = 'untrusted'): URL {
    try {
      return checkTarget(url, this.#parts.rules, trust)
    } catch (error) {
      throw this.#noted(error)
    }
  }

  /** Returns the response, whatever its status. Throws `EgressBlocked`, an `HttpError`, or the reason of the signal. */
  async send(request: EgressRequest): Promise<EgressAnswer> {
    const { url, method, headers, body, redirectsMax = 0, trust = 'untrusted' } = request
    let hop: Hop = present({ url: this.check(url, trust), method, headers, body })
    const undici = await this.#load()
    const until = this.#parts.clock.now() + request.timeoutMs
    for (let redirects = 0; ; redirects++) {
      const answer = await this.#exchange(hop, request, until, undici)
      const next = redirectsMax > 0 ? nextHop(hop, answer) : undefined
      if (next === undefined) return { ...answer, redirects }
      if (redirects === redirectsMax) throw tooManyRedirects(hop, answer.status, redirectsMax)
      this.check(next.url, trust)
      hop = next
    }
  }

  /** Aborts the requests in flight. */
  async close(): Promise<void> {
    this.#closed = true
    const agents = [...this.#agents.values()]
    this.#agents.clear()
    await Promise.all(agents.map(agent => agent.destroy()))
  }

  async #exchange(hop: Hop, request: EgressRequest, until: number, undici: typeof import('undici')): Promise<Answer> {
    const { clock } = this.#parts
    const { signal, timeoutMs } = request
    signal?.throwIfAborted()
    const exchange = new Exchange(hop, clock, request.bodyMaxBytes)
    const stop = (): void => exchange.stop(signal?.reason)
    signal?.addEventListener('abort', stop, { once: true })
    // A response that arrived while this thread was busy is read first.
    const timer = clock.timer(until - clock.now(), () => clock.soon(() => exchange.timeOut(timeoutMs)))
    this.#live.add(exchange)
    try {
      this.#dispatch(hop, exchange, this.#agentFor(request, undici))
      return await exchange.ended
    } catch (error) {
      throw this.#noted(error)
    } finally {
      timer.cancel()
      this.#live.delete(exchange)
      signal?.removeEventListener('abort', stop)
    }
  }

  #dispatch({ url, method, headers, body }: Hop, exchange: Exchange, agent: Agent): void {
    const { origin, pathname, search } = url
    this.#sending = exchange
    try {
      withoutRepeatedHeaders(() =>
        agent.dispatch({ origin, path: pathname + search, method, headers, body: body ?? null }, exchange),
      )
    } finally {
      this.#sending = undefined
    }
  }

  /** Connections are not shared between trust levels. */
  #agentFor({ trust = 'untrusted', freshConnection = false }: EgressRequest, undici: typeof import('undici')): Agent {
    if (this.#closed) throw new ChronosError('CLOSED', 'egress: this Chronos is closed')
    const key = `${trust} ${freshConnection ? 'fresh' : 'kept'}`
    const known = this.#agents.get(key)
    if (known) return known
    const { rules } = this.#parts
    const witness = (): ConnectionWitness | undefined => this.#sending
    const isWanted = (origin: string): boolean => [...this.#live].some(exchange => exchange.isWaitingFor(origin))
    const agent = new undici.Agent({
      connect: guardedConnector({ build: undici.buildConnector, rules, trust, witness, isWanted }),
      pipelining: freshConnection ? 0 : 1,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MAX_MS,
      maxHeaderSize: RESPONSE_HEADERS_MAX_BYTES,
      // The timeout of the request covers the whole exchange.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
    this.#agents.set(key, agent)
    return agent
  }

  /** Loaded with the first request, because it is large and most programs never need it. */
  #load(): Promise<typeof import('undici')> {
    this.#undici ??= import('undici')
    return this.#undici
  }

  /** The log has the reason that the user must not see. */
  #noted(error: unknown): unknown {
    if (error instanceof EgressBlocked) {
      const { by, host } = error
      this.#parts.log.warn(
        { event: 'egress.blocked', by, host: host.slice(0, 253) },
        'request blocked by the egress rules',
      )
    }
    return error
  }
}
