import { type Job, TERMINAL } from '../../core/job/job.js'
import { noJob, stillLive } from '../../core/job/result.js'
import type { Timer } from '../../core/values/clock.js'
import { type Duration, toMs } from '../../core/values/duration.js'
import { ChronosError } from '../../core/values/error.js'
import { about, duration, type Infer, inCode, read } from '../../core/values/schema.js'
import { object } from '../../core/values/shape.js'
import type { Store } from '../../store/store.js'
import type { Environment } from '../client/environment.js'
import { backOffMs } from '../time/loop.js'
import { Budget } from './budget.js'

export const isSignal = (given: unknown): boolean => typeof given === 'object' && given !== null && 'aborted' in given

const waitOptions = object(
  {},
  {
    within: about(duration({ min: 1 }), 'How long to wait. The job goes on afterwards. Default: until it has ended.'),
    signal: about(inCode<AbortSignal>('an AbortSignal', isSignal), 'Ends the wait, with the reason of the signal.'),
  },
)
export type WaitOptions = Infer<typeof waitOptions>

/** The pause between two looks, which doubles while nothing ends and starts over with each new waiter. */
const PAUSE_FIRST_MS = 20
const PAUSE_MAX_MS = 500
/** All waiters of the process together make no more queries than this while other processes run the jobs. */
const QUERIES = { perSecond: 4, burst: 6 }
/** How many ended jobs are read at once. */
const READ_MAX = 1_000
/** How often to check that the jobs still exist, and how many are read at once to find one that does not. */
const EXISTENCE_MS = 5_000
const EXISTENCE_MAX = 200
const STATES = [...TERMINAL]

interface Waiter {
  readonly resolve: (job: Job) => void
  readonly reject: (error: unknown) => void
}

/**
 * The callers in this process that wait for a job to end. A caller registers first and looks then, so that it can't miss
 * an end in between; one query looks for all of them.
 */
export class Waiters {
  readonly #env: Environment
  readonly #budget: Budget
  readonly #waiting = new Map<string, Set<Waiter>>()
  /** Awaited jobs that ended in this process, and those of which it is not known yet whether they exist. */
  readonly #endedHere = new Set<string>()
  readonly #unchecked = new Set<string>()
  #checkedAt = Number.NEGATIVE_INFINITY
  #pauseMs = PAUSE_FIRST_MS
  /** A look is due whatever the pause: there is a new waiter, or the store announced a change. */
  #isAsked = false
  #isLooking = false
  #isScheduled = false
  /** When to look although nothing was announced. */
  #nextAt = 0
  #timer: Timer | undefined
  #stopListening: (() => void)[] = []
  #failures = 0

  constructor(env: Environment) {
    this.#env = env
    this.#budget = new Budget(env.clock, QUERIES)
  }

  /** The job as it is when it has ended, however it ended. */
  async ended(given: string, options: WaitOptions = {}): Promise<Job> {
    const { within, signal } = read(waitOptions, options, 'jobs.result:')
    signal?.throwIfAborted()
    const { clock } = this.#env
    const id = String(given).toLowerCase()
    let leave = (): void => undefined
    const end = new Promise<Job>((resolve, reject) => {
      const waiter = { resolve, reject }
      const timer = this.#timeout(within, id, reject)
      const onAbort = (): void => reject(signal?.reason)
      signal?.addEventListener('abort', onAbort, { once: true })
      leave = () => {
        timer?.cancel()
        signal?.removeEventListener('abort', onAbort)
        this.#leave(id, waiter)
      }
      this.#join(id, waiter)
    })
    try {
      return await (clock.outstanding ? clock.outstanding.until(end) : end)
    } finally {
      leave()
    }
  }

  /** Ends every wait. */
  close(): void {
    this.#rejectAll(new ChronosError('CLOSED', 'jobs.result: this Chronos was closed while it waited for a job'))
  }

