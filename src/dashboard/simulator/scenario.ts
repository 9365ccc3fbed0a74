import type { Scenario } from '../../core/simulation/simulate.js'
import type { Duration } from '../../core/values/duration.js'

export interface ScenarioForm {
  readonly jobs: string
  readonly within: string
  readonly outage: string
  /** Empty: no limit. */
  readonly capacity: string
}

export type ScenarioField = keyof ScenarioForm

export interface ScenarioPreset {
  readonly name: string
  readonly says: string
  readonly form: ScenarioForm
}

export const SCENARIOS: readonly ScenarioPreset[] = [
  {
    name: '30 s blip',
    says: 'A dependency is down for 30 seconds while 1,000 jobs need it.',
    form: { jobs: '1000', within: '0s', outage: '30s', capacity: '50' },
  },
  {
    name: '2 min deploy',
    says: 'A deploy: 5,000 jobs fail within 20 s, and the dependency serves 200/s afterwards.',
    form: { jobs: '5000', within: '20s', outage: '2m', capacity: '200' },
  },
  {
    name: '1h outage',
    says: 'A database is down for an hour while new jobs arrive.',
    form: { jobs: '5000', within: '10m', outage: '1h', capacity: '100' },
  },
  {
    name: 'Rate-limited API',
    says: 'Nothing is down, but the API serves only 20 requests per second.',
    form: { jobs: '1000', within: '5s', outage: '0s', capacity: '20' },
  },
]

const DEFAULT = SCENARIOS[0]!.form
const FIELDS: readonly ScenarioField[] = ['jobs', 'within', 'outage', 'capacity']

/** URL parameters. `none` means no limit, because empty parameters are removed. */
const UNLIMITED = 'none'

export function scenarioFrom(query: Readonly<Record<string, string>>): ScenarioForm {
  const given = FIELDS.flatMap(field => {
    const value = query[field]
    return value === undefined ? [] : [[field, value === UNLIMITED ? '' : value] as const]
  })
  return { ...DEFAULT, ...Object.fromEntries(given) }
}

export function scenarioQuery(form: ScenarioForm): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(
    FIELDS.map(field => [field, form[field] === DEFAULT[field] ? undefined : form[field] || UNLIMITED]),
  )
}

export const isSame = (a: ScenarioForm, b: ScenarioForm): boolean => FIELDS.every(field => a[field] === b[field])

/** The scenario for the simulation, which checks it. */
export function scenarioOf({ jobs, within, outage, capacity }: ScenarioForm): Scenario {
  return {
    jobs: Number(jobs),
    within: duration(within),
    outage: duration(outage),
    ...(capacity.trim() !== '' && { capacityPerSecond: Number(capacity) }),
  }
}

/** The simulation reports an invalid duration. */
function duration(written: string): Duration {
  const text = written.trim()
  return text === '0' ? 0 : (text as Duration)
}
