import { type Duration, toMs } from '../core/duration.js'
import { ChronosError, shown } from '../core/error.js'
import type { Explanation } from '../core/explain.js'
import type { Job } from '../core/job.js'
import { checkInteger } from '../core/limits.js'
import type { Policy } from '../core/policy.js'
import { type AttemptView, type JobView, viewAttempt, viewJob } from '../core/view.js'
import { DELIVERIES } from '../core/webhook.js'
import type { Changed, Count, LogRecord, RunTime, Store } from '../store/store.js'
import { eventJob } from './attempt.js'
import { type EnqueueResult, type Enqueuer, timeOf } from './enqueuer.js'
import type { Environment } from './environment.js'
import { explainJob } from './explainer.js'
import { type JobQuery, jobFilter, type List, listOf, type PageQuery, pageOf } from './job-query.js'

const COUNT_CAP = 10_000

export interface LogView {
  readonly at: string
  readonly run: number
  readonly message: string
  readonly data?: unknown
}

interface JobsOptions {
  readonly env: Environment
  readonly enqueuer: Enqueuer
  readonly wake: (delayMs: number) => void
  /** Tells this process's workers; others hear of it with their next extension. */
  readonly cancelHere: (id: string) => void
}

export type { JobQuery, List, PageQuery } from './job-query.js'

/** `chronos.jobs`: look at jobs, and set them right by hand. */
export class Jobs {
  readonly #options: JobsOptions

  constructor(options: JobsOptions) {
    this.#options = options
  }

  async get(id: string): Promise<JobView | undefined> {
    const job = await (await this.#store()).get(id)
    return job && this.#view(job)
  }

  /** Newest first. */
  async list(query: JobQuery = {}, page: PageQuery = {}): Promise<List<JobView>> {
    const found = await (await this.#store()).list(jobFilter(query, 'jobs filter'), pageOf(page, 'jobs.list'))
    return listOf(await Promise.all(found.data.map(job => this.#view(job))), found.next)
  }

  /** Exact up to `cap` (10,000), then "at least". */
  async count(query: JobQuery = {}, cap = COUNT_CAP): Promise<Count> {
    checkInteger(cap, 'jobs.count: cap', 1, Number.MAX_SAFE_INTEGER)
    return (await this.#store()).count(jobFilter(query, 'jobs filter'), cap)
  }

  /** The runs of a job, newest first. */
  async history(id: string, page: PageQuery = {}): Promise<List<AttemptView>> {
    const found = await (await this.#store()).history(id, pageOf(page, 'jobs.history'))
    return listOf(found.data.map(viewAttempt), found.next)
  }

  /** What its handlers said with `job.log`, oldest first. */
  async logs(id: string, page: PageQuery = {}): Promise<List<LogView>> {
    const found = await (await this.#store()).logs(id, pageOf(page, 'jobs.logs'))
    return listOf(found.data.map(viewLog), found.next)
  }

  /** In plain words: why it is not running now, why its last failure was or wasn't retried, and what happens next. */
  explain(id: string): Promise<Explanation> {
    return explainJob(this.#options.env, id)
  }

  /** A waiting job ends at once; a running one is asked to stop (`job.signal`) and ends when it does. */
  async cancel(id: string): Promise<JobView> {
    const { outbox } = this.#options.env
    await outbox.fresh()
    const [changed] = await (await this.#store()).cancel([id], job => outbox.following(job))
    const job = this.#done(changed!, 'cancel', 'only a waiting or running job can be cancelled')
    outbox.wake()
    if (changed!.status === 'requested') this.#options.cancelHere(id)
    else await this.#announceCancel(job)
    return this.#viewChanged(job)
  }

  /** Skips the wait and keeps the count of attempts. */
  runNow(id: string): Promise<JobView> {
    return this.#reschedule(id, { delayMs: 0 }, 'run-now')
  }

  /** Moves a waiting job to another time. */
  reschedule(id: string, to: { delay: Duration } | { runAt: Date | string | number }): Promise<JobView> {
    const at: RunTime =
      'delay' in to ? { delayMs: toMs(to.delay, 'reschedule: delay') } : { at: timeOf(to.runAt, 'reschedule: runAt') }
    return this.#reschedule(id, at, 'reschedule')
  }

  /** Starts a dead or cancelled job again: a new generation with all its attempts, the same id, key and history. */
  async retry(id: string): Promise<JobView> {
    const [changed] = await (await this.#store()).redrive([id])
    const job = this.#done(changed!, 'retry', 'only a dead or cancelled job can be retried')
    this.#options.wake(0)
    return this.#viewChanged(job)
  }

  /** A new job from this one's payload and options; this one stays as it is. */
  async replay(id: string): Promise<EnqueueResult> {
    const job = await (await this.#store()).get(id)
    if (!job) throw notFound(id)
    const { name, payload, queue, priority, tenantId, tags, delivery, timeoutMs, override, webhook } = job
    return this.#options.enqueuer.enqueue(name, JSON.parse(payload), {
      queue,
      priority,
      tags,
      delivery,
      ...(tenantId !== undefined && { tenantId }),
      ...(timeoutMs !== undefined && { timeout: timeoutMs }),
      ...(override && { retry: override }),
      ...(webhook !== undefined && { webhook }),
    })
  }

  /** Removes the record of a job that does not run, with its history. */
  async delete(id: string): Promise<void> {
    const [changed] = await (await this.#store()).remove([id])
    this.#done(changed!, 'delete', 'a running job can only be cancelled')
  }

  async #reschedule(id: string, at: RunTime, action: string): Promise<JobView> {
    const changed = await (await this.#store()).reschedule(id, at)
    const job = this.#done(changed, action, 'only a waiting job has a time to move')
    this.#options.wake(Math.max(0, job.runAt - this.#options.env.time.now()))
    return this.#viewChanged(job)
  }

  #done(changed: Changed, action: string, rule: string): Job {
    if (changed.status === 'not-found') throw notFound(changed.id)
    if (changed.status !== 'refused') return changed.job
    const { id, job, conflictId } = changed
    const why = conflictId ? `job ${conflictId} is live under the same unique value` : `it is ${job.state}; ${rule}`
    throw new ChronosError('NOT_ALLOWED', `${action}: job ${id} can't: ${why}`, {
      details: { jobId: id, state: job.state, ...(conflictId && { conflictId }) },
    })
  }

  async #announceCancel(job: Job): Promise<void> {
    const { log, events } = this.#options.env
    const { id: jobId, name, queue, tenantId } = job
    log.info({ event: 'job.cancelled', jobId, tenantId, name, queue }, 'job was cancelled')
    if (queue === DELIVERIES || !events.hears('job.cancelled')) return
    events.emit('job.cancelled', { job: eventJob(job, await this.#policyOfChanged(job)) })
  }

  async #viewChanged(job: Job): Promise<JobView> {
    return viewJob(job, await this.#policyOfChanged(job), this.#options.env.time.now())
  }

  /** The change is done: nobody must hear otherwise because the policy can't be read just now. */
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
    const { policies, time } = this.#options.env
    return viewJob(job, await policies.of(job), time.now())
  }

  #store(): Promise<Store> {
    return this.#options.env.connection.store()
  }
}

function notFound(id: string): ChronosError {
  return new ChronosError('NOT_FOUND', `there is no job ${shown(id)}`, { details: { jobId: id } })
}

function viewLog({ at, run, message, data }: LogRecord): LogView {
  return {
    at: new Date(at).toISOString(),
    run,
    message,
    ...(data !== undefined && { data: JSON.parse(data) as unknown }),
  }
}
