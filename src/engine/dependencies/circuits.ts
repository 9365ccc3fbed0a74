import { type CircuitState, circuitState, type Dependency, force, isProbed } from '../../core/dependency/dependency.js'
import { timeText } from '../../core/job/view.js'
import { ChronosError, shown } from '../../core/values/error.js'
import type { Environment } from '../client/environment.js'
import { DEPENDENCIES_MAX, DEPENDENCY, type Dependencies } from './dependencies.js'

/** The shared state of a dependency as the API shows it. */
export interface CircuitView {
  readonly key: string
  readonly state: CircuitState
  /** An operator holds the circuit in this state. */
  readonly forced?: 'open' | 'closed'
  readonly reason?: string
  readonly since: string
  /** When the next probe may be sent. */
  readonly openUntil?: string
  /** No job starts before this time, because the dependency asked for a pause. */
  readonly notBefore?: string
  readonly openings: number
  readonly probeJobId?: string
  /** Calls in the circuit's window. */
  readonly calls: { readonly ok: number; readonly failed: number }
}

/** `chronos.circuits`: the circuits of the fleet's dependencies. */
export class Circuits {
  readonly #env: Environment
  readonly #dependencies: Dependencies

  constructor(env: Environment, dependencies: Dependencies) {
    this.#env = env
    this.#dependencies = dependencies
  }

  async list(): Promise<readonly CircuitView[]> {
    const store = await this.#env.connection.store()
    const records = await store.records(DEPENDENCY, { limit: DEPENDENCIES_MAX })
    const { now } = await store.info()
    return records.map(({ body }) => viewDependency(JSON.parse(body) as Dependency, now))
  }

  async get(key: string): Promise<CircuitView> {
    const store = await this.#env.connection.store()
    const [record] = await store.records(DEPENDENCY, { ids: [key] })
    if (!record) throw notFound(key)
    const { now } = await store.info()
    return viewDependency(JSON.parse(record.body) as Dependency, now)
  }

  /** Opens the circuit: its jobs wait without losing an attempt, and no probe is sent until `close`. */
  open(key: string): Promise<CircuitView> {
    return this.#force(key, 'open')
  }

  /**
   * Closes the circuit; waiting jobs return at the pace of the ramp. With `hold` it stays closed despite failures,
   * until `close` is called without `hold`.
   */
  close(key: string, { hold = false }: { readonly hold?: boolean } = {}): Promise<CircuitView> {
    return this.#force(key, hold ? 'closed' : 'auto')
  }

  async #force(key: string, to: 'open' | 'closed' | 'auto'): Promise<CircuitView> {
    const store = await this.#env.connection.store()
    const [record] = await store.records(DEPENDENCY, { ids: [key] })
    if (!record) throw notFound(key)
    const dependency = await this.#dependencies.change(key, (each, now) => force(each, to, now))
    return viewDependency(dependency, this.#env.time.now())
  }
}

export function viewDependency(dependency: Dependency, now: number): CircuitView {
  const { key, forced, reason, openUntil, openings, probe, rampFrom } = dependency
  return {
    key,
    state: circuitState(dependency, now),
    ...(forced && { forced }),
    ...(reason !== undefined && { reason }),
    since: timeText(dependency.changedAt),
    ...(dependency.circuit === 'open' && openUntil !== undefined && { openUntil: timeText(openUntil) }),
    ...(rampFrom !== undefined && rampFrom > now && { notBefore: timeText(rampFrom) }),
    openings,
    ...(probe && isProbed(dependency, now) && { probeJobId: probe.jobId }),
    calls: {
      ok: dependency.calls.reduce((sum, call) => sum + call.ok, 0),
      failed: dependency.calls.reduce((sum, call) => sum + call.failed, 0),
    },
  }
}

function notFound(key: string): ChronosError {
  const wayOut = 'a dependency is known once a job with a circuit or a budget has passed it'
  return new ChronosError('NOT_FOUND', `there is no circuit ${shown(key)}; ${wayOut}`, { details: { key } })
}
