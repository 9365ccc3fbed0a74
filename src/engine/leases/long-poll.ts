import type { Timer } from '../../core/values/clock.js'
import { ChronosError } from '../../core/values/error.js'
import type { Environment } from '../client/environment.js'
import type { ClaimedLeases } from './lease-claimer.js'
import type { ClaimPlan } from './options.js'
import type { LeaseView } from './view.js'

interface LongPollOptions {
  readonly env: Environment
  readonly take: (plan: ClaimPlan) => Promise<ClaimedLeases>
}

interface Waiter {
  readonly plan: ClaimPlan
  readonly resolve: (leases: readonly LeaseView[]) => void
  readonly reject: (error: unknown) => void
  /** A claim for it is running; the waiter gets its result even if its own time runs out meanwhile. */
  isServed: boolean
  isOver: boolean
}

/** Workers that wait for the same jobs. One of them claims; the next one claims only if the first found a job. */
interface Group {
  readonly waiting: Waiter[]
  isLooking: boolean
  isWoken: boolean
  timer: { readonly at: number; readonly timer: Timer } | undefined
}

/** Interval of polling for jobs of which no notification arrived. */
const POLL_MS = 1_000
const POLL_ANNOUNCED_MS = 3_000
const WAITERS_MAX = 5_000

/** Claims that wait for jobs. A new job wakes them, from this process or another, in the order in which they came. */
export class LongPoll {
  readonly #options: LongPollOptions
  readonly #env: Environment
  readonly #groups = new Map<string, Group>()
  readonly #looks = new Set<Promise<void>>()
  #waiters = 0
  #unwatch: (() => void) | undefined
  #isStopped = false

  constructor(options: LongPollOptions) {
    this.#options = options
    this.#env = options.env
  }

  /** Resolves to no jobs if none is due in time. `knownDueInMs`: the due time that the previous claim returned. */
  async wait(plan: ClaimPlan, knownDueInMs: number | undefined): Promise<readonly LeaseView[]> {
    if (this.#isStopped || plan.signal?.aborted) return []
    if (this.#waiters >= WAITERS_MAX) {
      throw new ChronosError(
        'STORE_UNAVAILABLE',
        `leases.claim: ${WAITERS_MAX} claims are waiting already; retry later`,
      )
    }
    const store = await this.#env.connection.store()
    this.#unwatch ??= store.watch(() => this.wake(0))
    this.#waiters++
    const { clock } = this.#env
    let leave: () => void = () => undefined
    let timer: Timer | undefined
    try {
      return await new Promise<readonly LeaseView[]>((resolve, reject) => {
        const waiter: Waiter = { plan, resolve, reject, isServed: false, isOver: false }
        // Jobs that are claimed after this are released, or returned to the worker that repeats the claim.
        leave = () => resolve([])
        plan.signal?.addEventListener('abort', leave, { once: true })
        timer = clock.timer(plan.waitMs, () => endWait(waiter))
        const group = this.#join(waiter)
        this.#lookIn(group, Math.min(knownDueInMs ?? Number.POSITIVE_INFINITY, this.#pollMs()))
      })
    } finally {
      this.#waiters--
      timer?.cancel()
      plan.signal?.removeEventListener('abort', leave)
      this.#leave(plan)
    }
  }

  /** There may be jobs now, or in `delayMs`. */
  wake(delayMs: number): void {
    for (const group of this.#groups.values()) {
      if (delayMs > 0) this.#lookIn(group, delayMs)
      else {
        group.isWoken = true
        this.#look(group)
      }
    }
  }

  /** Ends all waiting claims. Resolves when no claim is running. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#unwatch?.()
    for (const group of this.#groups.values()) {
      group.timer?.timer.cancel()
      for (const waiter of group.waiting) endWait(waiter)
    }
    await Promise.all(this.#looks)
  }

  #pollMs(): number {
    return this.#env.connection.opened?.announcesWork ? POLL_ANNOUNCED_MS : POLL_MS
  }

  #join(waiter: Waiter): Group {
    const key = keyOf(waiter.plan)
    const known = this.#groups.get(key)
    const group = known ?? { waiting: [], isLooking: false, isWoken: false, timer: undefined }
    if (!known) this.#groups.set(key, group)
    group.waiting.push(waiter)
    return group
  }

  #leave(plan: ClaimPlan): void {
    const key = keyOf(plan)
    const group = this.#groups.get(key)
    if (!group) return
    const place = group.waiting.findIndex(waiter => waiter.plan === plan)
    if (place >= 0) group.waiting.splice(place, 1)
    if (group.waiting.length > 0) return
    group.timer?.timer.cancel()
    this.#groups.delete(key)
  }

  #lookIn(group: Group, ms: number): void {
    const { clock } = this.#env
    const at = clock.now() + ms
    if (this.#isStopped || (group.timer && group.timer.at <= at)) return
    group.timer?.timer.cancel()
    const timer = clock.timer(ms, () => {
      group.timer = undefined
      group.isWoken = true
      this.#look(group)
    })
    group.timer = { at, timer }
  }

  #look(group: Group): void {
    if (group.isLooking || this.#isStopped) return
    group.isLooking = true
    const look = this.#serve(group).finally(() => {
      group.isLooking = false
      this.#looks.delete(look)
    })
    this.#looks.add(look)
  }

  /** Serves the waiters one after the other, as long as there are jobs. */
  async #serve(group: Group): Promise<void> {
    while (!this.#isStopped) {
      const next = group.waiting.find(({ isOver }) => !isOver)
      if (!next) return
      group.isWoken = false
      const found = await this.#takeFor(next)
      if (found.isWorkLeft || group.isWoken) continue
      this.#lookIn(group, Math.min(found.nextDueInMs, this.#pollMs()))
      return
    }
  }

  async #takeFor(waiter: Waiter): Promise<{ readonly isWorkLeft: boolean; readonly nextDueInMs: number }> {
    waiter.isServed = true
    try {
      const { leases, nextDueInMs = Number.POSITIVE_INFINITY } = await this.#options.take(waiter.plan)
      if (leases.length > 0 || waiter.isOver) waiter.resolve(leases)
      if (leases.length > 0) waiter.isOver = true
      return { isWorkLeft: leases.length > 0, nextDueInMs }
    } catch (error) {
      // The other waiters make their own claim, and get an error too if the store is unavailable.
      waiter.isOver = true
      waiter.reject(error)
      return { isWorkLeft: true, nextDueInMs: 0 }
    } finally {
      waiter.isServed = false
    }
  }
}

function endWait(waiter: Waiter): void {
  waiter.isOver = true
  if (!waiter.isServed) waiter.resolve([])
}

function keyOf({ queues, names }: ClaimPlan): string {
  return JSON.stringify([[...queues].sort(), names.isExcluded, [...names.list].sort()])
}
