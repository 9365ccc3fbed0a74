import type { Environment } from '../client/environment.js'

const BATCH = 500
const BUSY_MS = 1_000

/** Adds up the deltas that enqueues and outcomes leave: counters, error groups, the ledger. */
export class DeltaFolder {
  readonly #env: Environment
  readonly #idleMs: number

  constructor(env: Environment, idleMs: number) {
    this.#env = env
    this.#idleMs = idleMs
  }

  idleMs(): number | undefined {
    return this.#env.connection.opened?.pulse?.()?.hasDeltas === false ? this.#idleMs : undefined
  }

  async step(): Promise<number> {
    const store = await this.#env.connection.store()
    const taken = await store.fold(BATCH)
    if (taken === BATCH) return 0
    return taken > 0 ? BUSY_MS : this.#idleMs
  }
}
