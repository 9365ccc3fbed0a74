import { discard } from '../../../src/core/job/changes.js'
import type { ModelRow } from '../../model/model.js'
import { Coverage } from '../coverage.js'
import { Ledger, type Start } from '../ledger.js'
import { Observer } from '../promises/observer.js'
import { checkStart } from '../promises/start.js'
import { Trace } from '../trace.js'
import type { Verb } from '../verbs.js'
import { Verdict } from '../verdict.js'
import { Witness } from '../witness.js'
import { Chance } from './chance.js'
import { Clients } from './clients.js'
import { Wire } from './faulty-store.js'
import type { RunFacts, Stage } from './handlers.js'
import { Host } from './host.js'
import { LIMITED } from './limits.js'
import { Network } from './network.js'
import { type Chaos, type JobPlan, type Plan, planOf, QUEUES } from './plan.js'
import { type Process, startProcess } from './process.js'
import { PullWorker } from './pull-worker.js'
import { setUp } from './set-up.js'
import { openStores, type Stores } from './stores.js'
import { Timeline } from './timeline.js'

/** Enough for every lost lease, backoff and strike that a plan can contain. */
const HEALED_MAX_MS = 45 * 60_000
const SKEW_MAX_MS = 600_000
const RESPAWN_HEALED_MS = 1_000
const OPERATOR_EVERY_MS = 10_000
/** Longer than the longest wait before a call is retried, and than a handler that is given up on. */
const CALM_AFTER_MS = 12_000
/** Longer than any poll, and than the time that a handler has to react to its abort. */
const QUIET_MS = 6_000

/** The world of one seed: the processes, the store between them, and the faults. */
export class World implements Stage {
  readonly plan: Plan
  readonly jobs: readonly JobPlan[]
  readonly timeline = new Timeline()
  /** Before any time has passed. */
  readonly startAt = this.timeline.now()
  readonly ledger = new Ledger()
  readonly verdict = new Verdict()
  readonly coverage = new Coverage()
  readonly trace = new Trace(this.timeline.now())
  readonly stores: Stores
  readonly witness: Witness
  readonly #wire: Wire
  readonly #chance: Chance
  readonly #clients: Clients
  /** By slot: workers first, then clients. */
  readonly #processes: (Process | undefined)[] = []
  readonly born: Process[] = []
  readonly network: Network
  readonly observer: Observer
  /** Pull workers have no engine; each slot has one at a time. */
  readonly #pullers: Host[] = []
  /** By the id of a worker: where it runs. */
  readonly #hosts = new Map<string, Host>()
  #healedAt: number | undefined

