import { type Dependency, type DependencyName, force, isProbed } from '../../core/dependency/dependency.js'
import { CIRCUIT_STATES, circuitState, isRestricted } from '../../core/dependency/state.js'
import { timeText } from '../../core/job/view.js'
import { ChronosError, shown } from '../../core/values/error.js'
import { freeText } from '../../core/values/limits.js'
import { present } from '../../core/values/present.js'
import { about, anyText, boolean, type Infer, integer, named, oneOf, read } from '../../core/values/schema.js'
import { list, object, union, view } from '../../core/values/shape.js'
import { timestamp } from '../../core/values/time.js'
import type { Environment } from '../client/environment.js'
import { type List, listOf, PAGE_DEFAULT, paging } from '../jobs/query.js'
import { Records } from '../records/records.js'
import { dependencyId } from './answer.js'
import { DEPENDENCY, type Dependencies } from './dependencies.js'

/** The shared state of a dependency as the API shows it. */
export const circuitView = named(
  'Circuit',
  view(
    {
      key: anyText,
      state: oneOf(CIRCUIT_STATES),
      since: timestamp,
      openings: integer(),
      calls: about(view({ ok: integer(), failed: integer() }), "Calls in the circuit's window."),
    },
    {
      tenantId: about(anyText, 'Only the jobs of this tenant share the circuit.'),
      forced: about(oneOf(['open', 'closed']), 'An operator holds the circuit in this state.'),
      reason: anyText,
      openUntil: about(timestamp, 'When the next probe may be sent.'),
      notBefore: about(timestamp, 'No job starts before this time, because the dependency asked for a pause.'),
      probeJobId: anyText,
    },
  ),
)
export type CircuitView = Infer<typeof circuitView>

const state = oneOf(CIRCUIT_STATES)

/** A page of circuits. */
export const circuitQuery = object(
  {},
  {
    q: about(freeText, 'Only dependencies with this text in their name.'),
    state: union(state, list(state, { max: CIRCUIT_STATES.length, of: 'states' })),
    restricted: about(
      boolean,
      'true: only circuits that are not closed, or that an operator holds. false: only the others.',
    ),
    ...paging,
  },
)
export type CircuitQuery = Infer<typeof circuitQuery>

/** Whose circuit it is: a tenant's, or the one of jobs without a tenant. */
interface CircuitOf {
  readonly tenantId?: string
}

/** `chronos.circuits`: the circuits of the fleet's dependencies. */
export class Circuits {
  readonly #env: Environment
  readonly #dependencies: Dependencies
  readonly #records: Records<Dependency>

  constructor(env: Environment, dependencies: Dependencies) {
    this.#env = env
    this.#dependencies = dependencies
    this.#records = new Records({ env, kind: DEPENDENCY, name: id => `dependency ${shown(id)}` })
  }

  /** A page of the circuits: first those of jobs without a tenant, then by tenant; by dependency. */
  async list(query: CircuitQuery = {}): Promise<List<CircuitView>> {
    const {
      limit = PAGE_DEFAULT,
      cursor: from,
      q = '',
      restricted,
      state: asked,
    } = read(circuitQuery, query, 'circuits.list:')
    const { now } = await (await this.#env.connection.store()).info()
    const text = q.toLowerCase()
    const states = asked && new Set([asked].flat())
    const isWanted = (dependency: Dependency): boolean =>
      dependency.key.toLowerCase().includes(text) &&
      (!states || states.has(circuitState(dependency, now))) &&
      (restricted === undefined || restricted === isRestricted(dependency, now))
    const found = await this.#records.page(present({ limit: limit + 1, from }), isWanted)
    const views = found.slice(0, limit).map(({ body }) => viewDependency(body, now))
    return listOf(views, found[limit]?.id)
  }

  async get(key: string, of: CircuitOf = {}): Promise<CircuitView> {
    const dependency = await this.#find({ ...of, key })
    const { now } = await (await this.#env.connection.store()).info()
    return viewDependency(dependency, now)
  }

  /** Opens the circuit: its jobs wait without losing an attempt, and no probe is sent until `close`. */
  open(key: string, of: CircuitOf = {}): Promise<CircuitView> {
    return this.#force({ ...of, key }, 'open')
  }

  /**
   * Closes the circuit; waiting jobs return at the pace of the ramp. With `hold` it stays closed despite failures,
   * until `close` is called without `hold`.
   */
  close(key: string, { hold = false, ...of }: CircuitOf & { readonly hold?: boolean } = {}): Promise<CircuitView> {
    return this.#force({ ...of, key }, hold ? 'closed' : 'auto')
  }

  async #force(name: DependencyName, to: 'open' | 'closed' | 'auto'): Promise<CircuitView> {
    await this.#find(name)
    const dependency = await this.#dependencies.change(name, (each, now) => force(each, to, now))
    return viewDependency(dependency, this.#env.time.now())
  }

  async #find(name: DependencyName): Promise<Dependency> {
    const found = await this.#records.find(dependencyId(name))
    if (!found) throw notFound(name)
    return found.body
  }
}

export function viewDependency(dependency: Dependency, now: number): CircuitView {
  const { key, tenantId, forced, reason, openUntil, openings, probe, rampFrom } = dependency
  return present({
    key,
    tenantId,
    reason,
    state: circuitState(dependency, now),
    forced,
    since: timeText(dependency.changedAt),
    ...(dependency.circuit === 'open' && openUntil !== undefined && { openUntil: timeText(openUntil) }),
    ...(rampFrom !== undefined && rampFrom > now && { notBefore: timeText(rampFrom) }),
    openings,
    ...(probe && isProbed(dependency, now) && { probeJobId: probe.jobId }),
    calls: {
      ok: dependency.calls.reduce((sum, call) => sum + call.ok, 0),
      failed: dependency.calls.reduce((sum, call) => sum + call.failed, 0),
    },
  })
}

function notFound({ key, tenantId }: DependencyName): ChronosError {
  const [whose, jobs] = tenantId === undefined ? ['', 'a job'] : [` of tenant ${shown(tenantId)}`, 'its job']
  const wayOut = `a dependency is known once ${jobs} with a circuit or a budget has passed it`
  return new ChronosError('NOT_FOUND', `there is no circuit ${shown(key)}${whose}; ${wayOut}`, {
    details: { key, ...present({ tenantId }) },
  })
}
