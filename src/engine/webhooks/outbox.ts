import type { Job } from '../../core/job/job.js'
import { isInternal } from '../../core/queue/internal.js'
import { wait } from '../../core/values/clock.js'
import { DELIVERIES, DELIVERY_JOB, endpointKey } from '../../core/webhook/delivery.js'
import { type JobNews, jobMessageBody, messageBody } from '../../core/webhook/message.js'
import type { Endpoint, MessageType, Subject, WebhookEvent } from '../../core/webhook/webhook.js'
import type { Claimed, NewJob, RunEnd, Settlement } from '../../store/store.js'
import type { Environment } from '../client/environment.js'
import type { EventHub } from '../client/events.js'
import type { Log } from '../client/log.js'
import type { Listeners } from '../listeners/listeners.js'
import { backOffMs } from '../time/loop.js'
import type { Endpoints } from './endpoints.js'

interface Parts extends Pick<Environment, 'connection' | 'clock' | 'dice' | 'time' | 'log'> {
  readonly endpoints: Endpoints
  readonly listeners: Listeners
  /** Called when there is a delivery to send. */
  readonly onDelivery: () => void
  /** Called when there is an event for a listener. */
  readonly onEvent: () => void
}

/** The payload of a delivery: enough to send the same message repeatedly. */
export interface DeliveryPayload {
  /** `webhook-id`: the same for all attempts and redrives. */
  readonly messageId: string
  readonly type: MessageType
  readonly endpointId?: string
  /** Set if the job named its own URL. */
  readonly url?: string
  /** The exact body that is signed and sent. */
  readonly body: string
}

const PRIORITY = 5

/**
 * Makes deliveries of events, to webhook endpoints and to listeners of other processes. Deliveries are jobs, and they
 * are stored in the transaction of the change that they report.
 */
export class Outbox {
  readonly #parts: Parts
  readonly #endpoints: Endpoints
  readonly #listeners: Listeners
  #wasUsed = false
  #hasEvents = false

  constructor(parts: Parts) {
    this.#parts = parts
    this.#endpoints = parts.endpoints
    this.#listeners = parts.listeners
  }

  /** The endpoints and listeners are known. Before that, no run may end. */
  get isReady(): boolean {
    return this.#endpoints.isLoaded && this.#listeners.isLoaded
  }

  /** There is an endpoint or a listener. */
  get isUsed(): boolean {
    return this.#endpoints.size > 0 || this.#listeners.size > 0
  }

