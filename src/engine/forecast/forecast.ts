import type { Dependency } from '../../core/dependency/dependency.js'
import { type CircuitState, circuitState } from '../../core/dependency/state.js'
import {
  type Forecast,
  type ForecastGroup,
  type ForecastQuery,
  forecastOf,
  forecastQuery,
} from '../../core/forecast/forecast.js'
import { forecastWords } from '../../core/forecast/words.js'
import type { BlockCode } from '../../core/job/job.js'
import { mergePolicies, type Policy } from '../../core/policy/policy.js'
import { PRESETS } from '../../core/policy/presets.js'
import { present } from '../../core/values/present.js'
import { read } from '../../core/values/schema.js'
import { DELIVERIES, isEndpointKey } from '../../core/webhook/delivery.js'
import type { Store, WaitingGroup, WaitingRequest } from '../../store/store.js'
import type { Environment } from '../client/environment.js'
import { dependencyId } from '../dependencies/answer.js'
import { DEPENDENCY } from '../dependencies/dependencies.js'
import { bodyOf } from '../records/records.js'

/** The jobs and the groups that a forecast reads at most, however many are waiting. */
export const FORECAST_LOOK_AT = 50_000
export const FORECAST_GROUPS_MAX = 500

/** When the waiting jobs die if every run fails from now on. */
export async function readForecast(env: Environment, asked: ForecastQuery = {}): Promise<Forecast> {
  const query = read(forecastQuery, asked, 'forecast:')
  const store = await env.connection.store()
  const { now, groups, complete } = await store.waiting(requestOf(query))
  const [held, policies] = await Promise.all([
    holdsOf(store, groups, now),
    Promise.all(groups.map(group => env.policies.of(group))),
  ])
  const rules = await Promise.all(groups.map((group, i) => ruleDelayOf(store, group, policies[i]!)))
  const name = query.policy ?? 'patient'
  const forecast = forecastOf({
    now,
    groups: groups.map(
      (group, i): ForecastGroup => ({
        ...group,
        policy: policies[i]!,
        ...held(group),
        ...present({ ruleDelayMs: rules[i] }),
      }),
    ),
    complete,
    instead: { name, policy: mergePolicies(PRESETS[name]) },
  })
  return { ...forecast, summary: forecastWords(forecast, utcTime(forecast.at)) }
}

function requestOf({ queue, dependency, fingerprint, tenantId, all }: ForecastQuery): WaitingRequest {
  const limits = { lookAt: FORECAST_LOOK_AT, limit: FORECAST_GROUPS_MAX }
  // Deliveries have their own screens, and a failing endpoint is not an incident of the jobs.
  const exceptQueue = queue === undefined && dependency === undefined ? DELIVERIES : undefined
  const only = present({ queue, fingerprint, exceptQueue })
  if (dependency === undefined)
    return { ...limits, ...only, ...present({ tenantId }), ...(!all && { retriesOnly: true }) }
  // Deliveries to an endpoint share its circuit, whichever tenant they report about.
  const owner = isEndpointKey(dependency) ? present({ tenantId }) : { tenantId: tenantId ?? null }
  return { ...limits, ...only, dependency, ...owner }
}

/** What keeps the jobs of a group from starting, whether their time has come or not. */
async function holdsOf(
  store: Store,
  groups: readonly WaitingGroup[],
  now: number,
): Promise<(group: WaitingGroup) => Pick<ForecastGroup, 'held' | 'hasCircuit'>> {
  const ids = [...new Set(groups.flatMap(group => circuitId(group) ?? []))]
  const [queues, records] = await Promise.all([
    store.queues(),
    ids.length === 0 ? [] : store.records(DEPENDENCY, { ids }),
  ])
  const paused = new Set(queues.filter(each => each.paused).map(({ name }) => name))
  const states = new Map(
    records.map(record => {
      const [dependency] = bodyOf<Dependency>(record)
      return [record.id, dependency && circuitState(dependency, now)]
    }),
  )
  return group => {
    const state = states.get(circuitId(group) ?? '')
    const held = paused.has(group.queue) ? 'queue-paused' : state && HELD[state]
    return present({ held, hasCircuit: state && true })
  }
}

/** While a circuit ramps up, its jobs run. */
const HELD: Readonly<Partial<Record<CircuitState, BlockCode>>> = {
  open: 'circuit-open',
  'half-open': 'circuit-probing',
}

function circuitId({ dependency: key, tenantId }: WaitingGroup): string | undefined {
  if (key === undefined) return undefined
  return dependencyId(isEndpointKey(key) ? { key } : present({ key, tenantId }))
}

/** The delay of the rule that matched the last failure; the next failure is assumed to be the same. */
async function ruleDelayOf(store: Store, group: WaitingGroup, { rules }: Policy): Promise<number | undefined> {
  if (group.attempt === 0 || !rules?.some(({ delay }) => delay !== undefined)) return undefined
  const { data } = await store.history(group.sampleId, { limit: 1 })
  const decision = data[0]?.decision
  return decision?.source === 'rule' ? decision.rawMs : undefined
}

/** `03:12:07 UTC`, with the date if it is another day. */
export function utcTime(now: string): (at: string) => string {
  return at => `${at.slice(0, 10) === now.slice(0, 10) ? '' : `${at.slice(0, 10)} `}${at.slice(11, 19)} UTC`
}
