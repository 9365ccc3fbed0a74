import type { Timer } from '../../core/values/clock.js'
import type { Guard, Lease } from '../../store/store.js'
import type { Environment } from '../client/environment.js'
import { backOffMs } from '../time/loop.js'
import type { Attempt } from './attempt.js'
import type { Held } from './fetcher.js'

export interface LeaseRenewerOptions {
  readonly env: Environment
  readonly workerId: string
  readonly leaseMs: number
  /** If this thread makes no progress for this long, the guard stops renewing its leases. */
  readonly stuckAfterMs: number
  readonly held: () => readonly (Attempt | Held)[]
  readonly onLost: (attempt: Attempt) => void
  readonly onCancel: (attempt: Attempt) => void
  readonly onAtRisk: (attempt: Attempt) => void
}

/**
 * Renews the leases of the jobs that this worker holds, and stops handlers in time if that fails. It does nothing while
 * the worker is idle.
 */
export class LeaseRenewer {
  readonly #options: LeaseRenewerOptions
  #timer: Timer | undefined
  #watchTimer: Timer | undefined
  #extending: Promise<void> | undefined
  #failures = 0
  #guard: Guard | undefined
  #stopped = false

  constructor(options: LeaseRenewerOptions) {
    this.#options = options
  }

  /** The worker holds at least one job now. */
  watch(): void {
    if (this.#stopped) return
    const { env, leaseMs } = this.#options
    // Each of the two timers may be stopped independently.
    if (!this.#extending) this.#timer ??= env.clock.timer(leaseMs / 3, () => this.#tick())
    if (this.#watchTimer) return
    this.#guard?.beat()
    this.#watchTimer = env.clock.timer(leaseMs / 6, () => this.#look())
  }

  /** Starts a guard thread that renews leases while this thread is blocked. */
  guardWith(start: (options: { workerId: string; leaseMs: number; stuckAfterMs: number }) => Guard): void {
    const { workerId, leaseMs, stuckAfterMs } = this.#options
    this.#guard ??= start({ workerId, leaseMs, stuckAfterMs })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#timer?.cancel()
    this.#watchTimer?.cancel()
    await Promise.all([this.#extending, this.#guard?.stop()])
  }

  #tick(): void {
    this.#timer = undefined
    this.#extending = this.#extend().then(waitMs => {
      this.#extending = undefined
      if (this.#stopped || this.#options.held().length === 0) return
      this.#timer = this.#options.env.clock.timer(waitMs, () => this.#tick())
    })
  }

  /** Renews leases after a third of their time. Returns when to come back. */
  async #extend(): Promise<number> {
    const { env, leaseMs, held, onLost, onCancel } = this.#options
    const sentAt = env.clock.now()
    const old = held().filter(one => one.leaseUntil - sentAt <= (leaseMs * 2) / 3 + 1)
    if (old.length === 0) return leaseMs / 3
    try {
      const store = env.connection.opened ?? (await env.connection.store())
      const leases = old.map((one): Lease => one.claimed)
      const statuses = await store.extend(leases, leaseMs)
      const current = new Map(held().map(one => [one.claimed.id, one]))
      for (const [index, { claimed }] of old.entries()) {
        const status = statuses[index]!
        // A job that was only held when the call was sent may have started meanwhile: the answer is about its attempt.
        const one = current.get(claimed.id)
        if (status === 'locked' || one?.claimed.token !== claimed.token) continue
        if (status !== 'lost') one.leaseUntil = sentAt + leaseMs
        if (!isAttempt(one)) continue
        if (status === 'lost') onLost(one)
        else if (status === 'cancel-requested') onCancel(one)
      }
      this.#failures = 0
      return statuses.includes('locked') ? leaseMs / 6 : leaseMs / 3
    } catch (error) {
      const retryInMs = Math.min(leaseMs / 6, backOffMs(this.#failures++, env.dice))
      env.log.warn({ event: 'extend.failed', retryInMs, err: error }, 'failed to renew leases')
      return retryInMs
    }
  }

  /**
   * A handler must be stopped before another worker can get its job. This check does not use the store, because a
   * renewal may hang together with the store.
   */
  #look(): void {
    this.#watchTimer = undefined
    const { env, leaseMs, held, onAtRisk } = this.#options
    const all = held()
    if (all.length === 0 || this.#stopped) {
      this.#guard?.rest()
      return
    }
    this.#guard?.beat()
    const now = env.clock.now()
    const keptUntil = this.#guard?.keptUntil() ?? 0
    for (const one of all) {
      // The guard may have renewed this lease, or the job may have been claimed while the guard was renewing.
      one.leaseUntil = Math.max(one.leaseUntil, keptUntil)
      if (isAttempt(one) && now >= one.leaseUntil - leaseMs / 6) onAtRisk(one)
    }
    this.#watchTimer = env.clock.timer(leaseMs / 6, () => this.#look())
  }
}

function isAttempt(one: Attempt | Held): one is Attempt {
  return 'interruption' in one
}
