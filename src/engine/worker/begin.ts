import { wait } from '../../core/values/clock.js'
import type { LeaseStatus } from '../../store/store.js'
import { isRepeatable } from '../client/connection.js'
import type { Environment } from '../client/environment.js'
import { backOffMs } from '../time/loop.js'
import type { Attempt } from './attempt.js'

interface BeginsOptions {
  readonly env: Environment
  readonly isRunning: (attempt: Attempt) => boolean
  readonly onBegun: (attempt: Attempt, status: LeaseStatus) => void
}

export const BEGIN_BATCH_MAX = 500

/** Commits that runs begin: at once when idle, in batches while a commit is under way. */
export class Begins {
  readonly #options: BeginsOptions
  #waiting: Attempt[] = []
  #isBusy = false

  constructor(options: BeginsOptions) {
    this.#options = options
  }

  add(attempt: Attempt): void {
    this.#waiting.push(attempt)
    this.#schedule()
  }

  /** Runs after the current callbacks, so that runs that start together begin together. */
  #schedule(): void {
    if (this.#isBusy) return
    this.#isBusy = true
    this.#options.env.clock.soon(() => void this.#flush())
  }

  async #flush(): Promise<void> {
    const { isRunning, onBegun } = this.#options
    const batch = this.#waiting.splice(0, BEGIN_BATCH_MAX)
    const statuses = await this.#begin(batch)
    this.#isBusy = false
    if (this.#waiting.length > 0) this.#schedule()
    for (const [index, attempt] of batch.entries()) if (isRunning(attempt)) onBegun(attempt, statuses[index]!)
  }

  /** Repeated until the store answers: a handler starts only when it certainly may. */
  async #begin(attempts: readonly Attempt[]): Promise<readonly LeaseStatus[]> {
    const { env, isRunning } = this.#options
    const { connection, clock, dice } = env
    const requests = attempts.map(({ lease: { id, token }, atMostOnce }) =>
      atMostOnce ? { id, token, delivery: 'at-most-once' as const } : { id, token },
    )
    for (let tries = 0; ; tries++) {
      try {
        const store = connection.opened ?? (await connection.store())
        return await store.begin(requests)
      } catch (error) {
        if (!attempts.some(isRunning) || !isRepeatable(error)) return attempts.map(() => 'lost')
        await wait(clock, backOffMs(tries, dice))
      }
    }
  }
}
