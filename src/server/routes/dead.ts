import type { GroupQuery } from '../../engine/dead/dead.js'
import { checkMeant } from '../../engine/jobs/bulk.js'
import { type Answer, type Endpoint, endpoint, ok } from '../endpoint.js'
import {
  byFingerprint,
  deadFilterBody,
  deadQuery,
  groupEdit,
  groupList,
  groupQuery,
  groupSchema,
  groupWithJobs,
  ofTenant,
} from '../schemas/dead.js'
import { jobList } from '../schemas/job.js'
import { bulkRequest, bulkSchema } from '../schemas/words.js'
import { ownTenant, shownTo } from './tenancy.js'

const list = endpoint({
  method: 'get',
  path: '/dead',
  call: 'dead.list(..., ...)',
  tag: 'dead',
  summary: 'List dead letters, newest first',
  description: 'Takes the filters of `GET /jobs`. The count is exact up to 10,000.',
  role: 'viewer',
  tenants: 'own',
  query: deadQuery,
  answers: ok(jobList, 'A page of jobs'),
  async handle({ app, caller, query }): Promise<Answer> {
    const { limit, cursor, ...asked } = query
    const filter = { ...ownTenant(caller, asked), state: 'dead' } as const
    const page = { ...(limit !== undefined && { limit }), ...(cursor !== undefined && { cursor }) }
    const [found, total] = await Promise.all([app.chronos.jobs.list(filter, page), app.chronos.jobs.count(filter)])
    return { body: { ...found, data: found.data.map(job => shownTo(caller, job)), count: total } }
  },
})

const groups = endpoint({
  method: 'get',
  path: '/dead/groups',
  call: 'dead.groups(...)',
  tag: 'dead',
  summary: 'List error groups, largest first',
  role: 'viewer',
  tenants: 'own',
  query: groupQuery,
  answers: ok(groupList, 'A page of error groups'),
  async handle({ app, caller, query }): Promise<Answer> {
    return { body: await app.chronos.dead.groups(ownTenant(caller, query) as GroupQuery) }
  },
})

const group = endpoint({
  method: 'get',
  path: '/dead/groups/{fingerprint}',
  call: 'dead.group(fingerprint, ?tenantId)',
  tag: 'dead',
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

const setGroup = endpoint({
  method: 'patch',
  path: '/dead/groups/{fingerprint}',
  call: 'dead.setGroup(fingerprint, state, ?tenantId)',
  tag: 'dead',
  summary: 'Change the status of an error group',
  role: 'operator',
  tenants: 'own',
  params: byFingerprint,
  query: ofTenant,
  body: groupEdit,
  answers: ok(groupSchema, 'The changed error group'),
  async handle({ app, caller, params: { fingerprint }, query, body: { state }, note }): Promise<Answer> {
    const { tenantId } = ownTenant(caller, query)
    const set = await app.chronos.dead.setGroup(fingerprint, state, tenantId)
    note({ state, ...(tenantId !== undefined && { tenantId }) })
    app.feed.changed(['dead'], tenantId)
    return { body: set }
  },
})

const bulkBody = bulkRequest(deadFilterBody, 'DeadBulkRequest')

/** An action on all matching dead letters. */
function bulk(path: 'acknowledge' | 'discard', summary: string): Endpoint {
  return endpoint({
    method: 'post',
    path: `/dead/${path}`,
    call: `dead.${path}(filter, ..., all=true)`,
    tag: 'dead',
    takesLong: true,
    summary,
    role: 'operator',
    tenants: 'own',
    body: bulkBody,
    answers: ok(bulkSchema, 'How many'),
    async handle({ app, caller, body: { filter, dryRun = false, all = false }, note }): Promise<Answer> {
      checkMeant(filter, { all }, `dead/${path}`)
      const query = ownTenant(caller, filter)
      const result = await app.chronos.dead[path](query, { dryRun })
      note({ filter: query, dryRun, count: result.changed })
      if (result.changed > 0) app.feed.changed(['dead', 'jobs', 'queues'], query.tenantId)
      return { body: result }
    },
  })
}

const acknowledge = bulk('acknowledge', 'Acknowledge dead letters: they stay, but no longer raise alerts')
const discard = bulk('discard', 'Discard dead letters; their records stay')

export const DEAD: readonly Endpoint[] = [list, groups, group, setGroup, acknowledge, discard]
