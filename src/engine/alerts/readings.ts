import type { Reading } from '../../core/alert/alert.js'
import type { CountFacts, Facts, MissedFacts, QueueCounts, QueueFacts } from '../../core/alert/rule.js'
import { type RuleName, ruleNamed } from '../../core/alert/rules.js'
import type { AlertRule } from '../../core/alert/settings.js'
import type { Dependency } from '../../core/dependency/dependency.js'
import type { Schedule } from '../../core/schedule/schedule.js'
import { present } from '../../core/values/present.js'
import type { Endpoint } from '../../core/webhook/webhook.js'
import { COUNTS, countsId, placeOfCounts } from '../../store/fold.js'
import type { Store } from '../../store/store.js'
import { DEPENDENCY } from '../dependencies/dependencies.js'
import { liveWorkers, unhandledJobs } from '../jobs/handlers.js'
import { stoppedPartitions } from '../limits/stopped.js'
import { bodyOf } from '../records/records.js'
import { SCHEDULE } from '../schedules/schedule-cache.js'
import { isPruning } from '../upkeep/pruner.js'
import { WEBHOOK } from '../webhooks/endpoints.js'

/** A tag on every delivery of an alert, because their failures must not raise alerts. */
export const ALERT_TAG = 'chronos:alert'
/** The prefix of the names of jobs that deliver alerts. */
export const ALERT_JOB = 'chronos:alert/'
/** The number of missed occurrences of a schedule at the last evaluation, and when it grew. */
const MARK = 'alert-mark'

export const DEAD_MAX = 5_000
export const RECORDS_MAX = 10_000
const COUNTS_MAX = 50_000
const PAGE = 2_000
const WRITES_MAX = 500

const NO_COUNTS: QueueCounts = { first: 0, retry: 0, measured: 0, latencyMs: 0, exhausted: 0 }

export type Readings = ReadonlyMap<RuleName, readonly Reading[]>

interface Scene {
  readonly store: Store
  readonly now: number
}

/** How the facts of the rules are read from the store; `windowMs` is the window of the rule that needs them. */
const READ: { readonly [Source in keyof Facts]: (scene: Scene, windowMs: number) => Promise<Facts[Source]> } = {
  queues: readQueues,
  counts: countsOf,
  dependencies: ({ store }) => bodies<Dependency>(store, DEPENDENCY),
  endpoints: ({ store }) => bodies<Endpoint>(store, WEBHOOK),
  missed: readMissed,
  unhandled: ({ store, now }) => unhandledJobs(store, now),
  retention: readRetention,
  stopped: async ({ store }) => stoppedPartitions(store, await store.queues()),
}

/** Reads what the enabled rules need from the store, each fact once. */
export async function readAll(store: Store, rules: readonly AlertRule[], now: number): Promise<Readings> {
  const known = new Map<string, Promise<Facts[keyof Facts]>>()
  const factsFor = ({ name, windowMs = 0 }: AlertRule): Promise<Facts[keyof Facts]> => {
    const { reads } = ruleNamed(name)
    const key = `${reads} ${windowMs}`
    const facts = known.get(key) ?? READ[reads]({ store, now }, windowMs)
    known.set(key, facts)
    return facts
  }
  const found = rules
    .filter(({ enabled }) => enabled)
    .map(async (rule): Promise<[RuleName, readonly Reading[]]> => {
      const facts = await factsFor(rule)
      return [rule.name, ruleNamed(rule.name).readings(facts, rule, now)]
    })
  return new Map(await Promise.all(found))
}

async function bodies<T>(store: Store, kind: string): Promise<readonly T[]> {
  return (await store.records(kind, { limit: RECORDS_MAX })).flatMap(bodyOf<T>)
}

