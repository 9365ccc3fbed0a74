import { BLOCK_CODES, type BlockCode, type Job } from '../job/job.js'
import { demiseOf, type End, windowsOf } from '../job/projection.js'
import { timeText } from '../job/view.js'
import { delayWindow } from '../policy/backoff.js'
import type { DelayWindow } from '../policy/jitter.js'
import type { Policy } from '../policy/policy.js'
import { PRESETS, type PresetName } from '../policy/presets.js'
import { count } from '../values/count.js'
import { toMs } from '../values/duration.js'
import { freeText } from '../values/limits.js'
import { present } from '../values/present.js'
import { about, anyText, boolean, type Infer, integer, named, oneOf } from '../values/schema.js'
import { listOf, object, view } from '../values/shape.js'
import { timestamp } from '../values/time.js'

export const forecastQuery = object(
  {},
  {
    queue: about(freeText, 'Only jobs of this queue.'),
    dependency: about(
      freeText,
      'Only jobs that need this dependency, also those that have not run yet. Without `tenantId`: the dependency of jobs without a tenant.',
    ),
    fingerprint: about(freeText, 'Only jobs whose last run failed with the error of this group.'),
    tenantId: about(freeText, 'Only jobs of this tenant.'),
    all: about(boolean, 'Include jobs that have not run yet. Default: only jobs that wait for a retry.'),
    policy: about(
      oneOf(Object.keys(PRESETS) as PresetName[]),
      'A preset to compare with: when would the same jobs die under it? Default `patient`.',
    ),
  },
)
export type ForecastQuery = Infer<typeof forecastQuery>

const band = named('ForecastTime', view({ earliest: timestamp, latest: timestamp }), {
  description: 'Equal without jitter; otherwise the event is certain to happen between the two.',
})
const ends = { first: about(band, 'The first death.'), last: about(band, 'The last death.') }

const place = named(
  'ForecastPlace',
  view(
    { queue: anyText, jobs: about(integer(), 'Waiting jobs of the forecast.'), dying: integer() },
    {
      dependency: anyText,
      tenantId: anyText,
      held: about(oneOf(BLOCK_CODES), 'Why these jobs do not start now. Only their deadlines can end them.'),
      hasCircuit: about(boolean, 'The dependency has a circuit, so it can be held without its queue.'),
      ...ends,
    },
  ),
)
export type ForecastPlace = Infer<typeof place>

export const forecast = named(
  'Forecast',
  view(
    {
      at: about(timestamp, 'The time of the forecast.'),
      jobs: about(count, 'Waiting jobs that the forecast is about.'),
      dying: about(integer(), 'The jobs among them that die if every run fails.'),
      held: about(integer(), 'The jobs that a paused queue or an open circuit keeps from failing.'),
      exact: about(boolean, 'Whether the first and the last death are known to the millisecond.'),
      places: about(
        listOf(place),
        'The same by queue and dependency, the first death first; at most 20. Each can be held: pause the queue, or open the circuit.',
      ),
      summary: about(listOf(anyText), 'The forecast in sentences.'),
    },
    {
      ...ends,
      instead: about(view({ policy: anyText, ...ends }), 'The same jobs under another policy from their next run on.'),
    },
  ),
)
export type Forecast = Infer<typeof forecast>
export type ForecastBand = Infer<typeof band>

/** The smallest and the largest value of a group. */
type Extent = readonly [min: number, max: number]

/** Waiting jobs that the same rules apply to. Times are epoch milliseconds. */
export interface ForecastGroup extends Pick<Job, 'queue' | 'delivery' | 'attempt' | 'dependency' | 'tenantId'> {
  readonly jobs: number
  readonly startAt: Extent
  readonly elapsedMs: Extent
  readonly deadline?: Extent
  readonly leftMs?: Extent
  readonly policy: Policy
  /** The delay of the rule that matched the last failure. */
  readonly ruleDelayMs?: number
  readonly held?: BlockCode
  readonly hasCircuit?: true
}

export interface ForecastFacts {
  readonly now: number
  readonly groups: readonly ForecastGroup[]
  /** Whether every job is in a group. */
  readonly complete: boolean
  readonly instead: { readonly name: string; readonly policy: Policy }
}

/** The first and the last death of some jobs, each between two times. */
export interface Deaths {
  readonly first: Extent
  readonly last: Extent
}

const PLACES_MAX = 20

/**
 * When waiting jobs die if every run fails at once, by the rules that `decide` uses. Nothing is drawn: a delay with
 * jitter is known by its window, so the result is a range.
 */
export function forecastOf({ now, groups, complete, instead }: ForecastFacts): Omit<Forecast, 'summary'> {
  const fates = groups.map(group => ({ group, deaths: deathsOf(group, group.policy) }))
  const all = together(fates.map(({ deaths }) => deaths))
  const others = together(groups.map(group => deathsOf({ ...group, ruleDelayMs: undefined }, instead.policy)))
  const jobs = sum(groups)
  const dying = sum(fates.filter(({ deaths }) => deaths).map(({ group }) => group))
  return {
    at: timeText(now),
    jobs: { value: jobs, relation: complete ? 'exact' : 'at-least' },
    dying,
    held: sum(groups.filter(({ held }) => held !== undefined)),
    exact: complete && all !== undefined && isExact(all.first) && isExact(all.last),
    places: placesOf(fates),
    ...endsOf(all),
    ...(others && { instead: { policy: instead.name, ...endsOf(others)! } }),
  }
}

