import { ChronosError } from '../../core/values/error.js'
import type { Put, RecordQuery, RecordWrite, StoredRecord } from '../../store/record.js'
import type { Store } from '../../store/store.js'
import type { Connection } from '../client/connection.js'

/** Attempts of one change before it gives up. */
const TRIES_MAX = 20
/** Records read in one go once the first page was not enough. */
const BATCH = 500

/** A record with its parsed body. */
export interface Stored<Body> {
  readonly id: string
  readonly version: number
  readonly body: Body
}

interface RecordsOptions<Body> {
  readonly connection: Pick<Connection, 'store'>
  readonly kind: string
  /** Names a record in error messages: `redrive "…"`. */
  readonly name: (id: string) => string
  /** Reads a body; undefined treats an unreadable record as absent. Default: JSON. */
  readonly parse?: (record: StoredRecord) => Body | undefined
}

type CompareAndSet = RecordWrite & { readonly expect: number }

/** Writes one record, alone or together with other things. */
type Write<Body> = (
  store: Store,
  write: CompareAndSet,
  next: Body,
) => Promise<Pick<Put, 'status'> & { version?: number }>

/** All records of one kind: typed reads, and changes by compare-and-set. */
export class Records<Body> {
  readonly #options: RecordsOptions<Body>

  constructor(options: RecordsOptions<Body>) {
    this.#options = options
  }

  async find(id: string): Promise<Stored<Body> | undefined> {
    const { version, body } = await this.#read(await this.#store(), id)
    return body === undefined ? undefined : { id, version, body }
  }

  /** The records of these ids that exist. */
  async these(ids: readonly string[]): Promise<readonly Stored<Body>[]> {
    if (ids.length === 0) return []
    return this.#parsed(await (await this.#store()).records(this.#options.kind, { ids }))
  }

  /** A full page of wanted records, however many others lie between them. Unreadable records are left out. */
  async page(
    query: Extract<RecordQuery, { limit: number }>,
    isWanted: (body: Body) => boolean = () => true,
  ): Promise<readonly Stored<Body>[]> {
    const store = await this.#store()
    const found: Stored<Body>[] = []
    for (let range = query; ; ) {
      const records = await store.records(this.#options.kind, range)
      for (const stored of this.#parsed(records)) {
        if (isWanted(stored.body)) found.push(stored)
        if (found.length === query.limit) return found
      }
      if (records.length < range.limit) return found
      const last = records.at(-1)!.id
      const rest = query.order === 'down' ? { to: last } : { from: `${last}\u0001` }
      range = { ...range, ...rest, limit: BATCH }
    }
  }

  /** Returns the new version; undefined if the record does not have version `expect` (0: does not exist) any more. */
  async write(id: string, body: Body, expect: number): Promise<number | undefined> {
    const put = await putOne(await this.#store(), this.#write(id, body, expect))
    return put.status === 'written' ? put.version : undefined
  }

  /**
   * Reads the record, writes what `update` makes of it, and starts again if another process wrote it meanwhile. An
   * `update` that returns the body it was given writes nothing; one that throws ends the change.
   */
  async change(
    id: string,
    update: (body: Body | undefined, store: Store) => Body | Promise<Body>,
    write: Write<Body> = putOne,
  ): Promise<Stored<Body>> {
    const store = await this.#store()
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const { version, body } = await this.#read(store, id)
      const next = await update(body, store)
      if (next === body) return { id, version, body: next }
      const put = await write(store, this.#write(id, next, version), next)
      if (put.status === 'written') return { id, version: put.version!, body: next }
    }
    throw new ChronosError('STORE_UNAVAILABLE', `${this.#options.name(id)} was modified concurrently; retry`)
  }

  async delete(id: string): Promise<void> {
    await (await this.#store()).putRecords([{ kind: this.#options.kind, id, body: null }])
  }

  #store(): Promise<Store> {
    return this.#options.connection.store()
  }

  #write(id: string, body: Body, expect: number): CompareAndSet {
    return { kind: this.#options.kind, id, body: JSON.stringify(body), expect }
  }

  async #read(store: Store, id: string): Promise<{ readonly version: number; readonly body: Body | undefined }> {
    const [record] = await store.records(this.#options.kind, { ids: [id] })
    if (!record) return { version: 0, body: undefined }
    const { parse = parseJson<Body> } = this.#options
    return { version: record.version, body: parse(record) }
  }

  #parsed(records: readonly StoredRecord[]): readonly Stored<Body>[] {
    const { parse } = this.#options
    return records.flatMap(record => {
      const [body] = parse ? [parse(record)] : bodyOf<Body>(record)
      return body === undefined ? [] : [{ id: record.id, version: record.version, body }]
    })
  }
}

async function putOne(store: Store, write: RecordWrite): Promise<{ status: Put['status']; version?: number }> {
  const [put] = await store.putRecords([write])
  return put!
}

const parseJson = <Body>({ body }: StoredRecord): Body => JSON.parse(body) as Body

/** The body in an array; an empty array if it is damaged, so that one bad record does not stop the others. */
export function bodyOf<Body>({ body }: Pick<StoredRecord, 'body'>): readonly Body[] {
  try {
    return [JSON.parse(body) as Body]
  } catch {
    return []
  }
}
