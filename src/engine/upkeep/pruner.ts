import { DAY_MS, type Duration, toMs } from '../../core/values/duration.js'
import { checkKeys } from '../../core/values/limits.js'
import type { PruneReport, PruneRequest } from '../../store/store.js'
import type { Environment } from '../client/environment.js'

/** How long ended jobs are kept. States without a setting are kept for ever, as are unfinished jobs. */
export interface Retention {
  readonly succeeded?: Duration | false
  readonly cancelled?: Duration | false
  readonly dead?: Duration | false
}

const STATES = ['succeeded', 'cancelled', 'dead'] as const
const ROWS_PER_STEP = 500
const EVERY_MS = 60_000
/** A key outlives its pruned job by this time, so that a late repeat of an enqueue still finds it. */
const KEY_MS = DAY_MS

export function parseRetention(retention: Retention, where: string): PruneRequest['olderThanMs'] {
  checkKeys(retention, STATES, where)
  const olderThanMs: Partial<Record<(typeof STATES)[number], number>> = {}
  for (const state of STATES) {
    const age = retention[state]
    if (age !== undefined && age !== false) olderThanMs[state] = toMs(age, `${where}.${state}`, { min: 1 })
  }
  return olderThanMs
}

export class Pruner {
  readonly #env: Environment
  readonly #olderThanMs: PruneRequest['olderThanMs']

  constructor(env: Environment, olderThanMs: PruneRequest['olderThanMs']) {
    this.#env = env
    this.#olderThanMs = olderThanMs
  }

  async step(): Promise<number> {
    const { pruned, keys } = await this.prune()
    const rows = pruned.succeeded + pruned.cancelled + pruned.dead
    if (rows > 0) this.#env.log.info({ event: 'jobs.pruned', ...pruned, keys }, 'pruned finished jobs')
    return rows >= ROWS_PER_STEP ? 0 : EVERY_MS
  }

  async prune(): Promise<PruneReport> {
    const store = await this.#env.connection.store()
    return store.prune({ olderThanMs: this.#olderThanMs, keyMs: KEY_MS, limit: ROWS_PER_STEP })
  }
}
