import { type Timer, wait } from '../../core/values/clock.js'
import type { Claim, Claimed, ClaimRequest } from '../../store/store.js'
import { isRepeatable } from '../client/connection.js'
import type { Environment } from '../client/environment.js'
import { backOffMs } from '../time/loop.js'

/** A claimed job that has not been started. */
export interface Held {
  readonly claimed: Claimed
  readonly heldSince: number
  /** On this process's clock, counted from when the claim was sent. */
  leaseUntil: number
  /** Its deadline on this process's clock, no later than the store would say. */
  readonly startBefore: number
}

type PolicyIds = ClaimRequest['policyIds']

export interface FetcherOptions {
  readonly env: Environment
  readonly workerId: string
  readonly queues: readonly string[]
  readonly leaseMs: number
  readonly pollMs?: number
  readonly policyIds: () => PolicyIds | Promise<PolicyIds>
  /** How many handlers could start now. */
  readonly freeSlots: () => number
  readonly mayFetch: () => boolean
  readonly onFetched: () => void
  readonly handBack: (held: Held, delayMs: number) => void
}

/** How often to look for work that nobody announced, unless somebody says otherwise. */
const POLL_MS = 1_000
const POLL_ANNOUNCED_MS = 5_000
const CLAIM_MAX = 1_000
/**
 * Where commits don't wait for each other, a claim may take more, since it blocks nobody in this process, and one more
 * may be under way; but a small one would only be in the way.
 */
const CLAIM_MAX_ALONE = 2_000
const UNDER_WAY_MAX = 2
const SECOND_MIN = 200
/**
 * The buffer holds no more than was finished in this time, so that slow jobs are not hoarded; or, where a claim takes
 * its time, in that of two claims: the one that is under way, and the next.
 */
const WINDOW_MS = 20
const WINDOW_MAX_MS = 200
const UNUSED_MAX_MS = 1000

/** What the store was asked for. */
interface Asked {
  readonly token: string
  readonly limit: number
  readonly sentAt: number
}

/** Claims jobs ahead of the handlers, and gives back what they do not need. */
export class Fetcher {
  readonly #options: FetcherOptions
  readonly #buffer: Held[] = []
  #next = 0
  readonly #samples: { at: number; finished: number }[] = []
  #finished = 0
  readonly #underWay = new Map<Asked, Promise<unknown>>()
  /** Unanswered claims are repeated under their own tokens: the store may have granted them. */
  #unanswered: Asked[] = []
  #idleTimer: { at: number; timer: Timer } | undefined
  #scheduled = false
  /** How often it was said that there may be work. */
  #wakes = 0
  /** When work falls due of which a claim under way may not know yet. */
  #dueHint = Number.POSITIVE_INFINITY
  #staleTimer: Timer | undefined
  #windowMs = WINDOW_MS
  #failures = 0
  #stopped = false

  constructor(options: FetcherOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#buffer.length - this.#next
  }

  held(): readonly Held[] {
    return this.#buffer.slice(this.#next)
  }

  /** Nothing is held, and no claim is out that might still bring something. */
  get isEmpty(): boolean {
    return this.size === 0 && this.#underWay.size === 0 && this.#unanswered.length === 0
  }

  /** The next job to start. One with less than half its lease left, or past its deadline, goes back instead. */
  take(): Held | undefined {
    const { env, leaseMs, handBack } = this.#options
    while (this.#next < this.#buffer.length) {
      const held = this.#buffer[this.#next++]!
      if (this.#next === this.#buffer.length) {
        this.#buffer.length = 0
        this.#next = 0
      }
      const now = env.clock.now()
      if (held.leaseUntil - now >= leaseMs / 2 && now < held.startBefore) return held
      handBack(held, 0)
    }
    return undefined
  }

  countFinished(): void {
    this.#finished++
  }

