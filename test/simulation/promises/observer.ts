import type { Dependency, DependencyName } from '../../../src/core/dependency/dependency.js'
import type { Job } from '../../../src/core/job/job.js'
import { LIMIT_FLAWS } from '../../../src/core/partition/integrity.js'
import type { Redrive } from '../../../src/core/redrive/redrive.js'
import type { Schedule } from '../../../src/core/schedule/schedule.js'
import { dependencyId } from '../../../src/engine/dependencies/answer.js'
import type { AuditSnapshot } from '../../../src/store/integrity.js'
import type { RecordWrite } from '../../../src/store/record.js'
import type { DeferRequest } from '../../../src/store/store.js'
import type { Arguments, Verb } from '../verbs.js'
import type { World } from '../world/world.js'
import { checkLiveness } from './liveness.js'

/** One decision of a scheduler, as the store executed it. */
export interface ScheduleDecision {
  readonly at: number
  readonly from: number
  readonly until: number
}

/** The start of a job by a redrive. */
export interface Restart {
  readonly redriveId: string
  readonly jobId: string
  readonly at: number
}

/** A circuit that is open. */
export interface Opening {
  readonly at: number
  /** By name of a process: when it first showed that it knows. */
  readonly knownAt: Map<string, number>
}

const LOOK_MS = 1_000
/** An integrity check takes longer than other looks. */
const AUDIT_MS = 7_000

/** Watches circuits, schedules and redrives through the records that processes write. */
export class Observer {
  readonly #world: World
  readonly #dependencies = new Map<string, Dependency>()
  /** By id of every dependency whose circuit is open. */
  readonly #openings = new Map<string, Opening>()
  readonly #schedules = new Map<string, Schedule>()
  readonly redrives = new Map<string, Redrive>()
  /** By `job run` of every probe: the lease of the run. A process without a worker sends webhooks with the default lease. */
  readonly probes = new Map<string, number>()
  readonly decisions = new Map<string, ScheduleDecision[]>()
  readonly restarts: Restart[] = []

  constructor(world: World) {
    this.#world = world
    world.witness.onRecord = (write, by) => this.#written(write, by)
    world.witness.onDefer = (request, by) => this.#deferred(request, by)
    world.witness.onRedriven = (redriveId, jobId, reason) => this.#restarted(redriveId, jobId, reason)
  }

