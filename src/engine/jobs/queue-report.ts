import { timeText } from '../../core/job/view.js'
import { partialPolicy } from '../../core/policy/form.js'
import { type WaveQuery, waveQuery } from '../../core/queue/settings.js'
import { HOUR_MS, toMs } from '../../core/values/duration.js'
import { ChronosError, shown } from '../../core/values/error.js'
import { freeText } from '../../core/values/limits.js'
import { present } from '../../core/values/present.js'
import { about, anyText, boolean, type Infer, integer, named, number, oneOf, read } from '../../core/values/schema.js'
import { listOf as listSchema, object, view } from '../../core/values/shape.js'
import { suggest } from '../../core/values/suggest.js'
import { timestamp } from '../../core/values/time.js'
import { DELIVERIES } from '../../core/webhook/delivery.js'
import type { Backlog, QueueCensus, QueueRecord, Store } from '../../store/store.js'
import { ALERT_TAG, DEAD_MAX } from '../alerts/readings.js'
import { type Counted, folded, readCounts } from '../figures/counts.js'
import { activity, activityOf, phaseCounts, readWorkers } from '../figures/statistics.js'
import { limitsView, opensAt, viewLimits } from '../limits/partitions.js'
import type { WorkerRecord } from '../worker/fleet.js'
import { type List, listOf, PAGE_DEFAULT, paging } from './query.js'

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
        view({ succeeded: listSchema(integer()), failed: listSchema(integer()) }),
        'Jobs that succeeded and runs that failed, in each of the last fifteen minutes, oldest first.',
      ),
    },
    {
      retry: about(partialPolicy, 'The policy override set at run time, which takes precedence over the code.'),
      limits: about(limitsView, 'Its limits; absent if it has none.'),
      openAt: about(timestamp, 'When its own rate lets its next job start, if that is not now.'),
      oldestDueAt: about(timestamp, 'When the oldest due job became due.'),
      deadSince: about(timestamp, 'When the oldest dead letter died that is neither acknowledged nor discarded.'),
    },
  ),
)
export type QueueReport = Infer<typeof queueReport>

/** A page of queues. */
export const queueQuery = object(
  {},
  {
    q: about(freeText, 'Only queues with this text in their name.'),
    sort: about(
      oneOf(['name', 'busiest']),
      'Default `name`. `busiest` has one page: first the queues whose due jobs no worker takes, then by the activity of the last hour.',
    ),
    ...paging,
  },
)
export type QueueQuery = Infer<typeof queueQuery>

export type { WaveQuery } from '../../core/queue/settings.js'

