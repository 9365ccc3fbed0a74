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

export interface BulkOptions {
  /** Changes nothing and returns how many jobs match. */
  readonly dryRun?: boolean
  /** Required for a filter without any condition, because that matches all jobs. */
  readonly all?: boolean
}

const BATCH = 500
/** The number of jobs that a store examines for one batch. */
const LOOK_AT = 10_000
const COUNT_MAX = Number.MAX_SAFE_INTEGER - 1

interface Bulk {
  readonly store: Store
  readonly filter: JobFilter
  readonly dryRun: boolean
  readonly act: (ids: readonly string[]) => Promise<readonly Changed[]>
  /** Jobs with this reason are skipped. */
  readonly exceptReason?: string
}

/**
 * Changes all jobs that match, some hundred at a time, from the newest on by their keys. Concurrent changes cause no
 * repeats or gaps, and jobs that were enqueued after the start are not touched.
 */
export async function actOnAll({ store, filter, dryRun, act, exceptReason }: Bulk): Promise<BulkResult> {
  const { now } = await store.info()
  const own = { ...filter, createdBefore: Math.min(filter.createdBefore ?? now + 1, now + 1) }
  if (dryRun && !isSearch(own)) return { matched: await countAll(store, own, exceptReason), changed: 0, dryRun }
  const sums = { matched: 0, changed: 0, refused: 0 }
  let cursor: string | undefined
  do {
    const page = await store.list(own, present({ limit: BATCH, lookAt: LOOK_AT, cursor }))
    const ids = page.data.filter(job => exceptReason === undefined || job.reason !== exceptReason).map(job => job.id)
    sums.matched += ids.length
    if (!dryRun && ids.length > 0) {
      for (const { status } of await act(ids)) {
        if (status === 'changed' || status === 'requested') sums.changed++
        else sums.refused++
      }
    }
    cursor = page.next
  } while (cursor !== undefined)
  const { matched, changed, refused } = sums
  return { matched, changed, ...(refused > 0 && { refused }), dryRun }
}

const isSearch = ({ text, error }: JobFilter): boolean => text !== undefined || error !== undefined

async function countAll(store: Store, filter: JobFilter, exceptReason: string | undefined): Promise<number> {
  const { value } = await store.count(filter, COUNT_MAX)
  if (exceptReason === undefined) return value
  const left = await store.count({ ...filter, reason: exceptReason }, COUNT_MAX)
  return Math.max(0, value - left.value)
}

/** A forgotten filter must not become an action on every job. */
export function checkMeant(query: JobQuery, { all = false }: BulkOptions, action: string): void {
  if (all || Object.values(query).some(value => value !== undefined)) return
  throw new ChronosError(
    'INVALID_OPTION',
    `${action}: an empty filter matches every job; give a condition, or { all: true } to change all jobs`,
  )
}
