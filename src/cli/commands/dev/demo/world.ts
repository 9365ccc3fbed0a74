import { type Clock, type Dice, wait } from '../../../../core/values/clock.js'
import type { JobContext } from '../../../../engine/client/definition.js'

/** What a shop depends on, and when it is down: each for `forMs` of every `everyMs`, beginning at `fromMs`. */
const OUTAGES = {
  bank: { everyMs: 150_000, fromMs: 20_000, forMs: 25_000 },
  warehouse: { everyMs: 240_000, fromMs: 0, forMs: 14_000 },
  search: { everyMs: 90_000, fromMs: 40_000, forMs: 12_000 },
} as const

export type Outside = keyof typeof OUTAGES

/** The world around the demo's jobs: its outages come and go, and the jobs that meet them are real. */
export class World {
  readonly #clock: Clock
  readonly #dice: Dice
  #beganAt = 0

  constructor(clock: Clock, dice: Dice) {
    this.#clock = clock
    this.#dice = dice
  }

  /** From now on outages come and go. */
  begin(): void {
    this.#beganAt = this.#clock.now()
  }

  isDown(outside: Outside): boolean {
    const { everyMs, fromMs, forMs } = OUTAGES[outside]
    const at = (this.#clock.now() - this.#beganAt) % everyMs
    return at >= fromMs && at < fromMs + forMs
  }

  /** True so often out of 1. */
  chance(share: number): boolean {
    return this.#dice.random() < share
  }

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#dice.random() * list.length)]!
  }

  /** A whole number from 1 on. */
  number(max: number): number {
    return 1 + Math.floor(this.#dice.random() * max)
  }

  /** Work of about that length, which stops when it is told to. */
  takes(ms: number, { signal }: Pick<JobContext, 'signal'>): Promise<void> {
    return wait(this.#clock, ms * (0.5 + this.#dice.random()), signal)
  }
}
