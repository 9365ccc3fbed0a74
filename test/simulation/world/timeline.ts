import type { Clock, Timer } from '../../../src/core/values/clock.js'

interface Event {
  readonly at: number
  readonly order: number
  readonly run: () => void
  /** Evaluated when the event is due: an event whose process is gone costs nothing. */
  readonly isOff: () => boolean
}

/** Events run one at a time, with every promise settled in between: a burst of immediates does that cheaply. */
const BURST = 256
/** More events than any valid moment has. */
const MOMENT_MAX = 20_000
const never = (): boolean => false

/**
 * The only time of a simulation. It stands still while anything can still happen at its moment, and then jumps to the
 * next event; events with equal times run in the order in which they were made.
 */
export class Timeline implements Clock {
  #now: number
  #order = 0
  #heap: Event[] = []
  #inThisMoment = 0
  events = 0

  constructor(startAt = Date.UTC(2026, 0, 1)) {
    this.#now = startAt
  }

  now(): number {
    return this.#now
  }

  timer(ms: number, run: () => void): Timer {
    let live = true
    this.at(this.#now + ms, run, () => !live)
    return {
      cancel: () => {
        live = false
      },
    }
  }

  soon(run: () => void): void {
    this.at(this.#now, run)
  }

  at(at: number, run: () => void, isOff: () => boolean = never): void {
    push(this.#heap, { at: Math.max(this.#now, Math.ceil(at)), order: this.#order++, run, isOff })
  }

  /** Runs all events up to `until`, or until `isEnough` returns true. */
  run(until: number, isEnough: () => boolean = never): Promise<void> {
    return new Promise((resolve, reject) => {
      let over = false
      const step = (): void => {
        if (over) return
        try {
          over = isEnough() || !this.#runNext(until)
          if (over) resolve()
        } catch (error) {
          over = true
          reject(error)
        }
      }
      const burst = (): void => {
        if (over) return
        for (let i = 0; i < BURST; i++) setImmediate(step)
        setImmediate(burst)
      }
      burst()
    })
  }

  /** Waits for a promise that needs an unknown number of events; practically no time passes. */
  async settled<T>(work: Promise<T>): Promise<T> {
    let done = false
    const note = (): void => {
      done = true
    }
    work.then(note, note)
    while (!done) await this.run(this.#now + 1, () => done)
    return work
  }

  #runNext(until: number): boolean {
    for (;;) {
      const next = this.#heap[0]
      if (next === undefined || next.at > until) {
        this.#now = Math.max(this.#now, until)
        return false
      }
      pop(this.#heap)
      if (next.isOff()) continue
      this.#inThisMoment = next.at === this.#now ? this.#inThisMoment + 1 : 0
      if (this.#inThisMoment > MOMENT_MAX) throw new Error('an endless loop of events without passing time')
      this.#now = next.at
      this.events++
      next.run()
      return true
    }
  }
}

const before = (a: Event, b: Event): boolean => a.at < b.at || (a.at === b.at && a.order < b.order)

function push(heap: Event[], event: Event): void {
  let index = heap.push(event) - 1
  while (index > 0) {
    const parent = (index - 1) >> 1
    if (!before(event, heap[parent]!)) break
    heap[index] = heap[parent]!
    index = parent
  }
  heap[index] = event
}

function pop(heap: Event[]): void {
  const last = heap.pop()!
  if (heap.length === 0) return
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
}
