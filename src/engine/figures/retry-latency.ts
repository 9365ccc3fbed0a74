import type { AttemptRecord, Claimed } from '../../store/store.js'
import type { Connection } from '../client/connection.js'

/** Failures that this process remembers until their jobs run again. */
const REMEMBERED_MAX = 10_000
/** Questions to the store at the same time: beyond, a retry is not timed. Measuring must not become the load. */
const ASKED_MAX = 4
/** A job that was deferred more often than that is not timed either. */
const LOOKED_AT = 20

/**
 * From a failure to the next start. Most retries run where they failed, and the failure is remembered; of the others the
 * store knows.
 */
export class RetryLatency {
  readonly #connection: Connection
  readonly #failedAt = new Map<string, number>()
  #asked = 0

  constructor(connection: Connection) {
    this.#connection = connection
  }

  failed(jobId: string, at: number): void {
    if (this.#failedAt.size >= REMEMBERED_MAX) {
      const [oldest] = this.#failedAt.keys()
      this.#failedAt.delete(oldest!)
    }
    this.#failedAt.set(jobId, at)
  }

  started({ id, generation }: Claimed, startedAt: number, measured: (ms: number) => void): void {
    const failedAt = this.#failedAt.get(id)
    if (failedAt !== undefined) {
      this.#failedAt.delete(id)
      measured(Math.max(0, startedAt - failedAt))
    } else if (this.#asked < ASKED_MAX) void this.#ask(id, generation, startedAt, measured)
  }

  async #ask(id: string, generation: number, startedAt: number, measured: (ms: number) => void): Promise<void> {
    this.#asked++
    try {
      const store = await this.#connection.store()
      const { data } = await store.history(id, { limit: LOOKED_AT })
      const failedAt = lastFailure(data.filter(run => run.generation === generation))
      if (failedAt !== undefined) measured(Math.max(0, startedAt - failedAt))
    } catch {
      // Nobody's work depends on it.
    } finally {
      this.#asked--
    }
  }
}

/** When the last run failed, if it did: one that its dependency did not let start was none. Newest first. */
function lastFailure(runs: readonly AttemptRecord[]): number | undefined {
  const last = runs.find(({ status }) => status !== 'deferred')
  return last && ['failed', 'timed-out', 'lost'].includes(last.status) ? last.finishedAt : undefined
}
