import { EventEmitter } from 'node:events'
import pg from 'pg'

/** Unused pools, by their settings. */
const kept = new Map<string, pg.Pool[]>()

/**
 * A pool whose connections outlive it: the next pool with the same settings gets them. Stores that are opened and
 * closed for every test would otherwise spend most of their time connecting.
 */
export class KeptPool extends EventEmitter {
  readonly Client = pg.Client
  readonly options: pg.PoolConfig
  readonly #pool: pg.Pool
  readonly #onConnect = (client: pg.PoolClient): boolean => this.emit('connect', client)

  constructor(options: pg.PoolConfig) {
    super()
    this.options = options
    this.#pool = spare(options).pop() ?? newPool(options)
    this.#pool.on('connect', this.#onConnect)
  }

  connect(): Promise<pg.PoolClient> {
    return this.#pool.connect()
  }

  async end(): Promise<void> {
    const pool = this.#pool
    // A connection still in use would be returned to a pool with another owner.
    if (pool.idleCount < pool.totalCount || pool.waitingCount > 0) return pool.end()
    pool.off('connect', this.#onConnect)
    spare(this.options).push(pool)
  }
}

function newPool(options: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool(options)
  // A connection may end while it is unused.
  return pool.on('error', () => undefined)
}

function spare(options: pg.PoolConfig): pg.Pool[] {
  const key = JSON.stringify(options)
  const pools = kept.get(key) ?? []
  kept.set(key, pools)
  return pools
}

export async function endKeptPools(): Promise<void> {
  const pools = [...kept.values()].flat()
  kept.clear()
  await Promise.all(pools.map(pool => pool.end()))
}
