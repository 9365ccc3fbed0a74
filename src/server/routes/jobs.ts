import { JOB_ROUTES } from '../../core/api/job-routes.js'
import { explanation } from '../../core/job/explain.js'
import { jobQuery } from '../../core/job/filter.js'
import { attemptView, jobView } from '../../core/job/view.js'
import { isScheduleForm, type ScheduleForm } from '../../core/schedule/form.js'
import { present } from '../../core/values/present.js'
import {
  about,
  anyText,
  anything,
  type Infer,
  integer,
  named,
  oneOf,
  type Schema,
  tryRead,
} from '../../core/values/schema.js'
import { list, listOf, object, omit, tagged, union, view } from '../../core/values/shape.js'
import type { EnqueueResult } from '../../engine/client/enqueuer.js'
import { jobVersion } from '../../engine/jobs/edit.js'
import { logView } from '../../engine/jobs/log-view.js'
import { historyQuery, pageQuery, paging } from '../../engine/jobs/query.js'
import { jobTimeline } from '../../engine/jobs/timeline.js'
import { jobSchedule, occurrenceAttempt } from '../../engine/schedules/view.js'
import type { Caller } from '../access/caller.js'
import type { Application } from '../application.js'
import { counted, subject } from '../audit-words.js'
import { type Answer, type Call, type Endpoint, endpoint, ok } from '../endpoint.js'
import { invalidRequest, Problem, problemOf } from '../http/problem.js'
import { waitAsPreferred } from '../http/wait.js'
import { allList, enqueuedJob, jobForm, jobOrScheduleForm, type NewJob, warnings } from './job-forms.js'
import { allShownTo, eitherShownTo, noSuch, ownJobOrSchedule, ownTenant, ownWork, shownTo } from './tenancy.js'
import { byId, listSchema, versionTag } from './words.js'

const BATCH_MAX = 1_000
const ATTEMPTS_SHOWN = 200

const createdSchedule = named(
  'CreatedSchedule',
  view(
    { ...jobSchedule.required, status: oneOf(['created', 'existing']), warnings: listOf(anyText) },
    omit(jobSchedule, 'warnings').optional,
  ),
)
const created = tagged('kind', enqueuedJob, createdSchedule)

const create = endpoint({
  ...JOB_ROUTES.create,
  did: facts => (facts['scheduleId'] === undefined ? `enqueued ${counted(facts, 'job')}` : `created ${subject(facts)}`),
  tag: 'jobs',
  summary: 'Create a job',
  description:
    'A job by name, a call to a URL (`http`), or a schedule of calls in its short form (`schedule`, `api`, …). ' +
    'The id of a schedule works wherever that of a job does. A repeated `key` returns 200 with the existing job or schedule, and so does `unique`. ' +
    'With `Prefer: wait=30` the response comes when the job has ended, with its result or error, or as 202 after 29 s.',
  role: 'operator',
  tenants: 'own',
  audit: 'sum',
  body: jobOrScheduleForm,
  answers: {
    200: { description: 'A job or schedule with this key or unique value exists already', schema: created },
    201: { description: 'Created', schema: created },
    202: { description: 'The job has not ended within the time of `Prefer: wait`', schema: enqueuedJob },
  },
  async handle({ app, caller, body, repeatId, note }): Promise<Answer> {
    if (isScheduleForm(body)) return makeSchedule(app, caller, body as ScheduleForm, repeatId, note)
    // The key makes sure that a repeated request creates one job, even if the stored answer was lost.
    const key = repeatId === undefined ? {} : { key: `request:${repeatId}` }
    const result = await enqueue(app, caller, { ...key, ...(body as NewJob) })
    const job = await app.chronos.jobs.get(result.id)
    return { status: result.status === 'created' ? 201 : 200, body: { ...job, ...result } }
  },
  wait: (call, given) =>
    waitAsPreferred(call, given, async hasEnded => {
      const { id, status, warnings: odd } = given.body as EnqueueResult
      const job = await call.app.chronos.jobs.get(id)
      if (!job) throw noSuch('job', id)
      return { ...(!hasEnded && { status: 202 }), body: { ...job, ...present({ status, warnings: odd }) } }
    }),
})

