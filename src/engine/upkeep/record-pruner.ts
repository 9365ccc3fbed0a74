import { advanced, type Dependency } from '../../core/dependency/dependency.js'
import { timeText } from '../../core/job/view.js'
import type { Redrive } from '../../core/redrive/redrive.js'
import { DAY_MS, HOUR_MS } from '../../core/values/duration.js'
import {
  COUNTS,
  countsId,
  ERROR_COUNTS,
  ERROR_GROUP,
  type ErrorGroup,
  QUEUE_TIMINGS,
  TIMING_PLACES,
  TIMINGS,
  type TimingPlaces,
} from '../../store/fold.js'
import type { RecordQuery, StoredRecord } from '../../store/record.js'
import type { Store } from '../../store/store.js'
import { ERROR_NOTES, type ErrorNotes } from '../dead/error-notes.js'
import { REDRIVE } from '../dead/redriver.js'
import { DEPENDENCY } from '../dependencies/dependencies.js'
import { WORKER_DRAIN, type WorkerDrain } from '../fleet/drain.js'
import { FLEET_EVENT } from '../incident/events.js'
import { UNHANDLED, type UnhandledRecord } from '../jobs/handlers.js'
import { forgetListeners } from '../listeners/abandoned.js'
import { bodyOf, type RecordsEnvironment } from '../records/records.js'
import { WORKER, WORKER_BUILD, type WorkerBuild, type WorkerRecord } from '../worker/fleet.js'
import { removeEmptyQueues } from './empty-queues.js'

const EVERY_MS = HOUR_MS
const BATCH = 500

/** Retention of the records after their last use. */
const KEPT_MS = {
  minutes: 2 * DAY_MS,
  hours: 90 * DAY_MS,
  workers: DAY_MS,
  /** Error groups without a dead letter. */
  groups: 30 * DAY_MS,
  redrives: 90 * DAY_MS,
  /** Circuits, alerts and workers over time; assignees and notes of errors that no longer exist. */
  events: 90 * DAY_MS,
  /** Dependencies with a closed circuit that no waiting job has. */
  dependencies: 7 * DAY_MS,
} as const

/**
 * Removes what is no longer needed: old counters, stopped workers, old error groups, unused dependencies, listeners and
 * queues.
 */
export class RecordPruner {
  readonly #env: RecordsEnvironment

  constructor(env: RecordsEnvironment) {
    this.#env = env
  }

  async step(): Promise<number> {
    const store = await this.#env.connection.store()
    const { now } = await store.info()
    for (const kind of [COUNTS, ERROR_COUNTS, TIMINGS, QUEUE_TIMINGS]) {
      await forget(store, kind, { from: '1m', to: countsId('1m', now - KEPT_MS.minutes) })
      await forget(store, kind, { from: '1h', to: countsId('1h', now - KEPT_MS.hours) })
    }
    await forgetPlaces(store, now - KEPT_MS.hours)
    await forget<WorkerBuild>(store, WORKER_BUILD, {}, ({ at }) => at < now - KEPT_MS.events)
    await forget(store, FLEET_EVENT, { to: timeText(now - KEPT_MS.events) })
    await forget<ErrorNotes>(store, ERROR_NOTES, {}, async ({ fingerprint, updatedAt }) => {
      if (updatedAt >= now - KEPT_MS.events) return false
      return (await store.records(ERROR_GROUP, { from: fingerprint, to: `${fingerprint}A`, limit: 1 })).length === 0
    })
    await forget<WorkerDrain>(store, WORKER_DRAIN, {}, ({ at }) => at < now - KEPT_MS.workers)
    await forget<WorkerRecord>(store, WORKER, {}, ({ seenAt }) => seenAt < now - KEPT_MS.workers)
    await forget<UnhandledRecord>(store, UNHANDLED, {}, ({ seenAt }) => seenAt < now - KEPT_MS.workers)
    await forget<ErrorGroup>(
      store,
      ERROR_GROUP,
      {},
      ({ dead, lastSeen, state }) => dead === 0 && state !== 'ignored' && lastSeen < now - KEPT_MS.groups,
    )
    await forget<Redrive>(store, REDRIVE, {}, ({ finishedAt = now }) => finishedAt < now - KEPT_MS.redrives)
    await forget<Dependency>(store, DEPENDENCY, {}, async (dependency, updatedAt) => {
      if (updatedAt >= now - KEPT_MS.dependencies || !isIdle(dependency, now)) return false
      return (await store.count({ dependency: dependency.key, state: 'waiting' }, 1)).value === 0
    })
    await forgetListeners(store, now, this.#env.log)
    await removeEmptyQueues(store, now)
    return EVERY_MS
  }
}

/** Nothing would be lost if the state of the dependency were forgotten. */
function isIdle(dependency: Dependency, now: number): boolean {
  const { circuit, forced, nextRetryAt = now } = advanced(dependency, now)
  return circuit === 'closed' && forced === undefined && nextRetryAt <= now
}

/** Makes room for other job names. If a fold writes the record meanwhile, the next round does it. */
async function forgetPlaces(store: Store, before: number): Promise<void> {
  for (const record of await store.records(TIMING_PLACES, { limit: 1 })) {
    const { kind, id, version } = record
    const places = bodyOf<TimingPlaces>(record).flatMap(body => Object.entries(body))
    const kept = places.filter(([, hour]) => hour >= before)
    if (kept.length === places.length) continue
    await store.putRecords([{ kind, id, body: JSON.stringify(Object.fromEntries(kept)), expect: version }])
  }
}

/** Deletes only records that have not changed since they were read. */
async function forget<Body>(
  store: Store,
  kind: string,
  range: { readonly from?: string; readonly to?: string },
  isOver: (body: Body, updatedAt: number) => boolean | Promise<boolean> = () => true,
): Promise<void> {
  let query: Extract<RecordQuery, { limit: number }> = { ...range, limit: BATCH }
  for (;;) {
    const records = await store.records(kind, query)
    const over: StoredRecord[] = []
    for (const record of records) {
      for (const body of bodyOf<Body>(record)) if (await isOver(body, record.updatedAt)) over.push(record)
    }
    if (over.length > 0) {
      await store.putRecords(over.map(({ id, version }) => ({ kind, id, body: null, expect: version })))
    }
    if (records.length < BATCH) return
    query = { ...query, from: `${records.at(-1)!.id}\u0001` }
  }
}
