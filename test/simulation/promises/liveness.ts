import type { ModelRow } from '../../model/model.js'
import { payloadOf } from '../world/rolling.js'
import type { World } from '../world/world.js'
import type { Opening } from './observer.js'

type Lease = NonNullable<ModelRow['lease']>

/** The longest that a process waits between two looks for the jobs of dead workers. */
const SWEEP_MAX_MS = 5_000
/** The longest wait before a failed call is repeated. */
const RETRY_MS = 5_000
/** A probe whose run has ended without a report is replaced after this time. */
const REPORT_MS = 2_000
/** The longest that a process waits between two looks for circuits that its own jobs do not use. */
const CIRCUITS_MS = 15_000
/** Another process takes over a redrive whose lock has expired, when it next looks. */
const REDRIVE_MS = 5_000 + 15_000
/** How late an occurrence may be decided while schedulers run. */
const SCHEDULE_MS = 3_000

/**
 * Nothing waits longer than it must for something that died. It is known what must be while only processes fail, and
 * once the faults are over.
 */
export function checkLiveness(world: World): void {
  const readyAt = readyAtOf(world)
  if (readyAt === undefined) return
  checkLeases(world, readyAt, readyAtOf(world, true))
  checkProbes(world, readyAt)
  if (!world.isHealed) return
  checkRedrives(world, readyAt)
  checkSchedules(world, readyAt)
}

/** Since when some process may take jobs from dead ones; `isNewer`: also the jobs that an older version does not know. */
function readyAtOf(world: World, isNewer = false): number | undefined {
  const since = calmSince(world)
  if (since === undefined) return undefined
  const times = world.living().flatMap(({ host, plan: own, stopping }) => {
    if (!own || stopping || (isNewer && own.isOld && !world.isHealed)) return []
    return [Math.max(host.bornAt, since) + own.leaseMs + sweepMs(own.leaseMs)]
  })
  return times.length === 0 ? undefined : Math.min(...times)
}

/** Since when only processes fail. */
function calmSince({ plan, healedAt }: World): number | undefined {
  if (plan.mood === 'crashes') return 0
  if (healedAt === undefined) return undefined
  // A call may have been sent before, and be answered this late; one that failed is repeated within this time.
  const lateMs = plan.swarm.slow + plan.swarm.slowSweeps > 0 ? 2 * plan.leaseMs : 0
  return healedAt + lateMs + RETRY_MS
}

const sweepMs = (leaseMs: number): number => Math.min(SWEEP_MAX_MS, leaseMs / 3)

/** A step of a loop makes several calls. */
const slackMs = ({ plan }: World): number => 1_000 + 20 * plan.swarm.latencyMs

function checkLeases(world: World, readyAt: number, newerReadyAt: number | undefined): void {
  const { witness, timeline, verdict, plan } = world
  const now = timeline.now()
  for (const { job, lease } of witness.model.rows) {
    if (!lease) continue
    const host = world.hostOf(lease.workerId)
    if (!host?.isGone) continue
    const isNewer = plan.jobs[payloadOf(job.payload).ref]?.future !== undefined
    const sweepsAt = isNewer ? newerReadyAt : readyAt
    if (sweepsAt === undefined) continue
    const deadAt = Math.max(seemsDeadAt(world, lease), host.goneAt! + lease.ms)
    const until = Math.max(deadAt, sweepsAt) + sweepMs(plan.leaseMs) + slackMs(world)
    if (now <= until) continue
    const what = `#${payloadOf(job.payload).ref} ${job.id} is held by ${host.name}, which died ${now - host.goneAt!} ms ago, with a lease of ${lease.ms} ms`
    verdict.broken('nothing dead blocks a job longer than a lease and a sweep', what)
  }
}

/**
 * A worker seems dead when all of its leases have expired, or one of them a full lease time ago: a renewal that it sent
 * may be executed long after its death.
 */
function seemsDeadAt({ witness }: World, { workerId, until, ms }: Lease): number {
  const own = witness.model.rows.flatMap(({ lease }) => (lease?.workerId === workerId ? lease.until : []))
  return Math.min(Math.max(...own), until + ms)
}

function checkProbes(world: World, readyAt: number): void {
  const { observer, timeline, verdict, plan } = world
  const now = timeline.now()
  for (const dependency of observer.dependencies()) {
    const { key, tenantId, circuit, probe } = dependency
    if (circuit !== 'open' || !probe || now >= probe.until) continue
    const host = world.hostOf(probe.workerId)
    if (!host?.isGone) continue
    const leaseMs = Math.max(plan.leaseMs, observer.probes.get(`${probe.jobId} ${probe.run}`)!)
    const sweptAt = Math.max(host.goneAt!, readyAt) + leaseMs + 2 * sweepMs(plan.leaseMs)
    const until = Math.max(sweptAt, knownAtOf(world, observer.openingOf(dependency)!)) + REPORT_MS + 2 * slackMs(world)
    if (now <= until) continue
    const what = `${key} of ${tenantId} waits for ${probe.jobId}, whose worker died ${now - host.goneAt!} ms ago`
    verdict.broken('a lost probe is replaced', what)
  }
}

/**
 * Since when a process that lives knows of the open circuit. The processes whose jobs use it know at once, but all of
 * them may have died. Another one learns it when it starts, or with its next look at the circuits that it does not use.
 */
function knownAtOf(world: World, { at, knownAt }: Opening): number {
  const from = Math.max(at, calmSince(world)!)
  const times = world.living().flatMap(({ host, stopping }) => {
    if (stopping) return []
    return knownAt.get(host.name) ?? (host.bornAt >= from ? host.bornAt : from + CIRCUITS_MS)
  })
  return Math.min(...times)
}

function checkRedrives(world: World, readyAt: number): void {
  const { observer, timeline, verdict, witness } = world
  const now = timeline.now()
  for (const { id, state } of observer.redrives.values()) {
    if (state !== 'canary' && state !== 'running') continue
    const { updatedAt } = witness.model.records.get(`redrive ${id}`)!
    if (now <= Math.max(updatedAt, readyAt) + REDRIVE_MS + slackMs(world)) continue
    const what = `redrive ${id} has not moved for ${now - updatedAt} ms`
    verdict.broken('nothing dead blocks a job longer than a lease and a sweep', what)
  }
}

function checkSchedules(world: World, readyAt: number): void {
  const { observer, timeline, verdict, plan } = world
  const now = timeline.now()
  for (const { id, state, decidedUntil, timing } of observer.schedules()) {
    const own = plan.features.schedules.find(one => one.id === id)
    if (state !== 'active' || !own) continue
    const anchor = timing.anchor!
    const next = anchor + (Math.floor(Math.max(0, decidedUntil - anchor) / own.everyMs) + 1) * own.everyMs
    if (next > (timing.endAt ?? Number.POSITIVE_INFINITY)) continue
    if (now <= Math.max(next, readyAt) + SCHEDULE_MS + slackMs(world)) continue
    verdict.broken('no occurrence is missed beyond its rule', `${id}: no decision ${now - next} ms after its time`)
  }
}
