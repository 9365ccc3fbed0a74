import type { Clock } from '../../core/values/clock.js'
import { ChronosError, shown } from '../../core/values/error.js'
import { PAGE_MAX } from '../../core/values/limits.js'
import { present } from '../../core/values/present.js'
import type { Chronos } from '../../engine/client/chronos.js'
import type { List } from '../../engine/jobs/query.js'
import type { Caller } from './caller.js'

/** What the tokens of one tenant may create. Tokens without a tenant have no limit. */
export const TENANT_MAX = { queues: 1_000, dependencies: 1_000, schedules: 1_000, webhooks: 100 } as const
type Limited = keyof typeof TENANT_MAX

/** How soon a name that another process created is known here. */
const KNOWN_MS = 5_000

type Library = Pick<Chronos, 'queues' | 'circuits' | 'schedules' | 'webhooks'>

/** Keeps one tenant from filling the store with queues, dependencies, schedules and webhook endpoints. */
export class Quota {
  readonly #chronos: Library
  readonly #queues: Names
  readonly #dependencies: Names

  constructor(chronos: Library, clock: Clock) {
    this.#chronos = chronos
    this.#queues = new Names(clock, async () => (await chronos.queues.list()).map(({ name }) => name))
    this.#dependencies = new Names(clock, async () =>
      (await chronos.circuits.list()).map(({ tenantId = '', key }) => `${tenantId} ${key}`),
    )
  }

  /** Called before a job is enqueued: its queue and its dependency may be new. */
  async job({ tenantId }: Caller, queue: string | undefined, dependency: string | undefined): Promise<void> {
    if (tenantId === undefined) return
    if (queue !== undefined && !(await this.#queues.mayUse(tenantId, queue, TENANT_MAX.queues)))
      throw full(tenantId, 'queues')
    if (dependency === undefined) return
    if (!(await this.#dependencies.mayUse(tenantId, `${tenantId} ${dependency}`, TENANT_MAX.dependencies)))
      throw full(tenantId, 'dependencies')
  }

  /** Called before a schedule or a webhook endpoint is created. */
  async more({ tenantId }: Caller, what: 'schedules' | 'webhooks'): Promise<void> {
    if (tenantId === undefined) return
    let count = 0
    for (let cursor: string | undefined; ; ) {
      const found: List<unknown> = await this.#chronos[what].list(present({ tenantId, limit: PAGE_MAX, cursor }))
      count += found.data.length
      if (count >= TENANT_MAX[what]) throw full(tenantId, what)
      cursor = found.page.next
      if (cursor === undefined) return
    }
  }
}

/** Names that exist, and the new ones that each tenant has used since this process started. */
class Names {
  readonly #clock: Clock
  readonly #read: () => Promise<readonly string[]>
  #known: Promise<ReadonlySet<string>> = Promise.resolve(new Set())
  #readAt = Number.NEGATIVE_INFINITY
  readonly #created = new Map<string, Set<string>>()

  constructor(clock: Clock, read: () => Promise<readonly string[]>) {
    this.#clock = clock
    this.#read = read
  }

  async mayUse(tenantId: string, name: string, max: number): Promise<boolean> {
    if (await this.#isKnown(name)) return true
    const created = this.#created.get(tenantId) ?? new Set()
    if (!created.has(name) && created.size >= max) return false
    this.#created.set(tenantId, created.add(name))
    return true
  }

  async #isKnown(name: string): Promise<boolean> {
    const now = this.#clock.now()
    if (!(await this.#known).has(name) && now - this.#readAt >= KNOWN_MS) {
      this.#readAt = now
      const before = this.#known
      this.#known = this.#read().then(
        names => new Set(names),
        () => before,
      )
    }
    return (await this.#known).has(name)
  }
}

const WORDS: Readonly<Record<Limited, string>> = {
  queues: 'has created %d queues, the most that its tokens may create; use one of them',
  dependencies: 'has created %d dependencies, the most that its tokens may create; use one of them',
  schedules: 'has %d schedules, the most that its tokens may create; delete one first',
  webhooks: 'has %d webhook endpoints, the most that its tokens may create; delete one first',
}

function full(tenantId: string, what: Limited): ChronosError {
  const limit = TENANT_MAX[what]
  return new ChronosError('NOT_ALLOWED', `tenant ${shown(tenantId)} ${WORDS[what].replace('%d', String(limit))}`, {
    details: { tenantId, limit },
  })
}
