import { shownUrl } from '../../core/http/shown-url.js'
import { timeText } from '../../core/job/view.js'
import { present } from '../../core/values/present.js'
import { DELIVERIES } from '../../core/webhook/delivery.js'
import { afterFailure, afterSuccess, disabled, type Endpoint } from '../../core/webhook/webhook.js'
import type { QueueRecord } from '../../store/store.js'
import type { JobDefinition } from '../client/definition.js'
import type { Environment } from '../client/environment.js'
import { EventHub } from '../client/events.js'
import type { Dependencies } from '../dependencies/dependencies.js'
import type { Egress } from '../egress/egress.js'
import { Crew } from '../fleet/crew.js'
import { LEASE_DEFAULT_MS } from '../leases/options.js'
import { Worker } from '../worker/worker.js'
import { deliveryJob, type Health } from './delivery-job.js'
import type { Endpoints } from './endpoints.js'

/** For all endpoints together. Deliveries mostly wait for responses and hardly use this process. */
const CONCURRENCY = 250
/** A delivery in flight has its response within this time. */
const GRACE_MS = 20_000

export interface DelivererPace {
  /** Interval of polling for deliveries of which no notification arrived. */
  readonly deliveriesMs: number
  /** How often to read the endpoints and listeners if there are some. */
  readonly webhookChangesMs: number
  /** How often to read them if there are none. */
  readonly webhooksMs: number
}

interface DelivererOptions {
  readonly env: Environment
  readonly endpoints: Endpoints
  readonly egress: Egress
  readonly dependencies: Dependencies
  readonly pace: DelivererPace
  /** The other jobs of the deliveries queue. */
  readonly others: readonly JobDefinition<never>[]
}

/** Sends the deliveries with a worker of its own, started when there is the first one to send. */
export class Deliverer implements Health {
  readonly #options: DelivererOptions
  readonly #env: Environment
  readonly #definition: JobDefinition
  /** As that of the process's other jobs: after a crash, deliveries wait no longer than they do. */
  leaseMs = LEASE_DEFAULT_MS
  #worker: Worker | undefined
  #starting: Promise<void> | undefined
  #mayRun = false

  constructor(options: DelivererOptions) {
    const { env, endpoints, egress } = options
    this.#options = options
    // Deliveries raise no events: listeners expect events about jobs.
    this.#env = { ...env, events: new EventHub(env.log) }
    const { time } = env
    this.#definition = deliveryJob({ endpoints, egress, time, health: this }) as JobDefinition
  }

  /** A step of a loop: reads the endpoints and listeners, and starts the worker if a delivery waits. */
  async step(): Promise<number> {
    this.#mayRun = true
    const { endpoints, pace } = this.#options
    const { outbox } = this.#env
    await outbox.load()
    if (!this.#worker && (endpoints.size > 0 || (await this.#hasWork()))) await this.#start()
    return outbox.isUsed ? pace.webhookChangesMs : pace.webhooksMs
  }

  /** There may be a delivery now, or in `delayMs`. */
  wake(delayMs = 0): void {
    this.#worker?.wake(delayMs)
  }

  /** There is a delivery to send. */
  hasNew(): void {
    if (this.#worker || !this.#mayRun) this.wake()
    // If the store is unavailable, a later step starts the worker.
    else this.#start().catch(() => undefined)
  }

  /** The settings of all queues, which another process may have changed. */
  async seen(queues: readonly QueueRecord[]): Promise<void> {
    const { limits } = this.#options.endpoints
    if (limits.isLostBy(queues)) await limits.write()
  }

  pauseQueue(queue: string): void {
    this.#worker?.pauseQueue(queue)
  }

  async stop(): Promise<void> {
    this.#mayRun = false
    await this.#starting?.catch(() => undefined)
    const worker = this.#worker
    this.#worker = undefined
    await worker?.stop()
  }

  async #hasWork(): Promise<boolean> {
    const store = await this.#env.connection.store()
    return (await store.count({ queue: DELIVERIES, state: ['waiting', 'running'] }, 1)).value > 0
  }

  /** The first claim must find the limits of the endpoints. */
  #start(): Promise<void> {
    this.#starting ??= this.#options.endpoints.limits
      .write()
      .then(() => this.#open())
      .finally(() => {
        this.#starting = undefined
      })
    return this.#starting
  }

  #open(): void {
    if (!this.#mayRun || this.#worker) return
    const { dependencies, pace, others } = this.#options
    this.#worker = new Worker({
      // Counts as a process of its own: deliveries crash no worker, and run beside suspects.
      crew: new Crew(),
      env: this.#env,
      definitions: [this.#definition, ...others],
      builtIns: [],
      settings: {
        concurrency: CONCURRENCY,
        queues: [DELIVERIES],
        leaseMs: this.leaseMs,
        pollMs: pace.deliveriesMs,
        graceMs: GRACE_MS,
      },
      backoffs: {},
      dependencies,
      onStopped: () => undefined,
    })
  }

  // Changes of endpoints. The outcome of a delivery does not depend on whether these are stored.

  succeeded(endpointId: string): void {
    this.#note(endpointId, afterSuccess)
  }

  failed(endpointId: string): void {
    this.#note(endpointId, afterFailure)
  }

  async gone(endpointId: string): Promise<void> {
    await this.#change(endpointId, (endpoint, now) => disabled(endpoint, 'gone', now))
  }

  #note(endpointId: string, change: (endpoint: Endpoint, now: number) => Endpoint): void {
    const known = this.#options.endpoints.peek(endpointId)
    // Usually nothing changes, and no store call is needed.
    if (known && change(known, this.#env.time.now()) === known) return
    void this.#change(endpointId, change)
  }

  async #change(endpointId: string, change: (endpoint: Endpoint, now: number) => Endpoint): Promise<void> {
    const { endpoints, env } = this.#options
    try {
      const news = (next: Endpoint) =>
        next.state === 'disabled'
          ? env.outbox.deliveries({ type: 'webhook.disabled', ...tenantOf(next) }, factsOf(next))
          : []
      const { endpoint, isChanged } = await endpoints.change(endpointId, change, news)
      if (isChanged && endpoint.state === 'disabled') this.#announce(endpoint)
    } catch (error) {
      env.log.warn({ event: 'webhook.unnoted', endpointId, err: error }, 'failed to record delivery result')
    }
  }

  #announce(endpoint: Endpoint): void {
    const { log, events, outbox } = this.#options.env
    const facts = factsOf(endpoint)
    // The URL may contain a secret.
    const { url: _, ...logged } = facts
    log.error({ event: 'webhook.disabled', ...logged }, 'webhook endpoint disabled')
    events.emit('webhook.disabled', facts)
    outbox.wake()
  }
}

function tenantOf({ tenantId }: Endpoint): { readonly tenantId?: string } {
  return tenantId === undefined ? {} : { tenantId }
}

function factsOf(endpoint: Endpoint) {
  const { id: endpointId, url, disabledReason, failingSince } = endpoint
  return present({
    endpointId,
    url: shownUrl(url),
    reason: disabledReason ?? ('by-hand' as const),
    ...tenantOf(endpoint),
    failingSince: timeText(failingSince),
  })
}
