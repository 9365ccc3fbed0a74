import { type PolicyInput, parsePolicy } from '../../core/policy/policy.js'
import { checkKeys, checkName } from '../../core/values/limits.js'
import type { QueueChange, QueueRecord } from '../../store/store.js'
import type { Environment } from '../client/environment.js'
import {
  checkQueue,
  type QueueReport,
  type RetryWave,
  reportQueues,
  retryWave,
  type WaveQuery,
} from './queue-report.js'

export interface QueueSettings {
  readonly paused?: boolean
  /** Policy of this queue from now on, over what the code says; null takes it away. */
  readonly retry?: PolicyInput | null
}

/** `chronos.queues`: what can be changed while everything runs. */
export class Queues {
  readonly #env: Environment
  readonly #onChange: (queue: QueueRecord) => void

  constructor(env: Environment, onChange: (queue: QueueRecord) => void) {
    this.#env = env
    this.#onChange = onChange
  }

  async list(): Promise<readonly QueueRecord[]> {
    return (await this.#env.connection.store()).queues()
  }

  /** One row per queue: what is in it, what it does, who works on it. */
  async report(): Promise<readonly QueueReport[]> {
    return reportQueues(await this.#env.connection.store())
  }

  /** The same for one. */
  async get(name: string): Promise<QueueReport> {
    const store = await this.#env.connection.store()
    await checkQueue(store, name)
    const [report] = await reportQueues(store, name)
    return report!
  }

  /** When waiting jobs fall due, of one queue or of all: retries, and first runs beside them. */
  async retryWave(name: string | undefined, query: WaveQuery = {}): Promise<RetryWave> {
    return retryWave(await this.#env.connection.store(), name, query)
  }

  async set(name: string, settings: QueueSettings): Promise<QueueRecord> {
    checkName(name, 'queues.set: name')
    checkKeys(settings, ['paused', 'retry'], 'queues.set')
    const { paused, retry } = settings
    const change: QueueChange = {
      ...(paused !== undefined && { paused }),
      ...(retry !== undefined && {
        retry: retry === null ? null : parsePolicy(retry, `queue "${name}": retry`, { stored: true }),
      }),
    }
    const queue = await (await this.#env.connection.store()).setQueue(name, change)
    this.#onChange(queue)
    return queue
  }

  /** No claim that begins after this returns a job of the queue. */
  pause(name: string): Promise<QueueRecord> {
    return this.set(name, { paused: true })
  }

  resume(name: string): Promise<QueueRecord> {
    return this.set(name, { paused: false })
  }
}
