import { createHash } from 'node:crypto'
import type { HttpRequest } from '../../core/http/request.js'
import { edit } from '../../core/job/changes.js'
import type { Job } from '../../core/job/job.js'
import { deadlineOf, type JobChanges, jobEdit, runTimeOf } from '../../core/job/options.js'
import { toPayload } from '../../core/job/payload.js'
import type { JobView } from '../../core/job/view.js'
import { policyLevel } from '../../core/policy/policy.js'
import { toMs } from '../../core/values/duration.js'
import { ChronosError, shown } from '../../core/values/error.js'
import { canonicalJson } from '../../core/values/json.js'
import { present } from '../../core/values/present.js'
import { read } from '../../core/values/schema.js'
import type { JobEdit, Store } from '../../store/store.js'
import { HTTP_JOB } from '../client/definition.js'
import type { Enqueuer } from '../client/enqueuer.js'

export type { JobChanges } from '../../core/job/options.js'

export interface EditOptions {
  /** Only if it still has this version (see `jobVersion`). */
  readonly version?: string
}

const TRIES_MAX = 5

/** What of a job can be edited, and what stands against it, as one short text: for `edit` with `version`, and as an ETag. */
export function jobVersion(job: JobView): string {
  const { state, generation, run, queue, priority, tags, runAt, deadline, timeoutMs, payload, retry } = job
  const facts = { state, generation, run, queue, priority, tags, runAt, deadline, timeoutMs, payload, retry }
  return createHash('sha256')
    .update(canonicalJson(JSON.stringify(facts)))
    .digest('hex')
    .slice(0, 16)
}

/** Checked as an enqueue is. */
export function parseChanges(changes: JobChanges, where: string): Omit<JobEdit, 'expect'> {
  const given = read(jobEdit, changes, `${where}:`)
  const { payload, priority, tags, timeout, deadline, retry, queue } = given
  return present({
    payload: payload === undefined ? undefined : toPayload(payload, 'payload'),
    priority,
    tags,
    queue,
    runAt: runTimeOf(given),
    timeoutMs: timeout == null ? timeout : toMs(timeout, 'timeout'),
    deadline: deadline == null ? deadline : deadlineOf(deadline),
    override: retry == null ? retry : policyLevel(retry),
  })
}

interface Editing {
  readonly store: Store
  readonly id: string
  readonly changes: Omit<JobEdit, 'expect'>
  readonly version: string | undefined
  readonly view: (job: Job) => Promise<JobView>
  readonly enqueuer: Enqueuer
  readonly checkRequest: (request: HttpRequest) => void
}

/**
 * Writes only over what it has read. Where a dependency or another person moved the job meanwhile, it reads again, unless a
 * version was asked for; where a worker took it, it says so.
 */
export async function editJob(editing: Editing): Promise<Job> {
  const { store, id, changes, version, view } = editing
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const job = await store.get(id)
    if (!job) throw notFound(id)
    checkWaiting(job)
    if (version !== undefined) checkVersion(id, version, jobVersion(await view(job)))
    const asked = { ...changes, ...(await dependencyOf(job, editing)), expect: job }
    const [answer] = await store.change([id], edit(asked))
    const changed = answer!
    if (changed.status === 'not-found') throw notFound(id)
    if (changed.status === 'changed') return changed.job
    checkWaiting(changed.job)
    if (version !== undefined) checkVersion(id, version, jobVersion(await view(changed.job)))
  }
  throw new ChronosError('STORE_UNAVAILABLE', `job ${id} is changed by too many at once; try again`)
}

/** What is built in checks its payload and names its dependency by it, unless the enqueue named another. */
export async function dependencyOf(
  job: Pick<Job, 'name' | 'payload' | 'dependency'>,
  { changes, enqueuer, checkRequest }: Pick<Editing, 'changes' | 'enqueuer' | 'checkRequest'>,
): Promise<Pick<JobEdit, 'dependency'>> {
  if (changes.payload === undefined) return {}
  const payload: unknown = JSON.parse(changes.payload)
  if (job.name === HTTP_JOB) checkRequest(payload as HttpRequest)
  const { dependency } = await enqueuer.prepare(job.name, payload, {})
  if (dependency === undefined || job.dependency === undefined) return {}
  const { dependency: before } = await enqueuer.prepare(job.name, JSON.parse(job.payload), {})
  return before === job.dependency ? { dependency } : {}
}

function checkWaiting({ id, state }: Job): void {
  if (state === 'waiting') return
  throw new ChronosError('NOT_ALLOWED', `edit: job ${id} can't: it is ${state}; only a waiting job can be edited`, {
    details: { jobId: id, state },
  })
}

function checkVersion(id: string, expected: string, version: string): void {
  if (expected === version) return
  throw new ChronosError(
    'VERSION_CONFLICT',
    `job ${id} has version ${version}, not ${shown(expected)}: it has changed since; read it again`,
    { details: { jobId: id, version } },
  )
}

export function notFound(id: string): ChronosError {
  return new ChronosError('NOT_FOUND', `there is no job ${shown(id)}`, { details: { jobId: id } })
}