  constructor(seed: number) {
    this.plan = planOf(seed)
    this.jobs = this.plan.jobs
    this.#chance = new Chance(seed, 5)
    this.stores = openStores(this.plan.store, this.timeline, seed)
    this.witness = new Witness(this.timeline, this.ledger, this.verdict, this.coverage, this.trace)
    this.#wire = new Wire(this.timeline, this.witness, new Chance(seed, 6), this.coverage, this.plan)
    this.#wire.onLost = (host, verb) => this.#lost(host, verb)
    this.#wire.onDeath = (host, verb, args) => this.#died(host, verb, args)
    this.network = new Network({
      ...{ timeline: this.timeline, chance: new Chance(seed, 10), features: this.plan.features },
      ...{ ledger: this.ledger, coverage: this.coverage },
    })
    this.observer = new Observer(this)
    // The engine has workers of its own, for deliveries.
    this.witness.onClaim = (workerId, by) => {
      if (this.#hosts.has(workerId)) return
      const process = this.born.find(({ host }) => host.name === by)
      if (process) this.#hosts.set(workerId, process.host)
    }
    this.witness.isCalm = this.plan.mood === 'crashes'
    if (this.plan.mood === 'crashes' || this.plan.mood === 'outages')
      this.witness.onSwept = (workerId, jobId) => this.#swept(workerId, jobId)
    const { timeline, witness, verdict, coverage, trace } = this
    this.#clients = new Clients({
      ...{ timeline, witness, verdict, coverage, trace, stage: this, chance: new Chance(seed, 7) },
      process: client => this.#usable(this.#processes[this.plan.workers.length + client]),
      anyProcess: () => this.#usable(this.#chance.pick(this.#processes)),
    })
  }

  /** Runs the faults, heals, and goes on until every job has ended. */
  async live(): Promise<void> {
    // The first one in a process loads the driver, which takes real time: no time of the seed may pass meanwhile.
    await this.stores.main.migrate()
    const { workers, clients, script, chaos, faultMs, features } = this.plan
    await this.#setUp()
    this.#wire.start()
    this.observer.start()
    for (const slot of features.pullers.keys()) this.#spawnPuller(slot)
    for (let slot = 0; slot < workers.length + clients; slot++) this.#spawn(slot)
    this.#clients.play(script)
    const startAt = this.timeline.now()
    for (const event of chaos) this.timeline.at(startAt + event.at, () => this.#befall(event))
    await this.#until(startAt + faultMs)
    if (this.verdict.isBroken) return
    this.#heal()
    await this.#until(this.timeline.now() + HEALED_MAX_MS, () => this.isDone())
    if (this.verdict.isBroken || !this.#hasEnded()) return
    // Nothing may change any more.
    const quietSince = this.timeline.now()
    // By then, the last of the late responses has arrived too.
    const slowUntil = startAt + faultMs + 2 * this.plan.leaseMs
    let isQuiet = false
    for (let from = Math.max(quietSince, slowUntil); !isQuiet; from = this.timeline.now()) {
      await this.#until(from + this.plan.leaseMs + QUIET_MS)
      // An alert may have fired meanwhile, or a late job begun: they end too, and then their answers need time. Some
      // process nearly always asks for work, so a call on its way to the store alone is no reason to wait again.
      isQuiet = this.#isEverythingOver()
      await this.#until(this.timeline.now() + HEALED_MAX_MS, () => {
        isQuiet &&= this.#isEverythingOver()
        return this.isDone()
      })
      if (this.verdict.isBroken || !this.#hasEnded()) return
    }
    for (const { host } of this.living()) {
      const isAlive = this.witness.claimedAt.get(host.name)! >= quietSince
      if (!isAlive) this.verdict.broken('a living worker goes on claiming', `${host.name} no longer asks for work`)
    }
  }

  /** Stops every worker that is still running, as an operator would. */
  async stopAll(): Promise<void> {
    const workers = this.#processes.filter(process => process?.worker)
    for (const process of workers) this.#stop(process!)
    const graceMs = Math.max(...this.plan.workers.map(worker => worker.graceMs))
    const isStopped = (): boolean => workers.every(process => process!.host.isGone)
    await this.#until(this.timeline.now() + graceMs + 1_000 + this.plan.leaseMs + 1_000, isStopped)
    const late = workers.filter(process => !process!.host.isGone).map(process => process!.host.name)
    if (late.length > 0) this.verdict.broken('a clean stop leaves nothing behind', `${late.join(', ')} did not stop`)
  }

  /** Ends every process and deletes every file, whatever happened. */
  async end(): Promise<void> {
    for (const { host } of this.born) host.crash()
    await this.timeline.settled(this.stores.close())
  }

  /** Workers that got every response, so that they know what they did. */
  living(): Process[] {
    return this.#processes.filter((process): process is Process => process?.worker !== undefined && process.host.isUp)
  }

  isDone(): boolean {
    return this.#clients.isDone && this.#wire.underway === 0 && this.#isEverythingOver()
  }

  #isEverythingOver(): boolean {
    return this.witness.model.rows.every(({ job }) => isTerminal(job.state)) && this.observer.unfinished().length === 0
  }

  #hasEnded(): boolean {
    const live = this.witness.model.rows.filter(({ job }) => !isTerminal(job.state))
    for (const { job } of live) {
      const { id, state, attempt, run, runAt } = job
      const facts = JSON.stringify({ id, state, attempt, run, runAtInMs: runAt - this.timeline.now() })
      this.verdict.broken('everything ends once the faults are over', `${HEALED_MAX_MS} ms after healing: ${facts}`)
    }
    for (const facts of this.observer.unfinished()) {
      this.verdict.broken('everything ends once the faults are over', `${HEALED_MAX_MS} ms after healing: ${facts}`)
    }
    return !this.verdict.isBroken
  }

  #until(until: number, isEnough: () => boolean = () => false): Promise<void> {
    return this.timeline.run(until, () => this.verdict.isBroken || isEnough())
  }

  #say(who: string, what: string, ...details: unknown[]): void {
    this.trace.say(this.timeline.now(), who, what, ...details)
  }

  // Processes

  #spawn(slot: number): void {
    const { workers, seed, swarm } = this.plan
    const plan = workers[slot]
    const name = `${plan ? 'w' : 'c'}${plan ? slot : slot - workers.length}.${this.born.length}`
    const skewMs = swarm.skewed ? this.#chance.between(-SKEW_MAX_MS, SKEW_MAX_MS) : 0
    const host = new Host(this.timeline, name, skewMs)
    this.#say(name, 'starts', { skewMs })
    const process = startProcess({
      ...{ slot, host, stage: this, trace: this.trace, now: () => this.timeline.now() },
      onStuck: () => this.coverage.count('handler ignored its abort'),
      store: this.#wire.storeOf(host, this.stores.connect(), plan?.isOld && !this.isHealed),
      newEgress: this.network.egressOf(host),
      hasAlerts: this.plan.features.alerts,
      hasLimits: this.plan.limits !== undefined,
      diceSeed: seed * 1_000 + this.born.length,
      ...(plan && { plan }),
      ...(plan?.unknown && !this.isHealed && { unknown: plan.unknown }),
    })
    this.born.push(process)
    this.#processes[slot] = process
    if (process.worker) this.#hosts.set(process.worker.id, host)
  }

  get isHealed(): boolean {
    return this.#healedAt !== undefined
  }

  get healedAt(): number | undefined {
    return this.#healedAt
  }

  /** Where this worker runs, or ran. */
  hostOf(workerId: string): Host | undefined {
    return this.#hosts.get(workerId)
  }

  mayBeExplainedAs(_id: string, because: string): boolean {
    return because === 'no-worker' || because === 'no-handler'
  }

  isFirstProbe({ id, run }: RunFacts): boolean {
    const probes = [...this.observer.probes.keys()].filter(probe => probe.startsWith(id))
    return probes.length === 1 && probes[0] === `${id} ${run}`
  }

  effectBegins(id: string, name: string): void {
    const recorded = this.witness.model.row(id)?.effects.get(name)?.result
    if (recorded === undefined) return
    this.verdict.broken('an effect is remembered once recorded', `${id}: ${name} runs again, recorded as ${recorded}`)
  }

  effectFails(host: Host, id: string, error: unknown): void {
    const code = (error as { code?: string }).code
    if (code !== 'STORE_UNAVAILABLE' && code !== 'STORE_UNKNOWN') return
    const lease = this.witness.model.row(id)?.lease
    const isHeld = lease && this.hostOf(lease.workerId) === host && lease.until > this.timeline.now()
    if (isHeld) this.verdict.broken('job.once outlasts an outage', `${id}: ${code} while ${host.name} holds its lease`)
  }

  /** Endpoints and schedules exist before the first job. */
  async #setUp(): Promise<void> {
    const host = new Host(this.timeline, 'setup', 0)
    const store = this.#wire.storeOf(host, this.stores.connect())
    await this.timeline.settled(
      setUp({ ...this.plan, startAt: this.startAt, host, store, newEgress: this.network.egressOf(host) }),
    )
    host.crash()
  }

  #spawnPuller(slot: number): void {
    const host = new Host(this.timeline, `p${slot}.${this.#hosts.size}`, 0)
    const id = `puller-${host.name}`
    this.#hosts.set(id, host)
    this.#pullers[slot] = host
    const puller = new PullWorker({
      ...{ id, host, plan: this.plan.features.pullers[slot]!, seed: this.plan.seed * 1_000 + 500 + this.#hosts.size },
      ...{ timeline: this.timeline, chance: new Chance(this.plan.seed, 11), stage: this, verdict: this.verdict },
      ...{ trace: this.trace, isCalm: () => this.isHealed },
      server: () => this.#usable(this.#chance.pick(this.#processes)),
    })
    void puller.start()
  }

  /** A call of it was executed, and it does not live to learn it. */
  #died(host: Host, verb: Verb, args: readonly unknown[]): void {
    this.observer.died(verb, args)
    this.crash(host)
  }

  #usable(process: Process | undefined): Process | undefined {
    return process && !process.host.isGone && !process.stopping ? process : undefined
  }

  #respawnIn(slot: number, ms: number): void {
    this.timeline.at(this.timeline.now() + (this.isHealed ? RESPAWN_HEALED_MS : ms), () => this.#respawn(slot))
  }

  #respawn(slot: number): void {
    if (this.#processes[slot]!.host.isGone) this.#spawn(slot)
  }

  /** A handler crashed it, or a fault did. */
  crash(host: Host): void {
    const process = this.born.find(one => one.host === host)
    if (host.isGone) return
    this.coverage.count('process crashed')
    this.#say(host.name, 'CRASHES')
    host.crash()
    const slot = this.#pullers.indexOf(host)
    if (slot >= 0) this.timeline.at(this.timeline.now() + 2_000, () => this.#spawnPuller(slot))
    if (process) this.#respawnIn(process.slot, this.#chance.between(0, 10_000))
  }

  #stop(process: Process, respawnMs?: number): void {
    const { host, worker, plan } = process
    const askedAt = this.timeline.now()
    this.#say(host.name, 'stops')
    process.stopping = process.chronos.close()
    void process.stopping.then(() => {
      if (host.isGone) return
      this.#say(host.name, 'has stopped')
      if (worker && plan && this.timeline.now() - askedAt < plan.leaseMs) this.#checkLeft(worker.id, host.name)
      host.crash()
      if (respawnMs !== undefined) this.#respawnIn(process.slot, respawnMs)
    })
  }

  /** If it stopped before it could have given up on the store, it must have released every job. */
  #checkLeft(workerId: string, name: string): void {
    if (this.plan.swarm.strange > 0) return
    const now = this.timeline.now()
    const isHeld = ({ job, lease }: ModelRow): boolean =>
      lease?.workerId === workerId && lease.until >= now && !this.#wire.unheard.has(`${job.id} ${job.run}`)
    const left = this.witness.model.rows.filter(isHeld).map(({ job }) => job.id)
    if (left.length > 0) this.verdict.broken('a clean stop leaves nothing behind', `${name} still holds ${left}`)
  }

  #swept(workerId: string, jobId: string): void {
    const worker = this.born.find(process => process.worker?.id === workerId)
    if (!worker?.host.isUp) return
    this.verdict.broken('a living worker keeps its leases', `${worker.host.name} was well, and lost ${jobId}`)
  }

  // Faults

  #befall({ kind, ms }: Chaos): void {
    if (kind === 'outage') {
      this.coverage.count('store away')
      this.#say('store', `goes away for ${ms} ms`)
      this.#wire.cut(ms)
      return
    }
    if (this.#pullers.length > 0 && (kind === 'crash' || kind === 'pause') && this.#chance.is(0.4)) {
      this.#befallPuller(this.#chance.pick(this.#pullers), kind, ms)
      return
    }
    const process = this.#usable(kind === 'pause' ? this.#busiest() : this.#chance.pick(this.#processes))
    if (process?.host.isUp) this.#befallProcess(process, kind, ms)
  }

  /** A pause is worst for a process that has running jobs. */
  #busiest(): Process | undefined {
    const busy = this.living().filter(({ worker }) => worker!.getStats().running > 0)
    return this.#chance.pick(busy.length > 0 ? busy : this.#processes)
  }

  #befallProcess(process: Process, kind: Exclude<Chaos['kind'], 'outage'>, ms: number): void {
    const { host } = process
    switch (kind) {
      case 'crash':
        this.crash(host)
        break
      case 'pause':
        this.coverage.count('process paused')
        this.#say(host.name, `stands still for ${ms} ms`)
        host.pause()
        this.timeline.at(this.timeline.now() + ms, () => this.#resume(host))
        break
      case 'stop':
        this.coverage.count('process stopped')
        this.#stop(process, ms)
        break
      case 'jump':
        this.coverage.count('clock set forward')
        this.#say(host.name, `has its clock set forward by ${ms} ms`)
        host.jump(ms)
        break
    }
  }

  #befallPuller(host: Host, kind: 'crash' | 'pause', ms: number): void {
    if (kind === 'crash') {
      this.crash(host)
      return
    }
    this.coverage.count('process paused')
    host.pause()
    this.timeline.at(this.timeline.now() + ms, () => this.#resume(host))
  }

  /** Faults often come together. */
  #lost(host: Host, verb: Verb): void {
    const { lossIsOutage, lossIsStop } = this.plan.swarm
    // Clients see the responses, so a lost one of theirs is worth more.
    if (this.#chance.is(verb === 'enqueue' ? 5 * lossIsOutage : lossIsOutage))
      this.#befall({ at: 0, kind: 'outage', ms: this.#chance.between(1_000, 8_000) })
    const process = this.#usable(this.born.find(one => one.host === host))
    if (verb !== 'claim' || !process?.host.isUp || !this.#chance.is(lossIsStop)) return
    this.timeline.at(this.timeline.now() + this.#chance.between(0, 200), () => {
      if (this.#usable(process)?.host.isUp && !this.isHealed) this.#befallProcess(process, 'stop', 1_000)
    })
  }

  #resume(host: Host): void {
    if (!host.isPaused) return
    this.#say(host.name, 'goes on')
    host.resume(this.#chance)
  }

  #heal(): void {
    this.#healedAt = this.timeline.now()
    this.network.heal()
    for (const host of this.#pullers) this.#resume(host)
    this.#say('world', 'HEALS')
    this.#wire.heal()
    this.#resumeQueues()
    this.timeline.at(this.timeline.now() + 4 * this.plan.leaseMs + CALM_AFTER_MS, () => {
      this.witness.isCalm = true
    })
    for (const process of this.#processes) {
      const { host, slot, plan, stopping } = process!
      this.#resume(host)
      if (host.isGone) this.#respawnIn(slot, 0)
      else if ((plan?.unknown || plan?.isOld) && !stopping) this.#stop(process!, 0)
    }
  }

  /** An operator who checks now and then, since a pause may still have been on its way. */
  #resumeQueues(): void {
    for (const queue of [...QUEUES, 'pull', LIMITED]) {
      if (this.witness.model.queues.get(queue)?.paused)
        void this.witness.execute('world', this.stores.main, 'setQueue', [queue, { paused: false }])
    }
    this.#discardStopping()
    if (!this.isDone()) this.timeline.at(this.timeline.now() + OPERATOR_EVERY_MS, () => this.#resumeQueues())
  }

  /** Discards the dead letters that stop a partition. */
  #discardStopping(): void {
    if (this.plan.limits?.partitions?.onDead !== 'stop') return
    const dead = this.witness.model.rows.filter(({ job }) => job.queue === LIMITED && job.state === 'dead')
    const ids = dead.flatMap(({ job }) => (job.reason === 'discarded' ? [] : job.id))
    if (ids.length === 0) return
    this.coverage.count('partition stopped by a dead letter')
    void this.witness.execute('world', this.stores.main, 'change', [ids, discard])
  }

  // Reports of handlers

  started(host: Host, job: RunFacts, plan: JobPlan): Start {
    const { id, generation, run, attempt } = job
    const start: Start = { id, ref: plan.ref, generation, run, attempt, by: host, at: this.timeline.now(), logged: 0 }
    const row = this.witness.model.row(id)
    this.#say(host.name, `runs #${plan.ref}`, `run ${run} attempt ${attempt} ${row?.job.suspect ? 'suspect' : ''}`)
    checkStart(this, start, host)
    this.ledger.started(start)
    if (row?.job.suspect) this.coverage.count('suspect run again')
    if (plan.name === 'pulled') this.coverage.count('pull worker ran a job')
    return start
  }
}

const isTerminal = (state: string): boolean => state !== 'waiting' && state !== 'running'
