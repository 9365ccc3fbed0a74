import {
  advanced,
  callProbe,
  type Dependency,
  type DependencyName,
  deferDelaysMs,
  takeSlots,
} from '../../core/dependency/dependency.js'
import { present } from '../../core/values/present.js'
import { isEndpointKey } from '../../core/webhook/delivery.js'
import type { DeferRequest, Store } from '../../store/store.js'
import type { Environment } from '../client/environment.js'

/** A dependency as this process knows it. */
export interface CircuitEntry {
  dependency: Dependency
  /** The last round whose jobs this process has moved. */
  movedRound: number
}

interface Options<One extends CircuitEntry> {
  readonly env: Environment
  /** Writes a change to the newest state of the dependency. */
  readonly change: (entry: One, change: (dependency: Dependency) => Dependency) => Promise<void>
  /** Called when jobs were rescheduled. */
  readonly onMoved: () => void
}

const BATCH = 200
/** Jobs that fall due before the next step are deferred too. */
const AHEAD_MS = 2_000

/**
 * Defers the waiting jobs of an open circuit, so that they do not delay others, and brings them back when it closes.
 */
export class DeferredJobs<One extends CircuitEntry> {
  readonly #options: Options<One>

  constructor(options: Options<One>) {
    this.#options = options
  }

  /** Moves the jobs as the state of the circuit requires. */
  async update(entry: One): Promise<void> {
    const store = await this.#options.env.connection.store()
    if (entry.dependency.circuit === 'open') await this.#updateOpen(store, entry)
    else if (entry.dependency.circuit === 'ramping') await this.#updateRamp(store, entry)
  }

  async #updateOpen(store: Store, entry: One): Promise<void> {
    const { round } = entry.dependency
    if (entry.movedRound < round) {
      await this.#defer(store, entry.dependency, { pass: round - 1 })
      entry.movedRound = round
    }
    await this.#defer(store, entry.dependency, { dueWithinMs: AHEAD_MS })
    if (!callProbe(entry.dependency, this.#options.env.time.now())) return
    let called = false
    await this.#options.change(entry, dependency => {
      const next = callProbe(dependency, this.#options.env.time.now())
      called = next !== undefined
      return next ?? dependency
    })
    if (!called) return
    const one = {
      ...jobsOf(entry.dependency),
      from: { pass: entry.dependency.round },
      delaysMs: [0],
      pass: -entry.dependency.round,
      repeatableOnly: true,
    }
    const { lastProbeId } = entry.dependency
    const other = await store.defer(present({ ...one, exceptId: lastProbeId }))
    if (other.moved === 0) await store.defer(one)
    this.#options.onMoved()
  }

  async #defer(store: Store, dependency: Dependency, from: { pass: number } | { dueWithinMs: number }): Promise<void> {
    for (;;) {
      const delaysMs = deferDelaysMs(dependency, BATCH, this.#options.env.time.now())
      const { moved } = await store.defer({ ...jobsOf(dependency), from, delaysMs, pass: dependency.round })
      if (moved < BATCH) return
    }
  }

  /** Jobs that waited while the circuit was open get the slots of the ramp, in their order. */
  async #updateRamp(store: Store, entry: One): Promise<void> {
    const { key, tenantId, round } = entry.dependency
    if (entry.movedRound >= round) {
      // The ramp is over: write that for all processes.
      if (advanced(entry.dependency, this.#options.env.time.now()) !== entry.dependency)
        await this.#options.change(entry, dependency => dependency)
      return
    }
    for (;;) {
      // Without a tenant this counts jobs of tenants too; the slots of jobs that do not move are given back.
      const filter = present({ dependency: key, state: 'waiting' as const, tenantId })
      const { value } = await store.count(filter, BATCH)
      let slots: readonly number[] = []
      await this.#options.change(entry, dependency => {
        if (dependency.circuit !== 'ramping' || dependency.round !== round) return dependency
        const taken = takeSlots(dependency, value, this.#options.env.time.now())
        slots = taken.delaysMs
        return taken.dependency
      })
      if (slots.length === 0) break
      const jobs = jobsOf(entry.dependency)
      const { moved } = await store.defer({ ...jobs, from: { pass: round - 1 }, delaysMs: slots, pass: round })
      const unused = value - moved
      if (unused > 0)
        await this.#options.change(entry, dependency =>
          dependency.round === round ? { ...dependency, taken: dependency.taken - unused } : dependency,
        )
      if (moved < BATCH) break
    }
    entry.movedRound = round
    this.#options.onMoved()
  }
}

/** The jobs that share the dependency. Only deliveries to a webhook endpoint share it across tenants. */
export function jobsOf({ key, tenantId }: DependencyName): Pick<DeferRequest, 'dependency' | 'tenantId'> {
  if (tenantId === undefined && isEndpointKey(key)) return { dependency: key }
  return { dependency: key, tenantId: tenantId ?? null }
}
