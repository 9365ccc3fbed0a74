import { ChronosError, shown } from '../../core/values/error.js'
import {
  ENDPOINTS_MAX,
  type Endpoint,
  liveSecrets,
  type Secret,
  type Subject,
  wants,
  withSecret,
} from '../../core/webhook/webhook.js'
import type { StoredRecord } from '../../store/record.js'
import type { NewJob, Store } from '../../store/store.js'
import type { Environment } from '../client/environment.js'
import { newSecret } from './signature.js'

export const WEBHOOK = 'webhook'
/** Signs what goes to the addresses that jobs name themselves. */
export const PER_JOB = 'per-job'
const SECRETS = { kind: 'webhook-secrets', id: PER_JOB } as const
const CHANGES_MAX = 20
/** What was read so recently is not read again. */
const FRESH_MS = 1_000

interface Known {
  readonly endpoint: Endpoint
  readonly version: number
}

type Parts = Pick<Environment, 'connection' | 'clock' | 'dice' | 'time'>

/** Who wants to hear of what, as this process knows it: read now and then, changed by compare-and-set. */
export class Endpoints {
  readonly #parts: Parts
  #known: ReadonlyMap<string, Known> = new Map()
  #loadedAt = Number.NEGATIVE_INFINITY
  #loading: Promise<void> | undefined

  constructor(parts: Parts) {
    this.#parts = parts
  }

  get isLoaded(): boolean {
    return this.#loadedAt !== Number.NEGATIVE_INFINITY
  }

  get size(): number {
    return this.#known.size
  }

  /** Reads them again. */
  load(): Promise<void> {
    this.#loading ??= this.#load().finally(() => {
      this.#loading = undefined
    })
    return this.#loading
  }

  /** For who has no loop that reads them. */
  async fresh(): Promise<void> {
    if (this.#parts.clock.now() - this.#loadedAt > FRESH_MS) await this.load()
  }

  wanting(subject: Subject): readonly Endpoint[] {
    if (this.#known.size === 0) return []
    return [...this.#known.values()].map(({ endpoint }) => endpoint).filter(endpoint => wants(endpoint, subject))
  }

  /** As it was when it was last read. */
  peek(id: string): Endpoint | undefined {
    return this.#known.get(id)?.endpoint
  }

  /** The same; one that was never seen is looked for. */
  async find(id: string): Promise<Endpoint | undefined> {
    const known = this.#known.get(id)?.endpoint
    if (known) return known
    const [record] = await (await this.#parts.connection.store()).records(WEBHOOK, { ids: [id] })
    return record && this.#hear(record)
  }

  async get(id: string): Promise<Endpoint> {
    const store = await this.#parts.connection.store()
    return this.#hear(await this.#record(store, id))
  }

  async create(endpoint: Endpoint): Promise<void> {
    const store = await this.#parts.connection.store()
    await this.load()
    if (this.#known.size >= ENDPOINTS_MAX) {
      throw new ChronosError('NOT_ALLOWED', `there are ${ENDPOINTS_MAX} webhooks already; delete some first`)
    }
    await store.putRecords([{ kind: WEBHOOK, id: endpoint.id, body: JSON.stringify(endpoint), expect: 0 }])
    await this.load()
  }

  async delete(id: string): Promise<void> {
    const store = await this.#parts.connection.store()
    await this.#record(store, id)
    await store.putRecords([{ kind: WEBHOOK, id, body: null }])
    await this.load()
  }

  /** `jobs` come into being with the change, or not at all. Gives what it became, and whether that is another. */
  async change(
    id: string,
    change: (endpoint: Endpoint, now: number) => Endpoint,
    jobs: (next: Endpoint) => readonly NewJob[] = () => [],
  ): Promise<{ readonly endpoint: Endpoint; readonly isChanged: boolean }> {
    const store = await this.#parts.connection.store()
    for (let tries = 0; tries < CHANGES_MAX; tries++) {
      const record = await this.#record(store, id)
      const endpoint = this.#hear(record)
      const next = change(endpoint, this.#parts.time.now())
      if (next === endpoint) return { endpoint, isChanged: false }
      const body = JSON.stringify(next)
      const [put] = await store.fire([
        { record: { kind: WEBHOOK, id, body, expect: record.version }, jobs: jobs(next) },
      ])
      if (put!.status !== 'written') continue
      this.#hear({ ...record, version: put!.version, body })
      return { endpoint: next, isChanged: true }
    }
    throw new ChronosError('STORE_UNAVAILABLE', `webhook ${shown(id)} is changed by too many at once; try again`)
  }

  /** Made when they are first needed, and shared by all processes. */
  async perJobSecrets(): Promise<readonly string[]> {
    const { secrets } = await this.#readSecrets(await this.#parts.connection.store())
    const live = liveSecrets(secrets, this.#parts.time.now())
    if (live.length > 0) return live
    await this.rotatePerJob(true)
    return this.perJobSecrets()
  }

  /** `onlyFirst`: leaves one alone that is there already. */
  async rotatePerJob(onlyFirst = false): Promise<string> {
    const store = await this.#parts.connection.store()
    const secret = newSecret(this.#parts.dice)
    for (let tries = 0; tries < CHANGES_MAX; tries++) {
      const { secrets, version } = await this.#readSecrets(store)
      if (onlyFirst && secrets.length > 0) return secrets[0]!.value
      const body = JSON.stringify({ secrets: withSecret(secrets, secret, this.#parts.time.now()) })
      const [put] = await store.putRecords([{ ...SECRETS, body, expect: version }])
      if (put!.status === 'written') return secret
    }
    throw new ChronosError('STORE_UNAVAILABLE', 'the secret is changed by too many at once; try again')
  }

  async #readSecrets(store: Store): Promise<{ readonly secrets: readonly Secret[]; readonly version: number }> {
    const [record] = await store.records(SECRETS.kind, { ids: [SECRETS.id] })
    if (!record) return { secrets: [], version: 0 }
    return { ...(JSON.parse(record.body) as { secrets: readonly Secret[] }), version: record.version }
  }

  async #load(): Promise<void> {
    const store = await this.#parts.connection.store()
    const at = this.#parts.clock.now()
    const records = await store.records(WEBHOOK, { limit: ENDPOINTS_MAX })
    const known = records.map(({ id, version, body }): [string, Known] => {
      const old = this.#known.get(id)
      return [id, old?.version === version ? old : { version, endpoint: JSON.parse(body) as Endpoint }]
    })
    this.#known = new Map(known)
    this.#loadedAt = at
  }

  async #record(store: Store, id: string): Promise<StoredRecord> {
    const [record] = await store.records(WEBHOOK, { ids: [id] })
    if (record) return record
    throw new ChronosError('NOT_FOUND', `there is no webhook ${shown(id)}`, { details: { webhookId: id } })
  }

  #hear({ id, version, body }: StoredRecord): Endpoint {
    const known = this.#known.get(id)
    if (known && known.version >= version) return known.endpoint
    const endpoint = JSON.parse(body) as Endpoint
    this.#known = new Map(this.#known).set(id, { version, endpoint })
    return endpoint
  }
}
