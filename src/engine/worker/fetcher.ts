import { type Timer, tick, wait } from '../../core/values/clock.js'
import { mostlyBegin } from '../../store/run.js'
import type { Claim, Claimed } from '../../store/store.js'
import type { ClaimTerms } from '../client/claim-terms.js'
import { isRepeatable } from '../client/connection.js'
import type { Environment } from '../client/environment.js'
import { IdlePoll } from '../time/idle-poll.js'
import { backOffMs } from '../time/loop.js'
import type { ForeignJobs } from './foreign.js'

/** A claimed job that has not been started. */
export interface Held {
  readonly claimed: Claimed
  readonly heldSince: number
  /** On this process's clock, counted from when the claim was sent. */
  leaseUntil: number
  /** The deadline on this process's clock; never later than by the store's clock. */
  readonly startBefore: number
}

export interface FetcherOptions {
  readonly env: Environment
  readonly workerId: string
  readonly queues: readonly string[]
  readonly leaseMs: number
  readonly pollMs?: number
  readonly terms: () => ClaimTerms | Promise<ClaimTerms>
  /** The number of handlers that could start now. */
  readonly freeSlots: () => number
  readonly mayFetch: () => boolean
  readonly foreign: ForeignJobs
  readonly onFetched: () => void
  /** These jobs began with their claim: they start at once, in the slots that were reserved for them. */
  readonly onBegun: (begun: readonly Held[]) => void
  readonly handBack: (held: Held, delayMs: number) => void
}

const CLAIM_MAX = 1_000
/** In stores in which commits do not wait for each other. A small second claim would only cost time. */
const UNDER_WAY_MAX = 2
const SECOND_MIN = 200
/**
 * The buffer holds no more jobs than were finished in this time, so that a worker with slow jobs does not hoard them.
 * If claims are slower than this, the time of two claims counts: the one that is running and the next.
 */
const WINDOW_MS = 20
const WINDOW_MAX_MS = 200
const UNUSED_MAX_MS = 1000
/**
 * How many jobs may begin with a claim for each free slot. More than one may only while handlers end in the turn of the
 * event loop in which they start, so that all of these jobs start in that turn; each further one takes so many such turns.
 */
const BEGUN_PER_SLOT_MAX = 8
const TURNS_PER_STEP = 4

/** The parameters of a claim. */
interface Asked {
  readonly token: string
  readonly limit: number
  readonly sentAt: number
  /** The slots that are reserved for this claim, so that its jobs may begin with it. */
  readonly slots: number
}

/** Claims jobs ahead of the handlers and releases those that are not needed. */
export class Fetcher {
  readonly #options: FetcherOptions
  readonly #buffer: Held[] = []
  #next = 0
  readonly #samples: { at: number; finished: number }[] = []
  #finished = 0
  readonly #underWay = new Map<Asked, Promise<unknown>>()
  /** Claims without an answer are repeated with the same token, because the store may have granted them. */
  #unanswered: Asked[] = []
  #idleTimer: { at: number; timer: Timer } | undefined
  #scheduled = false
  /** The number of wake-ups so far. */
  #wakes = 0
  /** The earliest due time from a wake-up that a running claim may not have seen. */
  #dueHint = Number.POSITIVE_INFINITY
  readonly #idlePoll: IdlePoll
  #staleTimer: Timer | undefined
  #windowMs = WINDOW_MS
  /** At least half of the last claimed jobs could begin with their claim, so the next claim is for free slots only. */
  #isForSlots = false
  #reserved = 0
  /** How many claims in a row had all of their begun jobs started and ended within one turn of the event loop. */
  #swiftTurns = 0
  #failures = 0
  #stopped = false

  constructor(options: FetcherOptions) {
    this.#options = options
    this.#idlePoll = new IdlePoll(options.env, options.pollMs)
  }

  get size(): number {
    return this.#buffer.length - this.#next
  }

  held(): readonly Held[] {
    return this.#buffer.slice(this.#next)
  }

  /** No job is held, and no running claim can still return one. */
  get isEmpty(): boolean {
    return this.size === 0 && this.#underWay.size === 0 && this.#unanswered.length === 0
  }

  /** The number of slots that are kept free for a claim whose jobs begin with it. */
  get reserved(): number {
    return this.#reserved
  }