/** The repeat id makes sure that a repeated request creates one schedule. */
async function makeSchedule(
  { chronos, feed, quota }: Application,
  caller: Caller,
  form: ScheduleForm,
  repeatId: string | undefined,
  note: (facts: { readonly scheduleId: string }) => void,
): Promise<Answer> {
  const own = ownTenant(caller, form)
  await quota.more(caller, 'schedules')
  const { schedule, ...made } = await chronos.schedules.create(own, present({ id: repeatId?.slice(0, 32) }))
  feed.changed(['schedules'], schedule.tenantId)
  note({ scheduleId: schedule.id })
  const body = { ...(await chronos.byId.get(schedule.id)), ...made }
  const answer = { body, headers: versionTag(schedule) }
  return made.status === 'created'
    ? { status: 201, audit: 'entry', ...answer }
    : { status: 200, changed: false, ...answer }
}

async function enqueue({ chronos, quota }: Application, caller: Caller, job: NewJob): Promise<EnqueueResult> {
  const own = ownWork(caller, job)
  await quota.job(caller, own.queue, own.dependsOn)
  if ('http' in own) {
    const { http, ...options } = own
    return chronos.http(http, options)
  }
  const { name, payload, ...options } = own
  return chronos.enqueue<unknown>(name, payload, options)
}

const batchResult = named(
  'BatchResult',
  view(
    { status: oneOf(['created', 'existing', 'replaced', 'refused']) },
    { id: anyText, warnings, code: anyText, detail: anyText },
  ),
)

type BatchResult = Infer<typeof batchResult>

/** Each job is checked by itself, so that an invalid one does not affect the others. */
const jobForms: Schema<readonly unknown[]> = {
  ...list(anything, { min: 1, max: BATCH_MAX, of: 'jobs' }),
  json: list(jobForm, { min: 1, max: BATCH_MAX, of: 'jobs' }).json!,
}

const batch = endpoint({
  ...JOB_ROUTES.batch,
  did: facts => `enqueued ${counted(facts, 'job')}`,
  tag: 'jobs',
  summary: 'Create many jobs',
  description: `Up to ${BATCH_MAX}; one result each, in the same order. An invalid job does not affect the others.`,
  role: 'operator',
  tenants: 'own',
  audit: 'sum',
  body: object({ jobs: jobForms }),
  answers: ok(named('BatchResults', view({ data: listOf(batchResult), created: integer(), refused: integer() }))),
  async handle({ app, caller, body, repeatId, note }): Promise<Answer> {
    const data = await Promise.all(
      body.jobs.map((job, index) =>
        one(app, caller, job, repeatId === undefined ? undefined : `request:${repeatId}:${index}`),
      ),
    )
    const made = data.filter(({ status }) => status === 'created').length
    note({ count: made })
    return { body: { data, created: made, refused: data.filter(({ status }) => status === 'refused').length } }
  },
})

const SCHEDULE_IN_BATCH = new Problem(
  422,
  'INVALID_REQUEST',
  'a schedule is not allowed in a batch; create it with POST /jobs',
)

async function one(app: Application, caller: Caller, job: unknown, key: string | undefined): Promise<BatchResult> {
  try {
    if (isScheduleForm(job)) throw SCHEDULE_IN_BATCH
    const checked = tryRead(jobForm, job)
    if ('flaws' in checked) throw invalidRequest(checked.flaws, 'body')
    return await enqueue(app, caller, { ...(key !== undefined && { key }), ...checked.value })
  } catch (error) {
    const { code, message, status } = problemOf(error)
    if (status >= 500) throw error
    return { status: 'refused', code, detail: message }
  }
}

const listed = endpoint({
  ...JOB_ROUTES.list,
  tool: 'list_jobs',
  tag: 'jobs',
  summary: 'List jobs, newest first',
  description:
    'Schedules that were made with `POST /jobs` come first, if all conditions are about fields that a schedule has ' +
    '(`tenantId`, `queue`, `name`, `tag`, `scheduleId`). A job must match every filter. The count is exact up to ' +
    '10,000. For viewers, `q` is not looked for in the payload of HTTP jobs, except in the URL before its query.',
  role: 'viewer',
  tenants: 'own',
  query: object(
    {},
    { ...jobQuery.optional, kind: about(oneOf(['job', 'schedule']), 'Only these; default both.'), ...paging },
  ),
  answers: ok(allList, 'A page of jobs and schedules'),
  async handle({ app, caller, query }): Promise<Answer> {
    const { limit, cursor, ...asked } = query
    const filter = ownTenant(caller, asked)
    const page = present({ limit, cursor })
    return { body: await allShownTo(caller, app.chronos, filter, page) }
  },
})

