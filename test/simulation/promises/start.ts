import type { Job } from '../../../src/core/job/job.js'
import type { ModelRow } from '../../model/model.js'
import type { Start } from '../ledger.js'
import type { Host } from '../world/host.js'
import { policyOf } from '../world/plan.js'
import type { World } from '../world/world.js'

/** Checked when a handler starts, against the true state of its job. */
export function checkStart(world: World, start: Start, host: Host): void {
  const { verdict, witness, ledger } = world
  const { id, run, generation, at } = start
  const row = witness.model.row(id)
  const who = `${start.by.name} run ${run} of #${start.ref}`
  if (!row) {
    verdict.broken('no job exists that no client enqueued', `${who}: the job does not exist`)
    return
  }
  const { job, lease } = row

  const before = ledger.startsOf(id)
  const twin = before.find(other => other.run === run)
  if (twin) verdict.broken('each run has one lease holder', `${who}: ${twin.by.name} has started this run before`)
  const once = job.delivery === 'at-most-once' && before.some(other => other.generation === generation)
  if (once) verdict.broken('at most once starts at most once', `${who}: it had started before`)
  const ended = row.attempts.some(({ record }) => record.generation === generation && record.status === 'succeeded')
  if (ended) verdict.broken('a completed job never runs again', `${who}: it has succeeded`)

  const isHolder = job.run === run && job.generation === generation && lease && world.hostOf(lease.workerId) === host
  if (!isHolder) {
    const holder = lease ? `${lease.workerId} has run ${job.run}` : `it is ${job.state}`
    verdict.broken('a handler starts only under a held lease', `${who}: ${holder}`)
  } else if (lease.until < at) {
    verdict.broken('a handler starts only under a held lease', `${who}: it expired ${at - lease.until} ms ago`)
  } else {
    const behindBegin = job.delivery === 'at-most-once' || job.suspect
    const hasBegun = job.begun || !isLast(world, start)
    verdict.expect(hasBegun, 'the last permitted attempt begins before it starts', () => `${who}: it has not begun`)
    verdict.expect(job.begun || !behindBegin, 'at most once starts at most once', () => `${who}: it has not begun`)
    const deadline = job.deadline ?? Number.POSITIVE_INFINITY
    const late = (): string => `${who}: ${at - deadline} ms after its deadline`
    verdict.expect(at <= deadline, 'a handler starts within its times', late)
    verdict.expect(job.runAt <= at, 'a handler starts within its times', () => `${who}: before its time`)
    const failedAt = lastFailure(row)
    const counted = (): string => `${who}: it counts from ${job.failedAt} instead of ${failedAt}`
    verdict.expect(job.failedAt === failedAt, 'the latency of a retry counts from its last failure', counted)
    checkCircuit(world, start, job, who)
    checkVersion(world, start, host, who)
    if (world.jobs[start.ref]!.name !== 'pulled') checkAlone(world, start, lease.workerId, who)
  }
}

/** How old the view of a process may be that starts a job. */
const STALE_MS = 3_000

/** Where every process reaches the store, a circuit that has been open for a while lets only its probe through. */
function checkCircuit(
  { observer, plan, verdict, healedAt }: World,
  { at, run, id }: Start,
  job: Job,
  who: string,
): void {
  const circuit = job.dependency === undefined ? undefined : observer.circuitOf(job)
  if (circuit?.circuit !== 'open' || (plan.mood !== 'crashes' && healedAt === undefined)) return
  const isProbe = circuit.probe?.jobId === id && circuit.probe.run === run
  // A process that stood still until now has not looked yet.
  const known = Math.max(circuit.changedAt, healedAt ?? 0)
  const isNew = at - known < STALE_MS + 20 * plan.swarm.latencyMs
  verdict.expect(isProbe || isNew, 'an open circuit holds its jobs back', () => `${who}: ${circuit.key} is open`)
}

function checkVersion({ verdict, born, jobs, isHealed }: World, { ref }: Start, host: Host, who: string): void {
  const isOld = !isHealed && born.find(process => process.host === host)?.plan?.isOld
  const isUnknown = isOld && jobs[ref]!.future !== undefined
  verdict.expect(!isUnknown, 'an old process hands back what it does not understand', () => `${who}: it runs it`)
}

/** The end of the last failed run of this generation, if no handler has started since. */
function lastFailure({ job, attempts }: ModelRow): number | undefined {
  const runs = attempts.map(({ record }) => record).filter(({ generation }) => generation === job.generation)
  const last = runs.findLast(({ status, decision }) => status !== 'deferred' && !/it had not begun/.test(decision.why))
  return last && ['failed', 'timed-out', 'lost'].includes(last.status) ? last.finishedAt : undefined
}

/** The last attempt that the policy permits. */
function isLast({ jobs }: World, { ref, attempt }: Start): boolean {
  const { maxRetries, crashes } = policyOf(jobs[ref]!)
  return attempt > maxRetries && crashes !== 'forgive'
}

/** A suspect on its last attempt shares its worker with no other handler, whichever of them starts first. */
function checkAlone(world: World, start: Start, workerId: string, who: string): void {
  const { verdict, witness, ledger, jobs } = world
  const needsWorker = (one: Start): boolean => (witness.model.row(one.id)?.job.suspect ?? false) && isLast(world, one)
  for (const { job, lease } of witness.model.rows) {
    if (job.id === start.id || lease?.workerId !== workerId) continue
    const other = ledger.startsOf(job.id).find(({ run }) => run === job.run)
    if (!other || other.end || IGNORES_ABORT.has(jobs[other.ref]!.behaviour.does)) continue
    const isShared = needsWorker(start) || needsWorker(other)
    verdict.expect(!isShared, 'a suspect on its last attempt runs alone', () => `${who}: beside #${other.ref}`)
  }
}

/** Such a handler goes on after it has lost its slot. */
const IGNORES_ABORT: ReadonlySet<string> = new Set(['ignore abort', 'overrun'])
