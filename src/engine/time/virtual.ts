import { seededRandom } from '../../core/simulation/seed.js'
import type { Clock, Dice, Timer } from '../../core/values/clock.js'
import { turn, uuidSequence } from './system.js'

interface Entry {
  readonly at: number
  readonly order: number
  readonly run: () => void
  live: boolean
}

/** Time that moves only when told to. Timers fire in order of their time, then of their making. */
export class VirtualClock implements Clock {
  #now: number
  #order = 0
  readonly #timers: Entry[] = []
  #soon = 0

  constructor(startAt = Date.UTC(2026, 0, 1)) {
    this.#now = startAt
  }

  now(): number {
    return this.#now
  }

  timer(ms: number, run: () => void): Timer {
    const entry: Entry = { at: this.#now + Math.max(0, ms), order: this.#order++, run, live: true }
    push(this.#timers, entry)
    return {
      cancel: () => {
        entry.live = false
      },
    }
  }

  /** Needs no time to pass, so that a plain `await chronos.enqueue(…)` comes back. */
  soon(run: () => void): void {
    this.#soon++
    void turn().then(() => {
      this.#soon--
      run()
    })
  }

  /** When the next timer fires, if there is one. */
  nextTimerAt(): number | undefined {
    while (this.#timers[0] && !this.#timers[0].live) pop(this.#timers)
    return this.#timers[0]?.at
  }

  /** Runs everything that needs no time to pass. */
  async settle(): Promise<void> {
    do await turn()
    while (this.#soon > 0)
  }

  /** Lets time pass up to the next timer, at most until `limit`; false when nothing fires by then. */
  async step(limit: number): Promise<boolean> {
    await this.settle()
    const at = this.nextTimerAt()
    if (at === undefined || at > limit) return false
    const entry = pop(this.#timers)!
    this.#now = Math.max(this.#now, entry.at)
    entry.run()
    await this.settle()
    return true
  }

  async advance(ms: number): Promise<void> {
    const until = this.#now + ms
    while (await this.step(until)) {}
    this.#now = until
    await this.settle()
  }
}

/** The same numbers again for the same seed. */
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