  /** There may be work now, or will be in so many milliseconds. */
  wake(delayMs = 0): void {
    if (this.#stopped) return
    if (delayMs > 0) {
      const at = this.#options.env.clock.now() + delayMs
      if (this.#idleTimer) this.#idleUntil(at)
      else this.#dueHint = Math.min(this.#dueHint, at)
      return
    }
    this.#wakes++
    const idle = this.#idleTimer !== undefined
    this.#clearIdle()
    // Nothing of this moment to wait for: at once, so that the claim may share a commit with what woke us.
    if (idle) this.#fetchNow()
    else this.fetch()
  }

  /** Looks for work once everything of this moment is done: handlers that end together are replaced together. */
  fetch(): void {
    if (this.#stopped || this.#isBusy || this.#idleTimer || this.#scheduled) return
    this.#scheduled = true
    this.#options.env.clock.soon(() => {
      this.#scheduled = false
      this.#fetchNow()
    })
  }

  /**
   * For jobs that are being enqueued in this moment: an idle worker's claim may be one with that. Whether it was, or
   * undefined where this is not idle.
   */
  claimAlong(): Promise<boolean> | undefined {
    const isReady = this.#options.env.connection.opened && !(this.#options.policyIds() instanceof Promise)
    if (!this.#idleTimer || this.#underWay.size > 0 || !isReady || !this.#options.mayFetch()) return undefined
    this.#wakes++
    this.#clearIdle()
    return this.#fetchNow(true)
  }

  #fetchNow(isAlong = false): Promise<boolean> | undefined {
    if (this.#stopped || this.#isBusy || this.#idleTimer || !this.#options.mayFetch()) return undefined
    const asked = this.#nextClaim()
    if (!asked) return undefined
    const claim = this.#claim(asked, isAlong).finally(() => {
      this.#underWay.delete(asked)
      if (!this.#stopped) this.#options.onFetched()
    })
    this.#underWay.set(asked, claim)
    this.fetch()
    return claim
  }

  #nextClaim(): Asked | undefined {
    const repeated = this.#unanswered.shift()
    if (repeated) return repeated
    const limit = this.#wanted()
    if (limit < (this.#underWay.size === 0 ? 1 : SECOND_MIN)) return undefined
    const { clock, dice } = this.#options.env
    return { token: dice.token(), limit, sentAt: clock.now() }
  }

  get #isBusy(): boolean {
    return this.#underWay.size >= (this.#commitsAlone ? UNDER_WAY_MAX : 1)
  }

  get #commitsAlone(): boolean {
    return this.#options.env.connection.opened?.commitsAlone === true
  }

  /** Puts the held jobs of one queue, or of all, back where they were. */
  giveBack(queue?: string): void {
    const all = this.held()
    this.#buffer.length = 0
    this.#next = 0
    for (const held of all) {
      if (queue === undefined || held.claimed.queue === queue) this.#options.handBack(held, 0)
      else this.#buffer.push(held)
    }
  }

