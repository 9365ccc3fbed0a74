import type { Reading } from '../../core/alert/alert.js'
import type { AlertRule, RuleName } from '../../core/alert/rules.js'
import { circuitState, type Dependency } from '../../core/dependency/dependency.js'
import type { Schedule } from '../../core/schedule/schedule.js'
import { DAY_MS, formatMs } from '../../core/values/duration.js'
import { DELIVERIES, type Endpoint, endpointKey } from '../../core/webhook/webhook.js'
import { COUNTS, countsId, placeOfCounts } from '../../store/fold.js'
import type { Backlog, QueueRecord, Store } from '../../store/store.js'
import { DEPENDENCY } from '../dependencies/dependencies.js'
import { bodyOf } from '../records/records.js'
import { SCHEDULE } from '../schedules/schedule-cache.js'
import { WEBHOOK } from '../webhooks/endpoints.js'
import { isAlive, WORKER, type WorkerRecord } from '../worker/fleet.js'

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
const URGENT_AFTER_MS = DAY_MS
const WRITES_MAX = 500

export type Readings = ReadonlyMap<RuleName, readonly Reading[]>

interface Scene {
  readonly store: Store
  readonly now: number
}

/** Reads the facts that the enabled rules need from the store, each once. */
export async function readAll(store: Store, rules: readonly AlertRule[], now: number): Promise<Readings> {
  const on = new Map(rules.filter(({ enabled }) => enabled).map(rule => [rule.name, rule]))
  const scene = { store, now }
  const found = new Map<RuleName, readonly Reading[]>()
  const put = (name: RuleName, readings: readonly Reading[]): void => void (on.has(name) && found.set(name, readings))
  if (QUEUE_RULES.some(name => on.has(name))) {
    for (const [name, readings] of await readQueues(scene)) put(name, readings)
  }
  const [rate, burst, missed] = [on.get('retry-rate'), on.get('exhausted-burst'), on.get('schedule-missed')]
  if (rate) put('retry-rate', retryRates(await countsOf(scene, rate), rate))
  if (burst) put('exhausted-burst', exhausted(await countsOf(scene, burst), burst))
  if (on.has('circuit-open')) put('circuit-open', await openCircuits(scene))
  if (on.has('endpoint-disabled')) put('endpoint-disabled', await disabledEndpoints(scene))
  if (missed) put('schedule-missed', await missedTicks(scene, missed.windowMs!))
  return found
}

const QUEUE_RULES: readonly RuleName[] = ['dead-letters', 'retry-latency', 'queue-latency', 'no-workers']

async function readQueues({ store, now }: Scene): Promise<readonly (readonly [RuleName, readonly Reading[]])[]> {
  const backlog = await store.backlog({ exceptTag: ALERT_TAG, deadMax: DEAD_MAX })
  const queues = new Map((await store.queues()).map(queue => [queue.name, queue]))
  // Deliveries wait for endpoints by design, and a paused queue waits on purpose.
  const waiting = backlog.filter(({ queue }) => queue !== DELIVERIES && !isPaused(queues, queue))
  const served = new Set((await liveWorkers(store, now)).flatMap(worker => worker.queues))
  const late = (at: number | undefined): number => Math.max(0, now - (at ?? now))
  return [
    ['dead-letters', backlog.filter(({ dead }) => dead > 0).map(each => deadLetters(each, now))],
    [
      'retry-latency',
      waiting.map(({ queue, retryDueAt }) => ({
        labels: { queue },
        value: late(retryDueAt),
        summary: `the oldest due retry in queue ${queue} waits for ${formatMs(late(retryDueAt))}`,
      })),
    ],
    [
      'queue-latency',
      waiting.map(({ queue, dueAt }) => ({
        labels: { queue },
        value: late(dueAt),
        summary: `the oldest due job in queue ${queue} waits for ${formatMs(late(dueAt))}`,
      })),
    ],
    [
      'no-workers',
      waiting
        .filter(({ queue, dueAt }) => dueAt !== undefined && !served.has(queue))
        .map(({ queue }) => ({
          labels: { queue },
          value: 1,
          summary: `queue ${queue} has due jobs and no live worker takes them`,
        })),
    ],
  ]
}

function isPaused(queues: ReadonlyMap<string, QueueRecord>, queue: string): boolean {
  return queues.get(queue)?.paused ?? false
}

function deadLetters({ queue, dead, deadSince }: Backlog, now: number): Reading {
  const age = now - (deadSince ?? now)
  const noun = dead === 1 ? 'dead letter' : 'dead letters'
  return {
    labels: { queue },
    value: dead,
    summary: `${dead < DEAD_MAX ? dead : `at least ${dead}`} unacknowledged ${noun} in queue ${queue}, the oldest for ${formatMs(age)}`,
    isUrgent: age > URGENT_AFTER_MS,
  }
}

export async function liveWorkers(store: Store, now: number): Promise<readonly WorkerRecord[]> {
  const workers = (await store.records(WORKER, { limit: RECORDS_MAX, order: 'down' })).flatMap(bodyOf<WorkerRecord>)
  return workers.filter(worker => isAlive(worker, now))
}

interface QueueCounts {
  first: number
  retry: number
  exhausted: number
}

