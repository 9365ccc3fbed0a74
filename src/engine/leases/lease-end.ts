import type { Dependency } from '../../core/dependency/dependency.js'
import type { Job, RunStatus } from '../../core/job/job.js'
import type { Outcome } from '../../core/job/lifecycle.js'
import { ChronosError, shown } from '../../core/values/error.js'
import type { AttemptRecord, Claimed, Lease, Settlement, Store } from '../../store/store.js'
import type { Environment } from '../client/environment.js'
import { factsOf } from '../client/job-facts.js'
import { DEPENDENCY, type Dependencies } from '../dependencies/dependencies.js'
import { bodyOf } from '../records/records.js'
import type { Attempt } from '../worker/attempt.js'
import { repeated } from '../worker/effects.js'
import { finish, handBack } from '../worker/finish.js'
import { pullAttempt } from './pull-attempt.js'
import { type LeaseEnd, viewEnd, viewRepeat } from './view.js'

interface LeaseEndsOptions {
  readonly env: Environment
  readonly dependencies: Dependencies
  /** Called when a job waits again, with its delay. */
  readonly wake: (delayMs: number) => void
}

/** How many of the newest runs are searched for a repeated end. */
const RUNS_BACK = 5

/** Finds the runs that pull workers hold, and ends them by the same rules as any other run. */
export class LeaseEnds {
  readonly #options: LeaseEndsOptions
  readonly #env: Environment
  /** Ids of queue policies given to jobs without their own policy: those jobs follow later changes of their queue. */
  readonly #ofQueues = new Set<string>()

  constructor(options: LeaseEndsOptions) {
    this.#options = options
    this.#env = options.env
  }

  /**
   * The policies of jobs in these queues that have none of their own, stored so that other processes can decide about
   * these jobs.
   */
  async policyIds(queues: readonly string[]): Promise<Record<string, string>> {
    const ids: Record<string, string> = {}
    for (const queue of queues) {
      const id = await this.#env.policies.publish(undefined, queue)
      this.#ofQueues.add(id)
      ids[queue] = id
    }
    return ids
  }

