import type { AttemptRecord, Claimed } from '../../store/store.js'
import type { Connection } from '../client/connection.js'

/** The number of failures that this process remembers until their jobs run again. */
const REMEMBERED_MAX = 10_000
/** Concurrent store queries. Further retries are not measured, so that measuring does not become the load. */
const ASKED_MAX = 4
/** A job that was deferred more often than this is not measured either. */
const LOOKED_AT = 20

/**
 * Measures the time from a failure to the next start. Most retries run in the process where they failed, which
 * remembers the failure; for others the store is read.
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
      // The job does not depend on this measurement.
    } finally {
      this.#asked--
    }
  }
}

/** When the last run failed, if it did. Runs are newest first; a deferred run is not a failure. */
function lastFailure(runs: readonly AttemptRecord[]): number | undefined {
  const last = runs.find(({ status }) => status !== 'deferred')
  return last && ['failed', 'timed-out', 'lost'].includes(last.status) ? last.finishedAt : undefined
}
