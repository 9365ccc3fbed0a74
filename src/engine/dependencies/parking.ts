import { advanced, callProbe, type Dependency, parkDelaysMs, takeSlots } from '../../core/dependency/dependency.js'
import type { Store } from '../../store/store.js'
import type { Environment } from '../client/environment.js'

/** A dependency as a process knows it. */
export interface Tended {
  dependency: Dependency
  /** The round whose jobs were moved by this process. */
  movedRound: number
}

interface ParkingOptions<One extends Tended> {
  readonly env: Environment
  /** Writes a change of the dependency, on its newest state. */
  readonly change: (entry: One, change: (dependency: Dependency) => Dependency) => Promise<void>
  /** Jobs were given other times. */
  readonly onMoved: () => void
}

const PARK_BATCH = 200
/** Jobs that fall due before the next look are parked too. */
const PARK_AHEAD_MS = 2_000

/** Moves the waiting jobs of a shut dependency out of the way of the others, and back when it opens. */
export class Parking<One extends Tended> {
  readonly #options: ParkingOptions<One>

  constructor(options: ParkingOptions<One>) {
    this.#options = options
  }

  /** Does what the state of the dependency asks for now. */
  async tend(entry: One): Promise<void> {
    const store = await this.#options.env.connection.store()
    if (entry.dependency.circuit === 'open') await this.#tendOpen(store, entry)
    else if (entry.dependency.circuit === 'ramping') await this.#tendRamp(store, entry)
  }

  async #tendOpen(store: Store, entry: One): Promise<void> {
    const { key, round } = entry.dependency
    if (entry.movedRound < round) {
      await this.#park(store, entry.dependency, { pass: round - 1 })
      entry.movedRound = round
    }
    await this.#park(store, entry.dependency, { dueWithinMs: PARK_AHEAD_MS })
    if (!callProbe(entry.dependency, this.#options.env.time.now())) return
    let called = false
    await this.#options.change(entry, dependency => {
      const next = callProbe(dependency, this.#options.env.time.now())
      called = next !== undefined
      return next ?? dependency
    })
    if (!called) return
    const one = {
      dependency: key,
      from: { pass: entry.dependency.round },
      delaysMs: [0],
      pass: -entry.dependency.round,
      repeatableOnly: true,
    }
    const { lastProbeId } = entry.dependency
    const other = await store.park({ ...one, ...(lastProbeId !== undefined && { exceptId: lastProbeId }) })
    if (other.moved === 0) await store.park(one)
    this.#options.onMoved()
  }

  async #park(store: Store, dependency: Dependency, from: { pass: number } | { dueWithinMs: number }): Promise<void> {
    for (;;) {
      const delaysMs = parkDelaysMs(dependency, PARK_BATCH, this.#options.env.time.now())
      const { moved } = await store.park({ dependency: dependency.key, from, delaysMs, pass: dependency.round })
      if (moved < PARK_BATCH) return
    }
  }

  /** What waited in the open period gets the slots of the ramp, in the order of its line. */
  async #tendRamp(store: Store, entry: One): Promise<void> {
    const { key, round } = entry.dependency
    if (entry.movedRound >= round) {
      // A ramp that has been climbed is over for everybody.
      if (advanced(entry.dependency, this.#options.env.time.now()) !== entry.dependency)
        await this.#options.change(entry, dependency => dependency)
      return
    }
    for (;;) {
      const { value } = await store.count({ dependency: key, state: 'waiting' }, PARK_BATCH)
      let slots: readonly number[] = []
      await this.#options.change(entry, dependency => {
        if (dependency.circuit !== 'ramping' || dependency.round !== round) return dependency
        const taken = takeSlots(dependency, value, this.#options.env.time.now())
        slots = taken.delaysMs
        return taken.dependency
      })
      if (slots.length === 0) break
      const { moved } = await store.park({ dependency: key, from: { pass: round - 1 }, delaysMs: slots, pass: round })
      const unused = value - moved
      if (unused > 0)
        await this.#options.change(entry, dependency =>
          dependency.round === round ? { ...dependency, taken: dependency.taken - unused } : dependency,
        )
      if (moved < PARK_BATCH) break
    }
    entry.movedRound = round
    this.#options.onMoved()
  }
}
