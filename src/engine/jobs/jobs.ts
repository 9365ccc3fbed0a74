import type { HttpRequest } from '../../core/http/request.js'
import { type BulkOptions, bulkOptions } from '../../core/job/bulk.js'
import { cancel, redrive, reschedule } from '../../core/job/changes.js'
import { eventJob } from '../../core/job/event.js'
import type { Explanation } from '../../core/job/explain.js'
import type { BlockCode, Job, JobState } from '../../core/job/job.js'
import { checkName, resultOf } from '../../core/job/result.js'
import { type AttemptView, type JobView, viewAttempt, viewJob } from '../../core/job/view.js'
import type { Policy } from '../../core/policy/policy.js'
import { isInternal } from '../../core/queue/internal.js'
import { type Duration, toMs } from '../../core/values/duration.js'
import { ChronosError } from '../../core/values/error.js'
import { present } from '../../core/values/present.js'
import { integer, read } from '../../core/values/schema.js'
import type { Changed, Count, RunTime, Store } from '../../store/store.js'
import type { JobDefinition } from '../client/definition.js'
import { type EnqueueResult, type Enqueuer, timeOf } from '../client/enqueuer.js'
import type { Environment } from '../client/environment.js'
import { factsOf } from '../client/job-facts.js'
import { type FollowOptions, followJob, type JobUpdate } from '../results/follow.js'
import type { Waiters, WaitOptions } from '../results/waiters.js'
import { actOnAll, type BulkResult, checkMeant } from './bulk.js'
import { type EditOptions, editJob, type JobChanges, notFound, parseChanges } from './edit.js'
import { explainJob } from './explainer.js'
import { type LogView, viewLog } from './log-view.js'
import {
  type HistoryQuery,
  historyPageOf,
  type JobQuery,
  jobFilter,
  type List,
  listOf,
  type PageQuery,
  pageOf,
} from './query.js'
import { countJobs, findJobs, type SearchOptions } from './search.js'
import { blocksOf } from './surroundings.js'
import { type JobTimeline, type TimelineQuery, timelineOfJob } from './timeline.js'

const COUNT_CAP = 10_000

interface JobsOptions {
  readonly env: Environment
  readonly enqueuer: Enqueuer
  readonly waiters: Waiters
  readonly wake: (delayMs: number) => void
  /** Notifies this process's workers; others see the cancel with their next lease renewal. */
  readonly cancelHere: (id: string) => void
  /** Throws if the request is not allowed from here. */
  readonly checkRequest: (request: HttpRequest) => void
}

export type { BulkOptions } from '../../core/job/bulk.js'
export type { BulkResult } from './bulk.js'
export type { EditOptions, JobChanges } from './edit.js'
export { jobVersion } from './edit.js'
export type { HistoryQuery, JobQuery, List, PageQuery } from './query.js'
export type { Searched, SearchOptions } from './search.js'

/** `chronos.jobs`: find, inspect and change jobs. */
const NOW: RunTime = { delayMs: 0 }

/** A job whose definition is known. */
export type JobOf<Result> = Omit<JobView, 'result'> & { readonly result?: Result }

export class Jobs {
  readonly #options: JobsOptions

  constructor(options: JobsOptions) {
    this.#options = options
  }

