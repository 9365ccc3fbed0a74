import {
  countsId,
  ERROR_COUNTS,
  ERROR_TRAITS,
  type ErrorCounts,
  type ErrorTrait,
  groupOfCounts,
  add as plus,
  tally,
} from '../../store/fold.js'
import type { Store } from '../../store/store.js'
import { bodyOf } from '../records/records.js'
import type { CountsRange } from './counts.js'

/** The failed runs of one error in a time range. */
export interface ErrorSums {
  readonly fingerprint: string
  readonly title: string
  readonly failures: number
  readonly deaths: number
  /** Failed runs by tenant; the jobs without a tenant are not in it. */
  readonly byTenant: Readonly<Record<string, number>>
  readonly tenants: readonly string[]
  readonly by: Readonly<Record<ErrorTrait, Readonly<Record<string, number>>>>
  /** By minute or hour, oldest first. */
  readonly points: readonly { readonly at: number; readonly failures: number; readonly deaths: number }[]
}

interface ErrorRange extends CountsRange {
  readonly tenantId?: string
  readonly fingerprint?: string
}

const PAGE = 2_000

/** Sums up the errors of a time range, most failures first. The newest records are read first, up to `max`. */
export async function readErrorCounts(
  store: Store,
  { resolution, from, to, max, tenantId, fingerprint }: ErrorRange,
): Promise<{ readonly errors: readonly ErrorSums[]; readonly isWhole: boolean }> {
  const sums = new Map<string, Draft>()
  const first = countsId(resolution, from)
  let end = countsId(resolution, to)
  let looked = 0
  for (;;) {
    const limit = Math.min(PAGE, max - looked)
    const page = limit <= 0 ? [] : await store.records(ERROR_COUNTS, { from: first, to: end, limit, order: 'down' })
    looked += page.length
    for (const record of page) {
      const group = groupOfCounts(record.id)
      if (tenantId !== undefined && group.tenantId !== tenantId) continue
      if (fingerprint !== undefined && group.fingerprint !== fingerprint) continue
      for (const counts of bodyOf<ErrorCounts>(record)) add(sums, group, counts)
    }
    const last = page.at(-1)
    if (page.length < PAGE || !last) {
      const errors = [...sums.values()].map(sumsOf).sort((a, b) => b.failures - a.failures)
      return { errors, isWhole: looked < max }
    }
    end = last.id
  }
}

interface Draft extends Omit<ErrorSums, 'tenants' | 'points' | 'by' | 'byTenant' | 'failures' | 'deaths'> {
  failures: number
  deaths: number
  readonly byTenant: Record<string, number>
  readonly by: Record<ErrorTrait, Record<string, number>>
  readonly points: Map<number, { at: number; failures: number; deaths: number }>
}

function add(sums: Map<string, Draft>, group: ReturnType<typeof groupOfCounts>, counts: ErrorCounts): void {
  const { at, fingerprint, tenantId } = group
  const { title, failures, deaths } = counts
  const none = { byTenant: tally(), by: { queue: tally(), name: tally(), worker: tally() }, points: new Map() }
  const draft = sums.get(fingerprint) ?? { fingerprint, title, failures: 0, deaths: 0, ...none }
  sums.set(fingerprint, draft)
  draft.failures += failures
  draft.deaths += deaths
  if (tenantId !== undefined) plus(draft.byTenant, tenantId, failures)
  for (const trait of ERROR_TRAITS) {
    for (const [value, by] of Object.entries(counts.by[trait])) plus(draft.by[trait], value, by)
  }
  const point = draft.points.get(at) ?? { at, failures: 0, deaths: 0 }
  draft.points.set(at, { at, failures: point.failures + failures, deaths: point.deaths + deaths })
}

function sumsOf({ points, ...draft }: Draft): ErrorSums {
  return {
    ...draft,
    tenants: Object.keys(draft.byTenant),
    points: [...points.values()].sort((a, b) => a.at - b.at),
  }
}
