import type { Clock, Dice, Timer } from '../../../../core/values/clock.js'
import type { Chronos } from '../../../../engine/client/chronos.js'
import type { JobDefinition } from '../../../../engine/client/definition.js'
import { systemDice } from '../../../../engine/time/system.js'
import { shopJobs } from './jobs.js'
import { OrderSource } from './orders.js'
import { setUpShop, tendShop } from './shop.js'
import { World } from './world.js'

const FIRST_ORDERS = 240
const FIRST_WITHIN_MS = 20_000
const SHELVES = 150
const ORDER_MS = 400
const TEND_MS = 15_000
const RECOUNT_MS = 240_000
/** No more orders while this many jobs wait, so that the file does not grow without limit. */
const WAITING_MAX = 5_000

/** Demo data for every screen: the jobs of an online shop. Their work is made up; the engine that runs them is real. */
export class Demo {
  readonly definitions: readonly JobDefinition<never>[]
  readonly #clock: Clock
  readonly #world: World
  readonly #timers = new Set<Timer>()
  #isOver = false

  constructor(clock: Clock, dice: Dice = systemDice) {
    this.#clock = clock
    this.#world = new World(clock, dice)
    this.definitions = shopJobs(this.#world)
  }

  /** `url` is the server of this process; its echo endpoint plays external services. */
  async begin(chronos: Chronos, url: string): Promise<void> {
    await setUpShop(chronos, url)
    this.#world.begin()
    const orders = new OrderSource(chronos, this.#world, url, this.definitions)
    const first = Array.from({ length: FIRST_ORDERS }, () =>
      orders.order({ delay: this.#world.number(FIRST_WITHIN_MS) }),
    )
    await Promise.all([...first, orders.recount(SHELVES)])
    this.#again(ORDER_MS, () => this.#order(chronos, orders))
    this.#again(TEND_MS, () => tendShop(chronos))
    this.#again(RECOUNT_MS, () => orders.recount(SHELVES))
  }

  end(): void {
    this.#isOver = true
    for (const timer of this.#timers) timer.cancel()
    this.#timers.clear()
  }

  async #order(chronos: Chronos, orders: OrderSource): Promise<void> {
    const { value } = await chronos.jobs.count({ state: 'waiting' }, WAITING_MAX)
    if (value < WAITING_MAX) await orders.order()
  }

  /** Errors are ignored: the demo continues when the store is available again. */
  #again(everyMs: number, act: () => Promise<unknown>): void {
    if (this.#isOver) return
    const timer = this.#clock.timer(everyMs, () => {
      this.#timers.delete(timer)
      void act()
        .catch(() => undefined)
        .then(() => this.#again(everyMs, act))
    })
    this.#timers.add(timer)
  }
}
