import type { Claimed } from '../../store/store.js'
import type { Environment } from '../client/environment.js'

/** Deliveries to one endpoint at a time, in this process. */
export const LANE_WIDTH = 5
/** What is put off is looked at again after so long at the latest: the endpoint may be faster by then. */
const PUT_OFF_MAX_MS = { fast: 500, slow: 30_000 } as const
const PARK_BATCH = 500
const FIRST_GUESS_MS = 10
/** How much the newest delivery says about the next one. */
const NEWEST_SHARE = 0.3
const LANES_MAX = 1_000

interface Lane {
  /** What a delivery takes, as far as is known. */
  tookMs: number
  /** When the last one that was put off gets its turn; on this process's clock. */
  lastTurnAt: number
  isParking: boolean
}

/**
 * Keeps slow endpoints out of the way of others: no endpoint has more than a few deliveries on their way, and those that
 * would be too many wait for their turn outside of the line, at the pace at which the endpoint answers.
 */
export class EndpointLimiter {
  readonly #env: Environment
  readonly #lanes = new Map<string, Lane>()

  constructor(env: Environment) {
    this.#env = env
  }

  /** undefined: it may start. Else how long to put it off. */
  admit({ dependency }: Claimed, running: Iterable<Claimed>): number | undefined {
    if (dependency === undefined) return undefined
    const now = this.#env.clock.now()
    let [busy, oldestMs] = [0, 0]
    for (const other of running) {
      if (other.dependency !== dependency) continue
      busy++
      oldestMs = Math.max(oldestMs, this.#env.time.now() - (other.startedAt ?? now))
    }
    if (busy < LANE_WIDTH) return undefined
    const lane = this.#lane(dependency)
    // What is not answered yet tells more than what was answered before.
    lane.tookMs = Math.max(lane.tookMs, oldestMs)
    const [delayMs] = turnsOf(lane, 1, now)
    lane.lastTurnAt = now + delayMs!
    void this.#park(dependency, lane)
    return delayMs
  }

  /** What a delivery took. */
  took(dependency: string, ms: number): void {
    const lane = this.#lane(dependency)
    lane.tookMs += (ms - lane.tookMs) * NEWEST_SHARE
  }

  #lane(dependency: string): Lane {
    const known = this.#lanes.get(dependency)
    if (known) return known
    const lane = { tookMs: FIRST_GUESS_MS, lastTurnAt: 0, isParking: false }
    if (this.#lanes.size >= LANES_MAX) this.#lanes.clear()
    this.#lanes.set(dependency, lane)
    return lane
  }

  /** The others that are due would be claimed only to be put off one by one. */
  async #park(dependency: string, lane: Lane): Promise<void> {
    if (lane.isParking) return
    lane.isParking = true
    const { connection, clock, log } = this.#env
    try {
      const store = await connection.store()
      const pass = clock.now()
      for (;;) {
        const now = clock.now()
        const delaysMs = turnsOf(lane, PARK_BATCH, now)
        const { moved } = await store.park({ dependency, from: { dueWithinMs: 0 }, delaysMs, pass })
        if (moved > 0) lane.lastTurnAt = now + delaysMs[moved - 1]!
        if (moved < PARK_BATCH) break
      }
    } catch (error) {
      if (!connection.isClosed)
        log.warn({ event: 'park.failed', dependency, err: error }, 'failed to defer webhook deliveries')
    }
    lane.isParking = false
  }
}

/** The next places in the line, in milliseconds from now. */
function turnsOf({ tookMs, lastTurnAt }: Lane, count: number, now: number): number[] {
  const stepMs = Math.max(1, tookMs / LANE_WIDTH)
  const behindMs = Math.max(0, lastTurnAt - now)
  const mostMs = Math.min(PUT_OFF_MAX_MS.slow, Math.max(PUT_OFF_MAX_MS.fast, 2 * tookMs))
  return Array.from({ length: count }, (_, index) => Math.min(behindMs + (index + 1) * stepMs, mostMs))
}
