import type { AuditLogEntry } from '../audit/entry.js'
import { redriveFilterWords } from '../job/filter.js'
import { timeText } from '../job/view.js'
import type { Redrive } from '../redrive/redrive.js'
import { type Count, count } from '../values/count.js'
import { formatMs } from '../values/duration.js'
import { countText } from '../values/number.js'
import { present } from '../values/present.js'
import { about, anyText, boolean, type Infer, integer, named, oneOf } from '../values/schema.js'
import { listOf, view } from '../values/shape.js'
import { timestamp } from '../values/time.js'
import type { EventOf, FleetEvent } from './event.js'

export const INCIDENT_KINDS = ['error', 'circuit', 'alert', 'deploy', 'redrive', 'action'] as const
export type IncidentKind = (typeof INCIDENT_KINDS)[number]

/** One line of the report. Each is about a stored record. */
export const incidentEntry = named(
  'IncidentEntry',
  view(
    {
      at: timestamp,
      kind: oneOf(INCIDENT_KINDS),
      text: about(anyText, 'One sentence: `circuit of stripe opened: 5 of 6 calls failed`.'),
      isTrouble: about(boolean, 'It made things worse: an error, an opened circuit, an alert.'),
      target: about(
        anyText,
        'The fingerprint of the error group, the dependency, the alert, the build, the redrive or the audit log entry.',
      ),
    },
    {
      tenantId: anyText,
      until: about(timestamp, 'When the circuit closed or the alert was resolved, if within the range.'),
    },
  ),
)
export type IncidentEntry = Infer<typeof incidentEntry>

export const ERROR_COURSES = ['began', 'spiked', 'continued'] as const

const incidentError = named(
  'IncidentError',
  view(
    {
      fingerprint: anyText,
      title: anyText,
      course: about(
        oneOf(ERROR_COURSES),
        'began: seen for the first time in the range; spiked: at least ten failed runs, and three times as many as in the same time before.',
      ),
      failures: about(integer(), 'Failed runs in the range.'),
      deaths: about(integer(), 'Jobs that died with this error in the range.'),
      before: about(integer(), 'Failed runs in the same length of time before the range.'),
      firstAt: timestamp,
      queues: listOf(anyText),
      names: listOf(anyText),
    },
    { tenants: listOf(anyText) },
  ),
)
export type IncidentError = Infer<typeof incidentError>

export const incidentReport = named(
  'Incident',
  view(
    {
      from: timestamp,
      to: about(
        timestamp,
        'Exclusive. The range is widened to whole minutes, or to whole hours if minutes are no longer kept.',
      ),
      summary: about(listOf(anyText), 'The report in sentences.'),
      outcomes: view({
        succeeded: count,
        dead: count,
        cancelled: count,
        failed: about(integer(), 'Runs that failed, timed out or were lost.'),
      }),
      errors: about(
        listOf(incidentError),
        'Error groups with failed runs in the range, those that began or spiked first; at most 500.',
      ),
      timeline: about(listOf(incidentEntry), 'What happened, oldest first.'),
      hasActions: about(
        boolean,
        'false: changes by operators are left out, because only admins may read the audit log.',
      ),
      complete: about(
        boolean,
        'false: there is too much to read; the oldest, and the errors with the fewest failures, are left out.',
      ),
    },
    { tenantId: anyText },
  ),
)
export type IncidentReport = Infer<typeof incidentReport>

/** The failed runs of one error group in the range and before. */
export interface ErrorFacts {
  readonly fingerprint: string
  readonly title: string
  readonly failures: number
  readonly deaths: number
  readonly before: number
  /** The start of the first minute or hour with a failed run. */
  readonly firstAt: number
  /** When the group was first seen; absent if its record was pruned. */
  readonly firstSeen?: number
  readonly queues: readonly string[]
  readonly names: readonly string[]
  readonly tenants?: readonly string[]
}

type Titles = ReadonlyMap<string, string>

/** Everything that the report is made of, as it is stored. */
export interface IncidentFacts {
  readonly from: number
  readonly to: number
  readonly tenantId?: string
  readonly outcomes: {
    readonly succeeded: Count
    readonly dead: Count
    readonly cancelled: Count
    readonly failed: number
  }
  readonly errors: readonly ErrorFacts[]
  readonly events: readonly FleetEvent[]
  readonly redrives: readonly Redrive[]
  /** Absent if the caller may not read the audit log. */
  readonly actions?: readonly AuditLogEntry[]
  /** The titles of error groups that redrives name, by fingerprint. */
  readonly titles?: Titles
  readonly complete: boolean
}

