import { jobEdit } from '../../core/job/options.js'
import { jobView } from '../../core/job/view.js'
import { bulkResult } from '../../engine/jobs/bulk.js'
import { jobVersion } from '../../engine/jobs/edit.js'
import { type Answer, type Endpoint, endpoint, gone, NOTHING, ok } from '../endpoint.js'
import { enqueuedJob, jobFilter } from './job-forms.js'
import { ownJob, ownTenant } from './tenancy.js'
import { bulkRequest, byId } from './words.js'

/** An action on one job, which returns the changed job. */
function action(path: string, summary: string, verb: 'cancel' | 'retry' | 'runNow'): Endpoint {
  return endpoint({
    method: 'post',
    path: `/jobs/{id}/${path}`,
    call: `jobs.${verb}(id)`,
    tag: 'jobs',
    summary,
    role: 'operator',
    tenants: 'own',
    params: byId,
    body: NOTHING,
    answers: ok(jobView, 'The changed job'),
    async handle(call): Promise<Answer> {
      const { id } = await ownJob(call, call.params.id)
      return { body: await call.app.chronos.jobs[verb](id) }
    },
  })
}

const cancel = action('cancel', 'Cancel a job and keep its record', 'cancel')
const retry = action('retry', 'Retry a dead or cancelled job', 'retry')
const runNow = action('run-now', 'Run a waiting job now; its attempt count stays', 'runNow')

const replay = endpoint({
  method: 'post',
  path: '/jobs/{id}/replay',
  call: 'jobs.replay(id)',
  tag: 'jobs',
  summary: "Create a new job from this job's payload",
  role: 'operator',
  tenants: 'own',
  creates: true,
  params: byId,
  body: NOTHING,
  answers: { 201: { description: 'The new job', schema: enqueuedJob } },
  async handle(call): Promise<Answer> {
    const { id } = await ownJob(call, call.params.id)
    const result = await call.app.chronos.jobs.replay(id)
    call.note({ newJobId: result.id })
    return { body: { ...(await call.app.chronos.jobs.get(result.id)), ...result } }
  },
})

const edit = endpoint({
  method: 'patch',
  path: '/jobs/{id}',
  call: ['jobs.edit(id, ..., ifMatch)', 'jobs.reschedule(id, ...)'],
  tag: 'jobs',
  summary: 'Change a waiting job',
  description: 'With `If-Match` (the `ETag` that was read), only if the job has not changed since, otherwise 412.',
  role: 'operator',
  tenants: 'own',
  params: byId,
  body: jobEdit,
  answers: ok(jobView, 'The changed job'),
  async handle(call): Promise<Answer> {
    const { id } = await ownJob(call, call.params.id)
    const { jobs } = call.app.chronos
    const version = call.ifMatch === undefined ? {} : { version: call.ifMatch }
    const job = await jobs.edit(id, call.body, version)
    call.note({ fields: Object.keys(call.body) })
    return { body: job, etag: jobVersion(job) }
  },
})

const remove = endpoint({
  method: 'delete',
  path: '/jobs/{id}',
  call: 'jobs.delete(id)',
  tag: 'jobs',
  summary: 'Delete the record of a job that is not running',
  role: 'operator',
  tenants: 'own',
  params: byId,
  answers: gone,
  async handle(call): Promise<Answer> {
    const { id } = await ownJob(call, call.params.id)
    await call.app.chronos.jobs.delete(id)
    return {}
  },
})

type BulkVerb = 'cancelAll' | 'retryAll' | 'deleteAll'

const bulkBody = bulkRequest(jobFilter, 'BulkRequest')

/** An action on all matching jobs. */
function bulk(path: string, summary: string, verb: BulkVerb): Endpoint {
  return endpoint({
    method: 'post',
    path: `/jobs:${path}`,
    call: `jobs.${verb}(filter, ...)`,
    tag: 'jobs',
    takesLong: true,
    summary,
    description: 'Jobs that were created after the request began are not affected.',
    role: 'operator',
    tenants: 'own',
    body: bulkBody,
    answers: ok(bulkResult, 'How many'),
    async handle({ app, caller, body: { filter, dryRun = false, all = false }, note }): Promise<Answer> {
      const query = ownTenant(caller, filter)
      const result = await app.chronos.jobs[verb](query, { dryRun, all })
      note({ filter: query, dryRun, count: result.changed })
      return { body: result }
    },
  })
}

export const JOB_ACTIONS: readonly Endpoint[] = [
  cancel,
  retry,
  runNow,
  replay,
  edit,
  remove,
  bulk('cancel', 'Cancel all matching jobs', 'cancelAll'),
  bulk('retry', 'Retry all matching jobs', 'retryAll'),
  bulk('delete', 'Delete all matching jobs', 'deleteAll'),
]
