import { ChronosError } from '../../core/values/error.js'
import type { Put, RecordQuery, RecordWrite, StoredRecord } from '../../store/record.js'
import type { Store } from '../../store/store.js'
import type { Environment } from '../client/environment.js'

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

/** What records need of their surroundings. */
export interface RecordsEnvironment {
  readonly connection: Pick<Environment['connection'], 'store'>
  readonly log: Environment['log']
}

interface RecordsOptions<Body> {
  readonly env: RecordsEnvironment
  readonly kind: string
  /** Names a record in error messages: `redrive "…"`. */
  readonly name: (id: string) => string
  /** Reads a body; undefined if it is damaged. Default: JSON. */
  readonly parse?: (record: StoredRecord) => Body | undefined
}

type CompareAndSet = RecordWrite & { readonly expect: number }

/** Writes one record, alone or together with other things. */
type Write<Body> = (
  store: Store,
  write: CompareAndSet,
  next: Body,
) => Promise<Pick<Put, 'status'> & { version?: number }>

/**
 * All records of one kind: typed reads, and changes by compare-and-set. A damaged record counts as absent everywhere: no
 * read returns it, a change starts from nothing and replaces it. It is logged, and `chronos doctor` lists it.
 */
export class Records<Body> {
  readonly #options: RecordsOptions<Body>
  /** The versions of damaged records that were logged. */
  readonly #logged = new Map<string, number>()

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

  /** A full page of wanted records, however many others lie between them. */
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
    return this.#options.env.connection.store()
  }

  #write(id: string, body: Body, expect: number): CompareAndSet {
    return { kind: this.#options.kind, id, body: JSON.stringify(body), expect }
  }

  async #read(store: Store, id: string): Promise<{ readonly version: number; readonly body: Body | undefined }> {
    const [record] = await store.records(this.#options.kind, { ids: [id] })
    return record ? { version: record.version, body: this.#body(record) } : { version: 0, body: undefined }
  }

  #parsed(records: readonly StoredRecord[]): readonly Stored<Body>[] {
    return records.flatMap(record => {
      const body = this.#body(record)
      return body === undefined ? [] : [{ id: record.id, version: record.version, body }]
    })
  }

  #body(record: StoredRecord): Body | undefined {
    const { parse = firstBody<Body>, env, kind } = this.#options
    const body = parse(record)
    const { id, version } = record
    if (body === undefined && this.#logged.get(id) !== version) {
      this.#logged.set(id, version)
      env.log.error({ event: 'record.damaged', kind, recordId: id }, 'damaged record, treating it as absent')
    }
    return body
  }
}

async function putOne(store: Store, write: RecordWrite): Promise<{ status: Put['status']; version?: number }> {
  const [put] = await store.putRecords([write])
  return put!
}

const firstBody = <Body>(record: StoredRecord): Body | undefined => bodyOf<Body>(record)[0]

/** The body in an array; an empty array if it is damaged, so that one bad record does not stop the others. */
export function bodyOf<Body>({ body }: Pick<StoredRecord, 'body'>): readonly Body[] {
  try {
    return [JSON.parse(body) as Body]
  } catch {
    return []
  }
}