  /** The job with this id. With its definition, the `result` has the type that the handler returns. */
  get(id: string): Promise<JobView | undefined>
  get<Result>(definition: JobDefinition<never, Result>, id: string): Promise<JobOf<Result> | undefined>
  async get(first: string | JobDefinition, second?: string): Promise<JobView | undefined> {
    const id = typeof first === 'string' ? first : second!
    const job = await (await this.#store()).get(id)
    if (job && typeof first !== 'string') checkName(job, first.name, 'jobs.get')
    return job && this.#view(job)
  }

  /**
   * Waits until the job has succeeded, in whichever process, and returns what its handler returned. Retries, open circuits
   * and lost leases prolong the wait. Rejects with JOB_DEAD, JOB_CANCELLED or OUTCOME_UNKNOWN if the job has ended without a
   * result, with NOT_FOUND if it does not exist (any more), and with TIMED_OUT after `within`; then the job goes on.
   */
  result<Result>(definition: JobDefinition<never, Result>, id: string, options?: WaitOptions): Promise<Result>
  result<Result = unknown>(name: string, id: string, options?: WaitOptions): Promise<Result>
  async result(job: string | JobDefinition, id: string, options?: WaitOptions): Promise<unknown> {
    const ended = await this.#options.waiters.ended(id, options)
    checkName(ended, typeof job === 'string' ? job : job.name, 'jobs.result')
    if (ended.state === 'succeeded') return ended.result === undefined ? undefined : JSON.parse(ended.result)
    const { data } = await (await this.#store()).history(ended.id, { limit: 1 })
    return resultOf(await this.#view(ended), data[0]?.decision)
  }

  /** Waits like `result` until the job has ended, and returns the job however it ended. */
  async ended(id: string, options?: WaitOptions): Promise<JobView> {
    return this.#view(await this.#options.waiters.ended(id, options))
  }

  /**
   * The updates of a job from its enqueue until it has ended, in whichever process it runs: the end of each run, log lines
   * and progress. `cursor` continues after an update. The stream ends by itself, and rejects with NOT_FOUND if the job does
   * not exist (any more).
   */
  follow(id: string, options?: FollowOptions): AsyncGenerator<JobUpdate, void, undefined> {
    return followJob({ env: this.#options.env, view: job => this.#view(job) }, id, options)
  }

  /**
   * Newest first. A page may have fewer jobs than requested, or none, and still have a next page: if few of very many
   * jobs match, it returns after a time limit with those found so far.
   */
  async list(query: JobQuery = {}, page: PageQuery = {}, search: SearchOptions = {}): Promise<List<JobView>> {
    const filter = { ...jobFilter(query, 'jobs filter'), ...search }
    const found = await findJobs(this.#options.env, filter, pageOf(page, 'jobs.list'))
    const list = listOf(await this.#views(found.data), found.next)
    return found.searched ? { ...list, searched: found.searched } : list
  }

  /** Exact up to `cap` (10,000), then "at least"; also "at least" if only the newest jobs were examined. */
  async count(query: JobQuery = {}, cap = COUNT_CAP, search: SearchOptions = {}): Promise<Count> {
    read(integer(1), cap, 'jobs.count: cap')
    return countJobs(await this.#store(), { ...jobFilter(query, 'jobs filter'), ...search }, cap)
  }

  /** The runs of a job, newest first unless `order` is `oldest`. */
  async history(id: string, page: HistoryQuery = {}): Promise<List<AttemptView>> {
    const found = await (await this.#store()).history(id, historyPageOf(page, 'jobs.history'))
    return listOf(found.data.map(viewAttempt), found.next)
  }

  /** The lines that its handlers wrote with `job.log`, oldest first. */
  async logs(id: string, page: PageQuery = {}): Promise<List<LogView>> {
    const found = await (await this.#store()).logs(id, pageOf(page, 'jobs.logs'))
    return listOf(found.data.map(viewLog), found.next)
  }

  /** Explains why the job is not running now, why its last failure was or was not retried, and what happens next. */
  explain(id: string): Promise<Explanation> {
    return explainJob(this.#options.env, id)
  }

  /** The runs and waits of a job so far, and those that would follow if every further run failed. */
  timeline(id: string, query: TimelineQuery = {}): Promise<JobTimeline> {
    return timelineOfJob(this.#options.env, id, query)
  }

  /** A waiting job ends at once. A running one gets an abort signal (`job.signal`) and ends when its handler does. */
  async cancel(id: string): Promise<JobView> {
    const { outbox } = this.#options.env
    await outbox.fresh()
    const [changed] = await (await this.#store()).change([id], cancel, job => outbox.following(job))
    const job = this.#done(changed!, 'cancel', 'only a waiting or running job can be cancelled')
    outbox.wake()
    if (changed!.status === 'requested') this.#options.cancelHere(id)
    else await this.#announceCancel(job)
    return this.#viewChanged(job)
  }

  /** Runs a waiting job now and keeps its number of attempts. */
  runNow(id: string): Promise<JobView> {
    return this.#reschedule(id, NOW, 'run-now')
  }

  /** Moves a waiting job to another time. */
  reschedule(id: string, to: { delay: Duration } | { runAt: Date | string | number }): Promise<JobView> {
    const at: RunTime =
      'delay' in to ? { delayMs: toMs(to.delay, 'reschedule: delay') } : { at: timeOf(to.runAt, 'reschedule: runAt') }
    return this.#reschedule(id, at, 'reschedule')
  }

  /** Changes a waiting job; options that are left out stay. They are checked like those of an enqueue. */
  async edit(id: string, changes: JobChanges, { version }: EditOptions = {}): Promise<JobView> {
    const { env, enqueuer, checkRequest, wake } = this.#options
    const parsed = parseChanges(changes, 'jobs.edit')
    const store = await this.#store()
    const view = (job: Job): Promise<JobView> => this.#view(job)
    const job = await editJob({ store, id, changes: parsed, version, view, enqueuer, checkRequest })
    wake(Math.max(0, job.runAt - env.time.now()))
    return this.#viewChanged(job)
  }

  /** Starts a dead or cancelled job again: a new generation with all its attempts and the same id, key and history. */
  async retry(id: string): Promise<JobView> {
    const [changed] = await (await this.#store()).change([id], redrive())
    const job = this.#done(changed!, 'retry', 'only a dead or cancelled job can be retried')
    this.#options.wake(0)
    return this.#viewChanged(job, job.runAt)
  }

  /** Enqueues a new job with the payload and options of this one, which stays as it is. */
  async replay(id: string): Promise<EnqueueResult> {
    const job = await (await this.#store()).get(id)
    if (!job) throw notFound(id)
    const { name, payload, queue, priority, tenantId, tags, delivery, timeoutMs, override, webhook } = job
    const { partition, units } = job
    return this.#options.enqueuer.enqueue(name, JSON.parse(payload), {
      queue,
      priority,
      tags,
      delivery,
      ...present({ tenantId, timeout: timeoutMs, retry: override, webhook, partition, units }),
    })
  }

  /** Deletes a job that is not running, with its history. */
  async delete(id: string): Promise<void> {
    const [changed] = await (await this.#store()).remove([id])
    this.#done(changed!, 'delete', 'a running job can only be cancelled')
  }

  /** Cancels the waiting and running jobs that match; `state` selects jobs in other states. */
  async cancelAll(query: JobQuery, options: BulkOptions = {}): Promise<BulkResult> {
    const { outbox } = this.#options.env
    return this.#all('jobs.cancelAll', query, options, ['waiting', 'running'], async (store, ids) => {
      await outbox.fresh()
      const changed = await store.change(ids, cancel, job => outbox.following(job))
      outbox.wake()
      for (const one of changed) {
        if (one.status === 'requested') this.#options.cancelHere(one.id)
        else if (one.status === 'changed') await this.#announceCancel(one.job)
      }
      return changed
    })
  }

  /** Retries the dead and cancelled jobs that match, at once. `chronos.dead.redrive` does it at a rate. */
  async retryAll(query: JobQuery, options: BulkOptions = {}): Promise<BulkResult> {
    return this.#all('jobs.retryAll', query, options, ['dead', 'cancelled'], async (store, ids) => {
      const changed = await store.change(ids, redrive())
      this.#options.wake(0)
      return changed
    })
  }

  /** Deletes the jobs that match and are not running. */
  async deleteAll(query: JobQuery, options: BulkOptions = {}): Promise<BulkResult> {
    const states = ['waiting', 'succeeded', 'dead', 'cancelled'] as const
    return this.#all('jobs.deleteAll', query, options, states, (store, ids) => store.remove(ids))
  }

  async #all(
    action: string,
    query: JobQuery,
    options: BulkOptions,
    states: readonly JobState[],
    act: (store: Store, ids: readonly string[]) => Promise<readonly Changed[]>,
  ): Promise<BulkResult> {
    const given = read(bulkOptions, options, `${action}:`)
    const asked = jobFilter(query, action)
    checkMeant(query, given, action)
    const store = await this.#store()
    const filter = asked.state === undefined && asked.phase === undefined ? { ...asked, state: states } : asked
    return actOnAll({ action, store, filter, options: given, act: ids => act(store, ids) })
  }

  async #reschedule(id: string, at: RunTime, action: string): Promise<JobView> {
    const [changed] = await (await this.#store()).change([id], reschedule(at))
    const job = this.#done(changed!, action, 'only a waiting job has a time to move')
    this.#options.wake(Math.max(0, job.runAt - this.#options.env.time.now()))
    return this.#viewChanged(job, at === NOW ? job.runAt : 0)
  }

  #done(changed: Changed, action: string, rule: string): Job {
    if (changed.status === 'not-found') throw notFound(changed.id)
    if (changed.status !== 'refused') return changed.job
    const { id, job, conflictId } = changed
    const why = conflictId ? `job ${conflictId} is live under the same unique value` : `it is ${job.state}; ${rule}`
    throw new ChronosError('NOT_ALLOWED', `${action}: job ${id} can't: ${why}`, {
      details: present({ jobId: id, state: job.state, conflictId }),
    })
  }

  async #announceCancel(job: Job): Promise<void> {
    const { log, events, telemetry } = this.#options.env
    telemetry.meter?.finished(job, { result: 'cancelled' })
    log.info(factsOf('job.cancelled', job), 'job cancelled')
    if (isInternal(job.queue) || !events.hears('job.cancelled')) return
    events.emit('job.cancelled', { job: eventJob(job, await this.#policyOfChanged(job)) })
  }

  /** The estimate of the store's time may be behind the time that the store has just written: such a job is due. */
  async #viewChanged(job: Job, storeNow = 0): Promise<JobView> {
    const now = Math.max(storeNow, this.#options.env.time.now())
    return viewJob(job, await this.#policyOfChanged(job), now, await this.#blockOfChanged(job, now))
  }

  async #blockOfChanged(job: Job, now: number): Promise<BlockCode | undefined> {
    try {
      return (await blocksOf(await this.#store(), [job], now))(job)
    } catch {
      return undefined
    }
  }

  /** The change is stored: a policy that can't be read must not make the call fail. */
  async #policyOfChanged(job: Job): Promise<Policy> {
    const { policies } = this.#options.env
    try {
      return await policies.of(job)
    } catch {
      const base = policies.base(undefined, job.queue).policy
      return job.override ? policies.overridden(job.override, base) : base
    }
  }

  async #view(job: Job): Promise<JobView> {
    return (await this.#views([job]))[0]!
  }

  async #views(jobs: readonly Job[]): Promise<readonly JobView[]> {
    const { policies, time } = this.#options.env
    const now = time.now()
    const blockOf = await blocksOf(await this.#store(), jobs, now)
    return Promise.all(jobs.map(async job => viewJob(job, await policies.of(job), now, blockOf(job))))
  }

  #store(): Promise<Store> {
    return this.#options.env.connection.store()
  }
}
