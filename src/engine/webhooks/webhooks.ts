import type { JobView } from '../../core/job/view.js'
import { type RecoverOptions, recoverOptions } from '../../core/redrive/redrive.js'
import { ChronosError } from '../../core/values/error.js'
import { present } from '../../core/values/present.js'
import { type Infer, read } from '../../core/values/schema.js'
import { object } from '../../core/values/shape.js'
import { DELIVERIES } from '../../core/webhook/delivery.js'
import {
  disabled,
  type Endpoint,
  type EndpointInput,
  type EndpointLimitsInput,
  type EndpointView,
  enabled,
  endpointLimits,
  endpointState,
  type ParsedEndpoint,
  parseEndpoint,
  viewEndpoint,
  withLimits,
  withSecret,
} from '../../core/webhook/webhook.js'
import { timeOf } from '../client/enqueuer.js'
import type { Environment } from '../client/environment.js'
import type { Redrives, RedriveView } from '../dead/redrives.js'
import { EgressBlocked } from '../egress/blocked.js'
import type { Egress } from '../egress/egress.js'
import type { Jobs } from '../jobs/jobs.js'
import { type List, listOf, PAGE_DEFAULT, type PageQuery, tenantQuery } from '../jobs/query.js'
import { checkSupport } from '../limits/declared.js'
import { type Endpoints, PER_JOB } from './endpoints.js'
import { newSecret } from './signature.js'

/** A new secret, returned only once. */
export interface NewSecret {
  /** `whsec_…`, for `verifyWebhook`. */
  readonly secret: string
}

export type { RecoverOptions } from '../../core/redrive/redrive.js'

export const webhookQuery = object({}, { state: endpointState, ...tenantQuery.optional })
export type WebhookQuery = Infer<typeof webhookQuery>

export interface DeliveryQuery extends PageQuery {
  readonly state?: JobView['state']
}

interface WebhooksOptions {
  readonly env: Environment
  readonly endpoints: Endpoints
  readonly egress: Egress
  readonly jobs: Jobs
  readonly redrives: Redrives
}

/** `chronos.webhooks`: webhook endpoints and their deliveries. */
export class Webhooks {
  readonly #options: WebhooksOptions

  constructor(options: WebhooksOptions) {
    this.#options = options
  }

  /** Creates an endpoint. Its secret is returned here and never again. */
  async create(input: EndpointInput): Promise<EndpointView & NewSecret> {
    const { settings, secret: given } = await this.#checked(input, 'webhooks.create')
    const { dice, clock } = this.#options.env
    const secret = given ?? newSecret(dice)
    const now = await this.#now()
    const endpoint: Endpoint = {
      id: `wh_${dice.id(clock.now()).replaceAll('-', '')}`,
      ...settings,
      state: 'enabled',
      secrets: withSecret([], secret, now),
      createdAt: now,
      updatedAt: now,
    }
    await this.#options.endpoints.create(endpoint)
    await this.#writeLimits()
    return { ...viewEndpoint(endpoint, now), secret }
  }

  /** Endpoints by id, oldest first. */
  async list(query: WebhookQuery = {}): Promise<List<EndpointView>> {
    const { limit = PAGE_DEFAULT, cursor: from, tenantId, state } = read(webhookQuery, query, 'webhooks.list:')
    const isWanted = (endpoint: Endpoint): boolean =>
      (tenantId === undefined || endpoint.tenantId === tenantId) && (state === undefined || endpoint.state === state)
    const found = await this.#options.endpoints.page(present({ limit: limit + 1, from }), isWanted)
    const now = this.#options.env.time.now()
    return listOf(
      found.slice(0, limit).map(({ body }) => viewEndpoint(body, now)),
      found[limit]?.id,
    )
  }

  async get(id: string): Promise<EndpointView> {
    return this.#view(await this.#options.endpoints.get(id))
  }

