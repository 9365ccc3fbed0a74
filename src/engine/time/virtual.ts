import { AsyncLocalStorage } from 'node:async_hooks'
import { seededRandom } from '../../core/simulation/seed.js'
import {
  type Clock,
  type Dice,
  type Outstanding,
  type RunningHandler,
  type Timer,
  wait,
} from '../../core/values/clock.js'
import { type Duration, toMs } from '../../core/values/duration.js'
import { realPause, turn, uuidSequence } from './system.js'

interface Entry {
  readonly at: number
  readonly order: number
  readonly run: () => unknown
  readonly isTick: boolean
  live: boolean
}

/** After so many idle moments the event loop gets a turn, for whatever else the process does. */
const IDLE_MAX = 1_000

export interface PassOptions {
  /**
   * Lets time pass while handlers run, or (`calls`) while store calls are pending too: for tests of hanging handlers
   * and stores.
   */
  readonly despite?: 'handlers' | 'calls'
}

/**
 * Time that moves only on request, and only while nothing is outstanding: no store call, no handler that works in real
 * time, nothing that is ready to run. Timers fire in the order of their times, then of their creation.
 */
export class VirtualClock implements Clock {
  #now: number
  #order = 0
  readonly #timers: Entry[] = []
  #soon = 0
  #calls = 0
  /** Running handlers that are not waiting for virtual time. */
  #handlers = 0
  readonly #current = new AsyncLocalStorage<Handler>()
  readonly #live = new Set<Handler>()
  readonly #onDone: (() => void)[] = []

  readonly outstanding: Outstanding = {
    call: work => this.#call(work),
    handler: () => this.#handler(),
    until: promise => this.until(promise),
    pause: ms => this.#call(() => realPause(ms)),
  }

  constructor(startAt = Date.UTC(2026, 0, 1)) {
    this.#now = startAt
  }

  now(): number {
    return this.#now
  }

  timer(ms: number, run: () => void): Timer {
    return this.#timer(ms, run, false)
  }

  tick(ms: number, run: () => boolean): Timer {
    return this.#timer(ms, run, true)
  }