const SPIKE_MIN = 10
const SPIKE_TIMES = 3

export function incidentOf(facts: IncidentFacts): IncidentReport {
  const { from, to, tenantId, outcomes, complete, actions } = facts
  const titles = new Map([
    ...(facts.titles ?? []),
    ...facts.errors.map(({ fingerprint, title }) => [fingerprint, title] as const),
  ])
  const errors = facts.errors.map(error => errorOf(error, from, to)).sort(byWeight)
  // At the same moment, causes come before their effects.
  const timeline = [
    ...deployEntries(facts.events),
    ...(actions ?? []).flatMap(actionEntries),
    ...errors.flatMap(errorEntries),
    ...circuitEntries(facts.events),
    ...alertEntries(facts.events),
    ...facts.redrives.flatMap(redrive => redriveEntries(redrive, { from, to, titles })),
  ].sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))
  return {
    from: timeText(from),
    to: timeText(to),
    ...present({ tenantId }),
    summary: summaryOf(outcomes, errors, timeline),
    outcomes,
    errors,
    timeline,
    hasActions: actions !== undefined,
    complete,
  }
}

// ---------------------------------------------------------------- errors

function errorOf({ firstSeen, firstAt, tenants, ...error }: ErrorFacts, from: number, to: number): IncidentError {
  const isNew = firstSeen !== undefined && firstSeen >= from && firstSeen < to
  const isSpike = error.failures >= SPIKE_MIN && error.failures >= SPIKE_TIMES * error.before
  return {
    ...error,
    course: isNew ? 'began' : isSpike ? 'spiked' : 'continued',
    firstAt: timeText(isNew ? firstSeen : Math.max(from, firstAt)),
    ...present({ tenants }),
  }
}

function byWeight(a: IncidentError, b: IncidentError): number {
  const rank = ({ course }: IncidentError): number => (course === 'continued' ? 1 : 0)
  return rank(a) - rank(b) || b.deaths - a.deaths || b.failures - a.failures || (a.fingerprint < b.fingerprint ? -1 : 1)
}

function errorEntries({ fingerprint, title, course, firstAt, ...error }: IncidentError): IncidentEntry[] {
  if (course === 'continued') return []
  const { failures, deaths, before, queues, names } = error
  const parts = [
    many(failures, 'failed run'),
    ...(course === 'spiked' ? [`${countText(before)} in the same time before`] : []),
    ...(deaths > 0 ? [`${many(deaths, 'job')} died`] : []),
    `${names.join(', ')} in ${many(queues.length, 'queue', 'queues', false)} ${queues.join(', ')}`,
  ]
  const text = `error "${title}" ${course}: ${parts.join(', ')}`
  return [{ at: firstAt, kind: 'error', text, isTrouble: true, target: fingerprint }]
}

// ---------------------------------------------------------------- circuits and alerts

const isOf =
  <Type extends FleetEvent['type']>(...types: readonly Type[]) =>
  (event: FleetEvent): event is EventOf<Type> =>
    (types as readonly string[]).includes(event.type)

function circuitEntries(events: readonly FleetEvent[]): IncidentEntry[] {
  return events.filter(isOf('circuit-opened', 'circuit-closed')).map((event, i, all) => {
    const isSame = (other: typeof event): boolean =>
      other.dependency === event.dependency && other.tenantId === event.tenantId
    const { at, dependency, tenantId, reason } = event
    const name = `circuit of ${dependency}${tenantId === undefined ? '' : ` of tenant ${tenantId}`}`
    const kind = { kind: 'circuit', target: dependency, ...present({ tenantId }) } as const
    if (event.type === 'circuit-opened') {
      const closed = all.slice(i + 1).find(isSame)
      const until = closed?.type === 'circuit-closed' ? timeText(closed.at) : undefined
      const why = reason === undefined ? '' : `: ${reason}`
      return { at: timeText(at), ...kind, isTrouble: true, text: `${name} opened${why}`, ...present({ until }) }
    }
    const opened = all.slice(0, i).findLast(isSame)
    const after = opened?.type === 'circuit-opened' ? ` after ${formatMs(at - opened.at)}` : ''
    return { at: timeText(at), ...kind, isTrouble: false, text: `${name} closed${after}` }
  })
}

