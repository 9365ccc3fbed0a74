import { isDeepStrictEqual } from 'node:util'
import { DELIVERIES } from '../../../src/core/webhook/delivery.js'
import type { Page, PageRequest, Store } from '../../../src/store/store.js'
import type { Process } from '../world/process.js'
import type { World } from '../world/world.js'
import { checkDeliveries } from './deliveries.js'
import { checkEnqueues } from './enqueues.js'
import { checkRuns, type StoredJob } from './runs.js'
import { checkSchedules } from './schedules.js'
import { checkTenants } from './tenants.js'

const PAGE = 200

/** Checks the end state: compares the records of clients and handlers with the store. */
export async function checkEnd(world: World): Promise<void> {
  const stored = await world.timeline.settled(readAll(world.stores.main))
  checkReference(world, stored)
  const jobs = stored.map(({ job }) => job)
  const own = stored.filter(({ job }) => job.queue !== DELIVERIES)
  checkEnqueues(
    world,
    own.map(({ job }) => job),
  )
  for (const one of own) checkRuns(world, one)
  checkSchedules(world, jobs)
  checkDeliveries(world, jobs)
  checkTenants(world, own)
  for (const process of world.living()) checkStats(world, process, stored)
  if (world.verdict.isBroken) return
  await world.stopAll()
  for (const { job, lease } of world.witness.model.rows) {
    if (lease) world.verdict.broken('a clean stop leaves nothing behind', `${job.id} is held by ${lease.workerId}`)
  }
}

async function readAll(store: Store): Promise<StoredJob[]> {
  const jobs = await all(page => store.list({}, page))
  const stored: StoredJob[] = []
  for (const job of jobs) {
    const rows = await all(page => store.history(job.id, page))
    stored.push({ job, rows: rows.reverse(), logs: await all(page => store.logs(job.id, page)) })
  }
  return stored
}

async function all<T>(read: (page: PageRequest) => Promise<Page<T>>): Promise<T[]> {
  const found: T[] = []
  let cursor: string | undefined
  do {
    const page = await read({ limit: PAGE, ...(cursor !== undefined && { cursor }) })
    found.push(...page.data)
    cursor = page.next
  } while (cursor !== undefined)
  return found
}

/** Compares the final rows with the reference, not only each response. */
function checkReference({ witness, verdict }: World, stored: readonly StoredJob[]): void {
  const { rows } = witness.model
  if (rows.length !== stored.length) {
    verdict.broken('the store answers as the reference does', `${stored.length} jobs instead of ${rows.length}`)
  }
  const byId = new Map(stored.map(one => [one.job.id, one]))
  for (const { job, attempts, logs } of rows) {
    const one = byId.get(job.id)
    const history = attempts.map(({ record }) => record)
    const lines = [...logs.values()]
      .sort((a, b) => a.run - b.run || a.line - b.line)
      .map(({ line: _, ...rest }) => rest)
    for (const [what, expected, found] of [
      ['job', job, one?.job],
      ['history', history, one?.rows],
      ['log', lines, one?.logs],
    ] as const) {
      if (isDeepStrictEqual(expected, found)) continue
      const seen = `${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`
      verdict.broken('the store answers as the reference does', `${what} of ${job.id}: ${seen}`)
    }
  }
}

/** A worker that got every response has counted exactly what the rows say. */
function checkStats({ plan, verdict }: World, { worker, host }: Process, stored: readonly StoredJob[]): void {
  const stats = worker!.getStats()
  const idle = { running: stats.running, buffered: stats.buffered }
  if (!isDeepStrictEqual(idle, { running: 0, buffered: 0 })) {
    verdict.broken('everything ends once the faults are over', `${host.name} holds ${JSON.stringify(idle)}`)
  }
  // After an unknown error a worker drops an outcome that may have been stored.
  if (plan.swarm.strange > 0) return
  const rows = stored.flatMap(one => one.rows).filter(row => row.workerId === worker!.id)
  const count = (status: string): number => rows.filter(row => row.status === status).length
  const expected = {
    succeeded: count('succeeded'),
    failed: count('failed'),
    timedOut: count('timed-out'),
    snoozed: count('snoozed'),
    released: count('released'),
    cancelled: count('cancelled'),
  }
  const { succeeded, failed, timedOut, snoozed, released, cancelled } = stats
  const counted = { succeeded, failed, timedOut, snoozed, released, cancelled }
  if (isDeepStrictEqual(expected, counted)) return
  const seen = `counted ${JSON.stringify(counted)}, rows ${JSON.stringify(expected)}`
  verdict.broken('statistics agree with the rows', `${host.name} ${seen}`)
}
