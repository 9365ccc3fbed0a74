import type { Agent } from 'undici'
import type { Clock } from '../../core/values/clock.js'
import { ChronosError } from '../../core/values/error.js'
import type { Log } from '../client/log.js'
import { EgressBlocked } from './blocked.js'
import { type ConnectionWitness, guardedConnector } from './connector.js'
import { type Answer, Exchange, type Hop } from './exchange.js'
import { nextHop, tooManyRedirects } from './redirect.js'
import type { EgressRules, Trust } from './rules.js'
import { checkTarget } from './target.js'

export interface EgressRequest extends Omit<Hop, 'url'> {
  readonly url: string
  /** From the look-up of the name to the last byte that is read, over all redirects. */
  readonly timeoutMs: number
  /** How much of the answer's body is read; where there is more, the connection is closed. */
  readonly bodyMaxBytes: number
  /** Default 0: a redirect is an answer like any other. */
  readonly redirectsMax?: number
  /** Default `untrusted`. */
  readonly trust?: Trust
  /** Not over a connection that is open already: that one may be closing, and nobody would know what became of the request. */
  readonly freshConnection?: boolean
  readonly signal?: AbortSignal
}

export interface EgressAnswer extends Answer {
  readonly redirects: number
}

interface EgressParts {
  readonly clock: Clock
  readonly log: Log
  readonly rules: EgressRules
}

/** So long an idle connection may be kept; its address was looked at when it was opened, and not since. */
const KEEP_ALIVE_MS = 4_000
const KEEP_ALIVE_MAX_MS = 30_000
const RESPONSE_HEADERS_MAX_BYTES = 16 * 1024

/** The one place that opens connections to elsewhere. */
export class Egress {
  readonly #parts: EgressParts
  readonly #agents = new Map<string, Agent>()
  #undici: Promise<typeof import('undici')> | undefined
  /** Whose request is being handed to undici: a connection that it opens meanwhile is for this one. */
  #sending: ConnectionWitness | undefined
  readonly #live = new Set<Exchange>()
  #closed = false

  constructor(parts: EgressParts) {
    this.#parts = parts
  }

  /** Whether a request may be sent there, as far as can be said without asking anybody. Throws where it may not. */
  check(url: string | URL, trust: Trust = 'untrusted'): URL {
    try {
      return checkTarget(url, this.#parts.rules, trust)
    } catch (error) {
      throw this.#noted(error)
    }
  }

  /** An answer, whatever its status. Throws `EgressBlocked`, an `HttpError`, or the reason of the signal. */
  async send(request: EgressRequest): Promise<EgressAnswer> {
    const { url, method, headers, body, redirectsMax = 0, trust = 'untrusted' } = request
    let hop: Hop = { url: this.check(url, trust), method, headers, ...(body !== undefined && { body }) }
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

  /** Cuts off what is still on its way. */
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
    // An answer that came while this thread was busy is read first.
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
      agent.dispatch({ origin, path: pathname + search, method, headers, body: body ?? null }, exchange)
    } finally {
      this.#sending = undefined
    }
  }

  /** What one level of trust opened is not there for the other. */
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
      // Ours counts over everything.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
    this.#agents.set(key, agent)
    return agent
  }

  /** Not before somebody sends something: it is large, and most programs never do. */
  #load(): Promise<typeof import('undici')> {
    this.#undici ??= import('undici')
    return this.#undici
  }

  /** Who runs Chronos learns what whoever sent it must not. */
  #noted(error: unknown): unknown {
    if (error instanceof EgressBlocked) {
      const { by, host } = error
      this.#parts.log.warn({ event: 'egress.blocked', by, host: host.slice(0, 253) }, 'request was blocked')
    }
    return error
  }
}
