import { type Clock, type Dice, wait } from '../../../../core/values/clock.js'
import type { JobContext } from '../../../../engine/client/definition.js'

/** Outages of external services: each is down for `forMs` of every `everyMs`, starting at `fromMs`. */
const OUTAGES = {
  bank: { everyMs: 150_000, fromMs: 20_000, forMs: 25_000 },
  warehouse: { everyMs: 240_000, fromMs: 0, forMs: 14_000 },
  search: { everyMs: 90_000, fromMs: 40_000, forMs: 12_000 },
} as const

type External = keyof typeof OUTAGES

/** Simulates external services with outages, and random choices. */
export class World {
  readonly #clock: Clock
  readonly #dice: Dice
  #beganAt = 0

  constructor(clock: Clock, dice: Dice) {
    this.#clock = clock
    this.#dice = dice
  }

  /** Starts the cycle of outages. */
  begin(): void {
    this.#beganAt = this.#clock.now()
  }

  isDown(external: External): boolean {
    const { everyMs, fromMs, forMs } = OUTAGES[external]
    const at = (this.#clock.now() - this.#beganAt) % everyMs
    return at >= fromMs && at < fromMs + forMs
  }

  /** True with this probability. */
  chance(share: number): boolean {
    return this.#dice.random() < share
  }

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#dice.random() * list.length)]!
  }

  /** A whole number from 1 to `max`. */
  number(max: number): number {
    return 1 + Math.floor(this.#dice.random() * max)
  }

  /** Work of about this length. */
  takes(ms: number, { signal }: Pick<JobContext, 'signal'>): Promise<void> {
    return wait(this.#clock, ms * (0.5 + this.#dice.random()), signal)
  }
}
