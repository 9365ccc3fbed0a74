import type { Scenario } from '../../core/simulation/simulate.js'
import type { Duration } from '../../core/values/duration.js'
import { present } from '../../core/values/present.js'
import type { Rate } from '../../core/values/rate.js'

export interface ScenarioForm {
  readonly jobs: string
  readonly within: string
  readonly outage: string
  /** Empty: no limit, as for the fields below. */
  readonly capacity: string
  readonly takes: string
  readonly rate: string
  readonly burst: string
  readonly concurrency: string
  readonly partitions: string
  readonly partitionRate: string
  readonly partitionConcurrency: string
}

export type ScenarioField = keyof ScenarioForm

export interface ScenarioPreset {
  readonly name: string
  readonly says: string
  readonly form: ScenarioForm
}

const NO_LIMITS = {
  takes: '',
  rate: '',
  burst: '',
  concurrency: '',
  partitions: '',
  partitionRate: '',
  partitionConcurrency: '',
}

export const SCENARIOS: readonly ScenarioPreset[] = [
  {
    name: '30 s blip',
    says: 'A dependency is down for 30 seconds while 1,000 jobs need it.',
    form: { jobs: '1000', within: '0s', outage: '30s', capacity: '50', ...NO_LIMITS },
  },
  {
    name: '2 min deploy',
    says: 'A deploy: 5,000 jobs fail within 20 s, and the dependency serves 200/s afterwards.',
    form: { jobs: '5000', within: '20s', outage: '2m', capacity: '200', ...NO_LIMITS },
  },
  {
    name: '1h outage',
    says: 'A database is down for an hour while new jobs arrive.',
    form: { jobs: '5000', within: '10m', outage: '1h', capacity: '100', ...NO_LIMITS },
  },
  {
    name: 'Rate-limited API',
    says: 'Nothing is down, but the API serves only 20 requests per second.',
    form: { jobs: '1000', within: '5s', outage: '0s', capacity: '20', ...NO_LIMITS },
  },
  {
    name: 'Rate limit',
    says: 'The same API, behind a queue that starts 20 jobs per second.',
    form: { jobs: '1000', within: '5s', outage: '0s', capacity: '20', ...NO_LIMITS, rate: '20/s', burst: '1' },
  },
]

const DEFAULT = SCENARIOS[0]!.form
const FIELDS = Object.keys(DEFAULT) as readonly ScenarioField[]

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

export const hasLimits = (form: ScenarioForm): boolean =>
  (Object.keys(NO_LIMITS) as readonly ScenarioField[]).some(field => form[field] !== '')

/** The scenario for the simulation, which checks it. */
export function scenarioOf(form: ScenarioForm): Scenario {
  const {
    jobs,
    within,
    outage,
    capacity,
    takes,
    rate,
    burst,
    concurrency,
    partitions,
    partitionRate,
    partitionConcurrency,
  } = form
  const limit = limitOf(rate, concurrency, burst)
  const each = limitOf(partitionRate, partitionConcurrency)
  const isSpread = partitions.trim() !== '' || each !== undefined
  return present({
    jobs: Number(jobs),
    within: duration(within),
    outage: duration(outage),
    capacityPerSecond: numberOf(capacity),
    takes: takes.trim() === '' ? undefined : duration(takes),
    limit,
    partitions: isSpread ? { count: numberOf(partitions) ?? 1, ...each } : undefined,
  })
}

function limitOf(rate: string, concurrency: string, burst = ''): Scenario['limit'] {
  const limit = present({ rate: rateOf(rate), burst: numberOf(burst), concurrency: numberOf(concurrency) })
  return Object.keys(limit).length === 0 ? undefined : limit
}

const numberOf = (written: string): number | undefined => (written.trim() === '' ? undefined : Number(written))

/** A number alone is per second. The simulation reports what is no rate. */
function rateOf(written: string): Rate | undefined {
  const text = written.trim()
  if (text === '') return undefined
  return Number.isNaN(Number(text)) ? (text as Rate) : Number(text)
}

/** The simulation reports an invalid duration. */
function duration(written: string): Duration {
  const text = written.trim()
  return text === '0' ? 0 : (text as Duration)
}