  #timer(ms: number, run: () => unknown, isTick: boolean): Timer {
    const entry: Entry = { at: this.#now + Math.max(0, ms), order: this.#order++, run, isTick, live: true }
    push(this.#timers, entry)
    return {
      cancel: () => {
        entry.live = false
      },
    }
  }

  /** Needs no time to pass, so that a plain `await chronos.enqueue(…)` resolves. */
  soon(run: () => void): void {
    this.#soon++
    void turn().then(() => {
      this.#soon--
      run()
    })
  }

  /** Resolves after this much virtual time; rejects as soon as the signal aborts. A handler that waits here does not hold time up. */
  wait(duration: Duration, signal?: AbortSignal): Promise<void> {
    return wait(this, toMs(duration, 'wait'), signal)
  }

  /**
   * Resolves with the promise. A handler that waits here does not hold time up: use it for promises that need virtual
   * time to pass, or that the test resolves.
   */
  until<T>(promise: Promise<T>): Promise<T> {
    return this.#current.getStore()?.aside(promise) ?? promise
  }

  /** When the next timer fires, if there is one. */
  nextTimerAt(): number | undefined {
    while (this.#timers[0] && !this.#timers[0].live) pop(this.#timers)
    return this.#timers[0]?.at
  }

  /** Resolves when nothing is outstanding: what remains waits for virtual time. */
  async settle({ despite }: PassOptions = {}): Promise<void> {
    const isBusy = (): boolean => (this.#calls > 0 && despite !== 'calls') || (this.#handlers > 0 && !despite)
    for (;;) {
      // Everything that follows from an answer has run by the next turn, or is outstanding again.
      await turn()
      if (isBusy()) await new Promise<void>(resolve => this.#onDone.push(resolve))
      else if (this.#soon === 0) return
    }
  }

  /** Lets time pass up to the next timer, at most until `limit`. Returns false if no timer fires by then. */
  async step(limit: number, options?: PassOptions): Promise<boolean> {
    await this.settle(options)
    return this.#stepOn(limit, options)
  }

  /** The same, if nothing is outstanding. */
  async #stepOn(limit: number, options?: PassOptions): Promise<boolean> {
    for (let idle = 0; idle < IDLE_MAX; idle++) {
      const at = this.nextTimerAt()
      if (at === undefined || at > limit) return false
      if (this.#fire(at)) break
    }
    await this.settle(options)
    return true
  }

  /** Fires the next timer, and the timers of loops at the same moment. Returns whether there was something to do. */
  #fire(at: number): boolean {
    this.#now = Math.max(this.#now, at)
    let isBusy = false
    for (let entry = pop(this.#timers); entry; entry = this.#nextTick(entry)) {
      if (entry.run() !== false || !entry.isTick) isBusy = true
    }
    return isBusy
  }

  #nextTick({ isTick, at }: Entry): Entry | undefined {
    if (!isTick || this.nextTimerAt() !== at || !this.#timers[0]!.isTick) return undefined
    return pop(this.#timers)
  }

  /** Lets this much time pass and runs everything that falls due. */
  async advance(ms: number, options?: PassOptions): Promise<void> {
    const until = this.#now + ms
    await this.settle(options)
    while (await this.#stepOn(until, options)) {}
    this.#now = until
    await this.settle(options)
  }

  /** Lets time pass until the promise is settled. */
  async passUntil<T>(promise: Promise<T>, options?: PassOptions): Promise<T> {
    let isSettled = false
    const settled = (): void => {
      isSettled = true
    }
    promise.then(settled, settled)
    await this.settle(options)
    while (!isSettled && (await this.#stepOn(Number.POSITIVE_INFINITY, options))) {}
    return promise
  }

  async #call<T>(work: () => Promise<T>): Promise<T> {
    this.#calls++
    try {
      return await work()
    } finally {
      this.#calls--
      this.#done()
    }
  }

  #handler(): RunningHandler {
    const handler = new Handler(by => {
      this.#handlers += by
      if (by < 0) this.#done()
    })
    this.#live.add(handler)
    const end = (): void => {
      handler.end()
      // While a storage is in use, Node tracks every promise of the process, which doubles the cost of a test.
      if (this.#live.delete(handler) && this.#live.size === 0) this.#current.disable()
    }
    return { run: work => this.#current.run(handler, work), end }
  }

  #done(): void {
    for (const resolve of this.#onDone.splice(0)) resolve()
  }
}

/** A handler as the clock tracks it: outstanding from its start to its end, except while it waits for virtual time. */
class Handler {
  readonly #count: (by: 1 | -1) => void
  #waits = 0
  #isOver = false

  constructor(count: (by: 1 | -1) => void) {
    this.#count = count
    count(1)
  }

  async aside<T>(promise: Promise<T>): Promise<T> {
    if (this.#waits++ === 0 && !this.#isOver) this.#count(-1)
    try {
      return await promise
    } finally {
      if (--this.#waits === 0 && !this.#isOver) this.#count(1)
    }
  }

  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    if (this.#waits === 0) this.#count(-1)
  }
}

/** The same seed gives the same numbers. */
export function seededDice(seed: number): Dice {
  const random = seededRandom(seed)
  const hex = (bytes: number): string => {
    let text = ''
    for (let i = 0; i < bytes; i++) {
      text += Math.floor(random() * 256)
        .toString(16)
        .padStart(2, '0')
    }
    return text
  }
  return { random, token: () => hex(16), id: uuidSequence(hex) }
}

const before = (a: Entry, b: Entry): boolean => a.at < b.at || (a.at === b.at && a.order < b.order)

function push(heap: Entry[], entry: Entry): void {
  let index = heap.push(entry) - 1
  while (index > 0) {
    const parent = (index - 1) >> 1
    if (!before(entry, heap[parent]!)) break
    heap[index] = heap[parent]!
    index = parent
  }
  heap[index] = entry
}

function pop(heap: Entry[]): Entry | undefined {
  const top = heap[0]
  const last = heap.pop()
  if (top === undefined || last === undefined || heap.length === 0) return top
  let index = 0
  for (;;) {
    let child = 2 * index + 1
    if (child >= heap.length) break
    if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child++
    if (!before(heap[child]!, last)) break
    heap[index] = heap[child]!
    index = child
  }
  heap[index] = last
  return top
}