  #timeout(within: Duration | undefined, id: string, reject: (error: unknown) => void): Timer | undefined {
    if (within === undefined) return undefined
    const withinMs = toMs(within, 'within')
    return this.#env.clock.timer(withinMs, () => reject(stillLive(id, withinMs)))
  }

  #join(id: string, waiter: Waiter): void {
    const known = this.#waiting.get(id)
    if (known) known.add(waiter)
    else this.#waiting.set(id, new Set([waiter]))
    this.#unchecked.add(id)
    if (this.#stopListening.length === 0) this.#listen()
    this.#pauseMs = PAUSE_FIRST_MS
    this.#ask()
  }

  #leave(id: string, waiter: Waiter): void {
    const waiters = this.#waiting.get(id)
    if (waiters?.delete(waiter) && waiters.size === 0) this.#forget(id)
  }

  #forget(id: string): void {
    this.#waiting.delete(id)
    this.#endedHere.delete(id)
    this.#unchecked.delete(id)
    if (this.#waiting.size > 0) return
    for (const stop of this.#stopListening.splice(0)) stop()
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #listen(): void {
    const { events, connection } = this.#env
    const onEnd = ({ job: { id } }: { readonly job: { readonly id: string } }): void => {
      if (!this.#waiting.has(id)) return
      this.#endedHere.add(id)
      this.#lookSoon()
    }
    this.#stopListening = [
      events.on('job.succeeded', onEnd),
      events.on('job.dead', onEnd),
      events.on('job.cancelled', onEnd),
    ]
    void connection.store().then(
      store => {
        if (!store.announcesEnds || this.#stopListening.length !== 3) return
        this.#stopListening.push(store.watch(() => this.#ask(), 'ends'))
      },
      () => undefined,
    )
  }

  #ask(): void {
    this.#isAsked = true
    this.#lookSoon()
  }

  #lookSoon(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#env.clock.soon(() => {
      this.#isScheduled = false
      void this.#look()
    })
  }

  async #look(): Promise<void> {
    if (this.#isLooking || this.#waiting.size === 0) return
    this.#isLooking = true
    this.#timer?.cancel()
    const nextAt = await this.#step().catch((error: unknown) => this.#failed(error))
    this.#isLooking = false
    if (this.#waiting.size === 0) return
    this.#timer = this.#env.clock.timer(nextAt - this.#env.clock.now(), () => {
      this.#timer = undefined
      this.#isAsked = true
      void this.#look()
    })
    if (this.#endedHere.size > 0) this.#lookSoon()
  }

  /** Looks for ends and returns when to look again. */
  async #step(): Promise<number> {
    const { connection, clock } = this.#env
    const store = connection.opened ?? (await connection.store())
    const here = [...this.#endedHere]
    this.#endedHere.clear()
    if (here.length > 0) await this.#answer(store, here)
    while (this.#isAsked) {
      const waitMs = this.#budget.take()
      if (waitMs > 0) return clock.now() + waitMs
      this.#isAsked = false
      await this.#answer(store, [...this.#waiting.keys()])
      await this.#checkExistence(store)
      this.#failures = 0
      this.#nextAt = clock.now() + this.#pauseMs
      this.#pauseMs = Math.min(PAUSE_MAX_MS, this.#pauseMs * 2)
    }
    return this.#nextAt
  }

  async #answer(store: Store, ids: readonly string[]): Promise<void> {
    for (let left = ids; left.length > 0; left = left.filter(id => this.#waiting.has(id))) {
      const { data, next } = await store.list({ ids: left, state: STATES }, { limit: READ_MAX })
      for (const job of data) {
        const waiters = this.#waiting.get(job.id)
        this.#forget(job.id)
        for (const { resolve } of waiters ?? []) resolve(job)
      }
      if (next === undefined) return
    }
  }

  /** A job that was deleted, pruned or never enqueued does not end. New waiters learn it at once. */
  async #checkExistence(store: Store): Promise<void> {
    const now = this.#env.clock.now()
    const isDue = now - this.#checkedAt >= EXISTENCE_MS
    const ids = [...(isDue ? this.#waiting.keys() : this.#unchecked)]
    if (ids.length === 0 || this.#budget.take() > 0) return
    if (isDue) this.#checkedAt = now
    for (const id of ids) this.#unchecked.delete(id)
    const { value } = await store.count({ ids }, ids.length)
    if (value < ids.length) await this.#rejectMissing(store, ids)
  }

  async #rejectMissing(store: Store, ids: readonly string[]): Promise<void> {
    for (let from = 0; from < ids.length; from += EXISTENCE_MAX) {
      const some = ids.slice(from, from + EXISTENCE_MAX)
      const { data } = await store.list({ ids: some }, { limit: some.length })
      const found = new Set(data.map(({ id }) => id))
      for (const id of some) if (!found.has(id)) this.#reject(id, noJob(id))
    }
  }

  #failed(error: unknown): number {
    if (this.#env.connection.isClosed) {
      this.close()
      return 0
    }
    const retryInMs = backOffMs(this.#failures++, this.#env.dice)
    this.#env.log.warn({ event: 'results.unread', retryInMs, err: error }, 'failed to look for awaited jobs, retrying')
    this.#isAsked = true
    return this.#env.clock.now() + retryInMs
  }

  #rejectAll(error: ChronosError): void {
    for (const id of [...this.#waiting.keys()]) this.#reject(id, error)
  }

  #reject(id: string, error: ChronosError): void {
    const waiters = this.#waiting.get(id)
    this.#forget(id)
    for (const { reject } of waiters ?? []) reject(error)
  }
}
