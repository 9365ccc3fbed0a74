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
/** Dependencies that are known to exist. */
const REMEMBERED_MAX = 10_000

type Library = Pick<Chronos, 'queues' | 'circuits' | 'schedules' | 'webhooks'>

/** Keeps one tenant from filling the store with queues, dependencies, schedules and webhook endpoints. */
export class Quota {
  readonly #chronos: Library
  readonly #queues: Names
  readonly #dependencies: Names

  constructor(chronos: Library, clock: Clock) {
    this.#chronos = chronos
    this.#queues = new Names(queueNames(chronos, clock))
    this.#dependencies = new Names(dependencyNames(chronos))
  }

  /** Called before a job is enqueued: its queue and its dependency may be new. */
  async job({ tenantId }: Caller, queue: string | undefined, dependency: string | undefined): Promise<void> {
    if (tenantId === undefined) return
    if (queue !== undefined && !(await this.#queues.mayUse(tenantId, queue, TENANT_MAX.queues)))
      throw full(tenantId, 'queues')
    if (dependency === undefined) return
    if (!(await this.#dependencies.mayUse(tenantId, dependency, TENANT_MAX.dependencies)))
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

type IsKnown = (name: string, tenantId: string) => Promise<boolean>

/** The new names that each tenant has used since this process started. */
class Names {
  readonly #isKnown: IsKnown
  readonly #created = new Map<string, Set<string>>()

  constructor(isKnown: IsKnown) {
    this.#isKnown = isKnown
  }

  async mayUse(tenantId: string, name: string, max: number): Promise<boolean> {
    if (this.#created.get(tenantId)?.has(name) || (await this.#isKnown(name, tenantId))) return true
    const created = this.#created.get(tenantId) ?? new Set()
    if (!created.has(name) && created.size >= max) return false
    this.#created.set(tenantId, created.add(name))
    return true
  }
}

function queueNames({ queues }: Library, clock: Clock): IsKnown {
  let known: Promise<ReadonlySet<string>> = Promise.resolve(new Set())
  let readAt = Number.NEGATIVE_INFINITY
  return async name => {
    const now = clock.now()
    if (!(await known).has(name) && now - readAt >= KNOWN_MS) {
      readAt = now
      const before = known
      known = queues.list().then(
        all => new Set(all.map(queue => queue.name)),
        () => before,
      )
    }
    return (await known).has(name)
  }
}

/** There may be too many dependencies to read them all, so each name is looked up once. */
function dependencyNames({ circuits }: Library): IsKnown {
  const known = new Set<string>()
  return async (key, tenantId) => {
    const name = `${tenantId} ${key}`
    if (known.has(name)) return true
    const exists = await circuits.get(key, { tenantId }).then(
      () => true,
      error => {
        if (error instanceof ChronosError && error.code === 'NOT_FOUND') return false
        throw error
      },
    )
    if (!exists) return false
    if (known.size >= REMEMBERED_MAX) known.clear()
    known.add(name)
    return true
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
