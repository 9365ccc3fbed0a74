import type { Clock } from '../../core/values/clock.js'
import type { Claim, Pulse, Store } from '../../store/store.js'
import type { Connection } from '../client/connection.js'
import type { Environment } from '../client/environment.js'

/** Default interval of polling for jobs of which no notification arrived. */
const POLL_MS = 1_000
const POLL_ANNOUNCED_MS = 5_000

/**
 * Decides when a worker polls next. If the store has a pulse, a poll without a change since the last claim is known to
 * find nothing before the next job is due.
 */
export class IdlePoll {
  readonly #clock: Clock
  readonly #connection: Connection
  readonly #pollMs: number | undefined
  #last: { readonly changes: number; readonly dueAt: number; readonly pollMs: number } | undefined

  constructor({ clock, connection }: Pick<Environment, 'clock' | 'connection'>, pollMs: number | undefined) {
    this.#clock = clock
    this.#connection = connection
    this.#pollMs = pollMs
  }

  /** After a claim that left nothing due. `pulse` was read before the claim. */
  after({ now, nextDueAt }: Claim, { announcesWork }: Store, pulse: Pulse | undefined): number {
    const pollMs = this.#pollMs ?? (announcesWork ? POLL_ANNOUNCED_MS : POLL_MS)
    const dueInMs = nextDueAt === undefined ? Number.POSITIVE_INFINITY : Math.max(0, nextDueAt - now)
    const dueAt = this.#clock.now() + dueInMs
    this.#last = pulse && { changes: pulse.changes, dueAt, pollMs }
    return Math.min(this.#clock.now() + pollMs, dueAt)
  }

  /** When to poll instead of now; undefined if a poll may find something. */
  later(): number | undefined {
    const now = this.#clock.now()
    if (!this.#last || now >= this.#last.dueAt) return undefined
    const { changes, dueAt, pollMs } = this.#last
    if (this.#connection.opened?.pulse?.()?.changes !== changes) return undefined
    return Math.min(now + pollMs, dueAt)
  }
}
