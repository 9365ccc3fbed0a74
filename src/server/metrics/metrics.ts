import type { Clock } from '../../core/values/clock.js'
import type { Chronos } from '../../engine/client/chronos.js'
import { stopwatch } from '../../engine/time/system.js'
import { VERSION } from '../version.js'
import { CATALOG, type MetricName, PREFIX } from './catalog.js'
import { Counts } from './counts.js'
import { CONTENT_TYPE, exposition, type Sample } from './exposition.js'
import { observeProcess, PROCESS_CATALOG, processSamples } from './process.js'
import { Readings } from './readings.js'

export interface Scrape {
  readonly contentType: string
  readonly text: string
}

/** The metrics for Prometheus: counts of this process, gauges of the whole fleet, and the state of Node. */
export class Metrics {
  readonly #clock: Clock
  readonly #counts: Counts
  readonly #readings: Readings
  readonly #stop: () => void

  constructor(chronos: Chronos, clock: Clock) {
    this.#clock = clock
    this.#counts = new Counts(stopwatch)
    this.#readings = new Readings(() => chronos.store(), clock)
    observeProcess()
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
    const ofProcess = exposition(PROCESS_CATALOG, processSamples(this.#clock.now()))
    return { contentType: CONTENT_TYPE, text: exposition(CATALOG, samples, PREFIX) + ofProcess }
  }

  /** Stops counting. */
  close(): void {
    this.#stop()
  }
}

const known = new WeakMap<Chronos, Metrics>()

/** Returns the one instance for a Chronos: two would count everything twice. */
export function metricsOf(chronos: Chronos, clock: Clock): Metrics {
  const metrics = known.get(chronos) ?? new Metrics(chronos, clock)
  known.set(chronos, metrics)
  return metrics
}
