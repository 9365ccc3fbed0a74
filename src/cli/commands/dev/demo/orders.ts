import type { Chronos } from '../../../../engine/client/chronos.js'
import type { JobDefinition } from '../../../../engine/client/definition.js'
import type { EnqueueOptions } from '../../../../engine/client/enqueuer.js'
import { ECHO_PATH } from '../echo.js'
import type { World } from './world.js'

const TENANTS = ['acme', 'globex', 'initech'] as const
const PEOPLE = ['ada', 'grace', 'alan', 'edsger', 'barbara', 'ken'] as const
const MONTHS = ['2026-08', '2026-09', '2026-10', '2025-12'] as const

/** A kind of job, and its share of all jobs. */
interface Kind {
  readonly share: number
  readonly name: string
  readonly payload: (world: World) => object
  readonly options?: EnqueueOptions
}

const KINDS: readonly Kind[] = [
  { share: 22, name: 'charge-card', payload: order, options: { tags: ['checkout'] } },
  { share: 22, name: 'send-mail', payload: mail, options: { tags: ['order-mail'] } },
  { share: 14, name: 'create-invoice', payload: bill },
  { share: 12, name: 'index-product', payload: sku },
  { share: 10, name: 'sync-stock', payload: sku },
  { share: 6, name: 'resize-image', payload: image },
  { share: 4, name: 'refund-order', payload: order },
  { share: 3, name: 'wait-for-delivery', payload: order },
  { share: 2, name: 'export-orders', payload: world => ({ month: world.pick(MONTHS) }) },
  { share: 2, name: 'send-mail', payload: mail, options: { delay: '20m', tags: ['reminder'] } },
]
const ALL = KINDS.reduce((sum, { share }) => sum + share, 0)
const CALLS_SHARE = 0.04
const CALL_RETRY = { maxRetries: 3, backoff: { type: 'exponential', base: '2s' }, jitter: 'equal' } as const

export class OrderSource {
  readonly #chronos: Chronos
  readonly #world: World
  readonly #echo: string
  readonly #definitions: ReadonlyMap<string, JobDefinition<unknown>>

  constructor(chronos: Chronos, world: World, url: string, definitions: readonly JobDefinition<never>[]) {
    this.#chronos = chronos
    this.#world = world
    this.#echo = `${url}${ECHO_PATH.slice(1)}`
    this.#definitions = new Map(definitions.map(job => [job.name, job as unknown as JobDefinition<unknown>]))
  }

  order(given: EnqueueOptions = {}): Promise<unknown> {
    const world = this.#world
    const tenant = world.chance(0.6) ? { tenantId: world.pick(TENANTS) } : {}
    if (world.chance(CALLS_SHARE)) return this.#call({ ...tenant, ...given })
    const { name, payload, options } = this.#kind()
    return this.#chronos.enqueue(this.#job(name), payload(world), { ...given, ...tenant, ...options })
  }

  /** Enqueues many jobs at once while the warehouse is down, so that their retries come in a wave. */
  recount(count: number): Promise<unknown> {
    const shelves = Array.from({ length: count }, (_, index) => ({ sku: `SKU-${1_000 + index}` }))
    return this.#chronos.enqueueMany(this.#job('sync-stock'), shelves, { tags: ['recount'] })
  }

  #call(options: EnqueueOptions): Promise<unknown> {
    const query = this.#world.chance(0.7) ? '?fail=2' : '?status=500'
    const request = { method: 'POST', url: `${this.#echo}${query}`, body: {} } as const
    return this.#chronos.http(request, { ...options, retry: CALL_RETRY })
  }

  #kind(): Kind {
    let left = this.#world.number(ALL)
    for (const kind of KINDS) {
      left -= kind.share
      if (left <= 0) return kind
    }
    return KINDS[0]!
  }

  #job(name: string): JobDefinition<unknown> {
    return this.#definitions.get(name)!
  }
}

function order(world: World): object {
  return { orderId: `A-${10_000 + world.number(89_999)}`, cents: 500 * world.number(90) }
}

/** Some payloads lack a field, as if an older version had made them. */
function bill(world: World): object {
  return world.chance(0.06) ? { orderId: `A-${10_000 + world.number(89_999)}` } : order(world)
}

function sku(world: World): object {
  return { sku: `SKU-${1_000 + world.number(400)}` }
}

function mail(world: World): object {
  const host = world.chance(0.04) ? 'nowhere.example' : 'mail.example'
  const template = world.pick(['order-confirmed', 'shipped', 'newsletter'])
  return { to: `${world.pick(PEOPLE)}@${host}`, template }
}

function image(world: World): object {
  return { file: `product-${world.number(900)}.${world.chance(0.15) ? 'heic' : 'jpg'}` }
}