/** Sums per queue over the minutes of the window, including the minute in which it begins. */
export async function countsOf(
  { store, now }: Scene,
  { windowMs }: Pick<AlertRule, 'windowMs'>,
): Promise<ReadonlyMap<string, QueueCounts>> {
  const sums = new Map<string, QueueCounts>()
  let from = countsId('1m', now - windowMs!)
  for (let read = 0; read < COUNTS_MAX; ) {
    const page = await store.records(COUNTS, { from, to: '1m~', limit: PAGE })
    for (const { id, body } of page) addCounts(sums, id, JSON.parse(body) as Record<string, number>)
    if (page.length < PAGE) break
    read += page.length
    from = `${page.at(-1)!.id}\u0001`
  }
  return sums
}

function addCounts(sums: Map<string, QueueCounts>, id: string, counts: Readonly<Record<string, number>>): void {
  const { queue, name } = placeOfCounts(id)
  if (name.startsWith(ALERT_JOB)) return
  const sum = sums.get(queue) ?? { first: 0, retry: 0, exhausted: 0 }
  sum.first += counts['first'] ?? 0
  sum.retry += counts['retry'] ?? 0
  sum.exhausted += (counts['dead:exhausted'] ?? 0) + (counts['dead:too-old'] ?? 0)
  sums.set(queue, sum)
}

function retryRates(sums: ReadonlyMap<string, QueueCounts>, rule: AlertRule): readonly Reading[] {
  const { minVolume = 0, minRetries = 0, windowMs } = rule
  return [...sums].flatMap(([queue, { first, retry }]): Reading[] => {
    if (queue === DELIVERIES || first + retry < minVolume || retry < minRetries) return []
    const value = retry / Math.max(1, first)
    const percent = Math.round(1_000 * value) / 10
    const counted = `${retry} retries to ${first} first attempts in ${formatMs(windowMs!)}`
    return [{ labels: { queue }, value, summary: `the retry rate of queue ${queue} is ${percent} %: ${counted}` }]
  })
}

function exhausted(sums: ReadonlyMap<string, QueueCounts>, { windowMs }: AlertRule): readonly Reading[] {
  return [...sums].map(([queue, { exhausted: value }]) => ({
    labels: { queue },
    value,
    summary: `${value} jobs of queue ${queue} ran out of retries in ${formatMs(windowMs!)}`,
  }))
}

async function openCircuits({ store, now }: Scene): Promise<readonly Reading[]> {
  const dependencies = (await store.records(DEPENDENCY, { limit: RECORDS_MAX })).flatMap(bodyOf<Dependency>)
  // Webhook endpoints have a rule of their own, and alerts are delivered through them.
  const open = dependencies.filter(
    dependency =>
      !dependency.key.startsWith(endpointKey('')) && ['open', 'half-open'].includes(circuitState(dependency, now)),
  )
  return open.map(({ key, tenantId, reason }) => ({
    labels: { circuit: key, ...(tenantId !== undefined && { tenant: tenantId }) },
    value: 1,
    summary: `the circuit of ${key}${tenantId === undefined ? '' : ` for tenant ${tenantId}`} is open${reason === undefined ? '' : `: ${reason}`}`,
  }))
}

/** Endpoints that a user disabled are not reported. */
async function disabledEndpoints({ store }: Scene): Promise<readonly Reading[]> {
  const endpoints = (await store.records(WEBHOOK, { limit: RECORDS_MAX })).flatMap(bodyOf<Endpoint>)
  const off = endpoints.filter(each => each.state === 'disabled' && each.disabledReason !== 'by-hand')
  return off.map(({ id, disabledReason }) => ({
    labels: { endpoint: id },
    value: 1,
    summary: `webhook ${id} is disabled: ${disabledReason === 'gone' ? 'it answered 410' : 'all deliveries failed for days'}`,
  }))
}

interface Mark {
  readonly missed: number
  readonly by: number
  readonly at: number
}

/** The count only grows: the alert reports by how much it grew within the window. */
async function missedTicks({ store, now }: Scene, windowMs: number): Promise<readonly Reading[]> {
  const schedules = (await store.records(SCHEDULE, { limit: RECORDS_MAX })).flatMap(bodyOf<Schedule>)
  const records = await store.records(MARK, { limit: RECORDS_MAX })
  const marks = new Map(records.map(({ id, version, body }) => [id, { version, ...(JSON.parse(body) as Mark) }]))
  const writes: { readonly id: string; readonly mark: Mark; readonly expect: number }[] = []
  const readings = schedules.flatMap(({ id, counts }): Reading[] => {
    const missed = counts?.missed ?? 0
    const old = marks.get(id)
    const by = missed - (old?.missed ?? 0)
    if (by > 0) writes.push({ id, mark: { missed, by, at: now }, expect: old?.version ?? 0 })
    const value = by > 0 ? by : old !== undefined && now - old.at < windowMs ? old.by : 0
    if (value === 0) return []
    const ticks = value === 1 ? '1 occurrence was' : `${value} occurrences were`
    return [{ labels: { schedule: id }, value, summary: `${ticks} missed by schedule ${id}: no scheduler was alive` }]
  })
  const known = new Set(schedules.map(({ id }) => id))
  const gone = records.filter(({ id }) => !known.has(id)).map(({ id, version: expect }) => ({ id, expect }))
  const changes = [
    ...writes.map(({ id, mark, expect }) => ({ kind: MARK, id, body: JSON.stringify(mark), expect })),
    ...gone.map(({ id, expect }) => ({ kind: MARK, id, body: null, expect })),
  ]
  if (changes.length > 0) await store.putRecords(changes.slice(0, WRITES_MAX))
  return readings
}
