import { readdirSync, readFileSync } from 'node:fs'
import {
  constants,
  type IntervalHistogram,
  monitorEventLoopDelay,
  type PerformanceEntry,
  PerformanceObserver,
} from 'node:perf_hooks'
import type { MetricFacts } from './catalog.js'
import { Buckets, type Sample } from './exposition.js'

const gauge = (help: string): MetricFacts => ({ type: 'gauge', help, labels: [] })
const counter = (help: string): MetricFacts => ({ type: 'counter', help, labels: [] })

/** Metrics of this process, under the names that dashboards for Node.js expect. */
export const PROCESS_CATALOG = {
  process_cpu_user_seconds_total: counter('CPU time spent in user code.'),
  process_cpu_system_seconds_total: counter('CPU time spent in the kernel.'),
  process_cpu_seconds_total: counter('CPU time spent in user code and the kernel.'),
  process_start_time_seconds: gauge('Start time of the process, in seconds since 1970.'),
  process_resident_memory_bytes: gauge('Memory that the process holds.'),
  process_open_fds: gauge('Open file descriptors (Linux only).'),
  process_max_fds: gauge('Limit of open file descriptors (Linux only).'),
  nodejs_heap_size_total_bytes: gauge('Size of the JavaScript heap.'),
  nodejs_heap_size_used_bytes: gauge('Used part of the JavaScript heap.'),
  nodejs_external_memory_bytes: gauge('Memory of buffers and other objects outside the heap.'),
  nodejs_eventloop_lag_mean_seconds: gauge('Mean delay of the event loop since the last scrape.'),
  nodejs_eventloop_lag_max_seconds: gauge('Longest delay of the event loop since the last scrape.'),
  nodejs_eventloop_lag_p50_seconds: gauge('Median delay of the event loop since the last scrape.'),
  nodejs_eventloop_lag_p99_seconds: gauge('99th percentile of the delay of the event loop since the last scrape.'),
  nodejs_gc_duration_seconds: {
    type: 'histogram',
    help: 'Duration of garbage collections, by kind.',
    labels: ['kind'],
    buckets: [0.001, 0.01, 0.1, 1, 2, 5],
  },
} as const satisfies Readonly<Record<string, MetricFacts>>

type ProcessMetric = keyof typeof PROCESS_CATALOG

const RESOLUTION_MS = 10
const GC_KINDS: Readonly<Record<number, string>> = {
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'minor',
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'major',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'incremental',
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: 'weakcb',
}

/** The part of a `gc` entry that the types of Node leave out. */
type GcEntry = PerformanceEntry & { readonly detail: { readonly kind: number } }

interface Observed {
  readonly delay: IntervalHistogram
  readonly collections: ReadonlyMap<string, Buckets>
}

/** There is one process, however many instances are measured in it, so it is observed once. */
let observed: Observed | undefined

export function observeProcess(): Observed {
  if (observed) return observed
  const { buckets } = PROCESS_CATALOG.nodejs_gc_duration_seconds
  const collections = new Map(Object.values(GC_KINDS).map(kind => [kind, new Buckets(buckets)]))
  const observer = new PerformanceObserver(list => {
    for (const { duration, detail } of list.getEntries() as GcEntry[]) {
      collections.get(GC_KINDS[detail.kind] ?? '')?.observe(duration / 1000)
    }
  })
  observer.observe({ entryTypes: ['gc'] })
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delay.enable()
  observed = { delay, collections }
  return observed
}

export function processSamples(now: number): ReadonlyMap<ProcessMetric, readonly Sample[]> {
  const { delay, collections } = observeProcess()
  const { user, system } = process.cpuUsage()
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage()
  const samples = new Map<ProcessMetric, readonly Sample[]>()
  const set = (name: ProcessMetric, value: number | undefined): void => {
    if (value !== undefined) samples.set(name, [{ labels: {}, value }])
  }
  set('process_cpu_user_seconds_total', user / 1e6)
  set('process_cpu_system_seconds_total', system / 1e6)
  set('process_cpu_seconds_total', (user + system) / 1e6)
  set('process_start_time_seconds', now / 1000 - process.uptime())
  set('process_resident_memory_bytes', rss)
  set('process_open_fds', openFiles())
  set('process_max_fds', maxFiles())
  set('nodejs_heap_size_total_bytes', heapTotal)
  set('nodejs_heap_size_used_bytes', heapUsed)
  set('nodejs_external_memory_bytes', external)
  if (delay.count > 0) {
    set('nodejs_eventloop_lag_mean_seconds', lagSeconds(delay.mean))
    set('nodejs_eventloop_lag_max_seconds', lagSeconds(delay.max))
    set('nodejs_eventloop_lag_p50_seconds', lagSeconds(delay.percentile(50)))
    set('nodejs_eventloop_lag_p99_seconds', lagSeconds(delay.percentile(99)))
    delay.reset()
  }
  return samples.set(
    'nodejs_gc_duration_seconds',
    [...collections].map(([kind, value]) => ({ labels: { kind }, value })),
  )
}

/** Node measures the time between two timers, so an idle event loop shows the interval of the timer. */
function lagSeconds(ns: number): number {
  return Math.max(0, ns / 1e6 - RESOLUTION_MS) / 1000
}

function openFiles(): number | undefined {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return undefined
  }
}

function maxFiles(): number | undefined {
  try {
    const limit = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return limit === undefined ? undefined : Number(limit)
  } catch {
    return undefined
  }
}
