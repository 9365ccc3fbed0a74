import type { DependencyName } from '../../core/dependency/dependency.js'
import { present } from '../../core/values/present.js'
import type { Claimed } from '../../store/store.js'
import type { Environment } from '../client/environment.js'
import { dependencyId, ownerOf } from '../dependencies/answer.js'
import { jobsOf } from '../dependencies/deferred-jobs.js'
import type { Deferral } from '../worker/committer.js'

/** The maximum number of concurrent deliveries to one endpoint, per process. */
export const ENDPOINT_CONCURRENCY = 5
/** A deferred delivery is tried again after this time at the latest, because the endpoint may be faster by then. */
const DEFER_MAX_MS = { fast: 500, slow: 30_000 } as const
const BATCH = 500
const FIRST_GUESS_MS = 10
/** The weight of the newest delivery in the estimated duration. */
const NEWEST_SHARE = 0.3
const ENDPOINTS_MAX = 1_000

interface EndpointPace {
  /** The estimated duration of a delivery. */
  tookMs: number
  /** When the last deferred delivery may start, on this process's clock. */
  lastTurnAt: number
  isDeferring: boolean
}

/**
 * Keeps slow endpoints from delaying others. Each endpoint has a limited number of deliveries in flight; further ones
 * are deferred and come back at the pace at which the endpoint answers.
 */
export class EndpointLimiter {
  readonly #env: Environment
  readonly #paces = new Map<string, EndpointPace>()

  constructor(env: Environment) {
    this.#env = env
  }

  /** Undefined if the delivery may start; otherwise how to defer it. */
  admit(delivery: Claimed, running: Iterable<Claimed>): Deferral | undefined {
    const dependency = nameOf(delivery)
    if (dependency === undefined) return undefined
    const id = dependencyId(dependency)
    const now = this.#env.clock.now()
    let [busy, oldestMs] = [0, 0]
    for (const other of running) {
      const same = other.dependency === dependency.key && ownerOf(other, dependency.key) === dependency.tenantId
      if (!same) continue
      busy++
      oldestMs = Math.max(oldestMs, this.#env.time.now() - (other.startedAt ?? now))
    }
    if (busy < ENDPOINT_CONCURRENCY) return undefined
    const pace = this.#pace(id)
    // A pending delivery says more about the endpoint than those that ended before.
    pace.tookMs = Math.max(pace.tookMs, oldestMs)
    const [delayMs] = turnsOf(pace, 1, now)
    pace.lastTurnAt = now + delayMs!
    void this.#defer(dependency, pace)
    return { delayMs: delayMs!, pass: now }
  }

  /** Records the duration of a delivery. */
  took(delivery: Delivery, ms: number): void {
    const pace = this.#pace(dependencyId(nameOf(delivery)!))
    pace.tookMs += (ms - pace.tookMs) * NEWEST_SHARE
  }

  #pace(id: string): EndpointPace {
    const known = this.#paces.get(id)
    if (known) return known
    const pace = { tookMs: FIRST_GUESS_MS, lastTurnAt: 0, isDeferring: false }
    if (this.#paces.size >= ENDPOINTS_MAX) this.#paces.clear()
    this.#paces.set(id, pace)
    return pace
  }

  /** Defers the other due deliveries together; otherwise each would be claimed only to be deferred. */
  async #defer(dependency: DependencyName, pace: EndpointPace): Promise<void> {
    if (pace.isDeferring) return
    pace.isDeferring = true
    const { connection, clock, log } = this.#env
    try {
      const store = await connection.store()
      const pass = clock.now()
      for (;;) {
        const now = clock.now()
        const delaysMs = turnsOf(pace, BATCH, now)
        const { moved } = await store.defer({ ...jobsOf(dependency), from: { dueWithinMs: 0 }, delaysMs, pass })
        if (moved > 0) pace.lastTurnAt = now + delaysMs[moved - 1]!
        if (moved < BATCH) break
      }
    } catch (error) {
      if (!connection.isClosed)
        log.warn(
          { event: 'defer.failed', dependency: dependency.key, err: error },
          'failed to defer webhook deliveries',
        )
    }
    pace.isDeferring = false
  }
}

type Delivery = Pick<Claimed, 'name' | 'tenantId' | 'dependency'>

function nameOf(delivery: Delivery): DependencyName | undefined {
  const { dependency: key } = delivery
  if (key === undefined) return undefined
  const tenantId = ownerOf(delivery, key)
  return present({ key, tenantId })
}

/** The next start times, in milliseconds from now. */
function turnsOf({ tookMs, lastTurnAt }: EndpointPace, count: number, now: number): number[] {
  const stepMs = Math.max(1, tookMs / ENDPOINT_CONCURRENCY)
  const behindMs = Math.max(0, lastTurnAt - now)
  const mostMs = Math.min(DEFER_MAX_MS.slow, Math.max(DEFER_MAX_MS.fast, 2 * tookMs))
  return Array.from({ length: count }, (_, index) => Math.min(behindMs + (index + 1) * stepMs, mostMs))
}
