import { JOB_ROUTES } from '../../core/api/job-routes.js'
import { jobOrScheduleEdit } from '../../core/schedule/form.js'
import { present } from '../../core/values/present.js'
import { bulkResult } from '../../engine/jobs/bulk.js'
import { type JobOrSchedule, jobOrSchedule } from '../../engine/jobs/by-id.js'
import { jobVersion } from '../../engine/jobs/edit.js'
import { chosen, subject } from '../audit-words.js'
import { type Answer, type Call, type Endpoint, endpoint, gone, NOTHING, ok } from '../endpoint.js'
import { enqueuedJob, jobFilter } from './job-forms.js'
import { ownJobOrSchedule, ownTenant } from './tenancy.js'
import { bulkRequest, byId, versionTag } from './words.js'

type JobCall = Parameters<typeof ownJobOrSchedule>[0] & Pick<Call<unknown, unknown, unknown>, 'note'>

/** Notes in the audit log that the id was that of a schedule, and tells the dashboard. */
function noteSchedule({ app, note }: JobCall, found: JobOrSchedule, occurrenceId?: string): void {
  if (found.kind === 'job') return
  note(present({ scheduleId: found.id, jobId: occurrenceId }))
  app.feed.changed(['schedules', 'jobs', 'queues'], found.tenantId)
}

function changed(call: JobCall, found: JobOrSchedule): Answer {
  if (found.kind === 'job') return { body: found, etag: jobVersion(found) }
  noteSchedule(call, found, found.occurrence?.id)
  return { body: found, headers: versionTag(found) }
}

/** What the audit log says about an action. */
const DONE = {
  cancel: 'cancelled',
  retry: 'retried',
  runNow: 'ran now',
  cancelAll: 'cancelled',
  retryAll: 'retried',
  deleteAll: 'deleted',
} as const

/** An action on one job, or on a schedule and its current job, which returns what it changed. */
function action(verb: 'cancel' | 'retry' | 'runNow', summary: string, description: string): Endpoint {
  return endpoint({
    ...JOB_ROUTES[verb],
    did: facts => `${DONE[verb]} ${subject(facts)}`,
    tag: 'jobs',
    summary,
    description,
    role: 'operator',
    tenants: 'own',
    params: byId,
    body: NOTHING,
    answers: ok(jobOrSchedule, 'The changed job or schedule'),
    async handle(call): Promise<Answer> {
      const { id } = await ownJobOrSchedule(call, call.params.id)
      return changed(call, await call.app.chronos.byId[verb](id))
    },
  })
}

const cancel = action(
  'cancel',
  'Cancel a job and keep its record',
  'The id of a schedule ends the schedule and cancels its jobs that wait or run.',
)
const retry = action(
  'retry',
  'Retry a dead or cancelled job',
  'The id of a schedule retries its last dead or cancelled job.',
)
const runNow = action(
  'runNow',
  'Run a waiting job now; its attempt count stays',
  'The id of a schedule runs its waiting job; if it has none, it creates one.',
)

const replay = endpoint({
  method: 'post',
  path: '/jobs/{id}/replay',
  did: facts => `replayed ${subject(facts)} as job ${facts['newJobId']}`,
  call: ['jobs.replay(id)', 'byId.replay(id)'],
  tag: 'jobs',
  summary: "Create a new job from this job's payload",
  description: 'The id of a schedule creates a job of it, in addition to its occurrences.',
  role: 'operator',
  tenants: 'own',
  creates: true,
  params: byId,
  body: NOTHING,
  answers: { 201: { description: 'The new job', schema: enqueuedJob } },
  async handle(call): Promise<Answer> {
    const found = await ownJobOrSchedule(call, call.params.id)
    const result = await call.app.chronos.byId.replay(found.id)
    noteSchedule(call, found)
    call.note({ newJobId: result.id })
    return { body: { ...(await call.app.chronos.jobs.get(result.id)), ...result } }
  },
})

const edit = endpoint({
  method: 'patch',
  path: '/jobs/{id}',
  did: facts => `changed ${subject(facts)}`,
  isVersioned: true,
  call: [
    'jobs.edit(id, ..., ifMatch)',
    'jobs.reschedule(id, ...)',
    'byId.edit(id, ..., ifMatch)',
    'byId.reschedule(id, ...)',
  ],
  tag: 'jobs',
  summary: 'Change a waiting job, or a schedule',
  description:
    'A change of a schedule applies to its next occurrences and to its waiting job. With `If-Match` (the `ETag` that ' +
    'was read), only if it has not changed since, otherwise 412.',
  role: 'operator',
  tenants: 'own',
  params: byId,
  body: jobOrScheduleEdit,
  answers: ok(jobOrSchedule, 'The changed job or schedule'),
  async handle(call): Promise<Answer> {
    const { id } = await ownJobOrSchedule(call, call.params.id)
    const edited = await call.app.chronos.byId.edit(id, call.body, present({ version: call.ifMatch }))
    call.note({ fields: Object.keys(call.body) })
    return changed(call, edited)
  },
})

const remove = endpoint({
  method: 'delete',
  path: '/jobs/{id}',
  did: facts => `deleted ${subject(facts)}`,
  call: ['jobs.delete(id)', 'byId.delete(id)'],
  tag: 'jobs',
  takesLong: true,
  summary: 'Delete the record of a job that is not running',
  description: 'The id of a schedule deletes the schedule and its jobs, none of which may be running.',
  role: 'operator',
  tenants: 'own',
  params: byId,
  answers: gone,
  async handle(call): Promise<Answer> {
    const found = await ownJobOrSchedule(call, call.params.id)
    await call.app.chronos.byId.delete(found.id)
    noteSchedule(call, found)
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
    did: facts => `${DONE[verb]} ${chosen(facts, 'job')}`,
    call: `jobs.${verb}(filter, ...)`,
    tag: 'jobs',
    takesLong: true,
    summary,
    description: 'Jobs that were created after the request began are not affected.',
    role: 'operator',
    tenants: 'own',
    body: bulkBody,
    answers: ok(bulkResult, 'How many'),
    async handle({ app, caller, body: { filter, ...options }, note }): Promise<Answer> {
      const query = ownTenant(caller, filter)
      const result = await app.chronos.jobs[verb](query, options)
      note({ filter: query, count: result.changed })
      return { body: result, ...(result.dryRun && { changed: false }) }
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
