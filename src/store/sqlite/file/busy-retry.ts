import { type Clock, type Dice, pause } from '../../../core/values/clock.js'
import { isBusy } from './failure.js'

const GIVE_UP_MS = 10_000
const WAIT_MAX_MS = 25

/** Waits for a lock of another process without blocking the event loop. */
export class BusyRetry {
  readonly #clock: Clock
  readonly #dice: Dice

  constructor(clock: Clock, dice: Dice) {
    this.#clock = clock
    this.#dice = dice
  }

  /** Retries for up to 10 s while the database is locked. */
  async run<T>(act: () => T): Promise<T> {
    const since = this.#clock.now()
    for (let tries = 0; ; tries++) {
      try {
        return act()
      } catch (error) {
        if (!isBusy(error) || this.isOver(since)) throw error
        await this.pause(tries)
      }
    }
  }

  isOver(since: number): boolean {
    return this.#clock.now() - since >= GIVE_UP_MS
  }

  /** Delays grow with each retry and are random, so that two waiting processes do not stay in step. */
  pause(tries: number): Promise<void> {
    const ms = 1 + this.#dice.random() * Math.min(WAIT_MAX_MS, 2 ** tries)
    return pause(this.#clock, ms)
  }
}