  async attemptOf(claimed: Claimed): Promise<Attempt> {
    const { policyId, queue, override } = claimed
    const { policies } = this.#env
    if (policyId !== undefined && !this.#ofQueues.has(policyId)) return pullAttempt(claimed, await policies.of(claimed))
    const { id, policy } = policies.base(undefined, queue)
    const attempt = pullAttempt(claimed, override ? policies.overridden(override, policy) : policy)
    attempt.isPolicyNew = id !== policyId
    return attempt
  }

  /** The run that this token holds; undefined if its lease is lost. */
  async find({ id, token }: Lease): Promise<Attempt | undefined> {
    const { clock, time } = this.#env
    const sentAt = clock.now()
    const { now, jobs } = await repeated(this.#env, store => store.held(token))
    time.observe(now, sentAt)
    const claimed = jobs.find(job => job.id === id.toLowerCase())
    if (!claimed) return undefined
    const attempt = await this.attemptOf(claimed)
    if (attempt.dependency) attempt.isProbe = await this.#isProbe(attempt, attempt.dependency.id)
    return attempt
  }

  /** Undefined if the lease was lost; then nothing is changed. */
  async end(attempt: Attempt, given: Outcome): Promise<LeaseEnd | undefined> {
    const { dependencies, wake } = this.#options
    await this.#env.outbox.fresh()
    const wasStopped = attempt.interruption === 'cancelled' && given.kind !== 'succeeded'
    const ending = finish(this.#env, dependencies, attempt, wasStopped ? { kind: 'cancelled' } : given)
    const { settlement, transition } = ending
    const [settled] = await repeated(this.#env, store => store.settle([settlement]))
    const state = ending.stored(settled!)
    if (state === undefined) return undefined
    if (state === 'waiting') wake(transition.delayMs)
    return viewEnd(attempt, transition, settled!)
  }

  /** Releases jobs as if they had not been claimed. */
  async handBack(held: readonly Claimed[], delayMs: number): Promise<void> {
    if (held.length === 0) return
    await this.#env.outbox.fresh()
    const settlements = held.map(claimed => handBack(this.#env, claimed, delayMs))
    await repeated(this.#env, store => store.settle(settlements))
    this.#options.wake(delayMs)
  }

  /**
   * The end that this token reported before, if it had one of these statuses and the response was lost. Otherwise
   * throws that the lease is lost.
   */
  async endBefore(lease: Lease, statuses: readonly RunStatus[], where: string): Promise<LeaseEnd> {
    const { connection, policies } = this.#env
    const store = await connection.store()
    const job = await this.#get(store, lease, where)
    const record = await endedBy(store, job, lease, statuses)
    return record ? viewRepeat(record, job, await policies.of(job)) : this.#lost(job, where)
  }

  /** The end of an earlier run, for a token that holds a later run of the same job. */
  async endOf(lease: Lease, run: number, statuses: readonly RunStatus[], where: string): Promise<LeaseEnd> {
    const { connection, policies } = this.#env
    const store = await connection.store()
    const job = await this.#get(store, lease, where)
    const { data } = await store.history(job.id, { limit: RUNS_BACK })
    const record = data.find(one => one.run === run && statuses.includes(one.status))
    return record ? viewRepeat(record, job, await policies.of(job)) : this.#lost(job, where)
  }

  async lost(lease: Lease, where: string): Promise<never> {
    return this.#lost(await this.#get(await this.#env.connection.store(), lease, where), where)
  }

  async #get(store: Store, { id: jobId }: Lease, where: string): Promise<Job> {
    const job = await store.get(jobId)
    if (job) return job
    throw new ChronosError('NOT_FOUND', `${where}: there is no job ${shown(jobId)}`, { details: { jobId } })
  }

  #lost(job: Job, where: string): never {
    const { log, telemetry } = this.#env
    const { id: jobId } = job
    log.warn(factsOf('lease.lost', job), 'lease lost')
    telemetry.meter?.leaseLost(job, 'worker')
    throw new ChronosError(
      'LEASE_LOST',
      `${where}: job ${jobId} is not held under this token any more: its lease ran out, or the run has ended; drop the run, nothing more of it is kept`,
      { details: { jobId } },
    )
  }

  /** Another process may have claimed the job, so the shared record says whether it is a probe. */
  async #isProbe({ id }: Attempt, dependencyId: string): Promise<boolean> {
    const store = await this.#env.connection.store()
    const [dependency] = (await store.records(DEPENDENCY, { ids: [dependencyId] })).flatMap(bodyOf<Dependency>)
    return dependency?.circuit === 'open' && dependency.probe?.jobId === id
  }
}

/** The store answers `already` for a run that this token has ended, and changes nothing. */
async function endedBy(
  store: Store,
  job: Job,
  lease: Lease,
  statuses: readonly RunStatus[],
): Promise<AttemptRecord | undefined> {
  const { data } = await store.history(job.id, { limit: RUNS_BACK })
  const records = data.filter(({ status }) => statuses.includes(status))
  if (records.length === 0) return undefined
  const { queue, name } = job
  const settlements = records.map((record): Settlement => {
    const { generation, run, attempt, workerId, startedAt, finishedAt, status, decision } = record
    const counts = { snoozes: 0, releases: 0, losses: 0, strikes: 0, suspect: false }
    const transition = { status, to: 'waiting', delayMs: 0, attemptBack: false, ...counts, decision } as const
    const ran = { generation, run, attempt, workerId, queue, name, startedAt, finishedAt }
    return { lease, ...ran, end: { kind: 'ended', transition }, onlyIfExpired: true }
  })
  const answers = await store.settle(settlements)
  return records[answers.findIndex(({ status }) => status === 'already')]
}
