import type { RecordQuery, StoredRecord } from '../../store/record.js'
import type { Store } from '../../store/store.js'
import { bodyOf } from '../alerts/records.js'

/** Records read in one go, once the first few were not enough. */
const BATCH = 500

export interface FoundRecord<Body> {
  readonly id: string
  readonly body: Body
  readonly record: StoredRecord
}

/** A page of those records of a kind that somebody may see: as many as asked for, however many others lie between. */
export async function recordPage<Body>(
  store: Store,
  kind: string,
  query: Extract<RecordQuery, { limit: number }>,
  isWanted: (body: Body) => boolean,
): Promise<readonly FoundRecord<Body>[]> {
  const found: FoundRecord<Body>[] = []
  let range = query
  for (;;) {
    const records = await store.records(kind, range)
    for (const record of records) {
      for (const body of bodyOf<Body>(record)) if (isWanted(body)) found.push({ id: record.id, body, record })
      if (found.length === query.limit) return found
    }
    if (records.length < range.limit) return found
    const last = records.at(-1)!.id
    const rest = query.order === 'down' ? { to: last } : { from: `${last}\u0001` }
    range = { ...range, ...rest, limit: BATCH }
  }
}
