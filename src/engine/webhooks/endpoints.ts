import { ChronosError, shown } from '../../core/values/error.js'
import { read } from '../../core/values/schema.js'
import {
  ENDPOINTS_MAX,
  type Endpoint,
  liveSecrets,
  type Secret,
  type Subject,
  wants,
  webhookSecret,
  withSecret,
} from '../../core/webhook/webhook.js'
import type { NewJob } from '../../store/store.js'
import type { Environment } from '../client/environment.js'
import { CachedRead } from '../records/cached-read.js'
import { Records, type Stored } from '../records/records.js'
import { EndpointLimits } from './endpoint-limits.js'
import { newSecret } from './signature.js'

export const WEBHOOK = 'webhook'
/** The secrets that sign deliveries to URLs given by jobs. */
export const WEBHOOK_SECRETS = 'webhook-secrets'
export const PER_JOB = 'per-job'

interface Known {
  readonly endpoint: Endpoint
  readonly version: number
}

type Parts = Pick<Environment, 'connection' | 'clock' | 'dice' | 'time' | 'log'>

/** The webhook endpoints as this process knows them: read periodically, changed by compare-and-set. */
export class Endpoints {
  readonly #parts: Parts
  #known: ReadonlyMap<string, Known> = new Map()
  readonly #cache: CachedRead
  readonly #records: Records<Endpoint>
  readonly #secrets: Records<{ readonly secrets: readonly Secret[] }>

  readonly limits: EndpointLimits

  /** Signs deliveries to URLs given by jobs, in place of a secret of the store. */
  readonly #configured: string | undefined

  constructor(parts: Parts, configured?: string) {
    this.#parts = parts
    this.limits = new EndpointLimits(parts.connection, this)
    this.#cache = new CachedRead(parts.clock, () => this.#load())
    if (configured !== undefined) read(webhookSecret, configured, 'createChronos: webhookSecret')
    this.#configured = configured
    this.#records = new Records({ env: parts, kind: WEBHOOK, name: id => `webhook ${shown(id)}` })
    this.#secrets = new Records({ env: parts, kind: WEBHOOK_SECRETS, name: id => `webhook secret ${shown(id)}` })
  }

  get isLoaded(): boolean {
    return this.#cache.isLoaded
  }

  get size(): number {
    return this.#known.size
  }

  /** The endpoints as last read. */
  all(): readonly Endpoint[] {
    return [...this.#known.values()].map(({ endpoint }) => endpoint)
  }

  /** Reads the endpoints. */
  load(): Promise<void> {
    return this.#cache.load()
  }

  fresh(): Promise<void> {
    return this.#cache.fresh()
  }

  wanting(subject: Subject): readonly Endpoint[] {
    if (this.#known.size === 0) return []
    return this.all().filter(endpoint => wants(endpoint, subject))
  }

  /** The endpoint as last read. */
  peek(id: string): Endpoint | undefined {
    return this.#known.get(id)?.endpoint
  }

  /** The endpoint as last read. One that is unknown or disabled is read from the store: another process may have enabled it. */
  async find(id: string): Promise<Endpoint | undefined> {
    const known = this.peek(id)
    if (known?.state === 'enabled') return known
    const stored = await this.#records.find(id)
    return stored && this.#learn(stored)
  }

  async get(id: string): Promise<Endpoint> {
    const stored = await this.#records.find(id)
    if (!stored) throw noWebhook(id)
    return this.#learn(stored)
  }

  page(...query: Parameters<Records<Endpoint>['page']>): Promise<readonly Stored<Endpoint>[]> {
    return this.#records.page(...query)
  }

  async create(endpoint: Endpoint): Promise<void> {
    await this.load()
    if (this.#known.size >= ENDPOINTS_MAX) {
      throw new ChronosError('NOT_ALLOWED', `there are ${ENDPOINTS_MAX} webhooks already; delete some first`)
    }
    await this.#records.write(endpoint.id, endpoint, 0)
    await this.load()
  }

  async delete(id: string): Promise<void> {
    if (!(await this.#records.find(id))) throw noWebhook(id)
    await this.#records.delete(id)
    await this.load()
  }

  /** Changes an endpoint and enqueues `jobs` in the same transaction. Returns the endpoint, and whether it was changed. */
  async change(
    id: string,
    change: (endpoint: Endpoint, now: number) => Endpoint,
    jobs: (next: Endpoint) => readonly NewJob[] = () => [],
  ): Promise<{ readonly endpoint: Endpoint; readonly isChanged: boolean }> {
    let before: Endpoint | undefined
    const stored = await this.#records.change(
      id,
      endpoint => {
        if (!endpoint) throw noWebhook(id)
        before = endpoint
        return change(endpoint, this.#parts.time.now())
      },
      async (store, record, next) => (await store.fire([{ record, jobs: jobs(next) }]))[0]!,
    )
    return { endpoint: this.#learn(stored), isChanged: stored.body !== before }
  }

  /** Created at their first use and shared by all processes, unless one is configured. */
  async perJobSecrets(): Promise<readonly string[]> {
    if (this.#configured !== undefined) return [this.#configured]
    const stored = await this.#secrets.find(PER_JOB)
    const live = liveSecrets(stored?.body.secrets ?? [], this.#parts.time.now())
    if (live.length > 0) return live
    await this.rotatePerJob(true)
    return this.perJobSecrets()
  }

  /** `onlyFirst` keeps a secret that exists already. */
  async rotatePerJob(onlyFirst = false): Promise<string> {
    if (this.#configured !== undefined) {
      throw new ChronosError(
        'NOT_ALLOWED',
        'the secret of URLs given by jobs is configured; change `webhookSecret` there',
      )
    }
    const secret = newSecret(this.#parts.dice)
    const { body } = await this.#secrets.change(PER_JOB, stored => {
      const secrets = stored?.secrets ?? []
      if (stored && onlyFirst && secrets.length > 0) return stored
      return { secrets: withSecret(secrets, secret, this.#parts.time.now()) }
    })
    return body.secrets.some(({ value }) => value === secret) ? secret : body.secrets[0]!.value
  }

  async #load(): Promise<void> {
    const records = await this.#records.page({ limit: ENDPOINTS_MAX })
    this.#known = new Map(records.map(({ id, version, body: endpoint }) => [id, { version, endpoint }]))
  }

  #learn({ id, version, body }: Stored<Endpoint>): Endpoint {
    const known = this.#known.get(id)
    if (known && known.version >= version) return known.endpoint
    this.#known = new Map(this.#known).set(id, { version, endpoint: body })
    return body
  }
}

function noWebhook(id: string): ChronosError {
  return new ChronosError('NOT_FOUND', `there is no webhook ${shown(id)}`, { details: { webhookId: id } })
}
