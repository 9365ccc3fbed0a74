import { COUNTS, countsId, placeOfCounts, type Resolution } from '../../store/fold.js'
import type { Store } from '../../store/store.js'
import { bodyOf } from '../records/records.js'

// Counters per minute and per hour, by queue and job name.

export interface Counted {
  /** The start of the minute or hour. */
  readonly at: number
  readonly queue: string
  readonly name: string
  readonly counts: Readonly<Record<string, number>>
}

export interface CountsRange {
  readonly resolution: Resolution
  readonly from: number
  /** Exclusive. */
  readonly to: number
  /** The maximum number of records to read. */
  readonly max: number
}

export interface CountsFound {
  readonly data: readonly Counted[]
  /** The counters are complete from this time on. */
  readonly from: number
}

const PAGE = 2_000
const FOLD_BATCH = 500
const FOLDS_MAX = 20

/** Folds pending deltas first, so that the newest events are counted. */
export async function folded(store: Store): Promise<Store> {
  for (let folds = 0; folds < FOLDS_MAX; folds++) if ((await store.fold(FOLD_BATCH)) < FOLD_BATCH) break
  return store
}

/** Reads the newest records first, up to `max`. */
export async function readCounts(store: Store, range: CountsRange): Promise<CountsFound> {
  const { data, from } = await readFigures<Record<string, number>>(store, COUNTS, range)
  return { data: data.map(({ body: counts, ...place }) => ({ ...place, counts })), from }
}

export interface Figure<Body> {
  readonly at: number
  readonly queue: string
  readonly name: string
  readonly body: Body
}

/** Reads figures of any kind that have ids by `countsId`, newest first. They are complete from the returned time on. */
export async function readFigures<Body>(
  store: Store,
  kind: string,
  { resolution, from, to, max }: CountsRange,
): Promise<{ readonly data: readonly Figure<Body>[]; readonly from: number }> {
  const first = countsId(resolution, from)
  let end = countsId(resolution, to)
  const data: Figure<Body>[] = []
  for (;;) {
    const limit = Math.min(PAGE, max - data.length)
    const page = limit <= 0 ? [] : await store.records(kind, { from: first, to: end, limit, order: 'down' })
    for (const record of page) {
      for (const body of bodyOf<Body>(record)) data.push({ ...placeOfCounts(record.id), body })
    }
    const last = page.at(-1)
    if (page.length < PAGE || !last) {
      // The minute at which reading stopped may be incomplete.
      const isCut = data.length >= max
      const since = isCut ? data.at(-1)!.at : from
      return { data: isCut ? data.filter(({ at }) => at > since) : data, from: isCut ? nextOf(data, since) : from }
    }
    end = last.id
  }
}

const nextOf = (data: readonly { readonly at: number }[], since: number): number =>
  data.findLast(({ at }) => at > since)?.at ?? since
