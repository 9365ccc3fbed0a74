import { timeText } from '../../core/job/view.js'
import { DAY_MS, HOUR_MS } from '../../core/values/duration.js'
import { ChronosError } from '../../core/values/error.js'
import { freeText } from '../../core/values/limits.js'
import { present } from '../../core/values/present.js'
import { about, anyText, boolean, duration, type Infer, integer, named, read } from '../../core/values/schema.js'
import { listOf, object, view } from '../../core/values/shape.js'
import { time, timestamp } from '../../core/values/time.js'
import type { Store } from '../../store/store.js'
import { timeOf } from '../client/enqueuer.js'
import type { Environment } from '../client/environment.js'
import { folded } from '../figures/counts.js'
import { readErrorCounts } from '../figures/error-counts.js'
import { bodyOf } from '../records/records.js'
import { WORKER_BUILD, type WorkerBuild } from '../worker/fleet.js'

export const breakdownQuery = object(
  {},
  {
    from: about(time, 'Default: two days before `to`.'),
    to: about(time, 'Exclusive. Default: now.'),
    tenantId: about(freeText, 'Only the part of this tenant. Default: all tenants.'),
  },
)
export type BreakdownQuery = Infer<typeof breakdownQuery>

const share = named(
  'ErrorShare',
  view({ failures: integer() }, { value: about(anyText, 'Absent: all others, or jobs without a tenant.') }),
)
type Share = Infer<typeof share>

/** The failed runs of one error in a time range. */
export const errorBreakdown = named(
  'ErrorBreakdown',
  view({
    fingerprint: anyText,
    from: timestamp,
    to: about(timestamp, 'The range is widened to whole minutes, or to whole hours if minutes are no longer kept.'),
    step: duration(),
    failures: about(integer(), 'Failed runs in the range.'),
    deaths: about(integer(), 'Jobs that died with this error in the range.'),
    points: listOf(view({ at: timestamp, failures: integer(), deaths: integer() })),
    tenants: about(listOf(share), 'Most failed runs first, as in the other lists.'),
    queues: listOf(share),
    names: listOf(share),
    workers: listOf(share),
    builds: about(
      listOf(share),
      'Versions of your program, if workers name them (`work({ build })`, `CHRONOS_BUILD`).',
    ),
    complete: about(boolean, 'false: there are too many records, and the oldest are not counted.'),
  }),
)
export type ErrorBreakdown = Infer<typeof errorBreakdown>

const MINUTE_MS = 60_000
const MINUTES_KEPT_MS = 47 * HOUR_MS
const RANGE_MAX_MS = 90 * DAY_MS
const RECORDS_MAX = 20_000
const POINTS_MAX = 120
const STEPS_MS = [1, 5, 15, 60, 360, 1_440].map(minutes => minutes * MINUTE_MS)

export async function readBreakdown(
  env: Environment,
  fingerprint: string,
  asked: BreakdownQuery,
): Promise<ErrorBreakdown> {
  const { tenantId, ...query } = read(breakdownQuery, asked, 'dead.breakdown:')
  const store = await folded(await env.connection.store())
  const { now } = await store.info()
  const { from, to, stepMs, resolution } = rangeOf(query, now)
  const range = { resolution, from, to, max: RECORDS_MAX, fingerprint, ...present({ tenantId }) } as const
  const { errors, isWhole } = await readErrorCounts(store, range)
  const { failures = 0, deaths = 0, byTenant = {}, by, points = [] } = errors[0] ?? {}
  const sums = new Map<number, { failures: number; deaths: number }>()
  for (const point of points) {
    const at = Math.floor(point.at / stepMs) * stepMs
    const sum = sums.get(at) ?? { failures: 0, deaths: 0 }
    sums.set(at, { failures: sum.failures + point.failures, deaths: sum.deaths + point.deaths })
  }
  const filled = []
  for (let at = from; at < to; at += stepMs) {
    filled.push({ at: timeText(at), ...(sums.get(at) ?? { failures: 0, deaths: 0 }) })
  }
  return {
    fingerprint,
    from: timeText(from),
    to: timeText(to),
    step: stepMs % HOUR_MS === 0 ? `${stepMs / HOUR_MS}h` : `${stepMs / MINUTE_MS}m`,
    failures,
    deaths,
    points: filled,
    tenants: sharesOf(byTenant, failures),
    queues: sharesOf(by?.queue),
    names: sharesOf(by?.name),
    workers: sharesOf(by?.worker),
    builds: sharesOf(await buildsOf(store, by?.worker ?? {})),
    complete: isWhole,
  }
}

/** The failed runs and deaths of each error in a time range; undefined without a range. */
export async function readSeen(
  env: Environment,
  { from, to, tenantId }: BreakdownQuery,
): Promise<ReadonlyMap<string, { readonly failures: number; readonly deaths: number }> | undefined> {
  if (from === undefined && to === undefined) return undefined
  const store = await env.connection.store()
  const { now } = await store.info()
  const { stepMs: _, ...range } = rangeOf(present({ from, to }), now)
  const { errors } = await readErrorCounts(store, { ...range, max: RECORDS_MAX, ...present({ tenantId }) })
  return new Map(errors.map(({ fingerprint, failures, deaths }) => [fingerprint, { failures, deaths }]))
}

function rangeOf(query: Omit<BreakdownQuery, 'tenantId'>, now: number) {
  const end = query.to === undefined ? now : timeOf(query.to, 'dead.breakdown: to')
  const start = query.from === undefined ? end - 2 * DAY_MS : timeOf(query.from, 'dead.breakdown: from')
  if (start >= end) throw new ChronosError('INVALID_OPTION', 'dead.breakdown: from must be before to')
  if (end - start > RANGE_MAX_MS) {
    throw new ChronosError('INVALID_OPTION', 'dead.breakdown: expected a range of at most 90 days')
  }
  const wanted = STEPS_MS.find(ms => (end - start) / ms <= POINTS_MAX) ?? STEPS_MS.at(-1)!
  const resolution = start < now - MINUTES_KEPT_MS ? '1h' : '1m'
  const stepMs = resolution === '1h' ? Math.max(HOUR_MS, wanted) : wanted
  return {
    from: Math.floor(start / stepMs) * stepMs,
    to: Math.ceil(end / stepMs) * stepMs,
    stepMs,
    resolution,
  } as const
}

/** Failed runs without a value are those that are missing from the total, and those of values that were summed up. */
function sharesOf(counts: Readonly<Record<string, number>> = {}, total?: number): readonly Share[] {
  const known = Object.entries(counts).filter(([value]) => value !== '')
  const sum = known.reduce((all, [, failures]) => all + failures, 0)
  const rest = total === undefined ? (counts[''] ?? 0) : total - sum
  const shares: Share[] = known.map(([value, failures]) => ({ value, failures }))
  if (rest > 0) shares.push({ failures: rest })
  return shares.sort((a, b) => b.failures - a.failures)
}

async function buildsOf(
  store: Store,
  workers: Readonly<Record<string, number>>,
): Promise<Readonly<Record<string, number>>> {
  const ids = Object.keys(workers).filter(id => id !== '')
  const records = ids.length === 0 ? [] : await store.records(WORKER_BUILD, { ids })
  const sums = new Map<string, number>()
  for (const record of records) {
    for (const { build } of bodyOf<WorkerBuild>(record)) sums.set(build, (sums.get(build) ?? 0) + workers[record.id]!)
  }
  return Object.fromEntries(sums)
}