async function readQueues({ store, now }: Scene): Promise<readonly QueueFacts[]> {
  const [backlog, queues, workers] = await Promise.all([
    store.backlog({ exceptTag: ALERT_TAG, deadMax: DEAD_MAX }),
    store.queues(),
    liveWorkers(store, now),
  ])
  const paused = new Set(queues.filter(queue => queue.paused).map(({ name }) => name))
  const served = new Set(workers.flatMap(worker => worker.queues))
  return backlog.map(({ queue, dead, deadSince, dueAt, retryDueAt }) =>
    present({
      queue,
      isPaused: paused.has(queue),
      isServed: served.has(queue),
      dead,
      isCapped: dead >= DEAD_MAX,
      deadSince,
      dueAt,
      retryDueAt,
    }),
  )
}

const KEPT_COUNTED = 1_000_000

/** Counts only if nothing is pruned, because counting so many takes long. */
async function readRetention({ store }: Scene): Promise<Facts['retention']> {
  if ((await isPruning(store)) !== false) return { kept: 0 }
  const { value } = await store.count({ state: ['succeeded', 'cancelled', 'dead'] }, KEPT_COUNTED)
  return { kept: value }
}

/** Sums per queue over the minutes of the window, including the minute in which it begins. */
export async function countsOf({ store, now }: Scene, windowMs: number): Promise<CountFacts> {
  const queues = new Map<string, QueueCounts>()
  const first = countsId('1m', now - windowMs)
  const { at: since } = placeOfCounts(first)
  let from = first
  for (let read = 0; read < COUNTS_MAX; ) {
    const page = await store.records(COUNTS, { from, to: '1m~', limit: PAGE })
    for (const { id, body } of page) addCounts(queues, id, JSON.parse(body) as Record<string, number>)
    if (page.length < PAGE) break
    read += page.length
    from = `${page.at(-1)!.id}\u0001`
  }
  return { since, queues }
}

function addCounts(sums: Map<string, QueueCounts>, id: string, counts: Readonly<Record<string, number>>): void {
  const { queue, name } = placeOfCounts(id)
  if (name.startsWith(ALERT_JOB)) return
  const { first, retry, measured, latencyMs, exhausted } = sums.get(queue) ?? NO_COUNTS
  const count = (what: string): number => counts[what] ?? 0
  sums.set(queue, {
    first: first + count('first'),
    retry: retry + count('retry'),
    measured: measured + count('retry:measured'),
    latencyMs: latencyMs + count('retry:latency'),
    exhausted: exhausted + count('dead:exhausted') + count('dead:too-old'),
  })
}

interface Mark {
  readonly missed: number
  readonly by: number
  readonly at: number
}

/** The count of a schedule only grows, so a mark stores by how much it grew, and when. */
async function readMissed({ store, now }: Scene, windowMs: number): Promise<readonly MissedFacts[]> {
  const [schedules, records] = await Promise.all([
    bodies<Schedule>(store, SCHEDULE),
    store.records(MARK, { limit: RECORDS_MAX }),
  ])
  const marks = new Map(records.map(({ id, version, body }) => [id, { version, ...(JSON.parse(body) as Mark) }]))
  const writes: { readonly id: string; readonly mark: Mark; readonly expect: number }[] = []
  const facts = schedules.map(({ id, counts }): MissedFacts => {
    const missed = counts?.missed ?? 0
    const old = marks.get(id)
    const by = missed - (old?.missed ?? 0)
    if (by > 0) writes.push({ id, mark: { missed, by, at: now }, expect: old?.version ?? 0 })
    return { schedule: id, missed: by > 0 ? by : old !== undefined && now - old.at < windowMs ? old.by : 0 }
  })
  const known = new Set(schedules.map(({ id }) => id))
  const gone = records.filter(({ id }) => !known.has(id)).map(({ id, version: expect }) => ({ id, expect }))
  const changes = [
    ...writes.map(({ id, mark, expect }) => ({ kind: MARK, id, body: JSON.stringify(mark), expect })),
    ...gone.map(({ id, expect }) => ({ kind: MARK, id, body: null, expect })),
  ]
  if (changes.length > 0) await store.putRecords(changes.slice(0, WRITES_MAX))
  return facts.filter(({ missed }) => missed > 0)
}
