import { countsId, RESOLUTION_MS } from './counts-id.js'
import {
  add,
  type Counts,
  type Delta,
  ERROR_TRAITS,
  type ErrorDelta,
  type ErrorTrait,
  groupId,
  type LedgerDelta,
  tally,
} from './delta.js'
import { IdSum } from './id-xor.js'
import type { StoredRecord } from './record.js'
import { QUEUE_TIMINGS, TIMING_PLACES, TIMINGS, TimingFold, timingKeys } from './timings.js'

export { countsId, placeOfCounts, RESOLUTION_MS, type Resolution } from './counts-id.js'
export { add, ERROR_TRAITS, type ErrorTrait, groupId, type LedgerDelta, tally } from './delta.js'
export { addTimings, noTimings, type TimingSum, type Timings, type TopJob } from './timing-sum.js'
export {
  QUEUE_TIMINGS,
  TIMING_PLACES,
  TIMING_PLACES_ID,
  TIMING_PLACES_MAX,
  TIMINGS,
  type TimingPlaces,
} from './timings.js'

// Adds deltas to the records that the charts, the dead letters and the integrity check read.

export const LEDGER = 'ledger'
export const COUNTS = 'counts'
export const ERROR_GROUP = 'error-group'
/** The failures of an error group within a minute or an hour. */
export const ERROR_COUNTS = 'error-counts'

export const GROUP_STATES = ['open', 'resolved', 'regressed', 'ignored'] as const
export type GroupState = (typeof GROUP_STATES)[number]

export interface ErrorGroup {
  readonly fingerprint: string
  readonly tenantId?: string
  readonly title: string
  readonly error: string
  readonly code?: string
  readonly status?: number
  /** The first ten job names and queues in which the error occurred. */
  readonly names: readonly string[]
  readonly queues: readonly string[]
  /** The number of failed runs, of jobs that died of this error, and of current dead letters. */
  readonly failures: number
  readonly deaths: number
  readonly dead: number
  readonly firstSeen: number
  readonly lastSeen: number
  /** Failed runs by hour (epoch milliseconds of its start), for the newest 48 hours. */
  readonly trend: Readonly<Record<string, number>>
  /** Up to five of the newest jobs: the last one of each batch. */
  readonly samples: readonly string[]
  readonly state: GroupState
  readonly stateAt: number
  /** The state was set for all tenants. */
  readonly isForAll?: boolean
}

export interface ErrorCounts {
  readonly title: string
  readonly failures: number
  readonly deaths: number
  /** Failed runs by queue, job name and worker; those beyond the first 50 of each are counted under `''`. */
  readonly by: Readonly<Record<ErrorTrait, Counts>>
}

const PLACES_MAX = 10
const TRAITS_MAX = 50
const SAMPLES_MAX = 5
const TREND_HOURS = 48

export interface RecordKey {
  readonly kind: string
  readonly id: string
}

/** The parts of an id of `ERROR_COUNTS`. */
export function groupOfCounts(id: string): {
  readonly at: number
  readonly fingerprint: string
  readonly tenantId?: string
} {
  const [, at = '', ...words] = id.split(' ')
  const [fingerprint = '', ...tenant] = words.join(' ').split('@')
  return { at: Date.parse(at), fingerprint, ...(tenant.length > 0 && { tenantId: tenant.join('@') }) }
}

/** All counts of a delta, with their times. */
function* countsIn({ at, counts, runs = {} }: Delta): Generator<readonly [at: number, place: string, counts: Counts]> {
  for (const [place, change] of Object.entries(counts)) yield [at, place, change]
  for (const [minute, places] of Object.entries(runs)) {
    for (const [place, change] of Object.entries(places)) yield [Number(minute), place, change]
  }
}

/** The records that these deltas may change, without duplicates and always in the same order. */
export function keysOf(deltas: readonly Delta[]): readonly RecordKey[] {
  const ids = {
    [LEDGER]: new Set<string>(),
    [COUNTS]: new Set<string>(),
    [ERROR_GROUP]: new Set<string>(),
    [ERROR_COUNTS]: new Set<string>(),
    [TIMINGS]: new Set<string>(),
    [QUEUE_TIMINGS]: new Set<string>(),
    [TIMING_PLACES]: new Set<string>(),
  }
  for (const delta of deltas) {
    const { at, ledger, errors } = delta
    for (const queue of Object.keys(ledger)) ids[LEDGER].add(queue)
    for (const [time, place] of countsIn(delta)) {
      ids[COUNTS].add(countsId('1m', time, place))
      ids[COUNTS].add(countsId('1h', time, place))
    }
    for (const { kind, id } of timingKeys(delta)) ids[kind].add(id)
    for (const { fingerprint, tenantId, by } of errors) {
      const group = groupId(fingerprint, tenantId)
      ids[ERROR_GROUP].add(group)
      if (!by) continue
      ids[ERROR_COUNTS].add(countsId('1m', at, group))
      ids[ERROR_COUNTS].add(countsId('1h', at, group))
    }
  }
  return Object.entries(ids).flatMap(([kind, set]) => [...set].sort().map(id => ({ kind, id })))
}

