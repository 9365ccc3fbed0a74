import { timeText } from '../../core/job/view.js'
import { HOUR_MS } from '../../core/values/duration.js'
import { ChronosError, shown } from '../../core/values/error.js'
import { freeText } from '../../core/values/limits.js'
import { present } from '../../core/values/present.js'
import { read } from '../../core/values/schema.js'
import { suggest } from '../../core/values/suggest.js'
import { TIMINGS, type Timings, type TopJob } from '../../store/fold.js'
import type { Store } from '../../store/store.js'
import { timeOf } from '../client/enqueuer.js'
import type { Environment } from '../client/environment.js'
import { type Counted, type CountsRange, type Figure, folded, readCounts, readFigures } from '../figures/counts.js'
import { readErrorCounts } from '../figures/error-counts.js'
import { seriesIn } from '../figures/series.js'
import { activityOf } from '../figures/statistics.js'
import { percentilesOf, sumOf, timingPlaces } from '../figures/timings.js'
import { knows, type WorkerView } from '../worker/fleet.js'
import {
  type NameList,
  type NameListQuery,
  type NameQuery,
  type NameReport,
  type NameSummary,
  nameListQuery,
  nameQuery,
} from './view.js'

const MINUTE_MS = 60_000
/** A longer range is read from the counts per hour. */
const MINUTES_MAX_MS = 6 * HOUR_MS
const RECORDS_MAX = 20_000
const NAMES_MAX = 1_000
const ERRORS_MAX = 10

/** `chronos.names`: job names, their rates, failures and percentiles. */
export class Names {
  readonly #env: Environment
  readonly #workers: () => Promise<readonly WorkerView[]>

  constructor(env: Environment, workers: () => Promise<readonly WorkerView[]>) {
    this.#env = env
    this.#workers = workers
  }

  /** The job names that were active in a time range, most runs first. */
  async list(asked: NameListQuery = {}): Promise<NameList> {
    const { q = '', queue, ...query } = read(nameListQuery, asked, 'names.list:')
    const store = await folded(await this.#env.connection.store())
    const { now } = await store.info()
    const range = rangeOf(query, now)
    const [counts, timings] = await Promise.all([readCounts(store, range), readFigures<Timings>(store, TIMINGS, range)])
    const wanted = q.toLowerCase()
    const isWanted = (figure: { readonly queue: string; readonly name: string }): boolean =>
      figure.name.toLowerCase().includes(wanted) && (queue === undefined || figure.queue === queue)
    const timed = grouped(timings.data.filter(isWanted), ({ name }) => name)
    const data = [...grouped(counts.data.filter(isWanted), ({ name }) => name)].map(
      ([name, counted]): NameSummary => ({
        name,
        queues: [...new Set(counted.map(each => each.queue))].sort(),
        ...figuresOf(counted, timed.get(name) ?? [], range, now),
      }),
    )
    data.sort((a, b) => b.started - a.started || b.enqueued - a.enqueued || (a.name < b.name ? -1 : 1))
    return {
      from: timeText(range.from),
      to: timeText(range.to),
      data: data.slice(0, NAMES_MAX),
      total: data.length,
      complete: counts.from <= range.from && timings.from <= range.from,
    }
  }

  /** Everything about the jobs of one name in a time range. */
  async get(name: string, asked: NameQuery = {}): Promise<NameReport> {
    read(freeText, name, 'names.get: name')
    const query = read(nameQuery, asked, 'names.get:')
    const store = await folded(await this.#env.connection.store())
    const { now } = await store.info()
    const { series, counted, timings, range } = await seriesIn(store, { ...query, name, percentiles: true })
    const workers = (await this.#workers()).filter(worker => worker.state === 'alive' && knows(worker, name))
    if (counted.length === 0 && workers.length === 0) await this.#check(store, name)
    const sum = sumOf(timings)
    const [errors, slowest, mostRetried] = await Promise.all([
      topErrors(store, name, range),
      this.#jobs(store, sum.slowest, runMs => ({ runMs })),
      this.#jobs(store, sum.retried, attempts => ({ attempts })),
    ])
    const timed = grouped(timings, ({ queue }) => queue)
    const queues = [...grouped(counted, ({ queue }) => queue)].map(([queue, counts]) => ({
      queue,
      ...figuresOf(counts, timed.get(queue) ?? [], range, now),
    }))
    return {
      name,
      ...series,
      ...figuresOf(counted, timings, range, now),
      queues: queues.sort((a, b) => b.started - a.started || (a.queue < b.queue ? -1 : 1)),
      errors: errors.data,
      slowest,
      mostRetried,
      workers,
      complete: series.complete && errors.isWhole,
    }
  }

  /** A misspelt name must not look like an idle one. */
  async #check(store: Store, name: string): Promise<void> {
    const names = [...new Set((await timingPlaces(store)).map(place => place.name))]
    if (names.includes(name) || (await store.list({ name }, { limit: 1 })).data.length > 0) return
    const near = suggest(name, names)
    const wayOut = near === undefined ? 'see the list of job names' : `did you mean "${near}"?`
    throw new ChronosError('NOT_FOUND', `there is no job named ${shown(name)}; ${wayOut}`, {
      details: { name, ...present({ similar: near }) },
    })
  }

  #jobs<Value>(store: Store, top: readonly TopJob[], shownAs: (value: number) => Value) {
    return Promise.all(
      top.map(async ([value, id]) => {
        const job = await store.get(id)
        const facts = job && { queue: job.queue, state: job.state, finishedAt: timeText(job.finishedAt) }
        return { id, ...shownAs(value), ...(facts && present(facts)) }
      }),
    )
  }
}

function rangeOf(query: NameQuery, now: number): CountsRange {
  const end = query.to === undefined ? now : timeOf(query.to, 'names: to')
  const start = query.from === undefined ? end - HOUR_MS : timeOf(query.from, 'names: from')
  if (start >= end) throw new ChronosError('INVALID_OPTION', 'names: from must be before to')
  const isLong = end - start > MINUTES_MAX_MS || start < now - 47 * HOUR_MS
  const stepMs = isLong ? HOUR_MS : MINUTE_MS
  return {
    resolution: isLong ? '1h' : '1m',
    from: Math.floor(start / stepMs) * stepMs,
    to: Math.ceil(end / stepMs) * stepMs,
    max: RECORDS_MAX,
  }
}

function figuresOf(
  counted: readonly Counted[],
  timings: readonly Figure<Timings>[],
  { from, to }: CountsRange,
  now: number,
) {
  const sums = activityOf(counted)
  const minutes = Math.max(1, (Math.min(to, now) - from) / MINUTE_MS)
  return {
    ...sums,
    perMinute: sums.started / minutes,
    ...(sums.started > 0 && { failureShare: sums.failed / sums.started }),
    ...percentilesOf(sumOf(timings)),
  }
}

async function topErrors(store: Store, name: string, range: CountsRange) {
  const { errors, isWhole } = await readErrorCounts(store, range)
  const own = errors.map(({ fingerprint, title, by }) => ({ fingerprint, title, failures: by.name[name] ?? 0 }))
  const data = own.filter(({ failures }) => failures > 0).sort((a, b) => b.failures - a.failures)
  return { data: data.slice(0, ERRORS_MAX), isWhole }
}

function grouped<T>(all: readonly T[], keyOf: (one: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>()
  for (const one of all) {
    const group = groups.get(keyOf(one))
    if (group) group.push(one)
    else groups.set(keyOf(one), [one])
  }
  return groups
}