const isExact = ([earliest, latest]: Extent): boolean => earliest === latest
const sum = (groups: readonly { readonly jobs: number }[]): number => groups.reduce((all, { jobs }) => all + jobs, 0)

function endsOf(deaths: Deaths | undefined): { first: ForecastBand; last: ForecastBand } | undefined {
  const bandOf = ([earliest, latest]: Extent): ForecastBand => ({
    earliest: timeText(earliest),
    latest: timeText(latest),
  })
  return deaths && { first: bandOf(deaths.first), last: bandOf(deaths.last) }
}

/** When the jobs of a group die. Undefined if nothing ends them: they are held back and have no deadline. */
export function deathsOf(group: Omit<ForecastGroup, 'ruleDelayMs'> & Unruled, policy: Policy): Deaths | undefined {
  const { startAt, elapsedMs, deadline, leftMs, held } = group
  if (held !== undefined) {
    return deadline && { first: [deadline[0], deadline[0]], last: [deadline[1], deadline[1]] }
  }
  const windows = windowsAfter(group, policy)
  const maxElapsedMs =
    policy.maxElapsed === undefined ? Number.POSITIVE_INFINITY : toMs(policy.maxElapsed, 'maxElapsed')
  const dies = (start: number, leftUntilDeadline: number | undefined, elapsed: number) =>
    demiseOf(start, windows, limitOf(start, leftUntilDeadline, maxElapsedMs - elapsed))
  // More time left never means an earlier death, so the extremes of the group bound all of its jobs.
  const soonest = (start: number): number => dies(start, leftMs?.[0], elapsedMs[1]).earliest
  const latest = (start: number): number => dies(start, leftMs?.[1], elapsedMs[0]).latest
  return {
    first: [soonest(startAt[0]), latest(startAt[0])],
    last: [soonest(startAt[1]), latest(startAt[1])],
  }
}

interface Unruled {
  readonly ruleDelayMs?: number | undefined
}

function limitOf(start: number, leftUntilDeadline: number | undefined, leftOfElapsed: number): End {
  const left = leftUntilDeadline ?? Number.POSITIVE_INFINITY
  // A passed deadline ends a job before it could run once more.
  if (left < 0 || left <= leftOfElapsed) return { at: start + left, by: 'deadline' }
  return { at: start + leftOfElapsed, by: 'maxElapsed' }
}

function windowsAfter(
  { attempt, delivery, ruleDelayMs }: Unruled & ForecastRun,
  policy: Policy,
): readonly DelayWindow[] {
  const backoffMs = policy.jitter === 'decorrelated' ? longestBackoff(policy, attempt) : undefined
  // A job that has not run yet may fail with any error, so any rule may match.
  const otherDelaysMs = attempt === 0 ? ruleDelays(policy) : undefined
  return windowsOf(policy, { attempt: attempt + 1, delivery, ...present({ backoffMs, ruleDelayMs, otherDelaysMs }) })
}

const ruleDelays = ({ rules = [] }: Policy): readonly number[] =>
  rules.flatMap(({ delay }) => (delay === undefined ? [] : [toMs(delay, 'rules.delay')]))

type ForecastRun = Pick<Job, 'attempt' | 'delivery'>

/** The longest possible backoff before the run that comes next, on which decorrelated jitter builds. */
function longestBackoff(policy: Policy, attempt: number): number | undefined {
  let longest: number | undefined
  for (let retry = 1; retry <= attempt; retry++) longest = delayWindow(policy, retry, longest)?.hi ?? longest
  return longest
}

/** The first and the last death of several groups. */
function together(deaths: readonly (Deaths | undefined)[]): Deaths | undefined {
  let all: Deaths | undefined
  for (const some of deaths) {
    if (!some) continue
    all = all
      ? {
          first: [Math.min(all.first[0], some.first[0]), Math.min(all.first[1], some.first[1])],
          last: [Math.max(all.last[0], some.last[0]), Math.max(all.last[1], some.last[1])],
        }
      : some
  }
  return all
}

interface Fate {
  readonly group: ForecastGroup
  readonly deaths: Deaths | undefined
}

function placesOf(fates: readonly Fate[]): readonly ForecastPlace[] {
  const byPlace = new Map<string, Fate[]>()
  for (const fate of fates) {
    const { queue, dependency, tenantId, held } = fate.group
    const key = JSON.stringify([queue, dependency ?? null, tenantId ?? null, held ?? null])
    byPlace.set(key, [...(byPlace.get(key) ?? []), fate])
  }
  const places = [...byPlace.values()].map(own => ({ own, deaths: together(own.map(({ deaths }) => deaths)) }))
  const firstOf = (deaths: Deaths | undefined): number => deaths?.first[0] ?? Number.MAX_SAFE_INTEGER
  places.sort((a, b) => firstOf(a.deaths) - firstOf(b.deaths))
  return places.slice(0, PLACES_MAX).map(({ own, deaths }) => {
    const { queue, dependency, tenantId, held, hasCircuit } = own[0]!.group
    return {
      queue,
      jobs: sum(own.map(({ group }) => group)),
      dying: sum(own.filter(fate => fate.deaths).map(({ group }) => group)),
      ...present({ dependency, tenantId, held, hasCircuit }),
      ...endsOf(deaths),
    }
  })
}
