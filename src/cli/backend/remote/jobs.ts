import type { JobView } from '../../../core/job/view.js'
import { ChronosError } from '../../../core/values/error.js'
import { present } from '../../../core/values/present.js'
import { HTTP_JOB } from '../../../engine/client/definition.js'
import type { EnqueueOptions, EnqueueResult } from '../../../engine/client/enqueuer.js'
import type { List } from '../../../engine/jobs/jobs.js'
import type { Count } from '../../../store/store.js'
import type { Backend } from '../backend.js'
import { part, type Rest } from './rest.js'
import { queryFilter, wireDeadline, withTimes } from './wire.js'

type Counted = List<JobView> & { readonly count: Count }

export function remoteJobs(rest: Rest): Backend['jobs'] {
  const at = (id: string): string => `/jobs/${part(id)}`
  return {
    get: id => remoteJob(rest, id),
    async list(query = {}, page = {}) {
      const { count: _, ...list } = await rest.get<Counted>('/jobs', { query: { ...queryFilter(query), ...page } })
      return list
    },
    // The server counts up to 10,000 and says "at least" beyond that.
    async count(query = {}) {
      return (await rest.get<Counted>('/jobs', { query: { ...queryFilter(query), limit: 1 } })).count
    },
    history: (id, page = {}) => rest.get(`${at(id)}/history`, { query: { ...page } }),
    logs: (id, page = {}) => rest.get(`${at(id)}/logs`, { query: { ...page } }),
    explain: id => rest.get(`${at(id)}/explain`),
    cancel: id => rest.post(`${at(id)}/cancel`),
    runNow: id => rest.post(`${at(id)}/run-now`),
    retry: id => rest.post(`${at(id)}/retry`),
    async replay(id) {
      return resultOf(await rest.post(`${at(id)}/replay`, { creates: true }))
    },
    reschedule: (id, to) => rest.patch(at(id), { body: 'runAt' in to ? withTimes(to, ['runAt']) : to }),
    edit: (id, changes, { version } = {}) => rest.patch(at(id), { body: wireChanges(changes), ifMatch: version }),
    delete: id => rest.delete(at(id)),
  }
}

/** For the id of a schedule the API returns the schedule, which is not a job. */
async function remoteJob(rest: Rest, id: string): Promise<JobView | undefined> {
  try {
    const found = await rest.get<JobView & { readonly attempts?: unknown }>(`/jobs/${part(id)}`)
    const { attempts, ...job } = found
    return attempts === undefined ? undefined : (job as JobView)
  } catch (error) {
    if (error instanceof ChronosError && error.code === 'NOT_FOUND') return undefined
    throw error
  }
}

export async function remoteEnqueue(
  rest: Rest,
  name: string,
  payload: unknown,
  { tx: _, deadline, ...options }: EnqueueOptions,
): Promise<EnqueueResult> {
  const given = {
    ...withTimes(options, ['runAt']),
    ...present({ deadline: deadline === undefined ? undefined : wireDeadline(deadline) }),
  }
  const body = name === HTTP_JOB ? { http: payload, ...given } : { name, payload, ...given }
  return resultOf(await rest.post('/jobs', { body, creates: true }))
}

const resultOf = ({ id, status }: EnqueueResult): EnqueueResult => ({ id, status })

type Changes = Parameters<Backend['jobs']['edit']>[1]

function wireChanges({ deadline, ...changes }: Changes): object {
  const given = withTimes(changes, ['runAt'])
  if (deadline === undefined) return given
  return { ...given, deadline: deadline === null ? null : wireDeadline(deadline) }
}
