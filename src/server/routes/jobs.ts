import { explanation } from '../../core/job/explain.js'
import { jobQuery } from '../../core/job/filter.js'
import { attemptView, jobView } from '../../core/job/view.js'
import { isScheduleForm, parseScheduleForm, type ScheduleForm } from '../../core/schedule/form.js'
import { present } from '../../core/values/present.js'
import { anyText, anything, type Infer, integer, named, oneOf, type Schema, tryRead } from '../../core/values/schema.js'
import { list, listOf, object, union, view } from '../../core/values/shape.js'
import type { EnqueueResult } from '../../engine/client/enqueuer.js'
import { jobVersion } from '../../engine/jobs/edit.js'
import { logView } from '../../engine/jobs/jobs.js'
import { historyQuery, pageQuery, paging } from '../../engine/jobs/query.js'
import { jobTimeline } from '../../engine/jobs/timeline.js'
import { occurrenceAttempt, scheduleView } from '../../engine/schedules/view.js'
import type { Caller } from '../access/caller.js'
import type { Application } from '../application.js'
import { type Answer, type Endpoint, endpoint, ok } from '../endpoint.js'
import { invalidRequest, Problem, problemOf } from '../http/problem.js'
import { enqueuedJob, jobForm, jobList, jobOrScheduleForm, type NewJob, warnings } from './job-forms.js'
import { isOwn, jobsShownTo, noSuch, ownJob, ownTenant, scheduleShownTo, shownTo } from './tenancy.js'
import { byId, listSchema } from './words.js'

const BATCH_MAX = 1_000
const ATTEMPTS_SHOWN = 200

const createdSchedule = named(
  'CreatedSchedule',
  view({ ...scheduleView.required, warnings: listOf(anyText) }, scheduleView.optional),
)

const create = endpoint({
  method: 'post',
  path: '/jobs',
  call: ['enqueue(name, payload, ...)', 'http(http, ...)'],
  tag: 'jobs',
  summary: 'Create a job',
  description:
    'A job by name, a call to a URL (`http`), or a schedule of calls in its short form (`schedule`, `api`, …). ' +
    'A repeated `key` returns 200 with the existing job.',
  role: 'operator',
  tenants: 'own',
  creates: 'keyed',
  audit: 'sum',
  body: jobOrScheduleForm,
  answers: {
    200: { description: 'A job with this key exists already', schema: enqueuedJob },
    201: { description: 'Created', schema: union(enqueuedJob, createdSchedule) },
  },
  async handle({ app, caller, body, repeatId }): Promise<Answer> {
    if (isScheduleForm(body)) return makeSchedule(app, caller, body as ScheduleForm, repeatId)
    // The key makes sure that a repeated request creates one job, even if the stored answer was lost.
    const key = repeatId === undefined ? {} : { key: `request:${repeatId}` }
    const result = await enqueue(app, caller, { ...key, ...(body as NewJob) })
    const job = await app.chronos.jobs.get(result.id)
    return { status: result.status === 'created' ? 201 : 200, body: { ...job, ...result } }
  },
})

/** The repeat id makes sure that a repeated request creates one schedule. */
async function makeSchedule(
  { chronos }: Application,
  { tenantId }: Caller,
  form: ScheduleForm,
  repeatId: string | undefined,
): Promise<Answer> {
  const id = repeatId?.slice(0, 32)
  const existing = id === undefined ? undefined : await chronos.schedules.get(id)
  if (existing) return { status: 201, body: { ...existing, warnings: parseScheduleForm(form, 'job').warnings } }
  const { schedule, warnings } = await chronos.schedules.create(form, present({ tenantId, id }))
  return { status: 201, body: { ...schedule, warnings } }
}

function enqueue({ chronos }: Application, caller: Caller, job: NewJob): Promise<EnqueueResult> {
  const own = ownTenant(caller, job)
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
    { status: oneOf(['created', 'existing', 'refused']) },
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
  method: 'post',
  path: '/jobs:batch',
  tag: 'jobs',
  summary: 'Create many jobs',
  description: `Up to ${BATCH_MAX}; one result each, in the same order. An invalid job does not affect the others.`,
  role: 'operator',
  tenants: 'own',
  creates: 'keyed',
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
  method: 'get',
  path: '/jobs',
  call: 'jobs.list(..., ...)',
  tag: 'jobs',
  summary: 'List jobs, newest first',
  description:
    'A job must match every filter. The count is exact up to 10,000. For viewers, `q` is not looked for in the ' +
    'payload of HTTP jobs, except in the URL before its query.',
  role: 'viewer',
  tenants: 'own',
  query: object({}, { ...jobQuery.optional, ...paging }),
  answers: ok(jobList, 'A page of jobs'),
  async handle({ app, caller, query }): Promise<Answer> {
    const { limit, cursor, ...asked } = query
    const filter = ownTenant(caller, asked)
    const page = present({ limit, cursor })
    return { body: await jobsShownTo(caller, app.chronos, filter, page) }
  },
})

