import { HttpError } from '../../../src/core/failure/http-error.js'
import { Egress, type EgressAnswer, type EgressParts, type EgressRequest } from '../../../src/engine/egress/egress.js'
import type { Coverage } from '../coverage.js'
import type { Ledger } from '../ledger.js'
import type { Chance } from './chance.js'
import type { EndpointPlan, Features, Window } from './features.js'
import type { Host } from './host.js'
import type { Timeline } from './timeline.js'

interface NetworkOptions {
  readonly timeline: Timeline
  readonly chance: Chance
  readonly features: Features
  readonly ledger: Ledger
  readonly coverage: Coverage
}

/** The other sides: services that handlers call, and receivers of webhooks. They fail by plan until everything heals. */
export class Network {
  readonly #options: NetworkOptions
  readonly #startAt: number
  #healed = false

  constructor(options: NetworkOptions) {
    this.#options = options
    this.#startAt = options.timeline.now()
  }

  heal(): void {
    this.#healed = true
  }

  isDown(service: number, tenantId: string | undefined): boolean {
    return this.#isIn(this.#options.features.services[service]!.downs[tenantId ?? ''] ?? [])
  }

  /** Some services say in half of their refusals when to come back. */
  retryAfterOf(service: number): number | undefined {
    const { features, chance } = this.#options
    return chance.is(0.5) ? features.services[service]!.retryAfterS : undefined
  }

  egressOf(host: Host): (parts: EgressParts) => Egress {
    return parts => new VirtualEgress(parts, request => this.#send(host, request))
  }

  #isIn(windows: readonly Window[]): boolean {
    const at = this.#options.timeline.now() - this.#startAt
    return !this.#healed && windows.some(({ from, until }) => from <= at && at < until)
  }

  /** The receiver records what it got, whether or not its response arrives. */
  #send(host: Host, { url, headers, body, timeoutMs, signal }: EgressRequest): Promise<EgressAnswer> {
    const { timeline, chance, features, ledger, coverage } = this.#options
    const endpoint = features.endpoints.findIndex(one => one.url === url)
    const plan = features.endpoints[endpoint]!
    return new Promise((resolve, reject) => {
      if (host.isGone) return
      const later = (ms: number, run: () => void): void => {
        timeline.at(timeline.now() + ms, () => host.deliver('answer', run))
      }
      const stop = (): void => reject(signal!.reason)
      signal?.addEventListener('abort', stop, { once: true })
      const tookMs = this.#healed ? 5 : chance.between(0, plan.slowMs)
      const status = this.#statusOf(plan)
      const isReceived = status !== undefined || chance.is(0.5)
      const receiptAt = timeline.now() + Math.min(tookMs, timeoutMs)
      const messageId = String(headers['webhook-id'])
      if (isReceived) {
        const accepted = status === 200
        timeline.at(receiptAt, () => {
          ledger.receipts.push({ endpoint, messageId, body: String(body), at: timeline.now(), accepted })
          coverage.count('webhook received')
        })
      }
      if (tookMs >= timeoutMs) {
        later(timeoutMs, () => reject(new HttpError('timed out', { code: 'ETIMEDOUT', timedOut: true })))
      } else if (status === undefined || (!this.#healed && chance.is(plan.lost))) {
        coverage.count('webhook response lost')
        later(tookMs, () =>
          reject(new HttpError('connection reset', { code: 'ECONNRESET', maybeExecuted: isReceived })),
        )
      } else {
        if (status !== 200) coverage.count('webhook refused')
        later(tookMs, () => resolve(answerOf(status, tookMs)))
      }
    })
  }

  /** Undefined: the connection breaks. */
  #statusOf({ downs }: EndpointPlan): number | undefined {
    return this.#isIn(downs) ? this.#options.chance.pick([500, 503, 429, 302, undefined]) : 200
  }
}

function answerOf(status: number, totalMs: number): EgressAnswer {
  const timing = { totalMs } as EgressAnswer['timing']
  const headers: Record<string, string> = status === 429 ? { 'retry-after': '2' } : {}
  return { status, headers, body: Buffer.from(''), truncated: false, timing, redirects: 0 } as unknown as EgressAnswer
}

class VirtualEgress extends Egress {
  readonly #transmit: (request: EgressRequest) => Promise<EgressAnswer>

  constructor(parts: EgressParts, transmit: (request: EgressRequest) => Promise<EgressAnswer>) {
    super(parts)
    this.#transmit = transmit
  }

  override async send(request: EgressRequest): Promise<EgressAnswer> {
    this.check(request.url)
    return this.#transmit(request)
  }
}
