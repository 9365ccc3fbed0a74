import { timeText } from '../../core/job/view.js'
import { partialPolicy } from '../../core/policy/form.js'
import { type WaveQuery, waveQuery } from '../../core/queue/settings.js'
import { HOUR_MS, toMs } from '../../core/values/duration.js'
import { ChronosError, shown } from '../../core/values/error.js'
import { freeText } from '../../core/values/limits.js'
import { present } from '../../core/values/present.js'
import { about, anyText, boolean, type Infer, integer, named, number, read } from '../../core/values/schema.js'
import { listOf, view } from '../../core/values/shape.js'
import { suggest } from '../../core/values/suggest.js'
import { timestamp } from '../../core/values/time.js'
import { DELIVERIES } from '../../core/webhook/webhook.js'
import type { Backlog, QueueCensus, QueueRecord, Store } from '../../store/store.js'
import { ALERT_TAG, DEAD_MAX } from '../alerts/readings.js'
import { type Counted, folded, readCounts } from '../figures/counts.js'
import { activity, activityOf, phaseCounts, readWorkers } from '../figures/statistics.js'
import type { WorkerRecord } from '../worker/fleet.js'

/** A queue as the API shows it. */
export const queueReport = named(
  'Queue',
  view(
    {
      name: anyText,
      paused: boolean,
      counts: about(phaseCounts, 'Up to 10,000 of each.'),
      workers: about(integer(), 'Live workers that take its jobs.'),
      concurrency: about(integer(), 'How many jobs they may run at once, including those of other queues.'),
      hasWorkers: boolean,
      running: integer(),
      lastHour: activity,
      spark: about(
        view({ succeeded: listOf(integer()), failed: listOf(integer()) }),
        'Jobs that succeeded and runs that failed, in each of the last fifteen minutes, oldest first.',
      ),
    },
    {
      retry: about(partialPolicy, 'The policy override set at run time, which takes precedence over the code.'),
      oldestDueAt: about(timestamp, 'When the oldest due job became due.'),
      deadSince: about(timestamp, 'When the oldest dead letter died that is neither acknowledged nor discarded.'),
    },
  ),
)
export type QueueReport = Infer<typeof queueReport>

export type { WaveQuery } from '../../core/queue/settings.js'

/** When waiting jobs fall due: the load before it arrives. */
export const retryWaveView = named(
  'RetryWave',
  view(
    {
      from: timestamp,
      to: timestamp,
      bucketMs: number(),
      buckets: about(listOf(integer()), 'Jobs that wait for a retry, by due time.'),
      scheduled: about(listOf(integer()), 'Jobs that wait for their first run, by due time.'),
      due: about(integer(), 'Retries that are due already.'),
      beyond: about(integer(), 'Jobs of both kinds that are due after `to`, counted up to 20,000.'),
      complete: about(boolean, 'false: there are too many jobs, and not all were counted.'),
    },
    { queue: anyText },
  ),
)
export type RetryWave = Infer<typeof retryWaveView>

const COUNT_CAP = 10_000
const MINUTE_MS = 60_000
const SPARK_MINUTES = 15
const RECORDS_MAX = 20_000
const LOOK_AT = 20_000

/** One row per queue, by name; only one if `name` is given. */
export async function reportQueues(opened: Store, name?: string): Promise<readonly QueueReport[]> {
  const store = await folded(opened)
  const { now } = await store.info()
  const [census, queues, backlog, workers, hour] = await Promise.all([
    store.census({ cap: COUNT_CAP, ...present({ queue: name }) }),
    store.queues(),
    store.backlog({ exceptTag: ALERT_TAG, deadMax: DEAD_MAX }),
    readWorkers(store, now),
    readCounts(store, { resolution: '1m', from: now - HOUR_MS, to: now + MINUTE_MS, max: RECORDS_MAX }),
  ])
  const alive = workers.filter(worker => worker.alive)
  return census.map(one =>
    reportOf(one, {
      now,
      queue: queues.find(queue => queue.name === one.queue),
      backlog: backlog.find(({ queue }) => queue === one.queue),
      // Every process with a worker also sends deliveries.
      workers: one.queue === DELIVERIES ? alive : alive.filter(worker => worker.queues.includes(one.queue)),
      hour: hour.data.filter(({ queue }) => queue === one.queue),
    }),
  )
}

interface Around {
  readonly now: number
  readonly queue: QueueRecord | undefined
  readonly backlog: Backlog | undefined
  readonly workers: readonly WorkerRecord[]
  readonly hour: readonly Counted[]
}

function reportOf({ queue: name, ...counts }: QueueCensus, around: Around): QueueReport {
  const { now, queue, backlog, workers, hour } = around
  return present({
    name,
    paused: queue?.paused ?? false,
    retry: queue?.retry,
    counts,
    oldestDueAt: timeText(backlog?.dueAt),
    deadSince: timeText(backlog?.deadSince),
    workers: workers.length,
    concurrency: workers.reduce((sum, { concurrency }) => sum + concurrency, 0),
    hasWorkers: workers.length > 0,
    running: counts.running.value,
    lastHour: activityOf(hour),
    spark: sparkOf(hour, now),
  })
}

function sparkOf(hour: readonly Counted[], now: number): QueueReport['spark'] {
  const last = Math.floor(now / MINUTE_MS) * MINUTE_MS
  const minutes = Array.from({ length: SPARK_MINUTES }, (_, index) => {
    const minute = last - (SPARK_MINUTES - 1 - index) * MINUTE_MS
    return activityOf(hour.filter(({ at }) => at === minute))
  })
  return { succeeded: minutes.map(({ succeeded }) => succeeded), failed: minutes.map(({ failed }) => failed) }
}

export async function retryWave(store: Store, queue: string | undefined, query: WaveQuery): Promise<RetryWave> {
  const { window = '15m', buckets = 60 } = read(waveQuery, query, 'queues.retryWave:')
  const windowMs = toMs(window, 'window')
  if (queue !== undefined) await checkQueue(store, queue)
  const wave = await store.wave({ windowMs, buckets, lookAt: LOOK_AT, ...present({ queue }) })
  const { from, retrying, scheduled, due, beyond, complete } = wave
  return {
    ...present({ queue }),
    from: timeText(from),
    to: timeText(from + windowMs),
    bucketMs: windowMs / buckets,
    buckets: retrying,
    scheduled,
    due,
    beyond: beyond.value,
    complete,
  }
}

/** A misspelt name must not look like an empty queue. */
export async function checkQueue(store: Store, name: string): Promise<void> {
  read(freeText, name, 'queues: name')
  const names = (await store.queues()).map(queue => queue.name)
  if (names.includes(name)) return
  const near = suggest(name, names)
  const wayOut = near === undefined ? 'see the list of queues' : `did you mean "${near}"?`
  throw new ChronosError('NOT_FOUND', `there is no queue ${shown(name)}; ${wayOut}`, {
    details: { queue: name, ...present({ similar: near }) },
  })
}
