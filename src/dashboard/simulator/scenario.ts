import type { Scenario } from '../../core/simulation/simulate.js'
import type { Duration } from '../../core/values/duration.js'

/** What happens to the target, as text fields. */
export interface ScenarioForm {
  readonly jobs: string
  readonly within: string
  readonly outage: string
  /** Empty: it serves as many as come. */
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
    says: 'A target that is away for half a minute while 1,000 jobs need it.',
    form: { jobs: '1000', within: '0s', outage: '30s', capacity: '50' },
  },
  {
    name: '2 min deploy',
    says: 'A deploy: 5,000 jobs fail within 20 s, and the target serves 200/s afterwards.',
    form: { jobs: '5000', within: '20s', outage: '2m', capacity: '200' },
  },
  {
    name: '1 h outage',
    says: 'A database that is down for an hour while jobs keep coming.',
    form: { jobs: '5000', within: '10m', outage: '1h', capacity: '100' },
  },
  {
    name: 'Rate-limited API',
    says: 'Nothing is down, but the other side serves only 20 requests per second.',
    form: { jobs: '1000', within: '5s', outage: '0s', capacity: '20' },
  },
]

const DEFAULT = SCENARIOS[0]!.form
const FIELDS: readonly ScenarioField[] = ['jobs', 'within', 'outage', 'capacity']

/** Names in the URL; `none` says that there is no limit, since an empty part is no part. */
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

/** What core is asked to simulate. It says itself what is wrong with it. */
export function scenarioOf({ jobs, within, outage, capacity }: ScenarioForm): Scenario {
  return {
    jobs: Number(jobs),
    within: duration(within),
    outage: duration(outage),
    ...(capacity.trim() !== '' && { capacityPerSecond: Number(capacity) }),
  }
}

/** What is no duration is left to core, which says what it expects. */
function duration(written: string): Duration {
  const text = written.trim()
  return text === '0' ? 0 : (text as Duration)
}