function alertEntries(events: readonly FleetEvent[]): IncidentEntry[] {
  return events.filter(isOf('alert-fired', 'alert-resolved')).map((event, i, all) => {
    const { at, alertId, rule, summary, severity } = event
    const kind = { kind: 'alert', target: alertId } as const
    if (event.type === 'alert-fired') {
      const resolved = all.slice(i + 1).find(other => other.alertId === alertId)
      const until = resolved?.type === 'alert-resolved' ? timeText(resolved.at) : undefined
      const text = `${severity === 'critical' ? 'critical alert' : 'alert'} ${rule} fired: ${summary}`
      return { at: timeText(at), ...kind, isTrouble: true, text, ...present({ until }) }
    }
    const fired = all.slice(0, i).findLast(other => other.alertId === alertId)
    const after = fired?.type === 'alert-fired' ? ` after ${formatMs(at - fired.at)}` : ''
    return { at: timeText(at), ...kind, isTrouble: false, text: `alert ${rule} was resolved${after}` }
  })
}

/** One deploy is the start of all workers with the same build. */
function deployEntries(events: readonly FleetEvent[]): IncidentEntry[] {
  const builds = new Map<string, EventOf<'worker-started'>[]>()
  for (const event of events.filter(isOf('worker-started'))) {
    builds.set(event.build, [...(builds.get(event.build) ?? []), event])
  }
  return [...builds].map(([build, started]) => {
    const hosts = new Set(started.map(({ host }) => host)).size
    const text = `build ${build} was deployed: ${many(started.length, 'worker')} started on ${many(hosts, 'host')}`
    return { at: timeText(started[0]!.at), kind: 'deploy', text, isTrouble: false, target: build }
  })
}

// ---------------------------------------------------------------- redrives and actions

interface Around extends Pick<IncidentFacts, 'from' | 'to'> {
  readonly titles: Titles
}

function redriveEntries(redrive: Redrive, { from, to, titles }: Around): IncidentEntry[] {
  const { id, filter, total, createdAt, finishedAt, state, why, tenantId } = redrive
  const isIn = (at: number | undefined): at is number => at !== undefined && at >= from && at < to
  const kind = { kind: 'redrive', target: id, ...present({ tenantId }) } as const
  const jobs = `${countText(total.value)}${total.relation === 'exact' ? '' : '+'} ${total.value === 1 ? 'job' : 'jobs'}`
  const words = redriveFilterWords(filter, timeText, titles)
  const started = `redrive of ${jobs} started (${words})`
  const isStopped = state === 'stopped' || state === 'aborted'
  const ended = `redrive of ${jobs} ${isStopped ? `was ${state}` : 'was finished'}${why === undefined ? '' : `: ${why}`}`
  return [
    ...(isIn(createdAt) ? [{ at: timeText(createdAt), ...kind, isTrouble: false, text: started }] : []),
    ...(isIn(finishedAt) ? [{ at: timeText(finishedAt), ...kind, isTrouble: isStopped, text: ended }] : []),
  ]
}

/** The error groups that a report names in its lines about redrives. */
export const groupsNamed = (redrives: readonly Redrive[]): readonly string[] => [
  ...new Set(redrives.flatMap(({ filter }) => filter.fingerprint ?? [])),
]

function actionEntries({ id, at, actor, summary, tenantId }: AuditLogEntry): IncidentEntry[] {
  if (summary === undefined) return []
  return [{ at, kind: 'action', text: `${actor} ${summary}`, isTrouble: false, target: id, ...present({ tenantId }) }]
}

// ---------------------------------------------------------------- sentences

function summaryOf(
  { succeeded, dead, cancelled, failed }: IncidentFacts['outcomes'],
  errors: readonly IncidentError[],
  timeline: readonly IncidentEntry[],
): string[] {
  const capped = ({ value, relation }: Count): string => `${countText(value)}${relation === 'exact' ? '' : '+'}`
  const jobs = `${capped(succeeded)} ${succeeded.value === 1 ? 'job' : 'jobs'} succeeded`
  const ended = [jobs, `${capped(dead)} died`, ...(cancelled.value > 0 ? [`${capped(cancelled)} were cancelled`] : [])]
  const news = errors.filter(({ course }) => course !== 'continued')
  const first = timeline.find(({ isTrouble }) => isTrouble)
  return [
    `${ended.join(', ')}; ${many(failed, 'run')} failed.`,
    ...(news.length === 0 ? [] : [`${many(news.length, 'error group')} began or spiked.`]),
    ...(first
      ? [`The first sign of trouble was at ${first.at.slice(11, 19)} UTC: ${first.text}.`]
      : ['Nothing went wrong that Chronos knows of.']),
  ]
}

function many(value: number, one: string, several = `${one}s`, isCounted = true): string {
  const noun = value === 1 ? one : several
  return isCounted ? `${countText(value)} ${noun}` : noun
}