const attempts = listOf(union(occurrenceAttempt, attemptView))
const jobWithAttempts = named('JobWithAttempts', view({ ...jobView.required, attempts }, jobView.optional))
const scheduleWithAttempts = named(
  'ScheduleWithAttempts',
  view({ ...jobSchedule.required, attempts }, jobSchedule.optional),
)

const get = endpoint({
  ...JOB_ROUTES.get,
  tool: 'get_job',
  isVersioned: true,
  tag: 'jobs',
  summary: 'Get a job or schedule with its attempts',
  description:
    'The newest 200 attempts, newest first. `kind` tells whether the id belongs to a job or a schedule, which is ' +
    'shown with its current occurrence and the attempts of all its jobs. With `Prefer: wait=30` the response comes when ' +
    'the job has ended, or after 29 s.',
  role: 'viewer',
  tenants: 'own',
  params: byId,
  answers: ok(tagged('kind', jobWithAttempts, scheduleWithAttempts), 'The job or schedule'),
  handle: call => withAttempts(call, call.params.id),
  wait: (call, given) => waitAsPreferred(call, given, () => withAttempts(call, call.params.id)),
})

async function withAttempts(
  call: Pick<Call<unknown, unknown, unknown>, 'app' | 'caller'>,
  id: string,
): Promise<Answer> {
  const found = await ownJobOrSchedule(call, id)
  const { data } = await call.app.chronos.byId.history(found.id, { limit: ATTEMPTS_SHOWN })
  const shown = eitherShownTo(call.caller, found)
  const body = { ...shown, attempts: data }
  return shown.kind === 'job' ? { body, etag: jobVersion(shown) } : { body, headers: versionTag(shown) }
}

const history = endpoint({
  ...JOB_ROUTES.history,
  tool: 'get_job_history',
  tag: 'jobs',
  summary: 'List the attempts of a job',
  description:
    'Newest first, or oldest first with `order=oldest`. The id of a schedule returns the attempts of all its jobs.',
  role: 'viewer',
  tenants: 'own',
  params: byId,
  query: historyQuery,
  answers: ok(listSchema(union(attemptView, occurrenceAttempt), 'AttemptList'), 'A page of attempts'),
  async handle(call): Promise<Answer> {
    const { id } = await ownJobOrSchedule(call, call.params.id)
    return { body: await call.app.chronos.byId.history(id, call.query) }
  },
})

const logs = endpoint({
  ...JOB_ROUTES.logs,
  tool: 'get_job_logs',
  tag: 'jobs',
  summary: 'List the log lines of a job',
  description: 'The id of a schedule returns those of its current or last job.',
  role: 'viewer',
  tenants: 'own',
  params: byId,
  query: pageQuery,
  answers: ok(listSchema(logView, 'LogList'), 'A page of lines, oldest first'),
  async handle(call): Promise<Answer> {
    const { id } = await ownJobOrSchedule(call, call.params.id)
    return { body: await call.app.chronos.byId.logs(id, call.query) }
  },
})

const explain = endpoint({
  method: 'get',
  path: '/jobs/{id}/explain',
  tool: 'explain_job',
  call: ['jobs.explain(id)', 'byId.explain(id)'],
  tag: 'jobs',
  summary: 'Explain why a job waits, and why it was or was not retried',
  description: 'The id of a schedule explains its current or last job, and when it occurs next.',
  role: 'viewer',
  tenants: 'own',
  params: byId,
  answers: ok(explanation, 'The explanation'),
  async handle(call): Promise<Answer> {
    const { id } = await ownJobOrSchedule(call, call.params.id)
    return { body: await call.app.chronos.byId.explain(id) }
  },
})

const timeline = endpoint({
  method: 'get',
  path: '/jobs/{id}/timeline',
  call: ['jobs.timeline(id)', 'byId.timeline(id)'],
  tag: 'jobs',
  summary: 'Get the timeline of a job',
  description: 'The id of a schedule returns that of its current or last job, and the time of the next occurrence.',
  role: 'viewer',
  tenants: 'own',
  params: byId,
  answers: ok(jobTimeline, 'Spans, attempts and planned runs'),
  async handle(call): Promise<Answer> {
    const { id } = await ownJobOrSchedule(call, call.params.id)
    const drawn = await call.app.chronos.byId.timeline(id)
    return { body: { ...drawn, job: shownTo(call.caller, drawn.job) } }
  },
})

export const JOBS: readonly Endpoint[] = [create, batch, listed, get, history, logs, explain, timeline]
