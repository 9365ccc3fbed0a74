import { type Clock, during } from '../../core/values/clock.js'
import { ChronosError } from '../../core/values/error.js'
import type { Store } from '../../store/store.js'
import { trackedStore } from '../time/tracked-store.js'

/** The store, opened and migrated at its first use. A failure to open is not cached: the next call tries again. */
export class Connection {
  readonly #open: () => Promise<Store>
  readonly #clock: Clock
  /** Writes what the store must have before its first use. */
  readonly #prepare: (store: Store) => Promise<void>
  #opening: Promise<Store> | undefined
  #store: Store | undefined
  /** Wraps the store for all callers. */
  #wrap: ((store: Store) => Store) | undefined
  #closed = false

  constructor(open: () => Promise<Store>, clock: Clock, prepare = async (_: Store): Promise<void> => {}) {
    this.#open = open
    this.#clock = clock
    this.#prepare = prepare
  }

  /** The open store, or a promise of it: `connection.opened ?? (await connection.store())` keeps hot paths short. */
  get opened(): Store | undefined {
    return this.#store
  }

  get isClosed(): boolean {
    return this.#closed
  }

  store(): Promise<Store> {
    if (this.#closed) {
      return Promise.reject(new ChronosError('CLOSED', 'this Chronos is closed; create another with createChronos()'))
    }
    if (this.#store) return Promise.resolve(this.#store)
    this.#opening ??= during(this.#clock, () => this.#openAndMigrate()).catch(error => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  /** From now on every call goes through this wrapper, which is applied once. */
  wrap(wrap: (store: Store) => Store): void {
    if (this.#wrap) return
    this.#wrap = wrap
    if (this.#store) this.#store = wrap(this.#store)
  }

  async close(): Promise<void> {
    this.#closed = true
    const store = await this.#opening?.catch(() => undefined)
    this.#store = undefined
    await store?.close()
  }

  async #openAndMigrate(): Promise<Store> {
    const store = trackedStore(await this.#open(), this.#clock)
    try {
      await store.migrate()
      await this.#prepare(store)
    } catch (error) {
      await store.close()
      throw error
    }
    this.#store = this.#wrap ? this.#wrap(store) : store
    return this.#store
  }
}

/** Whether the call may have been carried out although no answer came. */
export function isUnknown(error: unknown): boolean {
  return error instanceof ChronosError && error.code === 'STORE_UNKNOWN'
}

/** Whether the same call may be repeated: nothing was done, or doing it twice is safe. */
export function isRepeatable(error: unknown): boolean {
  return error instanceof ChronosError && (error.code === 'STORE_UNKNOWN' || error.code === 'STORE_UNAVAILABLE')
}

/** The store as a whole is unavailable, and an operator has to fix it while the jobs wait. */
export function isOutage(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code
  return code === 'STORE_FULL' || code === 'STORE_READ_ONLY'
}
