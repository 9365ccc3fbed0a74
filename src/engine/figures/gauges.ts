import { retryRateOf } from '../../core/alert/rule.js'
import type { Dependency, DependencyName } from '../../core/dependency/dependency.js'
import { type CircuitState, circuitState } from '../../core/dependency/state.js'
import { WAITING_PHASES } from '../../core/job/job.js'
import { isInternal } from '../../core/queue/internal.js'
import { present } from '../../core/values/present.js'
import { endpointKey } from '../../core/webhook/delivery.js'
import type { Endpoint } from '../../core/webhook/webhook.js'
import type { Backlog, QueueCensus, Store } from '../../store/store.js'
import { ALERT_TAG, countsOf, DEAD_MAX, RECORDS_MAX } from '../alerts/readings.js'
import { DEPENDENCY } from '../dependencies/dependencies.js'
import { liveWorkers } from '../jobs/handlers.js'
import { stoppedPartitions } from '../limits/stopped.js'
import { bodyOf } from '../records/records.js'
import { WEBHOOK } from '../webhooks/endpoints.js'

/** The state of the whole fleet at one moment, in numbers. The work is bounded whatever the store contains. */
export interface Gauges {
  readonly queues: readonly QueueGauges[]
  readonly workers: number
  readonly slots: { readonly busy: number; readonly total: number }
  readonly circuits: readonly (DependencyName & { readonly state: CircuitState })[]
  readonly endpointsDisabled: number
}

export interface QueueGauges {
  readonly queue: string
  readonly paused: boolean
  /** Each counted up to `CENSUS_MAX`. */
  readonly jobs: Readonly<Record<GaugePhase, number>>
  /** Neither acknowledged nor discarded. */
  readonly deadLetters: number
  /** The wait of the oldest due job, and of the oldest due retry. */
  readonly oldestDueMs: number
  readonly oldestRetryDueMs: number
  /** Live workers that take its jobs. */
  readonly workers: number
  /** Retries ÷ first attempts that ended in the last `RATE_WINDOW_MS`; absent if no first attempt did. */
  readonly retryRate?: number
  /** How many of its jobs may run at the same time; absent without such a limit. */
  readonly concurrencyLimit?: number
  /** How many of its partitions a dead letter stops; absent without limits. */
  readonly stopped?: number
}

export type GaugePhase = Exclude<keyof QueueCensus, 'queue'>

export const GAUGE_PHASES: readonly GaugePhase[] = [...WAITING_PHASES, 'running', 'dead']
export const CENSUS_MAX = 10_000
export const RATE_WINDOW_MS = 300_000

export async function readGauges(store: Store): Promise<Gauges> {
  const { now } = await store.info()
  const census = await store.census({ cap: CENSUS_MAX })
  const backlog = await store.backlog({ exceptTag: ALERT_TAG, deadMax: DEAD_MAX })
  const records = await store.queues()
  const paused = new Set(records.filter(queue => queue.paused).map(({ name }) => name))
  const limits = new Map(records.map(({ name, limits: given }) => [name, given]))
  const stopped = new Map((await stoppedPartitions(store, records)).map(one => [one.queue, one.partitions]))
  // A worker without queues only runs maintenance and has no slots.
  const workers = (await liveWorkers(store, now)).filter(({ queues }) => queues.some(queue => !isInternal(queue)))
  const { queues: counts } = await countsOf({ store, now }, RATE_WINDOW_MS)
  const workersOf = new Map<string, number>()
  for (const worker of workers) {
    for (const queue of new Set(worker.queues)) workersOf.set(queue, (workersOf.get(queue) ?? 0) + 1)
  }
  const waiting = new Map(backlog.map(each => [each.queue, each]))
  const queues = census.map((each): QueueGauges => {
    const { queue } = each
    // Deliveries are retried by design and are not counted.
    const counted = isInternal(queue) ? undefined : counts.get(queue)
    return {
      queue,
      paused: paused.has(queue),
      jobs: phasesOf(each),
      ...lateness(waiting.get(queue), now),
      workers: workersOf.get(queue) ?? 0,
      ...present({
        retryRate: counted && retryRateOf(counted),
        concurrencyLimit: limits.get(queue)?.limit?.concurrency,
        stopped: limits.get(queue) && (stopped.get(queue) ?? 0),
      }),
    }
  })
  const slots = {
    busy: workers.reduce((sum, { running }) => sum + running, 0),
    total: workers.reduce((sum, { concurrency }) => sum + concurrency, 0),
  }
  return { queues, workers: workers.length, slots, ...(await readDependencies(store, now)) }
}

function phasesOf({ scheduled, queued, retrying, blocked, running, dead }: QueueCensus): QueueGauges['jobs'] {
  return {
    scheduled: scheduled.value,
    queued: queued.value,
    retrying: retrying.value,
    blocked: blocked.value,
    running: running.value,
    dead: dead.value,
  }
}

function lateness(backlog: Backlog | undefined, now: number) {
  const late = (at: number | undefined): number => Math.max(0, now - (at ?? now))
  return {
    deadLetters: backlog?.dead ?? 0,
    oldestDueMs: late(backlog?.dueAt),
    oldestRetryDueMs: late(backlog?.retryDueAt),
  }
}

async function readDependencies(store: Store, now: number): Promise<Pick<Gauges, 'circuits' | 'endpointsDisabled'>> {
  const dependencies = (await store.records(DEPENDENCY, { limit: RECORDS_MAX })).flatMap(bodyOf<Dependency>)
  const endpoints = (await store.records(WEBHOOK, { limit: RECORDS_MAX })).flatMap(bodyOf<Endpoint>)
  const off = endpoints.filter(each => each.state === 'disabled' && each.disabledReason !== 'by-hand')
  return {
    // Circuits of webhook endpoints are left out: their keys contain ids, and webhooks have their own metric.
    circuits: dependencies
      .filter(({ key }) => !key.startsWith(endpointKey('')))
      .map(dependency =>
        present({
          key: dependency.key,
          tenantId: dependency.tenantId,
          state: circuitState(dependency, now),
        }),
      ),
    endpointsDisabled: off.length,
  }
}