  /** Reads the endpoints and listeners. */
  async load(): Promise<void> {
    await Promise.all([this.#endpoints.load(), this.#listeners.load()])
  }

  /** The same with retries until the store answers or is closed. */
  async ready(): Promise<void> {
    const { connection, clock, dice, log } = this.#parts
    for (let failures = 0; !this.isReady && !connection.isClosed; failures++) {
      try {
        await this.load()
      } catch (error) {
        const retryInMs = backOffMs(failures, dice)
        log.warn({ event: 'store.unavailable', retryInMs, err: error }, 'store unavailable, buffering results')
        await wait(clock, retryInMs)
      }
    }
  }

  /** The same for callers that change jobs in a process where no loop reads them. */
  async fresh(): Promise<void> {
    await Promise.all([this.#endpoints.fresh(), this.#listeners.fresh()])
  }

  /** Adds the deliveries about a run to its settlement. */
  attach(settlement: Settlement, claimed: Claimed): Settlement {
    if ((!this.isUsed && claimed.webhook === undefined) || isInternal(claimed.queue)) return settlement
    const { end } = settlement
    const spawn = end.kind === 'ended' ? this.#ofJob(newsOf(settlement, end, claimed)) : []
    const mayBeCancelled = end.kind === 'handed-back' || end.transition.to === 'waiting'
    const spawnIfCancelled = mayBeCancelled ? this.#ofJob(cancelNews(settlement, claimed)) : []
    if (spawn.length + spawnIfCancelled.length === 0) return settlement
    return {
      ...settlement,
      end: {
        ...end,
        ...(spawn.length > 0 && { spawn }),
        ...(spawnIfCancelled.length > 0 && { spawnIfCancelled }),
      } as RunEnd,
    }
  }

  /** The deliveries about a job that ended without a run. */
  following(job: Job): readonly NewJob[] {
    if (isInternal(job.queue)) return []
    const { reason, finishedAt, error } = job
    const at = finishedAt === undefined || reason === 'discarded' ? this.#parts.time.now() : finishedAt
    const more = { ...(reason !== undefined && { reason }), ...(error && { error }) }
    return this.#ofJob({ type: job.state === 'dead' ? 'job.dead' : 'job.cancelled', job, at, ...more })
  }

  /** Enqueues the deliveries of an event that is not about one job. */
  async notify(type: WebhookEvent, data: object, tenantId?: string): Promise<void> {
    await this.#endpoints.fresh()
    const jobs = this.deliveries({ type, ...(tenantId !== undefined && { tenantId }) }, data)
    if (jobs.length === 0) return
    await (await this.#parts.connection.store()).enqueue(jobs)
    this.wake()
  }

  deliveries(subject: Subject, data: object): readonly NewJob[] {
    const endpoints = this.#endpoints.wanting(subject)
    if (endpoints.length === 0) return []
    const message = this.#message(subject.type, messageBody(subject.type, this.#parts.time.now(), data))
    return endpoints.map(endpoint => this.#toEndpoint(endpoint, message))
  }

  /** A test message for one endpoint, whatever events it subscribed to. */
  testOf(endpoint: Endpoint): NewJob {
    const data = { endpointId: endpoint.id, message: 'a test of this webhook' }
    const body = messageBody('webhook.test', this.#parts.time.now(), data)
    return this.#toEndpoint(endpoint, this.#message('webhook.test', body))
  }

  /** The deliveries are stored and can be sent. */
  wake(): void {
    if (this.#wasUsed) this.#parts.onDelivery()
    if (this.#hasEvents) this.#parts.onEvent()
  }

  #ofJob(news: JobNews | undefined): readonly NewJob[] {
    if (news === undefined) return []
    const events = this.#listeners.jobsFor(news)
    if (events.length > 0) this.#hasEvents = true
    return [...this.#messagesOf(news), ...events]
  }

  #messagesOf(news: JobNews): readonly NewJob[] {
    const { type, job } = news
    const { tenantId, webhook } = job
    const subject = { type, job, ...(tenantId !== undefined && { tenantId }) }
    const endpoints = this.#endpoints.wanting(subject)
    const url = type === 'job.retrying' ? undefined : webhook
    if (endpoints.length === 0 && url === undefined) return []
    const message = this.#message(type, jobMessageBody(news))
    const jobs = endpoints.map(endpoint => this.#toEndpoint(endpoint, message))
    return url === undefined ? jobs : [...jobs, this.#toUrl(url, message, tenantId)]
  }

  #message(type: MessageType, body: string): Pick<DeliveryPayload, 'messageId' | 'type' | 'body'> {
    const { dice, clock } = this.#parts
    return { messageId: `msg_${dice.id(clock.now()).replaceAll('-', '')}`, type, body }
  }

  /** It belongs to the tenant of the endpoint, because it shows how that endpoint answered. */
  #toEndpoint(
    { id: endpointId, retry, tenantId }: Endpoint,
    message: Pick<DeliveryPayload, 'messageId' | 'type' | 'body'>,
  ): NewJob {
    const job = this.#delivery({ ...message, endpointId }, endpointKey(endpointId), tenantId)
    return { ...job, tags: [endpointId, message.type], ...(retry && { override: retry }) }
  }

  /** It belongs to the tenant of the job that named the URL. */
  #toUrl(
    url: string,
    message: Pick<DeliveryPayload, 'messageId' | 'type' | 'body'>,
    tenantId: string | undefined,
  ): NewJob {
    return this.#delivery({ ...message, url }, endpointKey(new URL(url).origin), tenantId)
  }

  #delivery(payload: DeliveryPayload, dependency: string, tenantId: string | undefined): NewJob {
    const { dice, clock } = this.#parts
    this.#wasUsed = true
    return {
      id: dice.id(clock.now()),
      name: DELIVERY_JOB,
      queue: DELIVERIES,
      priority: PRIORITY,
      delivery: 'at-least-once',
      payload: JSON.stringify(payload),
      runAt: { delayMs: 0 },
      tags: [payload.type],
      dependency,
      ...(tenantId !== undefined && { tenantId }),
    }
  }
}

/** Undefined if the run changed nothing that is reported. */
function newsOf(
  { startedAt, finishedAt: at }: Settlement,
  { transition, error, result }: Extract<RunEnd, { kind: 'ended' }>,
  claimed: Claimed,
): JobNews | undefined {
  const { to, attemptBack, reason, delayMs } = transition
  const job = attemptBack ? { ...claimed, attempt: claimed.attempt - 1 } : claimed
  const ran = { job, at, startedAt }
  const failure = error && { error }
  switch (to) {
    case 'succeeded':
      return { type: 'job.succeeded', ...ran, ...(result !== undefined && { result }) }
    case 'dead':
      return { type: 'job.dead', ...ran, ...failure, ...(reason !== undefined && { reason }) }
    case 'cancelled':
      return { type: 'job.cancelled', ...ran, ...failure }
    case 'waiting':
      return attemptBack ? undefined : { type: 'job.retrying', ...ran, ...failure, delayMs }
  }
}

/** The job was cancelled meanwhile, so it ends where it would have waited again. */
function cancelNews({ end, startedAt, finishedAt: at }: Settlement, claimed: Claimed): JobNews {
  if (end.kind === 'handed-back') {
    // The handler never started, so the counts are those from before the claim.
    return { type: 'job.cancelled', job: { ...claimed, run: claimed.run - 1, attempt: claimed.attempt - 1 }, at }
  }
  const attempt = end.transition.attemptBack ? claimed.attempt - 1 : claimed.attempt
  return { type: 'job.cancelled', job: { ...claimed, attempt }, at, startedAt, ...(end.error && { error: end.error }) }
}

/** Sends events of this process to webhook endpoints. Each of these events is raised once in the whole fleet. */
export function relay(events: EventHub, outbox: Outbox, log: Log): void {
  const notify = (type: WebhookEvent, data: object, tenantId?: string): void => {
    outbox.notify(type, data, tenantId).catch((error: unknown) => {
      log.error({ event: 'webhook.untold', type, err: error }, 'failed to enqueue webhook deliveries')
    })
  }
  events.on('schedule.skipped', event => notify('schedule.skipped', event, event.tenantId))
  for (const type of ['circuit.opened', 'circuit.closed'] as const) {
    // Circuits of webhook endpoints are not reported, because deliveries raise no events.
    events.on(type, event => event.key.startsWith(endpointKey('')) || notify(type, event, event.tenantId))
  }
}
