import { AUDIT_LOG, type AuditLogEntry, auditIdPrefix } from '../../core/audit/entry.js'
import type { FleetEvent } from '../../core/incident/event.js'
import {
  type ErrorFacts,
  groupsNamed,
  type IncidentFacts,
  type IncidentReport,
  incidentOf,
} from '../../core/incident/report.js'
import { timeText } from '../../core/job/view.js'
import type { Redrive } from '../../core/redrive/redrive.js'
import { DAY_MS, HOUR_MS } from '../../core/values/duration.js'
import { ChronosError } from '../../core/values/error.js'
import { freeText } from '../../core/values/limits.js'
import { present } from '../../core/values/present.js'
import { about, type Infer, read } from '../../core/values/schema.js'
import { object } from '../../core/values/shape.js'
import { time } from '../../core/values/time.js'
import { ERROR_GROUP, type ErrorGroup } from '../../store/fold.js'
import type { Count, Store } from '../../store/store.js'
import { timeOf } from '../client/enqueuer.js'
import type { Environment } from '../client/environment.js'
import { redriveRecords } from '../dead/redriver.js'
import { folded, readCounts } from '../figures/counts.js'
import { readErrorCounts } from '../figures/error-counts.js'
import { activityOf } from '../figures/statistics.js'
import { bodyOf } from '../records/records.js'
import { FLEET_EVENT } from './events.js'

export const incidentQuery = object(
  {},
  {
    from: about(time, 'Default: an hour before `to`.'),
    to: about(time, 'Exclusive. Default: now.'),
    tenantId: about(freeText, 'Only what concerns this tenant.'),
  },
)
export type { IncidentReport } from '../../core/incident/report.js'
export type IncidentQuery = Infer<typeof incidentQuery>

/** For callers that act for other people. */
export interface IncidentAccess {
  /** Whether the changes by operators are included. Default true. */
  readonly actions?: boolean
}

const MINUTE_MS = 60_000
/** Counters per minute that are older are pruned, or soon will be. */
const MINUTES_KEPT_MS = 47 * HOUR_MS
const RANGE_MAX_MS = 7 * DAY_MS
const COUNTS_MAX = 20_000
const RECORDS_MAX = 2_000
/** The errors with most failures; also the queues, names and tenants of each. */
export const ERRORS_MAX = 500
const TRAITS_MAX = 100
const COUNT_CAP = 10_000
const LOOK_AT = 100_000

interface Range {
  readonly from: number
  readonly to: number
  readonly resolution: '1m' | '1h'
}

/** What happened in a time range, from the records of the fleet. */
export async function readIncident(
  env: Environment,
  asked: IncidentQuery,
  { actions: withActions = true }: IncidentAccess = {},
): Promise<IncidentReport> {
  const { tenantId, ...query } = read(incidentQuery, asked, 'incident:')
  const store = await folded(await env.connection.store())
  const { now } = await store.info()
  const range = rangeOf(query, now)
  const [failures, events, redrives, actions] = await Promise.all([
    readErrors(store, range, tenantId),
    readEvents(store, range, tenantId),
    readRedrives(env, range, tenantId),
    withActions ? readActions(store, range, tenantId) : undefined,
  ])
  const [{ outcomes, isWhole }, titles] = await Promise.all([
    readOutcomes(store, range, tenantId, failures.failed),
    readTitles(store, groupsNamed(redrives.data).slice(0, ERRORS_MAX), tenantId),
  ])
  return incidentOf({
    from: range.from,
    to: range.to,
    ...present({ tenantId, actions: actions?.data }),
    outcomes,
    errors: failures.data,
    events: events.data,
    redrives: redrives.data,
    titles,
    complete: isWhole && [failures, events, redrives, actions].every(part => part?.isWhole ?? true),
  })
}

function rangeOf(query: Omit<IncidentQuery, 'tenantId'>, now: number): Range {
  const end = query.to === undefined ? now : timeOf(query.to, 'incident: to')
  const start = query.from === undefined ? end - HOUR_MS : timeOf(query.from, 'incident: from')
  if (start >= end) throw new ChronosError('INVALID_OPTION', 'incident: from must be before to')
  if (end - start > RANGE_MAX_MS)
    throw new ChronosError('INVALID_OPTION', 'incident: expected a range of at most 7 days')
  const resolution = start < now - MINUTES_KEPT_MS ? '1h' : '1m'
  const stepMs = resolution === '1h' ? HOUR_MS : MINUTE_MS
  return { from: Math.floor(start / stepMs) * stepMs, to: Math.ceil(end / stepMs) * stepMs, resolution }
}

interface Found<T> {
  readonly data: readonly T[]
  readonly isWhole: boolean
}

type Outcomes = Pick<IncidentFacts, 'outcomes'> & { readonly isWhole: boolean }

/** Counters have no tenants, so the jobs of a tenant are counted. */
async function readOutcomes(
  store: Store,
  { from, to, resolution }: Range,
  tenantId: string | undefined,
  failed: number,
): Promise<Outcomes> {
  const exact = (value: number): Count => ({ value, relation: 'exact' })
  if (tenantId === undefined) {
    const counted = await readCounts(store, { resolution, from, to, max: COUNTS_MAX })
    const sums = activityOf(counted.data)
    const { succeeded, dead, cancelled } = sums
    return {
      outcomes: { succeeded: exact(succeeded), dead: exact(dead), cancelled: exact(cancelled), failed: sums.failed },
      isWhole: counted.from <= from,
    }
  }
  const count = (state: 'succeeded' | 'dead' | 'cancelled'): Promise<Count> =>
    store.count({ state, tenantId, finishedAfter: from, finishedBefore: to }, COUNT_CAP, LOOK_AT)
  const [succeeded, dead, cancelled] = await Promise.all([count('succeeded'), count('dead'), count('cancelled')])
  return { outcomes: { succeeded, dead, cancelled, failed }, isWhole: true }
}