  /** Looks every second of the seed's time. */
  start(): void {
    const { timeline, verdict, plan } = this.#world
    const look = (): void => {
      if (verdict.isBroken) return
      checkLiveness(this.#world)
      timeline.at(timeline.now() + LOOK_MS, look)
    }
    timeline.at(timeline.now() + LOOK_MS, look)
    if (plan.limits) timeline.at(timeline.now() + AUDIT_MS, () => this.#audit())
  }

  /** Whatever claims and writes have left behind, the limits must be in order. */
  #audit(): void {
    const { timeline, verdict, stores } = this.#world
    if (verdict.isBroken) return
    const check = ({ findings }: AuditSnapshot): void => {
      const flaw = findings.find(({ what }) => LIMIT_FLAWS.some(one => one === what))
      if (flaw) verdict.broken('an integrity check finds limits in order', `${flaw.jobId}: ${flaw.detail}`)
    }
    void stores.main.audit().then(check)
    timeline.at(timeline.now() + AUDIT_MS, () => this.#audit())
  }

  /** The circuit of this job's dependency, if it has one. */
  circuitOf({ dependency, tenantId }: Pick<Job, 'dependency' | 'tenantId'>): Dependency | undefined {
    for (const one of this.#dependencies.values()) if (one.key === dependency && one.tenantId === tenantId) return one
    return undefined
  }

  dependencies(): Iterable<Dependency> {
    return this.#dependencies.values()
  }

  openingOf(dependency: DependencyName): Opening | undefined {
    return this.#openings.get(dependencyId(dependency))
  }

  schedules(): Iterable<Schedule> {
    return this.#schedules.values()
  }

  /** What has not ended yet besides jobs. */
  unfinished(): string[] {
    const redrives = [...this.redrives.values()].filter(({ state }) => state === 'canary' || state === 'running')
    const schedules = [...this.#schedules.values()].filter(({ state }) => state === 'active')
    return [
      ...redrives.map(({ id, state }) => `redrive ${id} is ${state}`),
      ...schedules.map(({ id, decidedUntil }) => `schedule ${id} is active, decided until ${decidedUntil}`),
    ]
  }

  /** A process died with this call under way. */
  died(verb: Verb, args: readonly unknown[]): void {
    const { coverage } = this.#world
    coverage.count('died in the middle')
    if (verb === 'fire' && (args as Arguments<'fire'>)[0].some(({ record }) => record.kind === 'schedule'))
      coverage.count('scheduler died between occurrence and record')
    const isOfRedrive = verb === 'putRecords' && (args as Arguments<'putRecords'>)[0][0]?.kind === 'redrive'
    const isOfJobs = verb === 'change' && this.unfinished().some(text => text.startsWith('redrive'))
    if (isOfRedrive || isOfJobs) coverage.count('redriver died in the middle')
  }

  #written({ kind, id, body }: RecordWrite, by: string): void {
    if (body === null) return
    if (kind === 'dependency') this.#dependency(id, JSON.parse(body) as Dependency, by)
    if (kind === 'schedule') this.#schedule(JSON.parse(body) as Schedule)
    if (kind === 'redrive') this.#redrive(JSON.parse(body) as Redrive, by)
  }

  #dependency(id: string, next: Dependency, by: string): void {
    const { coverage, verdict, timeline, trace, witness, plan } = this.#world
    const before = this.#dependencies.get(id)
    this.#dependencies.set(id, next)
    const { probe } = next
    if (before?.circuit !== next.circuit) {
      trace.say(timeline.now(), by, `circuit ${id} is ${next.circuit}`, {
        round: next.round,
        openUntil: next.openUntil,
      })
      if (next.circuit === 'open') this.#openings.set(id, { at: timeline.now(), knownAt: new Map() })
      else this.#openings.delete(id)
      if (next.circuit === 'open') coverage.count('circuit opened')
      if (before?.circuit === 'open') coverage.count('circuit closed')
    }
    if (probe && !isSameProbe(before?.probe, probe)) {
      trace.say(timeline.now(), by, `probe of ${id}`, probe.jobId, `run ${probe.run}`)
      coverage.count('probe sent')
      this.probes.set(`${probe.jobId} ${probe.run}`, witness.model.row(probe.jobId)?.lease?.ms ?? plan.leaseMs)
      const isOut = before?.probe && timeline.now() < before.probe.until
      verdict.expect(
        !isOut,
        'an open circuit lets one probe through',
        () => `${id}: ${probe.jobId} and ${before!.probe!.jobId}`,
      )
    } else if (before?.probe && !probe && this.#isGone(before.probe.workerId))
      coverage.count('probe lost with its worker')
  }

  /** A process that knows of an open circuit defers the jobs that fall due, and keeps doing so until it closes. */
  #deferred({ dependency: key, tenantId, from }: DeferRequest, by: string): void {
    if (!('dueWithinMs' in from)) return
    const knownAt = this.openingOf(typeof tenantId === 'string' ? { key, tenantId } : { key })?.knownAt
    if (knownAt && !knownAt.has(by)) knownAt.set(by, this.#world.timeline.now())
  }

  #isGone(workerId: string): boolean {
    return this.#world.hostOf(workerId)?.isGone ?? false
  }

  #schedule(next: Schedule): void {
    const { coverage, timeline } = this.#world
    const before = this.#schedules.get(next.id)
    this.#schedules.set(next.id, next)
    if (!before || next.decidedUntil === before.decidedUntil) return
    const decisions = this.decisions.get(next.id) ?? []
    decisions.push({ at: timeline.now(), from: before.decidedUntil, until: next.decidedUntil })
    this.decisions.set(next.id, decisions)
    coverage.count('occurrence made a job', next.counts.fired - before.counts.fired)
    coverage.count('occurrence skipped', next.counts.skipped - before.counts.skipped)
    coverage.count('occurrence missed', next.counts.missed - before.counts.missed)
  }

  #redrive(next: Redrive, by: string): void {
    const { coverage, timeline, trace } = this.#world
    const before = this.redrives.get(next.id)
    this.redrives.set(next.id, next)
    if (before && before.lockedBy !== undefined && before.lockedBy !== next.lockedBy)
      coverage.count('redrive taken over')
    if (before?.state === next.state) return
    trace.say(timeline.now(), by, `redrive ${next.id} is ${next.state}`, next.why ?? '')
    if (next.state === 'done' || next.state === 'stopped') coverage.count(`redrive ${next.state}`)
  }

  #restarted(redriveId: string, jobId: string, reason: Job['reason']): void {
    const { timeline, verdict, witness, plan } = this.#world
    const twin = this.restarts.find(one => one.redriveId === redriveId && one.jobId === jobId)
    if (twin) verdict.broken('a redrive starts a job once', `${redriveId} started ${jobId} again`)
    this.restarts.push({ redriveId, jobId, at: timeline.now() })
    const redrive = this.redrives.get(redriveId)
    const isLeftAlone = reason === 'discarded' || (reason === 'unknown-outcome' && !redrive?.force)
    verdict.expect(
      !isLeftAlone,
      'a redrive leaves alone what it must',
      () => `${redriveId} started ${jobId}: ${reason}`,
    )
    const mine = this.restarts.filter(one => one.redriveId === redriveId)
    // A call that was executed long after it was sent may belong to a process that another one has replaced since.
    if (plan.swarm.slow > 0 || redrive?.state !== 'canary' || mine.length <= redrive.canary) return
    // A job that another redrive or a person has started again since is not its canary any more.
    const still = mine.filter(one => witness.model.row(one.jobId)?.job.redriveId === redriveId)
    verdict.expect(
      still.length <= redrive.canary,
      'a redrive waits for its canary',
      () => `${redriveId}: ${still.length}`,
    )
  }
}

function isSameProbe(a: Dependency['probe'], b: Dependency['probe']): boolean {
  return a?.jobId === b?.jobId && a?.run === b?.run && a?.until === b?.until
}