  /** Replaces the settings: those that are not given get their defaults. State, secrets and deliveries stay. */
  async update(id: string, input: EndpointInput): Promise<EndpointView> {
    const { settings, secret } = await this.#checked(input, 'webhooks.update')
    const { endpoint } = await this.#options.endpoints.change(
      id,
      ({ queues: _q, names: _n, tenantId: _t, retry: _r, concurrency: _c, rate: _s, ...kept }, now) => ({
        ...kept,
        ...settings,
        ...(secret !== undefined && { secrets: withSecret(kept.secrets, secret, now) }),
        updatedAt: now,
      }),
    )
    await this.#writeLimits()
    return this.#view(endpoint)
  }

  /** Changes how many deliveries the endpoint gets; null is the default, and what is absent stays as it is. */
  async limit(id: string, limits: EndpointLimitsInput): Promise<EndpointView> {
    const change = read(endpointLimits, limits, 'webhooks.limit:')
    await this.#checkLimits(change, 'webhooks.limit')
    const changed = await this.#change(id, (endpoint, now) => withLimits(endpoint, change, now))
    await this.#writeLimits()
    return changed
  }

  /** Deletes the endpoint. Pending deliveries to it end as `endpoint-disabled`. */
  async delete(id: string): Promise<void> {
    await this.#options.endpoints.delete(id)
    await this.#writeLimits()
  }

  async enable(id: string): Promise<EndpointView> {
    return this.#change(id, (endpoint, now) => (endpoint.state === 'enabled' ? endpoint : enabled(endpoint, now)))
  }

  async disable(id: string): Promise<EndpointView> {
    return this.#change(id, (endpoint, now) => disabled(endpoint, 'by-hand', now))
  }

  /**
   * Replaces the secret; the old one also signs for another day. `'per-job'` rotates the secret for URLs that jobs name
   * themselves.
   */
  async rotateSecret(id: string): Promise<NewSecret> {
    if (id === PER_JOB) return { secret: await this.#options.endpoints.rotatePerJob() }
    const secret = newSecret(this.#options.env.dice)
    await this.#options.endpoints.change(id, (endpoint, now) => ({
      ...endpoint,
      secrets: withSecret(endpoint.secrets, secret, now),
      updatedAt: now,
    }))
    return { secret }
  }

  /** Sends a message of the type `webhook.test`. Returns the id of the delivery. */
  async test(id: string): Promise<{ readonly id: string }> {
    const { env, endpoints } = this.#options
    const endpoint = await endpoints.get(id)
    if (endpoint.state === 'disabled') {
      throw new ChronosError('NOT_ALLOWED', `webhook ${id} is disabled; enable it first`, {
        details: { webhookId: id, disabledReason: endpoint.disabledReason },
      })
    }
    const job = env.outbox.testOf(endpoint)
    await (await env.connection.store()).enqueue([job])
    env.outbox.wake()
    return { id: job.id }
  }

  /**
   * Deliveries to an endpoint, newest first. They are jobs and can be inspected and retried like others. An endpoint of a
   * tenant shows those of its tenant: it may have belonged to no tenant, or to another one.
   */
  async deliveries(id: string, { state, ...page }: DeliveryQuery = {}): Promise<List<JobView>> {
    const { tenantId } = await this.#options.endpoints.get(id)
    return this.#options.jobs.list(present({ queue: DELIVERIES, tag: id, state, tenantId }), page)
  }

  /** Redrives the deliveries that died since a time. */
  async recover(id: string, options: RecoverOptions): Promise<RedriveView> {
    const { since, ...rest } = read(recoverOptions, options, 'webhooks.recover:')
    const createdAfter = timeOf(since, 'since')
    const { tenantId } = await this.#options.endpoints.get(id)
    const query = present({ queue: DELIVERIES, tag: id, createdAfter, tenantId })
    return this.#options.redrives.start(query, { canary: 1, ...rest })
  }

  async #checked(input: EndpointInput, where: string): Promise<ParsedEndpoint> {
    const parsed = parseEndpoint(input, where)
    checkAddress(parsed.settings.url, this.#options.egress, `${where}: url`)
    await this.#checkLimits(parsed.settings, where)
    return parsed
  }

  async #checkLimits({ concurrency, rate }: EndpointLimitsInput, where: string): Promise<void> {
    if (concurrency == null && rate == null) return
    checkSupport(await this.#options.env.connection.store(), where)
  }

  async #change(id: string, change: (endpoint: Endpoint, now: number) => Endpoint): Promise<EndpointView> {
    const { endpoint } = await this.#options.endpoints.change(id, change)
    return this.#view(endpoint)
  }

  /** More deliveries may start now. */
  async #writeLimits(): Promise<void> {
    const { endpoints, env } = this.#options
    await endpoints.limits.write()
    env.onTurn(DELIVERIES)
  }

  #view(endpoint: Endpoint): EndpointView {
    return viewEndpoint(endpoint, this.#options.env.time.now())
  }

  async #now(): Promise<number> {
    return (await (await this.#options.env.connection.store()).info()).now
  }
}

/** Checks at once whether a webhook may be sent to this URL. Every delivery checks it again. */
export function checkAddress(url: string, egress: Egress, where: string): void {
  try {
    egress.check(url)
  } catch (error) {
    if (!(error instanceof EgressBlocked)) throw error
    throw new ChronosError('NOT_ALLOWED', `${where}: ${error.message}`, { cause: error })
  }
}
