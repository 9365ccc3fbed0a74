import { idOfTenant, scheduleId } from '../../core/schedule/id.js'
import { occurrenceView } from '../../core/schedule/occurrences.js'
import { scheduleOptions, timingFields } from '../../core/schedule/options.js'
import { TIME_ZONE_DEFAULT } from '../../core/schedule/timing.js'
import { ChronosError } from '../../core/values/error.js'
import { jobName } from '../../core/values/limits.js'
import { present } from '../../core/values/present.js'
import { about, anyText, integer, named } from '../../core/values/schema.js'
import { listOf, object, view } from '../../core/values/shape.js'
import { time } from '../../core/values/time.js'
import { historyQuery, tenantQuery } from '../../engine/jobs/query.js'
import type { ScheduleOptions } from '../../engine/schedules/options.js'
import { occurrenceAttempt, type ScheduleView, scheduleView } from '../../engine/schedules/view.js'
import type { Caller } from '../access/caller.js'
import type { Application } from '../application.js'
import { type Answer, type Endpoint, endpoint, gone, NOTHING, ok } from '../endpoint.js'
import { Problem } from '../http/problem.js'
import { enqueuedJob } from './job-forms.js'
import { noSuch, ownOf, ownTenant, ownWork, scheduleShownTo } from './tenancy.js'
import { listSchema, versionTag } from './words.js'

/** Over HTTP a job has a name; only code can give its definition. */
const scheduleFields = {
  ...scheduleOptions.optional,
  job: about(jobName, scheduleOptions.fields.job.about),
}
const { example } = scheduleOptions.about
const scheduleInput = named('ScheduleInput', object({}, scheduleFields), { example })
const newSchedule = named('NewSchedule', object({}, { id: about(scheduleId, 'Default: a new id.'), ...scheduleFields }))

const previewRequest = named(
  'SchedulePreviewRequest',
  object(
    {},
    {
      ...timingFields,
      count: about(integer(1, 1000), 'How many; default 10.'),
      from: about(time, 'Default: now.'),
    },
  ),
  { example: { cron: '30 2 * * *', timeZone: 'Europe/Paris', count: 5 } },
)
const schedulePreview = named('SchedulePreview', view({ data: listOf(occurrenceView), timeZone: anyText }))

const list = endpoint({
  method: 'get',
  path: '/schedules',
  call: 'schedules.list(...)',
  summary: 'List schedules, by id',
  role: 'viewer',
  tenants: 'own',
  query: tenantQuery,
  answers: ok(listSchema(scheduleView, 'ScheduleList'), 'A page of schedules'),
  async handle({ app, caller, query }): Promise<Answer> {
    const found = await app.chronos.schedules.list(ownTenant(caller, query))
    return { body: { ...found, data: found.data.map(schedule => scheduleShownTo(caller, schedule)) } }
  },
})

const create = endpoint({
  method: 'post',
  path: '/schedules',
  did: ({ scheduleId }) => `created schedule ${scheduleId}`,
  summary: 'Create a schedule',
  description:
    '`cron` or `every` sets the time, `job` or `http` the work. An `id` that is taken is refused with 409. Each tenant has ' +
    'ids of its own: for its tokens `digest` is `digest@acme`.',
  role: 'operator',
  tenants: 'own',
  creates: true,
  body: newSchedule,
  answers: { 201: { description: 'Created', schema: scheduleView } },
  async handle({ app, caller, body: { id: asked, ...options }, note }): Promise<Answer> {
    const existing = asked === undefined ? undefined : await readOwn(app, caller, asked)
    const id = existing?.id ?? (asked === undefined ? app.dice.id(app.clock.now()) : newId(caller, asked))
    if (!existing) await app.quota.more(caller, 'schedules')
    const schedule = await put(app, caller, id, options, 0).catch((error: unknown) => {
      throw isTaken(error)
        ? new Problem(409, 'KEY_CONFLICT', `schedule "${id}" exists already; change it with PUT`)
        : error
    })
    note({ scheduleId: id })
    return { body: schedule, headers: versionTag(schedule) }
  },
})

const isTaken = (error: unknown): boolean => error instanceof ChronosError && error.code === 'VERSION_CONFLICT'

const get = endpoint({
  method: 'get',
  path: '/schedules/{id}',
  isVersioned: true,
  call: 'schedules.get(id)',
  summary: 'Get a schedule',
  description: 'The `ETag` is its version, for `If-Match`.',
  role: 'viewer',
  tenants: 'own',
  answers: ok(scheduleView, 'The schedule'),
  async handle({ app, caller, params: { id } }): Promise<Answer> {
    const schedule = await ownSchedule(app, caller, id)
    return { body: scheduleShownTo(caller, schedule), headers: versionTag(schedule) }
  },
})

const replace = endpoint({
  method: 'put',
  path: '/schedules/{id}',
  did: ({ id: name }) => `set schedule ${name}`,
  isVersioned: true,
  call: 'schedules.put(id, ..., ifMatch)',
  summary: 'Create or replace a schedule',
  description:
    'Fields that are left out return to their defaults. With `If-Match`, only if it still has that version, otherwise 412.',
  role: 'operator',
  tenants: 'own',
  body: scheduleInput,
  answers: {
    200: { description: 'Replaced', schema: scheduleView },
    201: { description: 'Created', schema: scheduleView },
  },
  async handle({ app, caller, params: { id }, body, ifMatch }): Promise<Answer> {
    const current = await readOwn(app, caller, id)
    // An id that the tenant has not read may belong to another tenant by now.
    const seen = caller.tenantId === undefined ? undefined : (current?.version ?? 0)
    const version = ifMatch === undefined ? seen : versionOf(ifMatch, id, current)
    if (!current) await app.quota.more(caller, 'schedules')
    const schedule = await put(app, caller, current?.id ?? newId(caller, id), body, version)
    return { status: current ? 200 : 201, body: schedule, headers: versionTag(schedule) }
  },
})

