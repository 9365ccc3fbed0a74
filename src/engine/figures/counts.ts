import { COUNTS, countsId, type Resolution } from '../../store/fold.js'
import type { Store } from '../../store/store.js'
import { bodyOf } from '../records/records.js'

// What was counted, minute by minute and hour by hour, per queue and name.

export interface Counted {
  /** When its minute or hour began. */
  readonly at: number
  readonly queue: string
  readonly name: string
  readonly counts: Readonly<Record<string, number>>
}

export interface CountsRange {
  readonly resolution: Resolution
  readonly from: number
  /** Not included. */
  readonly to: number
  /** So many records are read. */
  readonly max: number
}

export interface CountsFound {
  readonly data: readonly Counted[]
  /** From here on nothing is missing. */
  readonly from: number
}

const PAGE = 2_000
const FOLD_BATCH = 500
const FOLDS_MAX = 20

/** What has just happened is counted too. */
export async function folded(store: Store): Promise<Store> {
  for (let folds = 0; folds < FOLDS_MAX; folds++) if ((await store.fold(FOLD_BATCH)) < FOLD_BATCH) break
  return store
}

/** The newest first, and no more than asked for. */
export async function readCounts(store: Store, { resolution, from, to, max }: CountsRange): Promise<CountsFound> {
  const first = countsId(resolution, from)
  let end = countsId(resolution, to)
  const data: Counted[] = []
  for (;;) {
    const limit = Math.min(PAGE, max - data.length)
    const page = limit <= 0 ? [] : await store.records(COUNTS, { from: first, to: end, limit, order: 'down' })
    for (const record of page) {
      for (const counts of bodyOf<Record<string, number>>(record)) data.push({ ...placeOf(record.id), counts })
    }
    const last = page.at(-1)
    if (page.length < PAGE || !last) {
      // The minute in which reading stopped may have more.
      const isCut = data.length >= max
      const since = isCut ? data.at(-1)!.at : from
      return { data: isCut ? data.filter(({ at }) => at > since) : data, from: isCut ? nextOf(data, since) : from }
    }
    end = last.id
  }
}

/** An id is `1m <minute> <queue> <name>`. */
function placeOf(id: string): Omit<Counted, 'counts'> {
  const [, at = '', queue = '', name = ''] = id.split(' ')
  return { at: Date.parse(at), queue, name }
}

const nextOf = (data: readonly Counted[], since: number): number => data.findLast(({ at }) => at > since)?.at ?? since