/** When waiting jobs fall due: the load before it arrives. */
export const retryWaveView = named(
  'RetryWave',
  view(
    {
      from: timestamp,
      to: timestamp,
      bucketMs: number(),
      buckets: about(listSchema(integer()), 'Jobs that wait for a retry, by due time.'),
      scheduled: about(listSchema(integer()), 'Jobs that wait for their first run, by due time.'),
      blocked: about(
        listSchema(integer()),
        'Jobs that their dependency holds back, by the time at which they may start at the latest.',
      ),
      due: about(integer(), 'Retries that are due already.'),
      beyond: about(integer(), 'Jobs of all kinds that are due after `to`, counted up to 20,000.'),
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

/** A page of the queues, with their jobs, throughput and workers. */
export async function reportQueues(opened: Store, asked: QueueQuery = {}): Promise<List<QueueReport>> {
  const query = read(queueQuery, asked, 'queues.report:')
  const around = await readAround(await folded(opened))
  const { chosen, next } = choose(around, query)
  return listOf(await reportsOf(opened, around, chosen), next)
}

/** The same for one queue. */
export async function reportQueue(opened: Store, name: string): Promise<QueueReport> {
  await checkQueue(opened, name)
  const around = await readAround(await folded(opened))
  const [report] = await reportsOf(opened, around, [name])
  if (report) return report
  // It was deleted meanwhile.
  throw noSuchQueue(
    name,
    [...around.queues.keys()].filter(each => each !== name),
  )
}

/** What is known about queues apart from their jobs, read once for all of them. */
interface Around {
  readonly now: number
  readonly queues: ReadonlyMap<string, QueueRecord>
  readonly backlog: ReadonlyMap<string, Backlog>
  readonly hour: ReadonlyMap<string, readonly Counted[]>
  readonly workersOf: (queue: string) => readonly WorkerRecord[]
}

async function readAround(store: Store): Promise<Around> {
  const { now } = await store.info()
  const [queues, backlog, workers, hour] = await Promise.all([
    store.queues(),
    store.backlog({ exceptTag: ALERT_TAG, deadMax: DEAD_MAX }),
    readWorkers(store, now),
    readCounts(store, { resolution: '1m', from: now - HOUR_MS, to: now + MINUTE_MS, max: RECORDS_MAX }),
  ])
  const alive = workers.filter(worker => worker.alive)
  const workersByQueue = grouped(alive.flatMap(worker => [...new Set(worker.queues)].map(queue => ({ queue, worker }))))
  return {
    now,
    queues: new Map(queues.map(queue => [queue.name, queue])),
    backlog: new Map(backlog.map(one => [one.queue, one])),
    hour: grouped(hour.data),
    // Every process with a worker also sends deliveries.
    workersOf: queue => (queue === DELIVERIES ? alive : (workersByQueue.get(queue) ?? []).map(({ worker }) => worker)),
  }
}

function grouped<T extends { readonly queue: string }>(all: readonly T[]): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>()
  for (const one of all) {
    const group = groups.get(one.queue)
    if (group) group.push(one)
    else groups.set(one.queue, [one])
  }
  return groups
}

interface Chosen {
  readonly chosen: readonly string[]
  readonly next: string | undefined
}

function choose(around: Around, { limit = PAGE_DEFAULT, cursor, q = '', sort = 'name' }: QueueQuery): Chosen {
  const wanted = q.toLowerCase()
  const names = [...around.queues.keys()].filter(name => name.toLowerCase().includes(wanted)).sort()
  if (sort === 'busiest') return { chosen: busiest(around, names).slice(0, limit), next: undefined }
  const first = cursor === undefined ? 0 : names.findIndex(name => name >= cursor)
  const page = first < 0 ? [] : names.slice(first, first + limit + 1)
  return { chosen: page.slice(0, limit), next: page[limit] }
}

/** First the queues whose due jobs no worker takes, the oldest first; then by the activity of the last hour. */
function busiest({ backlog, hour, workersOf, queues }: Around, names: readonly string[]): readonly string[] {
  const keyed = names.map(name => {
    const dueAt = backlog.get(name)?.dueAt
    const isStuck = dueAt !== undefined && (workersOf(name).length === 0 || queues.get(name)!.paused)
    const { started, enqueued } = activityOf(hour.get(name) ?? [])
    return { name, stuckSince: isStuck ? dueAt : Number.POSITIVE_INFINITY, runs: started + enqueued }
  })
  const compare = (a: number, b: number): number => (a === b ? 0 : a < b ? -1 : 1)
  return keyed.sort((a, b) => compare(a.stuckSince, b.stuckSince) || b.runs - a.runs).map(({ name }) => name)
}

/** In the order of the names. */
async function reportsOf(store: Store, around: Around, names: readonly string[]): Promise<readonly QueueReport[]> {
  const census = await store.census({ cap: COUNT_CAP, queues: names })
  const byName = new Map(census.map(one => [one.queue, one]))
  return names.flatMap(name => byName.get(name) ?? []).map(one => reportOf(one, around))
}

function reportOf({ queue: name, ...counts }: QueueCensus, around: Around): QueueReport {
  const queue = around.queues.get(name)
  const backlog = around.backlog.get(name)
  const workers = around.workersOf(name)
  const hour = around.hour.get(name) ?? []
  return present({
    name,
    paused: queue?.paused ?? false,
    retry: queue?.retry,
    limits: queue?.limits && viewLimits(queue.limits),
    openAt: opensAt(queue?.turn ?? {}, around.now),
    counts,
    oldestDueAt: timeText(backlog?.dueAt),
    deadSince: timeText(backlog?.deadSince),
    workers: workers.length,
    concurrency: workers.reduce((sum, { concurrency }) => sum + concurrency, 0),
    hasWorkers: workers.length > 0,
    running: counts.running.value,
    lastHour: activityOf(hour),
    spark: sparkOf(hour, around.now),
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
  const { from, retrying, scheduled, blocked, due, beyond, complete } = wave
  return {
    ...present({ queue }),
    from: timeText(from),
    to: timeText(from + windowMs),
    bucketMs: windowMs / buckets,
    buckets: retrying,
    scheduled,
    blocked,
    due,
    beyond: beyond.value,
    complete,
  }
}

/** A misspelt name must not look like an empty queue. */
export async function checkQueue(store: Store, name: string): Promise<void> {
  read(freeText, name, 'queues: name')
  const names = (await store.queues()).map(queue => queue.name)
  if (!names.includes(name)) throw noSuchQueue(name, names)
}

function noSuchQueue(name: string, names: readonly string[]): ChronosError {
  const near = suggest(name, names)
  const wayOut = near === undefined ? 'see the list of queues' : `did you mean "${near}"?`
  return new ChronosError('NOT_FOUND', `there is no queue ${shown(name)}; ${wayOut}`, {
    details: { queue: name, ...present({ similar: near }) },
  })
}
