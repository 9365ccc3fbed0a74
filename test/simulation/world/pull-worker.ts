import { ChronosError } from '../../../src/core/values/error.js'
import type { Chronos } from '../../../src/engine/client/chronos.js'
import type { LeaseView } from '../../../src/engine/leases/leases.js'
import { seededDice } from '../../../src/engine/time/virtual.js'
import type { Start } from '../ledger.js'
import type { Trace } from '../trace.js'
import type { Verdict } from '../verdict.js'
import type { Chance } from './chance.js'
import type { PullerPlan } from './features.js'
import type { Payload, Stage } from './handlers.js'
import type { Host } from './host.js'
import type { JobPlan } from './plan.js'
import type { Process } from './process.js'
import type { Timeline } from './timeline.js'

interface PullWorkerOptions {
  readonly id: string
  readonly host: Host
  readonly plan: PullerPlan
  readonly seed: number
  readonly timeline: Timeline
  readonly chance: Chance
  readonly stage: Stage
  readonly verdict: Verdict
  readonly trace: Trace
  /** A process that serves the API now. */
  readonly server: () => Process | undefined
  /** Whether responses may still be lost. */
  readonly isCalm: () => boolean
}

const POLL_MS = 700
const GIVE_UP_MS = 2_500
/** Answers that say that the run is not this worker's any more. */
const OVER: ReadonlySet<string> = new Set(['LEASE_LOST', 'NOT_FOUND'])
const TROUBLE: ReadonlySet<string> = new Set(['STORE_UNAVAILABLE', 'STORE_UNKNOWN', 'CLOSED'])

class NoAnswer extends Error {}

interface Held {
  readonly token: string
  readonly run: number
}

/** A worker in another language: it has no engine, and claims and ends runs through the API of some process. */
export class PullWorker {
  readonly #options: PullWorkerOptions
  readonly #token: () => string

  constructor(options: PullWorkerOptions) {
    this.#options = options
    this.#token = seededDice(options.seed).token
  }

  async start(): Promise<void> {
    const { host, plan, id } = this.#options
    while (!host.isGone) {
      const token = this.#token()
      const sentAt = host.clock.now()
      const { leaseMs, limit, waitMs } = plan
      const request = { workerId: id, queues: ['pull'], limit, lease: leaseMs, wait: waitMs, token }
      const claim = (chronos: Chronos) => chronos.leases.claim(request)
      const found = await this.#insist(claim, () => host.clock.now() - sentAt < leaseMs / 2, waitMs)
      // A response that comes late is of no use: the leases may be over.
      const isInTime = host.clock.now() - sentAt < leaseMs / 2
      await Promise.all(isInTime ? (found?.data ?? []).map(lease => this.#run(lease, sentAt)) : [])
      await this.#wait(POLL_MS)
    }
  }

  /** Runs one job: renews its lease, and reports the end until it is acknowledged or the lease is over. */
  async #run({ job, token, leaseMs }: LeaseView, claimedAt: number): Promise<void> {
    const { host, stage } = this.#options
    if (host.isGone) return
    const plan = stage.jobs[(job.payload as Payload).ref]!
    const { id, run, generation, attempt } = job
    const start = stage.started(host, { id, run: run!, generation, attempt }, plan)
    let heldUntil = claimedAt + leaseMs
    const isHeld = (): boolean => host.clock.now() < heldUntil
    const nth = stage.ledger.startsOf(id).filter(one => one.generation === generation).length
    for (let left = behaviourMs(plan); left > 0; ) {
      const ms = Math.min(left, leaseMs / 3)
      await this.#wait(ms)
      left -= ms
      if (!isHeld()) return
      const sentAt = host.clock.now()
      const renewed = await this.#insist(
        chronos => chronos.leases.extend(id, { token, run: run!, lease: leaseMs }),
        isHeld,
      )
      if (!renewed) return
      heldUntil = sentAt + leaseMs
    }
    await this.#end(plan, nth, id, { token, run: run! }, start, isHeld)
  }

  async #end(plan: JobPlan, nth: number, id: string, held: Held, start: Start, isHeld: () => boolean) {
    const { host, stage } = this.#options
    const { behaviour } = plan
    const again = 'times' in behaviour && nth <= behaviour.times
    const over = (how: NonNullable<Start['end']>['how']): void => {
      start.end = { how, at: host.clock.now() }
    }
    if (!isHeld()) return
    if (!again) {
      over('returned')
      await this.#insist(({ leases }) => leases.complete(id, { ...held, result: { ref: plan.ref } }), isHeld)
    } else if (behaviour.does === 'kill') {
      stage.crash(host)
    } else if (behaviour.does === 'snooze' && plan.delivery === 'at-least-once') {
      over('snoozed')
      await this.#insist(({ leases }) => leases.snooze(id, { ...held, delay: behaviour.delayMs }), isHeld)
    } else {
      over(behaviour.does === 'give up' ? 'gave up' : 'threw')
      const error = { message: 'no', retryable: behaviour.does !== 'give up' }
      await this.#insist(({ leases }) => leases.fail(id, { ...held, error }), isHeld)
    }
  }

  /** Repeats a call until there is an answer; undefined if it is over, or may not be repeated any more. */
  async #insist<T>(
    call: (chronos: Chronos) => Promise<T>,
    mayRepeat: () => boolean,
    waitMs = 0,
  ): Promise<T | undefined> {
    const { host, verdict } = this.#options
    for (;;) {
      try {
        return await this.#ask(call, waitMs)
      } catch (error) {
        const code = error instanceof ChronosError ? error.code : ''
        if (OVER.has(code)) return undefined
        const isKnown = error instanceof NoAnswer || TROUBLE.has(code) || /unknown store error/.test(String(error))
        if (!isKnown) verdict.broken('the engine does not throw', (error as Error).stack ?? String(error))
        if (host.isGone || !isKnown || !mayRepeat()) return undefined
        await this.#wait(300)
      }
    }
  }

  /** One request: it may get no answer, because the server dies or the response is lost. */
  #ask<T>(call: (chronos: Chronos) => Promise<T>, waitMs: number): Promise<T> {
    const { host, server, chance, isCalm } = this.#options
    const process = server()
    return new Promise((resolve, reject) => {
      const timer = host.clock.timer(waitMs + GIVE_UP_MS, () => reject(new NoAnswer()))
      if (!process) return
      const isLost = !isCalm() && chance.is(0.1)
      const answer = (tell: () => void): void => {
        if (process.host.isGone || isLost) return
        host.deliver('answer', () => {
          timer.cancel()
          tell()
        })
      }
      process.host.deliver('answer', () => {
        call(process.chronos).then(
          value => answer(() => resolve(value)),
          error => answer(() => reject(error)),
        )
      })
    })
  }

  #wait(ms: number): Promise<void> {
    return new Promise(resolve => this.#options.host.clock.timer(ms, resolve))
  }
}

const behaviourMs = ({ behaviour }: JobPlan): number => ('ms' in behaviour ? behaviour.ms : 0)
