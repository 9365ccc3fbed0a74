import { type BulkOptions, checkAtMost } from '../../core/job/bulk.js'
import type { Job } from '../../core/job/job.js'
import { ChronosError } from '../../core/values/error.js'
import { present } from '../../core/values/present.js'
import { about, boolean, type Infer, integer, named } from '../../core/values/schema.js'
import { view } from '../../core/values/shape.js'
import type { Changed, JobFilter, Store } from '../../store/store.js'
import type { JobQuery } from './query.js'

/** The result of a bulk action or of its dry run. */
export const bulkResult = named(
  'BulkResult',
  view(
    { matched: integer(), changed: integer(), dryRun: boolean },
    {
      refused: about(
        integer(),
        'Jobs that matched but could not be changed: their state has changed, or another job has their `unique` value. Absent if there are none.',
      ),
    },
  ),
)
export type BulkResult = Infer<typeof bulkResult>

const BATCH = 500
/** The number of jobs that a store examines for one batch. */
const LOOK_AT = 10_000
const COUNT_MAX = Number.MAX_SAFE_INTEGER - 1

interface Bulk {
  /** The method, for errors. */
  readonly action: string
  readonly store: Store
  readonly filter: JobFilter
  readonly options: BulkOptions
  readonly act: (ids: readonly string[]) => Promise<readonly Changed[]>
  /** Jobs with these reasons are skipped. */
  readonly skipped?: readonly string[]
}

/**
 * Changes all jobs that match, some hundred at a time, from the newest on by their keys. Concurrent changes cause no
 * repeats or gaps, and jobs that were enqueued after the start are not touched. Jobs that began to match after the
 * count must not exceed `atMost` either.
 */
export async function actOnAll({ action, store, filter, options, act, skipped = [] }: Bulk): Promise<BulkResult> {
  const { dryRun = false, atMost } = options
  const { now } = await store.info()
  const own = { ...filter, createdBefore: Math.min(filter.createdBefore ?? now + 1, now + 1) }
  const counted = dryRun || atMost !== undefined ? await countAll(store, own, skipped) : { matched: 0 }
  if (dryRun) return { matched: counted.matched, changed: 0, dryRun }
  checkAtMost(action, counted.matched, atMost)
  const sums = { matched: 0, changed: 0, refused: 0 }
  for await (const jobs of pagesOf(store, own)) {
    const ids = jobs.filter(job => !isSkipped(job, skipped)).map(job => job.id)
    sums.matched += ids.length
    checkAtMost(action, sums.matched, atMost, sums.changed)
    if (ids.length === 0) continue
    for (const { status } of await act(ids)) {
      if (status === 'changed' || status === 'requested') sums.changed++
      else sums.refused++
    }
  }
  const { matched, changed, refused } = sums
  return { matched, changed, ...(refused > 0 && { refused }), dryRun }
}

interface Counted {
  readonly matched: number
  readonly skipped: number
}

/** The exact number of jobs that an action would change, and of those that it would skip because of their reasons. */
export async function countAll(store: Store, filter: JobFilter, reasons: readonly string[]): Promise<Counted> {
  if (filter.text !== undefined || filter.error !== undefined) return countFound(store, filter, reasons)
  const countOf = async (reason?: string): Promise<number> =>
    (await store.count({ ...filter, ...present({ reason }) }, COUNT_MAX)).value
  const possible = reasons.filter(reason => filter.reason === undefined || filter.reason === reason)
  const [all, ...left] = await Promise.all([countOf(), ...possible.map(countOf)])
  const skipped = left.reduce((sum, value) => sum + value, 0)
  return { matched: Math.max(0, all - skipped), skipped }
}

/** A search reads the jobs page by page, so that it never occupies the store for long. */
async function countFound(store: Store, filter: JobFilter, reasons: readonly string[]): Promise<Counted> {
  const sums = { matched: 0, skipped: 0 }
  for await (const jobs of pagesOf(store, filter)) {
    for (const job of jobs) sums[isSkipped(job, reasons) ? 'skipped' : 'matched']++
  }
  return sums
}

async function* pagesOf(store: Store, filter: JobFilter): AsyncGenerator<readonly Job[]> {
  for (let cursor: string | undefined; ; ) {
    const { data, next } = await store.list(filter, present({ limit: BATCH, lookAt: LOOK_AT, cursor }))
    yield data
    if (next === undefined) return
    cursor = next
  }
}

const isSkipped = ({ reason }: Job, reasons: readonly string[]): boolean =>
  reason !== undefined && reasons.includes(reason)

/** A forgotten filter must not become an action on every job. */
export function checkMeant(query: JobQuery, { all = false }: BulkOptions, action: string): void {
  if (all || Object.values(query).some(value => value !== undefined)) return
  throw new ChronosError(
    'INVALID_OPTION',
    `${action}: an empty filter matches every job; give a condition, or { all: true } to change all jobs`,
  )
}