async function readErrors(
  store: Store,
  { from, to, resolution }: Range,
  tenantId: string | undefined,
): Promise<Found<ErrorFacts> & { readonly failed: number }> {
  const of = present({ tenantId })
  const [inside, before] = await Promise.all([
    readErrorCounts(store, { resolution, from, to, max: COUNTS_MAX, ...of }),
    readErrorCounts(store, { resolution, from: 2 * from - to, to: from, max: COUNTS_MAX, ...of }),
  ])
  const earlier = new Map(before.errors.map(({ fingerprint, failures }) => [fingerprint, failures]))
  const data = await Promise.all(
    inside.errors
      .slice(0, ERRORS_MAX)
      .map(async ({ tenants, byTenant: _, by, points, ...error }): Promise<ErrorFacts> => {
        const { fingerprint } = error
        const groups = await groupsOf(store, fingerprint, RECORDS_MAX)
        const seen = groups.filter(group => tenantId === undefined || group.tenantId === tenantId)
        return {
          ...error,
          before: earlier.get(fingerprint) ?? 0,
          firstAt: points[0]?.at ?? from,
          queues: Object.keys(by.queue).slice(0, TRAITS_MAX),
          names: Object.keys(by.name).slice(0, TRAITS_MAX),
          ...(seen.length > 0 && { firstSeen: Math.min(...seen.map(({ firstSeen }) => firstSeen)) }),
          ...present({
            tenants: tenantId === undefined && tenants.length > 0 ? tenants.slice(0, TRAITS_MAX) : undefined,
          }),
        }
      }),
  )
  const failed = inside.errors.reduce((sum, { failures }) => sum + failures, 0)
  const isWhole = inside.isWhole && before.isWhole && inside.errors.length <= ERRORS_MAX
  return { data, failed, isWhole }
}

/** An error group has a record for each tenant. */
async function groupsOf(store: Store, fingerprint: string, limit: number): Promise<readonly ErrorGroup[]> {
  const records = await store.records(ERROR_GROUP, { from: fingerprint, to: `${fingerprint}A`, limit })
  return records.flatMap(bodyOf<ErrorGroup>).filter(group => group.fingerprint === fingerprint)
}

/** A tenant may name any group in its redrive, and sees only what its own part of it is called. */
async function readTitles(
  store: Store,
  fingerprints: readonly string[],
  tenantId: string | undefined,
): Promise<ReadonlyMap<string, string>> {
  const most = tenantId === undefined ? 1 : RECORDS_MAX
  const found = await Promise.all(fingerprints.map(fingerprint => groupsOf(store, fingerprint, most)))
  const own = found.flat().filter(group => tenantId === undefined || group.tenantId === tenantId)
  return new Map(own.map(({ fingerprint, title }) => [fingerprint, title]))
}

/** Alerts and workers belong to the fleet, so a tenant sees only its own circuits. */
async function readEvents(store: Store, { from, to }: Range, tenantId: string | undefined): Promise<Found<FleetEvent>> {
  const range = { from: timeText(from), to: timeText(to), limit: RECORDS_MAX, order: 'down' } as const
  const records = await store.records(FLEET_EVENT, range)
  const data = records.flatMap(bodyOf<FleetEvent>).reverse()
  const isOwn = (event: FleetEvent): boolean =>
    tenantId === undefined || ('tenantId' in event && event.tenantId === tenantId)
  return { data: data.filter(isOwn), isWhole: records.length < RECORDS_MAX }
}

async function readRedrives(
  env: Environment,
  { from, to }: Range,
  tenantId: string | undefined,
): Promise<Found<Redrive>> {
  const isWanted = ({ createdAt, finishedAt = createdAt, ...redrive }: Redrive): boolean =>
    createdAt < to && finishedAt >= from && (tenantId === undefined || redrive.tenantId === tenantId)
  const found = await redriveRecords(env).page({ limit: RECORDS_MAX, order: 'down' }, isWanted)
  return { data: found.map(({ body }) => body), isWhole: found.length < RECORDS_MAX }
}

/** Enqueues and leases are the work of programs. */
const BY_PROGRAMS = /^POST \/(jobs|jobs:batch|leases:\w+|leases\/.*)$/

async function readActions(
  store: Store,
  { from, to }: Range,
  tenantId: string | undefined,
): Promise<Found<AuditLogEntry>> {
  // Ids only ever grow, so after the clock was set back they are ahead of the time of their entry, and never behind it.
  const records = await store.records(AUDIT_LOG, { from: auditIdPrefix(from), limit: RECORDS_MAX })
  const entries = records.flatMap(bodyOf<AuditLogEntry>)
  const isOwn = ({ at, action, tenantId: owner }: AuditLogEntry): boolean =>
    Date.parse(at) >= from &&
    Date.parse(at) < to &&
    !BY_PROGRAMS.test(action) &&
    (tenantId === undefined || owner === tenantId)
  const isWhole = records.length < RECORDS_MAX || Date.parse(entries.at(-1)?.at ?? '') >= to
  return { data: entries.filter(isOwn).reverse(), isWhole }
}
