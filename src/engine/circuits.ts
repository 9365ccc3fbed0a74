import { ChronosError, shown } from '../core/error.js'
import { type CircuitState, circuitState, force, type Gate, isProbed } from '../core/gate.js'
import { timeText } from '../core/view.js'
import type { Environment } from './environment.js'
import { GATE, GATES_MAX, type Gates } from './gates.js'

/** What jobs that depend on one thing share, for people. */
export interface CircuitView {
  readonly key: string
  readonly state: CircuitState
  /** Held there by hand. */
  readonly forced?: 'open' | 'closed'
  readonly reason?: string
  readonly since: string
  /** When the next probe may be sent. */
  readonly openUntil?: string
  /** Before this nothing starts: the other side said so. */
  readonly notBefore?: string
  readonly openings: number
  readonly probeJobId?: string
  /** Calls in the window of the circuit. */
  readonly calls: { readonly ok: number; readonly failed: number }
}

/** `chronos.circuits`: what the fleet knows about the things that its jobs depend on. */
export class Circuits {
  readonly #env: Environment
  readonly #gates: Gates

  constructor(env: Environment, gates: Gates) {
    this.#env = env
    this.#gates = gates
  }

  async list(): Promise<readonly CircuitView[]> {
    const store = await this.#env.connection.store()
    const records = await store.records(GATE, { limit: GATES_MAX })
    const { now } = await store.info()
    return records.map(({ body }) => viewGate(JSON.parse(body) as Gate, now))
  }

  async get(key: string): Promise<CircuitView> {
    const store = await this.#env.connection.store()
    const [record] = await store.records(GATE, { ids: [key] })
    if (!record) throw notFound(key)
    const { now } = await store.info()
    return viewGate(JSON.parse(record.body) as Gate, now)
  }

  /** Holds it open: its jobs wait, lose no attempt, and no probe is sent until `close`. */
  open(key: string): Promise<CircuitView> {
    return this.#force(key, 'open')
  }

  /** Closes it; what waited comes back step by step. With `hold` it stays closed whatever fails, until closed without. */
  close(key: string, { hold = false }: { readonly hold?: boolean } = {}): Promise<CircuitView> {
    return this.#force(key, hold ? 'closed' : 'auto')
  }

  async #force(key: string, to: 'open' | 'closed' | 'auto'): Promise<CircuitView> {
    const store = await this.#env.connection.store()
    const [record] = await store.records(GATE, { ids: [key] })
    if (!record) throw notFound(key)
    const gate = await this.#gates.change(key, (each, now) => force(each, to, now))
    return viewGate(gate, this.#env.time.now())
  }
}

export function viewGate(gate: Gate, now: number): CircuitView {
  const { key, forced, reason, openUntil, openings, probe, rampFrom } = gate
  return {
    key,
    state: circuitState(gate, now),
    ...(forced && { forced }),
    ...(reason !== undefined && { reason }),
    since: timeText(gate.changedAt),
    ...(gate.circuit === 'open' && openUntil !== undefined && { openUntil: timeText(openUntil) }),
    ...(rampFrom !== undefined && rampFrom > now && { notBefore: timeText(rampFrom) }),
    openings,
    ...(probe && isProbed(gate, now) && { probeJobId: probe.jobId }),
    calls: {
      ok: gate.calls.reduce((sum, call) => sum + call.ok, 0),
      failed: gate.calls.reduce((sum, call) => sum + call.failed, 0),
    },
  }
}

function notFound(key: string): ChronosError {
  const wayOut = 'a gate is known once a job with a circuit or a budget has passed it'
  return new ChronosError('NOT_FOUND', `there is no circuit ${shown(key)}; ${wayOut}`, { details: { key } })
}
