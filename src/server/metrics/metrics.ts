import { collectDefaultMetrics, Registry } from 'prom-client'
import type { Clock } from '../../core/values/clock.js'
import type { Chronos } from '../../engine/client/chronos.js'
import { stopwatch } from '../../engine/time/system.js'
import { VERSION } from '../version.js'
import type { MetricName } from './catalog.js'
import { Counts } from './counts.js'
import { exposition, type Sample } from './exposition.js'
import { Readings } from './readings.js'

export interface Scrape {
  readonly contentType: string
  readonly text: string
}

/** What Prometheus is told: the counts of this process, the state of the fleet, and how Node is doing. */
export class Metrics {
  readonly #counts: Counts
  readonly #readings: Readings
  readonly #stop: () => void

  constructor(chronos: Chronos, clock: Clock) {
    this.#counts = new Counts(stopwatch)
    this.#readings = new Readings(() => chronos.store(), clock)
    const unmeasure = chronos.measure(this.#counts)
    this.#stop = () => {
      unmeasure()
      known.delete(chronos)
    }
  }

  async render(): Promise<Scrape> {
    const samples = new Map<MetricName, readonly Sample[]>([
      ['build_info', [{ labels: { version: VERSION, node: process.version }, value: 1 }]],
      ...(await this.#readings.samples()),
      ...this.#counts.samples(),
    ])
    const node = (await registryOfNode().metrics()).replace(/ Nan$/gm, ' NaN')
    return { contentType: Registry.PROMETHEUS_CONTENT_TYPE, text: exposition(samples) + node }
  }

  /** Nothing is counted any more. */
  close(): void {
    this.#stop()
  }
}

const known = new WeakMap<Chronos, Metrics>()

/** One for each Chronos, whoever asks first: what is counted twice is counted wrong. */
export function metricsOf(chronos: Chronos, clock: Clock): Metrics {
  const metrics = known.get(chronos) ?? new Metrics(chronos, clock)
  known.set(chronos, metrics)
  return metrics
}

let ofNode: Registry | undefined

/** There is one process, however many are measured in it; and its observers can't be taken back. */
function registryOfNode(): Registry {
  if (!ofNode) {
    ofNode = new Registry()
    collectDefaultMetrics({ register: ofNode })
  }
  return ofNode
}
