import { type Duration, toMs } from '../../core/values/duration.js'
import { present } from '../../core/values/present.js'
import { about, duration, type Infer, integer, literal, read } from '../../core/values/schema.js'
import { object, record, union } from '../../core/values/shape.js'

export const ENDED_STATES = ['succeeded', 'cancelled', 'dead'] as const
export type EndedState = (typeof ENDED_STATES)[number]

/** How many of the newest jobs can be kept by their number. */
const COUNT_MAX = 10_000
const SUCCEEDED_DEFAULT: Duration = '7d'

const age = duration({ min: 1 })
const limit = about(
  union(age, literal(false), object({}, { age, count: integer(0, COUNT_MAX) })),
  'An age, `{ age, count }`, or false to keep all. Jobs beyond either are removed.',
)
const limits = { succeeded: limit, cancelled: limit, dead: limit }

/** How long ended jobs are kept, by state. */
export const retentionLimits = object({}, limits)
export type RetentionLimits = Infer<typeof retentionLimits>

/** The limits of all jobs, and those of single queues and job names, which take precedence. */
const retention = union(
  literal(false),
  object(
    {},
    { ...limits, queues: record(retentionLimits, { of: 'queues' }), jobs: record(retentionLimits, { of: 'jobs' }) },
  ),
)
export type Retention = Infer<typeof retention>

/** Absent fields keep all jobs. */
export interface Limit {
  readonly ageMs?: number
  readonly count?: number
}

export type Limits = Readonly<Partial<Record<EndedState, Limit>>>

/** The limits that apply, in milliseconds. */
export interface RetentionPlan {
  readonly all: Limits
  readonly queues: ReadonlyMap<string, Limits>
  readonly jobs: ReadonlyMap<string, Limits>
}

/** Succeeded jobs are kept for a week unless something else is given. */
export function parseRetention(given: Retention | undefined, where: string): RetentionPlan {
  const { queues = {}, jobs = {}, ...all } = read(retention, given ?? {}, where) || { succeeded: false }
  const mapped = (each: Readonly<Record<string, RetentionLimits>>): ReadonlyMap<string, Limits> =>
    new Map(Object.entries(each).map(([name, limits]) => [name, limitsOf(limits)]))
  return {
    all: limitsOf({ succeeded: SUCCEEDED_DEFAULT, ...all }),
    queues: mapped(queues),
    jobs: mapped(jobs),
  }
}

export function limitsOf(given: RetentionLimits): Limits {
  return present(Object.fromEntries(ENDED_STATES.map(state => [state, limitOf(given[state])])))
}

function limitOf(given: RetentionLimits[EndedState]): Limit | undefined {
  if (given === undefined) return undefined
  if (given === false) return {}
  if (typeof given !== 'object') return { ageMs: toMs(given, 'retention') }
  const { age: own, count } = given
  return present({ ageMs: own === undefined ? undefined : toMs(own, 'retention'), count })
}

/** The limit of a job: that of its name, else of its queue, else of all jobs. */
export function limitFor(plan: RetentionPlan, state: EndedState, queue: string, name: string): Limit {
  return plan.jobs.get(name)?.[state] ?? plan.queues.get(queue)?.[state] ?? plan.all[state] ?? {}
}

/** Whether any job is ever removed. */
export function prunesAnything({ all, queues, jobs }: RetentionPlan): boolean {
  return [all, ...queues.values(), ...jobs.values()].some(limits =>
    Object.values(limits).some(({ ageMs, count }) => (ageMs ?? count) !== undefined),
  )
}

interface Defining {
  readonly retained: Iterable<readonly [name: string, given: RetentionLimits]>
}

/** The plan with the limits of the definitions of these workers; those of the options take precedence. */
export function withDefinitions(plan: RetentionPlan, workers: Iterable<Defining>): RetentionPlan {
  const defined = [...workers].flatMap(({ retained }) => [...retained])
  if (defined.length === 0) return plan
  return { ...plan, jobs: new Map([...defined.map(([name, given]) => [name, limitsOf(given)] as const), ...plan.jobs]) }
}
