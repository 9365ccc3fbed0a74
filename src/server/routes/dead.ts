import { deadQuery, jobQuery } from '../../core/job/filter.js'
import { jobView } from '../../core/job/view.js'
import { freeText } from '../../core/values/limits.js'
import { present } from '../../core/values/present.js'
import { about, named, oneOf } from '../../core/values/schema.js'
import { listOf, object, omit, view } from '../../core/values/shape.js'
import { breakdownQuery, errorBreakdown } from '../../engine/dead/breakdown.js'
import {
  type Dead,
  type ErrorGroupView,
  errorGroupList,
  errorGroupView,
  groupQuery,
  SETTABLE_STATES,
} from '../../engine/dead/dead.js'
import { assignee as assigneeName, noteText } from '../../engine/dead/error-notes.js'
import { bulkResult, checkMeant } from '../../engine/jobs/bulk.js'
import { paging } from '../../engine/jobs/query.js'
import { chosen, type Facts, tenantWords } from '../audit-words.js'
import { type Answer, type Call, type Endpoint, endpoint, ok } from '../endpoint.js'
import { jobList } from './job-forms.js'
import { jobsShownTo, ownTenant, shownTo } from './tenancy.js'
import { bulkRequest, id } from './words.js'

export const deadFilter = named('DeadFilter', deadQuery, {
  description: 'Selects dead jobs that match every condition.',
})
const byFingerprint = object({ fingerprint: freeText })
const ofTenant = object({}, { tenantId: about(freeText, 'Only the part of this tenant. Default: all tenants.') })
const groupEdit = named(
  'ErrorGroupEdit',
  object({
    state: about(oneOf(SETTABLE_STATES), 'A resolved group becomes `regressed` when the error occurs again.'),
  }),
)
const groupWithJobs = named(
  'ErrorGroupWithJobs',
  view(
    { ...errorGroupView.required, jobs: about(listOf(jobView), 'The samples that still exist.') },
    errorGroupView.optional,
  ),
)

const list = endpoint({
  method: 'get',
  path: '/dead',
  call: 'dead.list(..., ...)',
  summary: 'List dead letters, newest first',
  description: 'Takes the filters of `GET /jobs`. The count is exact up to 10,000.',
  role: 'viewer',
  tenants: 'own',
  query: object({}, { ...omit(jobQuery, 'state', 'phase', 'workerId').optional, ...paging }),
  answers: ok(jobList, 'A page of jobs'),
  async handle({ app, caller, query }): Promise<Answer> {
    const { limit, cursor, ...asked } = query
    const filter = { ...ownTenant(caller, asked), state: 'dead' } as const
    const page = present({ limit, cursor })
    return { body: await jobsShownTo(caller, app.chronos, filter, page) }
  },
})

const groups = endpoint({
  method: 'get',
  path: '/dead/groups',
  tool: 'list_error_groups',
  call: 'dead.groups(...)',
  summary: 'List error groups, largest first',
  description: 'Equal errors are one group over all tenants, with a breakdown by tenant (`tenants`).',
  role: 'viewer',
  tenants: 'own',
  query: groupQuery,
  answers: ok(errorGroupList, 'A page of error groups'),
  handle: async ({ app, caller, query }) => ({ body: await app.chronos.dead.groups(ownTenant(caller, query)) }),
})

const group = endpoint({
  method: 'get',
  path: '/dead/groups/{fingerprint}',
  tool: 'get_error_group',
  call: 'dead.group(fingerprint, ?tenantId)',
  summary: 'Get an error group with some of its jobs',
  role: 'viewer',
  tenants: 'own',
  params: byFingerprint,
  query: ofTenant,
  answers: ok(groupWithJobs, 'The group'),
  async handle({ app, caller, params: { fingerprint }, query }): Promise<Answer> {
    const { tenantId } = ownTenant(caller, query)
    const { dead, jobs } = app.chronos
    const found = await dead.group(fingerprint, tenantId)
    const samples = await Promise.all(found.samples.map(id => jobs.get(id)))
    return { body: { ...found, jobs: samples.flatMap(job => (job ? [shownTo(caller, job)] : [])) } }
  },
})

type GroupCall = Call<{ readonly fingerprint: string }, { readonly tenantId?: string }, unknown>

/** Changes a group, or the part of one tenant, and notes it with these facts. */
async function changeGroup(
  { app, caller, params: { fingerprint }, query, note }: GroupCall,
  facts: Facts,
  change: (dead: Dead, fingerprint: string, tenantId: string | undefined) => Promise<ErrorGroupView>,
): Promise<Answer> {
  const { tenantId } = ownTenant(caller, query)
  const body = await change(app.chronos.dead, fingerprint, tenantId)
  note({ ...facts, ...present({ tenantId }) })
  app.feed.changed(['dead'], tenantId)
  return { body }
}

