import type { NameChoice } from '../../store/store.js'
import type { Environment } from '../client/environment.js'
import { factsOf } from '../client/job-facts.js'
import { type UnhandledRecord, unhandledWrite } from '../jobs/handlers.js'
import type { Committer } from './committer.js'
import type { Held } from './fetcher.js'

/** For this long after it met a job without a handler, a worker claims only jobs with names that it knows. */
export const FOREIGN_MS = 300_000

interface ForeignOptions {
  readonly env: Environment
  readonly committer: Committer
  /** The names that this worker has handlers for. */
  readonly names: readonly string[]
  /** The jobs are available again. */
  readonly onReleased: () => void
}

/**
 * Jobs that a worker claimed without having a handler. Another worker may have it: they are available to it at once,
 * and this worker takes no more of them.
 */
export class ForeignJobs {
  readonly #options: ForeignOptions
  readonly #own: ReadonlySet<string>
  #until = Number.NEGATIVE_INFINITY
  /** Queues and names that were reported, and until when. */
  readonly #reported = new Map<string, number>()

  constructor(options: ForeignOptions) {
    this.#options = options
    this.#own = new Set(options.names)
  }

  /** Undefined: claim jobs with any name. */
  get names(): NameChoice | undefined {
    const { env, names } = this.#options
    return env.clock.now() < this.#until ? { list: names, isExcluded: false } : undefined
  }

  has(name: string): boolean {
    return !this.#own.has(name)
  }

  release(foreign: readonly Held[]): void {
    const { env, committer, onReleased } = this.#options
    const now = env.clock.now()
    this.#until = now + FOREIGN_MS
    const news: UnhandledRecord[] = []
    for (const held of foreign) {
      const { claimed } = held
      const { queue, name } = claimed
      const key = `${queue} ${name}`
      if ((this.#reported.get(key) ?? now) <= now) {
        this.#reported.set(key, this.#until)
        env.log.warn(factsOf('no-handler', claimed), 'no handler for this job, releasing it')
        news.push({ queue, name, seenAt: env.time.now() })
      }
      committer.handBack(held, 0, onReleased)
    }
    if (news.length > 0) void this.#record(news)
  }

  /** For the operator; the jobs are released all the same. */
  async #record(news: readonly UnhandledRecord[]): Promise<void> {
    const { connection, log } = this.#options.env
    try {
      await (await connection.store()).putRecords(news.map(unhandledWrite))
    } catch (error) {
      log.warn({ event: 'fleet.failed', err: error }, 'failed to record jobs without a handler')
    }
  }
}
