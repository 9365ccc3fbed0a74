import { advanced, callProbe, type Gate, parkDelaysMs, takeSlots } from '../core/gate.js'
import type { Store } from '../store/store.js'
import type { Environment } from './environment.js'

/** A gate as a process knows it. */
export interface Tended {
  gate: Gate
  /** The round whose jobs were moved by this process. */
  movedRound: number
}

interface ParkingOptions<One extends Tended> {
  readonly env: Environment
  /** Writes a change of the gate, on its newest state. */
  readonly change: (entry: One, change: (gate: Gate) => Gate) => Promise<void>
  /** Jobs were given other times. */
  readonly onMoved: () => void
}

const PARK_BATCH = 200
/** Jobs that fall due before the next look are parked too. */
const PARK_AHEAD_MS = 2_000

/** Moves the waiting jobs of a shut gate out of the way of the others, and back when it opens. */
export class Parking<One extends Tended> {
  readonly #options: ParkingOptions<One>

  constructor(options: ParkingOptions<One>) {
    this.#options = options
  }

  /** Does what the state of the gate asks for now. */
  async tend(entry: One): Promise<void> {
    const store = await this.#options.env.connection.store()
    if (entry.gate.circuit === 'open') await this.#tendOpen(store, entry)
    else if (entry.gate.circuit === 'ramping') await this.#tendRamp(store, entry)
  }

  async #tendOpen(store: Store, entry: One): Promise<void> {
    const { key, round } = entry.gate
    if (entry.movedRound < round) {
      await this.#park(store, entry.gate, { pass: round - 1 })
      entry.movedRound = round
    }
    await this.#park(store, entry.gate, { dueWithinMs: PARK_AHEAD_MS })
    if (!callProbe(entry.gate, this.#options.env.time.now())) return
    let called = false
    await this.#options.change(entry, gate => {
      const next = callProbe(gate, this.#options.env.time.now())
      called = next !== undefined
      return next ?? gate
    })
    if (!called) return
    const one = {
      gate: key,
      from: { pass: entry.gate.round },
      delaysMs: [0],
      pass: -entry.gate.round,
      repeatableOnly: true,
    }
    const { lastProbeId } = entry.gate
    const other = await store.park({ ...one, ...(lastProbeId !== undefined && { exceptId: lastProbeId }) })
    if (other.moved === 0) await store.park(one)
    this.#options.onMoved()
  }

  async #park(store: Store, gate: Gate, from: { pass: number } | { dueWithinMs: number }): Promise<void> {
    for (;;) {
      const delaysMs = parkDelaysMs(gate, PARK_BATCH, this.#options.env.time.now())
      const { moved } = await store.park({ gate: gate.key, from, delaysMs, pass: gate.round })
      if (moved < PARK_BATCH) return
    }
  }

  /** What waited in the open period gets the slots of the ramp, in the order of its line. */
  async #tendRamp(store: Store, entry: One): Promise<void> {
    const { key, round } = entry.gate
    if (entry.movedRound >= round) {
      // A ramp that has been climbed is over for everybody.
      if (advanced(entry.gate, this.#options.env.time.now()) !== entry.gate)
        await this.#options.change(entry, gate => gate)
      return
    }
    for (;;) {
      const { value } = await store.count({ gate: key, state: 'waiting' }, PARK_BATCH)
      let slots: readonly number[] = []
      await this.#options.change(entry, gate => {
        if (gate.circuit !== 'ramping' || gate.round !== round) return gate
        const taken = takeSlots(gate, value, this.#options.env.time.now())
        slots = taken.delaysMs
        return taken.gate
      })
      if (slots.length === 0) break
      const { moved } = await store.park({ gate: key, from: { pass: round - 1 }, delaysMs: slots, pass: round })
      const unused = value - moved
      if (unused > 0)
        await this.#options.change(entry, gate =>
          gate.round === round ? { ...gate, taken: gate.taken - unused } : gate,
        )
      if (moved < PARK_BATCH) break
    }
    entry.movedRound = round
    this.#options.onMoved()
  }
}
