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
  /** Overrides the policy of this queue from now on; null removes the override. */
  readonly retry?: PolicyInput | null
}

/** `chronos.queues`: queues and their run-time settings. */
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

  /** One row per queue: its jobs, its throughput and its workers. */
  async report(): Promise<readonly QueueReport[]> {
    return reportQueues(await this.#env.connection.store())
  }

  /** The same for one queue. */
  async get(name: string): Promise<QueueReport> {
    const store = await this.#env.connection.store()
    await checkQueue(store, name)
    const [report] = await reportQueues(store, name)
    return report!
  }

  /** When the waiting jobs of one queue, or of all, fall due: retries and first runs. */
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
