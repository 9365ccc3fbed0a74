import { isSame, type LimitChange, operatorLimits } from '../../core/partition/limits.js'
import { policyLevel } from '../../core/policy/policy.js'
import { type QueueSettings, queueSettings, type WaveQuery } from '../../core/queue/settings.js'
import { ChronosError, shown } from '../../core/values/error.js'
import { name as queueName } from '../../core/values/limits.js'
import { present } from '../../core/values/present.js'
import { read } from '../../core/values/schema.js'
import { DELIVERIES } from '../../core/webhook/delivery.js'
import { LEDGER, type LedgerDelta } from '../../store/fold.js'
import type { QueueChange, QueueRecord, Store } from '../../store/store.js'
import type { Environment } from '../client/environment.js'
import { folded } from '../figures/counts.js'
import { checkSupport } from '../limits/declared.js'
import { type PartitionsQuery, type PartitionView, readPartitions, viewLimits } from '../limits/partitions.js'
import type { List } from './query.js'
import {
  checkQueue,
  type QueueQuery,
  type QueueReport,
  type RetryWave,
  reportQueue,
  reportQueues,
  retryWave,
} from './queue-report.js'

/** The number of jobs of a queue that are stored, whatever their state. */
async function keptJobs(store: Store, name: string): Promise<number> {
  const [record] = await store.records(LEDGER, { ids: [name] })
  const { enqueued, removed } = record ? (JSON.parse(record.body) as LedgerDelta) : { enqueued: 0, removed: 0 }
  return enqueued - removed
}

function hasJobs(name: string, jobs: number): ChronosError {
  const many = jobs > 0 ? `${jobs} ${jobs === 1 ? 'job' : 'jobs'}` : 'new jobs'
  return new ChronosError(
    'NOT_ALLOWED',
    `queue ${shown(name)} has ${many} and can't be deleted; remove its jobs, or wait until they have run and were pruned`,
    { details: { queue: name, jobs } },
  )
}

/** Setting one of the two keeps the other. */
const viewOf = (queue: QueueRecord): QueueRecord =>
  queue.limits ? { ...queue, limits: viewLimits(queue.limits) } : queue

async function limitsOf(store: Store, name: string, asked: LimitChange, where: string): Promise<QueueChange['limits']> {
  if (asked.limit === undefined && asked.partitions === undefined) return undefined
  checkSupport(store, where.replace(/:$/, ''))
  const queue = (await store.queues()).find(one => one.name === name)
  const { partitions } = asked
  if (
    name === DELIVERIES &&
    partitions &&
    !isSame({ partitions }, present({ partitions: queue?.limits?.partitions }))
  ) {
    throw new ChronosError(
      'NOT_ALLOWED',
      `${where} partitions: each webhook endpoint has its own limits; set concurrency and rate of the endpoint`,
      { details: { queue: name } },
    )
  }
  return operatorLimits(queue?.limits, asked)
}

export type { QueueSettings } from '../../core/queue/settings.js'

/** `chronos.queues`: queues and their run-time settings. */
export class Queues {
  readonly #env: Environment
  readonly #onChange: (queue: QueueRecord) => void

  constructor(env: Environment, onChange: (queue: QueueRecord) => void) {
    this.#env = env
    this.#onChange = onChange
  }

  async list(): Promise<readonly QueueRecord[]> {
    return (await (await this.#env.connection.store()).queues()).map(viewOf)
  }

  /** A page of the queues: their jobs, throughput and workers. */
  async report(query: QueueQuery = {}): Promise<List<QueueReport>> {
    return reportQueues(await this.#env.connection.store(), query)
  }

  /** The same for one queue. */
  async get(name: string): Promise<QueueReport> {
    return reportQueue(await this.#env.connection.store(), name)
  }

  /** A page of the partitions of a queue with limits, by name: what runs, waits and when the next may start. */
  async partitions(name: string, query: PartitionsQuery = {}): Promise<List<PartitionView>> {
    const store = await this.#env.connection.store()
    await checkQueue(store, name)
    const queue = (await store.queues()).find(one => one.name === name)
    return readPartitions(store, queue ?? { name, paused: false }, query)
  }

  /** When the waiting jobs of one queue, or of all, fall due: retries and first runs. */
  async retryWave(name: string | undefined, query: WaveQuery = {}): Promise<RetryWave> {
    return retryWave(await this.#env.connection.store(), name, query)
  }

  async set(name: string, settings: QueueSettings): Promise<QueueRecord> {
    read(queueName, name, 'queues.set: name')
    const where = `queue "${name}":`
    const { paused, retry, ...asked } = read(queueSettings, settings, where)
    const store = await this.#env.connection.store()
    const limits = await limitsOf(store, name, asked, where)
    const change: QueueChange = present({ paused, retry: retry == null ? retry : policyLevel(retry), limits })
    const queue = await store.setQueue(name, change)
    this.#onChange(queue)
    return viewOf(queue)
  }

  /** Removes a queue without jobs, with its settings. An enqueue creates it again. */
  async delete(name: string): Promise<void> {
    const store = await folded(await this.#env.connection.store())
    await checkQueue(store, name)
    const kept = await keptJobs(store, name)
    const removed = kept > 0 ? [] : await store.removeQueues([name], 'any')
    if (removed.length === 0) throw hasJobs(name, kept)
    this.#onChange({ name, paused: false })
  }

  /** No claim that begins after this returns a job of the queue. */
  pause(name: string): Promise<QueueRecord> {
    return this.set(name, { paused: true })
  }

  resume(name: string): Promise<QueueRecord> {
    return this.set(name, { paused: false })
  }
}