  /** The next job to start. A job with less than half of its lease left, or past its deadline, is released instead. */
  take(): Held | undefined {
    while (this.#next < this.#buffer.length) {
      const held = this.#buffer[this.#next++]!
      if (this.#next === this.#buffer.length) {
        this.#buffer.length = 0
        this.#next = 0
      }
      if (this.#isUsable(held)) return held
      this.#options.handBack(held, 0)
    }
    return undefined
  }

  #isUsable({ leaseUntil, startBefore }: Held): boolean {
    const { env, leaseMs } = this.#options
    const now = env.clock.now()
    return leaseUntil - now >= leaseMs / 2 && now < startBefore
  }

  countFinished(): void {
    this.#finished++
  }

  /** There may be jobs now, or in `delayMs`. */
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
    // When idle, claim at once, so that the claim may share a commit with the enqueue that woke the worker.
    if (idle) this.#fetchNow()
    else this.fetch()
  }

  /** Claims after the current callbacks, so that handlers that end together are replaced by one claim. */
  fetch(): void {
    if (this.#stopped || this.#isBusy || this.#idleTimer || this.#scheduled) return
    this.#scheduled = true
    this.#options.env.clock.soon(() => {
      this.#scheduled = false
      this.#fetchNow()
    })
  }

  /**
   * Lets the claim of an idle worker share the enqueue's transaction. Resolves to whether it did; undefined if the
   * worker is not idle.
   */
  claimAlong(): Promise<boolean> | undefined {
    const isReady = this.#options.env.connection.opened && !(this.#options.terms() instanceof Promise)
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
    const slots = this.#isForSlots ? this.#freeForClaim() : 0
    const limit = this.#isForSlots ? Math.min(CLAIM_MAX, slots * this.#begunPerSlot) : this.#wanted()
    if (limit < (this.#underWay.size === 0 ? 1 : SECOND_MIN)) return undefined
    this.#reserved = slots
    const { clock, dice } = this.#options.env
    return { token: dice.token(), limit, sentAt: clock.now(), slots }
  }

  get #isBusy(): boolean {
    return this.#underWay.size >= (this.#commitsAlone && this.#reserved === 0 ? UNDER_WAY_MAX : 1)
  }

  get #commitsAlone(): boolean {
    return this.#options.env.connection.opened?.commitsAlone === true
  }

  /** Releases the held jobs of one queue, or of all queues. */
  giveBack(queue?: string): void {
    const all = this.held()
    this.#buffer.length = 0
    this.#next = 0
    for (const held of all) {
      if (queue === undefined || held.claimed.queue === queue) this.#options.handBack(held, 0)
      else this.#buffer.push(held)
    }
  }

  /** Starts no further claim. Resolves when the last claim has its answer and every held job is released. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#clearIdle()
    this.#staleTimer?.cancel()
    await Promise.all(this.#underWay.values())
    await this.#recall()
    this.giveBack()
  }

  /** A claim may have been granted although its answer was lost; the store knows which jobs it granted. */
  async #recall(): Promise<void> {
    const { env, leaseMs } = this.#options
    const { clock, dice, connection } = env
    const patienceUntil = clock.now() + leaseMs
    for (let tries = 0; this.#unanswered.length > 0 && clock.now() < patienceUntil; tries++) {
      const asked = this.#unanswered[0]!
      try {
        const store = connection.opened ?? (await connection.store())
        this.#keep(await store.held(asked.token), asked)
        this.#unanswered.shift()
      } catch (error) {
        if (!isRepeatable(error)) return
        await wait(clock, backOffMs(tries, dice))
      }
    }
  }

  /** Held jobs start first, and only one claim at a time reserves slots. */
  #freeForClaim(): number {
    return this.size === 0 && this.#underWay.size === 0 ? Math.min(CLAIM_MAX, this.#options.freeSlots()) : 0
  }

  get #begunPerSlot(): number {
    return Math.min(BEGUN_PER_SLOT_MAX, 1 + Math.floor(this.#swiftTurns / TURNS_PER_STEP))
  }

  #wanted(): number {
    const ahead = Math.min(2 * CLAIM_MAX, this.#finishedLately())
    if (this.size > ahead / 2) return 0
    const coming = [...this.#underWay.keys()].reduce((sum, { limit }) => sum + limit, 0)
    return Math.min(CLAIM_MAX, this.#options.freeSlots() + ahead - this.size - coming)
  }

  /**
   * Estimated from the rate since the previous measurement, so that a slow commit does not make the next batch small.
   */
  #finishedLately(): number {
    const now = this.#options.env.clock.now()
    if (this.#samples.at(-1)?.at !== now) this.#samples.push({ at: now, finished: this.#finished })
    const windowMs = this.#windowMs
    while (this.#samples.length > 1 && this.#samples[1]!.at <= now - windowMs) this.#samples.shift()
    const { at, finished } = this.#samples[0]!
    return Math.floor((this.#finished - finished) * (windowMs / Math.max(windowMs, now - at)))
  }

  /** Resolves to whether the claim shared the enqueue's transaction. */
  async #claim(asked: Asked, isAlong: boolean): Promise<boolean> {
    const { env, workerId, queues, leaseMs } = this.#options
    const { token, limit, slots } = asked
    const wakes = this.#wakes
    this.#dueHint = Number.POSITIVE_INFINITY
    try {
      const store = env.connection.opened ?? (await env.connection.store())
      const known = this.#options.terms()
      const { policyIds, begins } = known instanceof Promise ? await known : known
      const askedAt = env.clock.now()
      const { names } = this.#options.foreign
      const plain = { workerId, token, queues, limit, leaseMs, policyIds, ...(names && { names }) }
      const request = slots > 0 ? { ...plain, begins } : plain
      // A claim of some names says nothing about the others, which a later one may take.
      const pulse = names ? undefined : store.pulse?.()
      const claim = await store.claim(isAlong ? { ...request, isAlong } : request)
      this.#failures = 0
      this.#windowMs = Math.min(WINDOW_MAX_MS, Math.max(WINDOW_MS, 2 * (env.clock.now() - askedAt)))
      env.time.observe(claim.now, askedAt)
      this.#keep(claim, asked)
      this.#isForSlots = begins.length > 0 && mostlyBegin(claim.jobs, begins)
      // There may be more jobs, whatever another claim has found.
      if (claim.jobs.length === limit) this.#clearIdle()
      else if (wakes === this.#wakes) {
        this.#idleUntil(Math.min(this.#idlePoll.after(claim, store, pulse), this.#dueHint))
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

  #keep(claim: Claim, { sentAt, slots }: Asked): void {
    const { env, leaseMs, foreign, handBack } = this.#options
    const heldSince = env.clock.now()
    const begun: Held[] = []
    const others: Held[] = []
    const released: Held[] = []
    for (const claimed of claim.jobs) {
      // The store made the claim after it was sent, so its clock has not passed this time.
      const startBefore = sentAt + (claimed.deadline ?? Number.POSITIVE_INFINITY) - claim.now
      const held = { claimed, heldSince, leaseUntil: sentAt + leaseMs, startBefore }
      if (foreign.has(claimed.name)) released.push(held)
      else if (!claimed.begun || this.#stopped) others.push(held)
      else if (this.#isUsable(held)) begun.push(held)
      else handBack(held, 0)
    }
    if (released.length > 0) foreign.release(released)
    this.#buffer.push(...begun.slice(slots), ...others)
    if (begun.length > 0) this.#startBegun(begun, slots)
    else if (slots > 0) this.#reserved = 0
    if (this.size > 0) this.#staleTimer ??= env.clock.timer(UNUSED_MAX_MS, () => this.#returnUnused())
  }

  /** The reserved slots are taken in the same moment; jobs beyond them start as handlers end in this turn. */
  #startBegun(begun: readonly Held[], slots: number): void {
    const finishedBefore = this.#finished
    this.#reserved = 0
    this.#options.onBegun(begun.slice(0, slots))
    this.#options.env.clock.soon(() => {
      const isSwift = this.#releaseBegun() === 0 && this.#finished - finishedBefore >= begun.length
      this.#swiftTurns = isSwift ? this.#swiftTurns + 1 : 0
    })
  }

  /** Releases the jobs that have begun and could not start at once, so that none dies of a run that never started. */
  #releaseBegun(): number {
    const all = this.held()
    const begun = all.filter(({ claimed }) => claimed.begun)
    if (begun.length > 0) {
      this.#buffer.splice(0, Number.POSITIVE_INFINITY, ...all.filter(({ claimed }) => !claimed.begun))
      this.#next = 0
      for (const held of begun) this.#options.handBack(held, 0)
    }
    return begun.length
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
    const timer = tick(clock, at - clock.now(), () => {
      this.#idleTimer = undefined
      const pollAt = this.#unanswered.length > 0 ? undefined : this.#idlePoll.later()
      if (pollAt === undefined) this.fetch()
      else this.#idleUntil(pollAt)
      return pollAt === undefined
    })
    this.#idleTimer = { at, timer }
  }

  #clearIdle(): void {
    this.#idleTimer?.timer.cancel()
    this.#idleTimer = undefined
  }
}