const get = endpoint({
  method: 'get',
  path: '/jobs/{id}',
  call: 'jobs.get(id)',
  tag: 'jobs',
  summary: 'Get a job with its attempts',
  description: 'The newest 200 attempts, newest first. The id of a schedule returns the schedule.',
  role: 'viewer',
  tenants: 'own',
  params: byId,
  answers: ok(
    union(
      named('JobWithAttempts', view({ ...jobView.required, attempts: listOf(attemptView) }, jobView.optional)),
      scheduleView,
    ),
    'The job',
  ),
  async handle({ app, caller, params: { id } }): Promise<Answer> {
    const job = await app.chronos.jobs.get(id)
    if (job && isOwn(caller, job)) {
      const { data: attempts } = await app.chronos.jobs.history(id, { limit: ATTEMPTS_SHOWN })
      const shown = shownTo(caller, job)
      return { body: { ...shown, attempts }, etag: jobVersion(shown) }
    }
    const schedule = await app.chronos.schedules.get(id)
    if (schedule && isOwn(caller, schedule)) return { body: scheduleShownTo(caller, schedule) }
    throw noSuch('job', id)
  },
})

const history = endpoint({
  method: 'get',
  path: '/jobs/{id}/history',
  call: 'jobs.history(id, ...)',
  tag: 'jobs',
  summary: 'List the attempts of a job',
  description:
    'Newest first, or oldest first with `order=oldest`. The id of a schedule returns the attempts of all its jobs.',
  role: 'viewer',
  tenants: 'own',
  params: byId,
  query: historyQuery,
  answers: ok(listSchema(union(attemptView, occurrenceAttempt), 'AttemptList'), 'A page of attempts'),
  async handle({ app, caller, params: { id }, query }): Promise<Answer> {
    const { jobs, schedules } = app.chronos
    const job = await jobs.get(id)
    if (job && isOwn(caller, job)) return { body: await jobs.history(id, query) }
    const schedule = await schedules.get(id)
    if (schedule && isOwn(caller, schedule)) return { body: await schedules.history(id, query) }
    throw noSuch('job', id)
  },
})

const logs = endpoint({
  method: 'get',
  path: '/jobs/{id}/logs',
  call: 'jobs.logs(id, ...)',
  tag: 'jobs',
  summary: 'List the log lines of a job',
  role: 'viewer',
  tenants: 'own',
  params: byId,
  query: pageQuery,
  answers: ok(listSchema(logView, 'LogList'), 'A page of lines, oldest first'),
  async handle(call): Promise<Answer> {
    const { id } = await ownJob(call, call.params.id)
    return { body: await call.app.chronos.jobs.logs(id, call.query) }
  },
})

const explain = endpoint({
  method: 'get',
  path: '/jobs/{id}/explain',
  call: 'jobs.explain(id)',
  tag: 'jobs',
  summary: 'Explain why a job waits, and why it was or was not retried',
  role: 'viewer',
  tenants: 'own',
  params: byId,
  answers: ok(explanation, 'The explanation'),
  async handle(call): Promise<Answer> {
    const { id } = await ownJob(call, call.params.id)
    return { body: await call.app.chronos.jobs.explain(id) }
  },
})

const timeline = endpoint({
  method: 'get',
  path: '/jobs/{id}/timeline',
  call: 'jobs.timeline(id)',
  tag: 'jobs',
  summary: 'Get the timeline of a job',
  role: 'viewer',
  tenants: 'own',
  params: byId,
  answers: ok(jobTimeline, 'Spans, attempts and planned runs'),
  async handle(call): Promise<Answer> {
    const { id } = await ownJob(call, call.params.id)
    const drawn = await call.app.chronos.jobs.timeline(id)
    return { body: { ...drawn, job: shownTo(call.caller, drawn.job) } }
  },
})

export const JOBS: readonly Endpoint[] = [create, batch, listed, get, history, logs, explain, timeline]