  /** No claim begins after this; resolves when the last one has its answer and everything held is back. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#clearIdle()
    this.#staleTimer?.cancel()
    await Promise.all(this.#underWay.values())
    await this.#recall()
    this.giveBack()
  }

  /** Claims may have been granted although their answers were lost: the store knows what it gave. */
  async #recall(): Promise<void> {
    const { env, leaseMs } = this.#options
    const { clock, dice, connection } = env
    const patienceUntil = clock.now() + leaseMs
    for (let tries = 0; this.#unanswered.length > 0 && clock.now() < patienceUntil; tries++) {
      const { token, sentAt } = this.#unanswered[0]!
      try {
        const store = connection.opened ?? (await connection.store())
        this.#keep(await store.held(token), sentAt)
        this.#unanswered.shift()
      } catch (error) {
        if (!isRepeatable(error)) return
        await wait(clock, backOffMs(tries, dice))
      }
    }
  }

  #wanted(): number {
    const claimMax = this.#commitsAlone ? CLAIM_MAX_ALONE : CLAIM_MAX
    const ahead = Math.min(2 * claimMax, this.#finishedLately())
    if (this.size > ahead / 2) return 0
    const coming = [...this.#underWay.keys()].reduce((sum, { limit }) => sum + limit, 0)
    return Math.min(claimMax, this.#options.freeSlots() + ahead - this.size - coming)
  }

  /** In the window, as the rate since the last look before it tells: a slow commit must not make the next batch small. */
  #finishedLately(): number {
    const now = this.#options.env.clock.now()
    if (this.#samples.at(-1)?.at !== now) this.#samples.push({ at: now, finished: this.#finished })
    const windowMs = this.#windowMs
    while (this.#samples.length > 1 && this.#samples[1]!.at <= now - windowMs) this.#samples.shift()
    const { at, finished } = this.#samples[0]!
    return Math.floor((this.#finished - finished) * (windowMs / Math.max(windowMs, now - at)))
  }

  /** Whether it was one with an enqueue. */
  async #claim(asked: Asked, isAlong: boolean): Promise<boolean> {
    const { env, workerId, queues, leaseMs, policyIds } = this.#options
    const { token, limit, sentAt } = asked
    const wakes = this.#wakes
    this.#dueHint = Number.POSITIVE_INFINITY
    try {
      const store = env.connection.opened ?? (await env.connection.store())
      const known = policyIds()
      const ids = known instanceof Promise ? await known : known
      const askedAt = env.clock.now()
      const request = { workerId, token, queues, limit, leaseMs, policyIds: ids }
      const claim = await store.claim(isAlong ? { ...request, isAlong } : request)
      this.#failures = 0
      this.#windowMs = Math.min(WINDOW_MAX_MS, Math.max(WINDOW_MS, 2 * (env.clock.now() - askedAt)))
      env.time.observe(claim.now, askedAt)
      this.#keep(claim, sentAt)
      // There may be more, whatever another claim has found.
      if (claim.jobs.length === limit) this.#clearIdle()
      else if (wakes === this.#wakes) {
        const pollMs = this.#options.pollMs ?? (store.announcesWork ? POLL_ANNOUNCED_MS : POLL_MS)
        const dueInMs = claim.nextDueAt === undefined ? pollMs : Math.max(0, claim.nextDueAt - claim.now)
        this.#idleUntil(Math.min(env.clock.now() + Math.min(pollMs, dueInMs), this.#dueHint))
      }
      return claim.isAlong === true
    } catch (error) {
      this.#unanswered.push(asked)
      const waitMs = backOffMs(this.#failures++, env.dice)
      env.log.warn({ event: 'claim.failed', workerId, retryInMs: waitMs, err: error }, 'failed to claim jobs, retrying')
      this.#idleUntil(env.clock.now() + waitMs)
      return false
    }
  }

  #keep(claim: Claim, sentAt: number): void {
    const { env, leaseMs } = this.#options
    const heldSince = env.clock.now()
    for (const claimed of claim.jobs) {
      // The claim was made after it was sent, so the store's time is not past this.
      const startBefore = sentAt + (claimed.deadline ?? Number.POSITIVE_INFINITY) - claim.now
      this.#buffer.push({ claimed, heldSince, leaseUntil: sentAt + leaseMs, startBefore })
    }
    if (claim.jobs.length > 0) this.#staleTimer ??= env.clock.timer(UNUSED_MAX_MS, () => this.#returnUnused())
  }

  #returnUnused(): void {
    this.#staleTimer = undefined
    const { env, handBack } = this.#options
    const unusedSince = env.clock.now() - UNUSED_MAX_MS
    while (this.size > 0 && this.#buffer[this.#next]!.heldSince <= unusedSince) handBack(this.#buffer[this.#next++]!, 0)
    if (this.size === 0) {
      this.#buffer.length = 0
      this.#next = 0
    } else {
      const waitMs = this.#buffer[this.#next]!.heldSince + UNUSED_MAX_MS - env.clock.now()
      this.#staleTimer = env.clock.timer(waitMs, () => this.#returnUnused())
    }
  }

  #idleUntil(at: number): void {
    if (this.#stopped || (this.#idleTimer && this.#idleTimer.at <= at)) return
    this.#clearIdle()
    const { clock } = this.#options.env
    const timer = clock.timer(at - clock.now(), () => {
      this.#idleTimer = undefined
      this.fetch()
    })
    this.#idleTimer = { at, timer }
  }

  #clearIdle(): void {
    this.#idleTimer?.timer.cancel()
    this.#idleTimer = undefined
  }
}
