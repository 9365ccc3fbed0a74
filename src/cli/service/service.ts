import { type Clock, wait } from '../../core/values/clock.js'
import { toMs } from '../../core/values/duration.js'
import { present } from '../../core/values/present.js'
import type { Chronos } from '../../engine/client/chronos.js'
import { type JobDefinition, QUEUE_DEFAULT } from '../../engine/client/definition.js'
import type { Log } from '../../engine/client/log.js'
import type { WorkOptions } from '../../engine/client/options.js'
import { systemClock } from '../../engine/time/system.js'
import type { Worker } from '../../engine/worker/worker.js'
import type { Listening } from '../../server.js'
import { openStore } from '../backend/direct.js'
import { addressOf } from '../backend/store-address.js'
import type { Config } from '../config/load.js'
import { retentionIn, type Settings } from '../config/settings.js'

const SERVICE_LINK = 'ignoring a variable that Kubernetes sets for a Service; set enableServiceLinks to false'

export type Extra = (request: Request) => Promise<Response | undefined>

export interface ServiceOptions {
  readonly config: Config
  readonly log: Log
  /** Serve the API and the dashboard. */
  readonly server: boolean
  /** Job definitions of its worker. Absent: run no jobs. */
  readonly definitions?: readonly JobDefinition<never>[] | undefined
  /** Egress rules in addition to the configured ones. */
  readonly egressAllow?: readonly string[]
  readonly extra?: Extra
  readonly clock?: Clock
}

type Server = ReturnType<typeof import('../../server.js').createServer>

/** A long-running process: a server, a worker, or both on one store. */
export class Service {
  readonly chronos: Chronos
  readonly #settings: Settings
  readonly #options: ServiceOptions
  readonly #server: Server | undefined
  readonly #workers: Worker[] = []
  readonly #clock: Clock
  #isListening = false

  private constructor(chronos: Chronos, server: Server | undefined, options: ServiceOptions) {
    this.chronos = chronos
    this.#server = server
    this.#options = options
    this.#settings = options.config.settings
    this.#clock = options.clock ?? systemClock
  }

  static async open(options: ServiceOptions): Promise<Service> {
    const { config, log, egressAllow = [] } = options
    const { settings, sources, ignored } = config
    for (const variable of ignored) log.warn({ event: 'config.ignored', variable }, SERVICE_LINK)
    const { createChronos } = await import('../../index.js')
    const chronos = createChronos({
      store: await openStore(addressOf(settings.store, sources.store.name)),
      log,
      egress: { allow: [...settings.egressAllow, ...egressAllow] },
      retention: retentionIn(settings),
      ...present({
        retry: settings.retry,
        queues: settings.limits,
        alerts: settings.alerts,
        webhookSecret: settings.webhookSecret,
      }),
    })
    const server = options.server ? await serverOf(chronos, options) : undefined
    return new Service(chronos, server, options)
  }

  /** Listens before it starts the worker, so that a port in use is found before a job is claimed. */
  async start(): Promise<Listening | undefined> {
    const { host, port } = this.#settings
    const listening = await this.#server?.listen({ host, port })
    this.#isListening = listening !== undefined
    const { definitions } = this.#options
    if (definitions) this.work(definitions, queuesOf(definitions, this.#settings))
    return listening
  }

  work(definitions: readonly JobDefinition<never>[], queues: readonly string[]): Worker {
    const { concurrency, lease, shutdownTimeout, build } = this.#settings
    const own = { queues, concurrency, lease, grace: shutdownTimeout, signals: false }
    const options = { ...own, ...present({ build }) } as WorkOptions
    const worker = this.chronos.work(definitions, options)
    this.#workers.push(worker)
    return worker
  }

  /**
   * Reports not ready, waits until load balancers have noticed, lets running jobs finish and releases the others.
   * Requests are answered until then. The store is closed last.
   */
  async stop(): Promise<void> {
    this.#server?.drain()
    const noticed = this.#isListening ? this.#pause(drainMs(this.#settings)) : Promise.resolve()
    await Promise.all([noticed, ...this.#workers.map(worker => worker.stop())])
    await this.#server?.close()
    await this.chronos.close()
  }

  #pause(ms: number): Promise<void> {
    return ms === 0 ? Promise.resolve() : wait(this.#clock, ms)
  }
}

async function serverOf(chronos: Chronos, { config, log, extra }: ServiceOptions): Promise<Server> {
  const { token, viewerToken, basePath, allowedHosts, readOnly, mcpWrites, maxBody, envName, envColor, traceUrl } =
    config.settings
  const { createServer } = await import('../../server.js')
  return createServer(chronos, {
    basePath,
    allowedHosts,
    readOnly,
    mcp: { allowWrites: mcpWrites },
    maxBody,
    log,
    ...present({
      token,
      viewerToken,
      env: envName === undefined ? undefined : present({ name: envName, color: envColor }),
      traceUrl,
      extra,
    }),
  })
}

/** Includes the default queue, where HTTP jobs go by default. */
export function queuesOf(definitions: readonly JobDefinition<never>[], { queues }: Settings): readonly string[] {
  return queues.length > 0 ? queues : [...new Set([...definitions.map(({ queue }) => queue), QUEUE_DEFAULT])]
}

const DRAIN_MS = 5_000

/** A server that only this machine can reach has no load balancer to wait for. */
function drainMs({ drainDelay, host }: Settings): number {
  if (drainDelay !== undefined) return toMs(drainDelay, 'drainDelay')
  return isLoopback(host) ? 0 : DRAIN_MS
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}
