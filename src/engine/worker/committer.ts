import { wait } from '../../core/values/clock.js'
import type { Claimed, Lease, Report, Settled, Settlement, Store } from '../../store/store.js'
import { isOutage, isRepeatable } from '../client/connection.js'
import type { Environment } from '../client/environment.js'
import { backOffMs } from '../time/loop.js'
import type { Held } from './fetcher.js'
import { handBack } from './finish.js'

interface Pending {
  readonly settlement: Settlement
  readonly report: Report | undefined
  readonly done: (settled: Settled) => void
}

const BATCH_MAX = 1_000
/** While one batch is being written, the next may be prepared. More than that would only make the batches smaller. */
const SENT_MAX = 2
const SECOND_MIN = 200
/** No further job is started while this many batches wait to be stored. */
const BACKLOG_BATCHES = 3

/** Stores the outcomes of runs: at once when idle, in batches under load, with retries until the store accepts them. */
export class Committer {
  readonly #env: Environment
  #waiting: Pending[] = []
  #inFlight = 0
  /** Batches that are being written. */
  #sent = 0
  #scheduled = false
  #failures = 0
  #idle: (() => void)[] = []
  readonly #returning = new Set<Held>()

  readonly #leaseMs: number
  readonly #onRoom: () => void

  /** `onRoom` is called whenever a batch has been stored and more jobs may start. */
  constructor(env: Environment, leaseMs: number, onRoom: () => void) {
    this.#env = env
    this.#leaseMs = leaseMs
    this.#onRoom = onRoom
  }

  /** Outcomes that are not stored yet. */
  get backlog(): number {
    return this.#waiting.length + this.#inFlight
  }

  get isFull(): boolean {
    return this.backlog >= BACKLOG_BATCHES * BATCH_MAX || this.#failures > 0
  }

  add(settlement: Settlement, report: Report | undefined, done: (settled: Settled) => void): void {
    this.#waiting.push({ settlement, report, done })
    this.#schedule()
  }

  /** Returns a job that has not started to its queue, as if it had not been claimed. */
  handBack(held: Held, delayMs: number, onReturned: () => void): void {
    this.#returning.add(held)
    this.add(handBack(this.#env, held.claimed, delayMs), undefined, () => {
      this.#returning.delete(held)
      if (held.claimed.lane !== undefined) this.#env.onTurn(held.claimed.queue)
      onReturned()
    })
  }

  /** Jobs whose return is not stored yet. This worker holds their leases until then. */
  held(): Iterable<Held> {
    return this.#returning
  }

  get isReturning(): boolean {
    return this.#returning.size > 0
  }

  /** Runs after the current callbacks, so that runs that end together are stored together. */
  #schedule(): void {
    if (this.#scheduled || this.#sent === SENT_MAX) return
    this.#scheduled = true
    this.#env.clock.soon(() => {
      this.#scheduled = false
      if (this.#waiting.length >= (this.#sent === 0 ? 1 : SECOND_MIN)) void this.#flush()
    })
  }

  /** Resolves when no outcome waits to be stored. */
  drained(): Promise<void> {
    return this.backlog === 0 ? Promise.resolve() : new Promise(resolve => this.#idle.push(resolve))
  }

  async #flush(): Promise<void> {
    const batch = this.#waiting.splice(0, BATCH_MAX)
    this.#inFlight += batch.length
    this.#sent++
    // A second batch may be full already.
    this.#schedule()
    await this.#store(batch)
    this.#inFlight -= batch.length
    this.#sent--
    if (this.#waiting.length > 0) this.#schedule()
    else if (this.backlog === 0) for (const resolve of this.#idle.splice(0)) resolve()
    if (!this.isFull) this.#onRoom()
  }

  /**
   * Returns when every entry has its answer. An entry that the store rejects is found by splitting the batch in half.
   */
  async #store(batch: readonly Pending[]): Promise<void> {
    for (;;) {
      try {
        const answers = await this.#send(batch)
        this.#failures = 0
        for (let index = 0; index < batch.length; index++) batch[index]!.done(answers[index]!)
        return
      } catch (error) {
        if (isRepeatable(error) || isOutage(error)) {
          await this.#pause(error)
        } else if (batch.length > 1) {
          const half = Math.ceil(batch.length / 2)
          await this.#store(batch.slice(0, half))
          await this.#store(batch.slice(half))
          return
        } else {
          this.#giveUp(batch[0]!, error)
          return
        }
      }
    }
  }

  async #send(batch: readonly Pending[]): Promise<readonly Settled[]> {
    const { connection } = this.#env
    const store: Store = connection.opened ?? (await connection.store())
    const reports = batch.flatMap(entry => entry.report ?? [])
    if (reports.length > 0) await store.report(reports)
    return store.settle(batch.map(entry => entry.settlement))
  }

  async #pause(error: unknown): Promise<void> {
    const { clock, dice, log } = this.#env
    // A store that is back must be asked before the leases expire, which are not renewed for long after a stop.
    const waitMs = Math.min(this.#leaseMs / 6, backOffMs(this.#failures++, dice))
    log.warn({ event: 'store.unavailable', retryInMs: waitMs, err: error }, 'store unavailable, buffering results')
    await wait(clock, waitMs)
  }

  #giveUp({ settlement, done }: Pending, error: unknown): void {
    // The lease of a settlement is the claimed job.
    const { id: jobId, scheduleId } = settlement.lease as Lease & Pick<Claimed, 'scheduleId'>
    // The rejected entry must not delay the others.
    this.#failures = 0
    this.#env.log.error(
      { event: 'settle.failed', jobId, scheduleId, err: error },
      'failed to store the result of a run',
    )
    done({ status: 'lost' })
  }
}