/** Returns the new records. `current` holds the existing records of `keysOf`; null in the answer removes a record. */
export function foldInto(
  deltas: readonly Delta[],
  current: readonly StoredRecord[],
): readonly (RecordKey & { readonly body: string | null })[] {
  const bodies = new Map(current.map(({ kind, id, body }) => [`${kind} ${id}`, JSON.parse(body) as unknown]))
  const bodyOf = <T>(kind: string, id: string): T | undefined => bodies.get(`${kind} ${id}`) as T | undefined
  const changed = new Set<string>()
  const put = (kind: string, id: string, body: unknown): void => {
    bodies.set(`${kind} ${id}`, body)
    changed.add(`${kind} ${id}`)
  }
  const timings = new TimingFold(bodyOf)
  for (const delta of deltas) {
    const { at, ledger, errors } = delta
    for (const [queue, change] of Object.entries(ledger)) put(LEDGER, queue, foldLedger(bodyOf(LEDGER, queue), change))
    for (const [time, place, change] of countsIn(delta)) {
      for (const id of [countsId('1m', time, place), countsId('1h', time, place)]) {
        put(COUNTS, id, foldCounts(bodyOf(COUNTS, id), change))
      }
    }
    timings.add(delta)
    for (const change of errors) {
      const id = groupId(change.fingerprint, change.tenantId)
      put(ERROR_GROUP, id, foldError(bodyOf(ERROR_GROUP, id), change, at))
      if (!change.by) continue
      for (const time of [countsId('1m', at, id), countsId('1h', at, id)]) {
        put(ERROR_COUNTS, time, foldErrorCounts(bodyOf(ERROR_COUNTS, time), change))
      }
    }
  }
  for (const { kind, id, body } of timings.records()) put(kind, id, body)
  const keys = keysOf(deltas).filter(({ kind, id }) => changed.has(`${kind} ${id}`))
  return keys.map(({ kind, id }) => {
    const body = bodies.get(`${kind} ${id}`)
    return { kind, id, body: body === undefined ? null : JSON.stringify(body) }
  })
}

export function foldLedger(old: LedgerDelta | undefined, change: LedgerDelta): LedgerDelta {
  if (!old) return change
  const idSum = IdSum.of(old.idSum)
  idSum.add(change.idSum)
  return {
    enqueued: old.enqueued + change.enqueued,
    removed: old.removed + change.removed,
    idSum: idSum.toString(),
  }
}

function foldCounts(old: Counts | undefined, change: Counts): Counts {
  const sum = { ...old }
  for (const [what, by] of Object.entries(change)) add(sum, what, by)
  return sum
}

function foldErrorCounts(old: ErrorCounts | undefined, { seen, failures, deaths, by }: ErrorDelta): ErrorCounts {
  const sums = ERROR_TRAITS.map(trait => [trait, withTraits(old?.by[trait] ?? {}, by?.[trait] ?? {})] as const)
  return {
    title: seen?.title ?? old?.title ?? '',
    failures: (old?.failures ?? 0) + failures,
    deaths: (old?.deaths ?? 0) + deaths,
    by: Object.fromEntries(sums) as ErrorCounts['by'],
  }
}

function withTraits(old: Counts, change: Counts): Counts {
  const sum = tally(old)
  for (const [trait, by] of Object.entries(change)) {
    add(sum, trait in sum || Object.keys(sum).length < TRAITS_MAX ? trait : '', by)
  }
  return sum
}

function foldError(old: ErrorGroup | undefined, change: ErrorDelta, at: number): ErrorGroup | undefined {
  const { fingerprint, tenantId, seen, failures, deaths } = change
  // Jobs may leave the dead letters after their group was deleted.
  if (!old && !seen) return undefined
  const dead = Math.max(0, (old?.dead ?? 0) + change.dead)
  if (!seen) return { ...old!, dead }
  const { title, error, code, status, name, queue, jobId } = seen
  const regressed = old?.state === 'resolved' && at > old.stateAt
  return {
    fingerprint,
    ...(tenantId !== undefined && { tenantId }),
    title,
    error,
    ...(code !== undefined && { code }),
    ...(status !== undefined && { status }),
    names: withPlace(old?.names, name),
    queues: withPlace(old?.queues, queue),
    failures: (old?.failures ?? 0) + failures,
    deaths: (old?.deaths ?? 0) + deaths,
    dead,
    firstSeen: Math.min(old?.firstSeen ?? at, at),
    lastSeen: Math.max(old?.lastSeen ?? at, at),
    trend: withHour(old?.trend, at, failures),
    samples: [jobId, ...(old?.samples ?? []).filter(id => id !== jobId)].slice(0, SAMPLES_MAX),
    state: regressed ? 'regressed' : (old?.state ?? 'open'),
    stateAt: regressed ? at : (old?.stateAt ?? at),
    ...(old?.isForAll && !regressed && { isForAll: true }),
  }
}

function withPlace(old: readonly string[] = [], place: string): readonly string[] {
  return old.includes(place) || old.length >= PLACES_MAX ? old : [...old, place]
}

function withHour(old: ErrorGroup['trend'] = {}, at: number, failures: number): ErrorGroup['trend'] {
  const hour = Math.floor(at / RESOLUTION_MS['1h']) * RESOLUTION_MS['1h']
  const trend: Record<string, number> = { ...old, [hour]: (old[hour] ?? 0) + failures }
  const hours = Object.keys(trend).sort((a, b) => Number(b) - Number(a))
  return Object.fromEntries(hours.slice(0, TREND_HOURS).map(each => [each, trend[each]!]))
}