const setGroup = endpoint({
  method: 'patch',
  path: '/dead/groups/{fingerprint}',
  did: facts => `set error group ${facts['fingerprint']}${tenantWords(facts)} to ${facts['state']}`,
  call: 'dead.setGroup(fingerprint, state, ?tenantId)',
  summary: 'Change the status of an error group',
  role: 'operator',
  tenants: 'own',
  params: byFingerprint,
  query: ofTenant,
  body: groupEdit,
  answers: ok(errorGroupView, 'The changed error group'),
  handle: call => {
    const { state } = call.body
    return changeGroup(call, { state }, (dead, id, tenantId) => dead.setGroup(id, state, tenantId))
  },
})

const breakdown = endpoint({
  method: 'get',
  path: '/dead/groups/{fingerprint}/breakdown',
  tool: 'break_down_error_group',
  call: 'dead.breakdown(fingerprint, ...)',
  summary: 'Count the failed runs of an error in a time range, by tenant, queue, job name, worker and build',
  role: 'viewer',
  tenants: 'own',
  params: byFingerprint,
  query: breakdownQuery,
  answers: ok(errorBreakdown, 'The failed runs'),
  async handle({ app, caller, params: { fingerprint }, query }): Promise<Answer> {
    const found = await app.chronos.dead.breakdown(fingerprint, ownTenant(caller, query))
    // Workers and builds belong to the fleet, not to a tenant.
    return { body: caller.tenantId === undefined ? found : { ...found, workers: [], builds: [] } }
  },
})

const assign = endpoint({
  method: 'put',
  path: '/dead/groups/{fingerprint}/assignee',
  tool: 'assign_error_group',
  did: facts =>
    facts['assignee'] === undefined
      ? `removed the assignee of error group ${facts['fingerprint']}${tenantWords(facts)}`
      : `assigned error group ${facts['fingerprint']}${tenantWords(facts)} to ${facts['assignee']}`,
  call: 'dead.assign(fingerprint, assignee, ?tenantId)',
  summary: 'Name who looks after an error group',
  role: 'operator',
  tenants: 'own',
  params: byFingerprint,
  query: ofTenant,
  body: named('ErrorGroupAssignee', object({ assignee: about(assigneeName, '`null` removes the name.') })),
  answers: ok(errorGroupView, 'The changed error group'),
  handle: call => {
    const { assignee } = call.body
    const facts = present({ assignee: assignee ?? undefined })
    return changeGroup(call, facts, (dead, id, tenantId) => dead.assign(id, assignee, tenantId))
  },
})

const addNote = endpoint({
  method: 'post',
  path: '/dead/groups/{fingerprint}/notes',
  tool: 'add_error_group_note',
  did: facts => `added a note to error group ${facts['fingerprint']}${tenantWords(facts)}`,
  call: 'dead.addNote(fingerprint, text, ?tenantId)',
  summary: 'Add a note to an error group',
  role: 'operator',
  tenants: 'own',
  params: byFingerprint,
  query: ofTenant,
  body: named('NewErrorNote', object({ text: noteText })),
  answers: ok(errorGroupView, 'The changed error group'),
  handle: call => {
    const { text } = call.body
    return changeGroup(call, {}, (dead, id, tenantId) => dead.addNote(id, text, tenantId, call.caller.name))
  },
})

const removeNote = endpoint({
  method: 'delete',
  path: '/dead/groups/{fingerprint}/notes/{id}',
  did: facts => `removed a note of error group ${facts['fingerprint']}${tenantWords(facts)}`,
  call: 'dead.removeNote(fingerprint, id, ?tenantId)',
  summary: 'Remove a note of an error group',
  role: 'operator',
  tenants: 'own',
  params: object({ fingerprint: freeText, id }),
  query: ofTenant,
  answers: ok(errorGroupView, 'The changed error group'),
  handle: call => {
    const { id: noteId } = call.params
    return changeGroup(call, {}, (dead, id, tenantId) => dead.removeNote(id, noteId, tenantId))
  },
})

const bulkBody = bulkRequest(deadFilter, 'DeadBulkRequest')

/** An action on all matching dead letters. */
function bulk(path: 'acknowledge' | 'discard', summary: string): Endpoint {
  return endpoint({
    method: 'post',
    path: `/dead/${path}`,
    did: facts => `${path}${path.endsWith('e') ? 'd' : 'ed'} ${chosen(facts, 'dead letter')}`,
    call: `dead.${path}(filter, ..., all=true)`,
    takesLong: true,
    summary,
    role: 'operator',
    tenants: 'own',
    body: bulkBody,
    answers: ok(bulkResult, 'How many'),
    async handle({ app, caller, body: { filter, all = false, ...options }, note }): Promise<Answer> {
      checkMeant(filter, { all }, `dead/${path}`)
      const query = ownTenant(caller, filter)
      const result = await app.chronos.dead[path](query, options)
      note({ filter: query, count: result.changed })
      if (result.changed > 0) app.feed.changed(['dead', 'jobs', 'queues'], query.tenantId)
      return { body: result, ...(result.dryRun && { changed: false }) }
    },
  })
}

const acknowledge = bulk('acknowledge', 'Acknowledge dead letters: they stay, but no longer raise alerts')
const discard = bulk('discard', 'Discard dead letters; their records stay')

export const DEAD: readonly Endpoint[] = [
  list,
  groups,
  group,
  setGroup,
  breakdown,
  assign,
  addNote,
  removeNote,
  acknowledge,
  discard,
]
