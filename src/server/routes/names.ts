import { nameList, nameListQuery, nameQuery, nameReport } from '../../engine/names/view.js'
import { type Endpoint, endpoint, ok } from '../endpoint.js'

const list = endpoint({
  method: 'get',
  path: '/names',
  tool: 'list_job_names',
  call: 'names.list(...)',
  summary: 'List job names with their rate, failures and percentiles',
  description: 'Statistics have no tenants, so the token of a tenant is refused.',
  role: 'viewer',
  tenants: 'none',
  query: nameListQuery,
  answers: ok(nameList, 'The job names that were active in the range, most runs first'),
  handle: async ({ app, query }) => ({ body: await app.chronos.names.list(query) }),
})

const get = endpoint({
  method: 'get',
  path: '/names/{name}',
  tool: 'get_job_name',
  call: 'names.get(name, ...)',
  summary: 'Get what happened to the jobs of one name in a time range',
  description:
    'Rate, failures, percentiles of run time and wait over time, top errors, the slowest runs and the most retried jobs, queues and workers.',
  role: 'viewer',
  tenants: 'none',
  query: nameQuery,
  answers: ok(nameReport, 'The job name'),
  handle: async ({ app, params: { name }, query }) => ({ body: await app.chronos.names.get(name, query) }),
})

export const NAMES: readonly Endpoint[] = [list, get]