function versionOf(ifMatch: string, id: string, current: ScheduleView | undefined): number {
  if (ifMatch === '*' && current) return current.version
  if (/^\d{1,15}$/.test(ifMatch)) return Number(ifMatch)
  const have = current ? `has version ${current.version}` : 'does not exist'
  throw new Problem(412, 'PRECONDITION_FAILED', `schedule "${id}" ${have}, but If-Match is "${ifMatch}"`)
}

async function put(
  app: Application,
  caller: Caller,
  id: string,
  body: ScheduleOptions,
  version: number | undefined,
): Promise<ScheduleView> {
  const options = ownWork(caller, body)
  const schedule = await app.chronos.schedules.put(id, options, version === undefined ? {} : { version })
  app.feed.changed(['schedules'], schedule.tenantId)
  return schedule
}

const remove = endpoint({
  method: 'delete',
  path: '/schedules/{id}',
  did: ({ id: name }) => `deleted schedule ${name}`,
  call: 'schedules.delete(id)',
  summary: 'Delete a schedule; its jobs continue',
  role: 'operator',
  tenants: 'own',
  answers: gone,
  async handle({ app, caller, params: { id } }): Promise<Answer> {
    const { id: own, tenantId } = await ownSchedule(app, caller, id)
    await app.chronos.schedules.delete(own)
    app.feed.changed(['schedules'], tenantId)
    return {}
  },
})

function action(verb: 'pause' | 'resume', summary: string): Endpoint {
  return endpoint({
    method: 'post',
    path: `/schedules/{id}/${verb}`,
    did: ({ id: name }) => `${verb}d schedule ${name}`,
    call: `schedules.${verb}(id)`,
    summary,
    role: 'operator',
    tenants: 'own',
    body: NOTHING,
    answers: ok(scheduleView, 'The changed schedule'),
    async handle({ app, caller, params: { id } }): Promise<Answer> {
      const { id: own } = await ownSchedule(app, caller, id)
      const schedule = await app.chronos.schedules[verb](own)
      app.feed.changed(['schedules'], schedule.tenantId)
      return { body: schedule, headers: versionTag(schedule) }
    },
  })
}

const run = endpoint({
  method: 'post',
  path: '/schedules/{id}/run',
  did: ({ id: name }) => `ran schedule ${name}`,
  call: 'schedules.run(id)',
  summary: 'Run a schedule now, in addition to its occurrences',
  role: 'operator',
  tenants: 'own',
  creates: true,
  body: NOTHING,
  answers: { 201: { description: 'The job', schema: enqueuedJob } },
  async handle({ app, caller, params: { id }, note }): Promise<Answer> {
    const { id: own, tenantId } = await ownSchedule(app, caller, id)
    const result = await app.chronos.schedules.run(own)
    note({ jobId: result.id })
    app.feed.changed(['schedules', 'jobs', 'queues'], tenantId)
    return { body: { ...(await app.chronos.jobs.get(result.id)), ...result } }
  },
})

const history = endpoint({
  method: 'get',
  path: '/schedules/{id}/history',
  call: 'schedules.history(id, ...)',
  summary: 'List the attempts of all its jobs, newest job first unless `order` says otherwise',
  role: 'viewer',
  tenants: 'own',
  query: historyQuery,
  answers: ok(listSchema(occurrenceAttempt, 'OccurrenceList'), 'A page of attempts'),
  async handle({ app, caller, params: { id }, query }): Promise<Answer> {
    const { id: own } = await ownSchedule(app, caller, id)
    return { body: await app.chronos.schedules.history(own, query) }
  },
})

const preview = endpoint({
  method: 'post',
  path: '/schedules:preview',
  summary: 'Preview the occurrences of a schedule',
  description: 'If the clocks change between two occurrences, the second one reports it (`clocks`). Creates nothing.',
  role: 'viewer',
  tenants: 'own',
  audit: 'none',
  body: previewRequest,
  answers: ok(schedulePreview, 'The next occurrences'),
  async handle({ app, body: { count, from, ...timing } }): Promise<Answer> {
    const asked = present({ count, from })
    const data = app.chronos.schedules.preview(timing, asked)
    return { body: { data, timeZone: timing.timeZone ?? TIME_ZONE_DEFAULT } }
  },
})

/** The schedule, if this caller may see it. */
async function ownSchedule(app: Application, caller: Caller, id: string): Promise<ScheduleView> {
  const schedule = await readOwn(app, caller, id)
  if (schedule) return schedule
  throw noSuch('schedule', id)
}

const readOwn = ({ chronos }: Application, caller: Caller, id: string): Promise<ScheduleView | undefined> =>
  ownOf(caller, id, one => chronos.schedules.get(one))

/** The id of a new schedule. */
const newId = ({ tenantId }: Caller, id: string): string => (tenantId === undefined ? id : idOfTenant(id, tenantId))

export const SCHEDULES: readonly Endpoint[] = [
  list,
  create,
  get,
  replace,
  remove,
  action('pause', 'Pause a schedule; its existing jobs continue'),
  action('resume', 'Resume a schedule with its next occurrence'),
  run,
  history,
  preview,
]
