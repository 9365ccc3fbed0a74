import type { CircuitState } from '../../core/dependency/state.js'
import type { Clock } from '../../core/values/clock.js'
import { GAUGE_PHASES, type Gauges, type QueueGauges, readGauges } from '../../engine/figures/gauges.js'
import type { Store } from '../../store/store.js'
import { within } from '../http/timeout.js'
import type { MetricName } from './catalog.js'
import type { Sample } from './exposition.js'
import { circuitLabel, labelText, OTHER, SERIES_MAX } from './labels.js'

/** The store is read at most this often, however many scrapers there are. */
const KNOWN_MS = 5_000
/** The longest time that a scrape waits for the store. */
const PATIENCE_MS = 3_000

const CIRCUIT: Readonly<Record<CircuitState, number>> = { closed: 0, 'half-open': 1, ramping: 1, open: 2 }

/** Gauges of the whole fleet, read from the store. While the store is down they keep their last values. */
export class Readings {
  readonly #store: () => Promise<Store>
  readonly #clock: Clock
  #reading: Promise<void> | undefined
  #known: { readonly gauges: Gauges; readonly at: number } | undefined
  #askedAt = Number.NEGATIVE_INFINITY
  #isUp = false

  constructor(store: () => Promise<Store>, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  async samples(): Promise<ReadonlyMap<MetricName, readonly Sample[]>> {
    const now = this.#clock.now()
    if (now - this.#askedAt >= KNOWN_MS) {
      await within(this.#clock, PATIENCE_MS, this.#read(now), () => {
        this.#isUp = false
      })
    }
    const up: [MetricName, readonly Sample[]] = ['store_up', [plain(this.#isUp ? 1 : 0)]]
    if (!this.#known) return new Map([up])
    const { gauges, at } = this.#known
    return new Map([up, ['reading_age_seconds', [plain((this.#clock.now() - at) / 1000)]], ...gaugeSamples(gauges)])
  }

  /** Concurrent scrapes share one read. */
  #read(now: number): Promise<void> {
    this.#reading ??= this.#ask(now).finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #ask(now: number): Promise<void> {
    try {
      const gauges = await readGauges(await this.#store())
      this.#known = { gauges, at: this.#clock.now() }
      this.#isUp = true
    } catch {
      // `store_up` reports the outage; workers log the error.
      this.#isUp = false
    }
    this.#askedAt = now
  }
}

const plain = (value: number): Sample => ({ labels: {}, value })

function gaugeSamples(gauges: Gauges): readonly (readonly [MetricName, readonly Sample[]])[] {
  const queues = bounded(gauges.queues)
  const each = (value: (queue: QueueGauges) => number): readonly Sample[] =>
    queues.map(queue => ({ labels: { queue: queue.queue }, value: value(queue) }))
  /** Only queues that have the value. */
  const some = (read: (queue: QueueGauges) => number | undefined): readonly Sample[] =>
    queues.flatMap(queue => {
      const value = read(queue)
      return value === undefined ? [] : { labels: { queue: queue.queue }, value }
    })
  const { busy, total } = gauges.slots
  return [
    [
      'jobs',
      queues.flatMap(({ queue, jobs }) =>
        GAUGE_PHASES.map(phase => ({ labels: { queue, phase }, value: jobs[phase] })),
      ),
    ],
    ['dead_letters', each(({ deadLetters }) => deadLetters)],
    ['queue_oldest_due_age_seconds', each(({ oldestDueMs }) => oldestDueMs / 1000)],
    ['queue_oldest_due_retry_age_seconds', each(({ oldestRetryDueMs }) => oldestRetryDueMs / 1000)],
    ['queue_paused', each(({ paused }) => (paused ? 1 : 0))],
    ['queue_workers', each(({ workers }) => workers)],
    ['retry_rate', some(({ retryRate }) => retryRate)],
    ['queue_concurrency_limit', some(({ concurrencyLimit }) => concurrencyLimit)],
    ['queue_partitions_stopped', some(({ stopped }) => stopped)],
    ['workers', [plain(gauges.workers)]],
    [
      'worker_slots',
      [
        { labels: { state: 'busy' }, value: busy },
        { labels: { state: 'total' }, value: total },
      ],
    ],
    ['circuit_state', circuits(gauges.circuits)],
    ['webhook_endpoints_disabled', [plain(gauges.endpointsDisabled)]],
  ]
}

/** Merges the queues with the fewest jobs into one: the sum of their jobs, and the worst of every other value. */
function bounded(queues: readonly QueueGauges[]): readonly QueueGauges[] {
  const byLabel = new Map<string, QueueGauges>()
  const sizeOf = ({ jobs }: QueueGauges): number => GAUGE_PHASES.reduce((sum, phase) => sum + jobs[phase], 0)
  const largestFirst = queues.length < SERIES_MAX ? queues : [...queues].sort((a, b) => sizeOf(b) - sizeOf(a))
  for (const queue of largestFirst) {
    const own = labelText(queue.queue)
    const label = byLabel.has(own) || byLabel.size < SERIES_MAX - 1 ? own : OTHER
    const known = byLabel.get(label)
    byLabel.set(label, known ? both(known, queue) : { ...queue, queue: label })
  }
  return [...byLabel.values()]
}

function both(one: QueueGauges, other: QueueGauges): QueueGauges {
  const rates = [one.retryRate, other.retryRate].filter(rate => rate !== undefined)
  const stopped = [one.stopped, other.stopped].filter(count => count !== undefined)
  return {
    queue: one.queue,
    paused: one.paused && other.paused,
    jobs: Object.fromEntries(
      GAUGE_PHASES.map(phase => [phase, one.jobs[phase] + other.jobs[phase]]),
    ) as QueueGauges['jobs'],
    deadLetters: one.deadLetters + other.deadLetters,
    oldestDueMs: Math.max(one.oldestDueMs, other.oldestDueMs),
    oldestRetryDueMs: Math.max(one.oldestRetryDueMs, other.oldestRetryDueMs),
    workers: Math.min(one.workers, other.workers),
    ...(rates.length > 0 && { retryRate: Math.max(...rates) }),
    ...(stopped.length > 0 && { stopped: stopped.reduce((sum, count) => sum + count) }),
  }
}

/** Open circuits come first, so that the limit cuts off closed ones. */
function circuits(all: Gauges['circuits']): readonly Sample[] {
  const byLabels = new Map<string, Sample & { readonly value: number }>()
  for (const { key, tenantId, state } of all) {
    const labels = { key: circuitLabel(key), ...(tenantId !== undefined && { tenant: circuitLabel(tenantId) }) }
    const name = JSON.stringify(labels)
    byLabels.set(name, { labels, value: Math.max(byLabels.get(name)?.value ?? 0, CIRCUIT[state]) })
  }
  const worstFirst = [...byLabels].sort(([a, one], [b, other]) => other.value - one.value || (a < b ? -1 : 1))
  return worstFirst.slice(0, SERIES_MAX).map(([, sample]) => sample)
}
