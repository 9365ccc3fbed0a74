import { type Clock, wait } from '../../core/values/clock.js'
import { toMs } from '../../core/values/duration.js'
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
import type { Settings } from '../config/settings.js'

export type Extra = (request: Request) => Promise<Response | undefined>

export interface ServiceOptions {
  readonly config: Config
  readonly log: Log
  /** Whether it answers requests. */
  readonly server: boolean
  /** What its worker can do; a server without one only schedules, sweeps and delivers. */
  readonly definitions?: readonly JobDefinition<never>[] | undefined
  /** Where HTTP jobs may go, beside what is configured. */
  readonly egressAllow?: readonly string[]
  readonly extra?: Extra
  readonly clock?: Clock
}

type Server = ReturnType<typeof import('../../server.js').createServer>

/** A process that works until it is told to stop: a server, a worker, or both on one store. */
export class Service {
  readonly chronos: Chronos
  readonly #settings: Settings
  readonly #options: ServiceOptions
  readonly #server: Server | undefined
  readonly #workers: Worker[] = []
  readonly #clock: Clock
  /** Somebody may send requests. */
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
    const { settings, sources } = config
    const { createChronos } = await import('../../index.js')
    const chronos = createChronos({
      store: await openStore(addressOf(settings.store, sources.store.name)),
      log,
      egress: { allow: [...settings.egressAllow, ...egressAllow] },
      retention: retentionOf(settings),
      ...(settings.retry !== undefined && { retry: settings.retry }),
      ...(settings.alerts !== undefined && { alerts: settings.alerts }),
    })
    const server = options.server ? await serverOf(chronos, options) : undefined
    return new Service(chronos, server, options)
  }

  /** Where it listens, if it does. What can't be listened on is found out before any job is taken. */
  async start(): Promise<Listening | undefined> {
    const { host, port } = this.#settings
    const listening = await this.#server?.listen({ host, port })
    this.#isListening = listening !== undefined
    const { definitions } = this.#options
    if (definitions) this.work(definitions, queuesOf(definitions, this.#settings))
    return listening
  }

  work(definitions: readonly JobDefinition<never>[], queues: readonly string[]): Worker {
    const { concurrency, lease, shutdownTimeout } = this.#settings
    const options = { queues, concurrency, lease, grace: shutdownTimeout, signals: false } as WorkOptions
    const worker = this.chronos.work(definitions, options)
    this.#workers.push(worker)
    return worker
  }

  /**
   * First nobody sends anything new, then nothing new is started, then what runs may end, and what does not is handed
   * back; requests are answered until then, and the store is closed last.
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
  const { token, basePath, allowedHosts, readOnly, maxBody, envName, envColor } = config.settings
  const { createServer } = await import('../../server.js')
  return createServer(chronos, {
    basePath,
    allowedHosts,
    readOnly,
    maxBody,
    log,
    ...(token !== undefined && { token }),
    ...(envName !== undefined && { env: { name: envName, ...(envColor !== undefined && { color: envColor }) } }),
    ...(extra && { extra }),
  })
}

/** Every worker can make HTTP calls, which go to the default queue if nobody says otherwise. */
export function queuesOf(definitions: readonly JobDefinition<never>[], { queues }: Settings): readonly string[] {
  return queues.length > 0 ? queues : [...new Set([...definitions.map(({ queue }) => queue), QUEUE_DEFAULT])]
}

const DRAIN_MS = 5_000

/** On this machine's own addresses there is no load balancer that would have to notice. */
function drainMs({ drainDelay, host }: Settings): number {
  if (drainDelay !== undefined) return toMs(drainDelay, 'drainDelay')
  return isLoopback(host) ? 0 : DRAIN_MS
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}

function retentionOf(settings: Settings): Readonly<Record<string, never>> {
  const states = ['succeeded', 'cancelled', 'dead'] as const
  const ages = states.flatMap(state => {
    const age = settings[`retention.${state}`]
    return age === undefined ? [] : [[state, age]]
  })
  return Object.fromEntries(ages) as Readonly<Record<string, never>>
}
