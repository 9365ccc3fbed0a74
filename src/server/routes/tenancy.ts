import { isSecretHeader } from '../../core/http/headers.js'
import type { HttpRequest } from '../../core/http/request.js'
import type { JobView } from '../../core/job/view.js'
import { idOfTenant } from '../../core/schedule/id.js'
import { ChronosError } from '../../core/values/error.js'
import { isPlainObject } from '../../core/values/json.js'
import { present } from '../../core/values/present.js'
import type { Chronos } from '../../engine/client/chronos.js'
import type { JobOrSchedule, ListQuery } from '../../engine/jobs/by-id.js'
import { type JobQuery, type List, PAGE_DEFAULT, type PageQuery } from '../../engine/jobs/query.js'
import type { SearchOptions } from '../../engine/jobs/search.js'
import type { ScheduleView } from '../../engine/schedules/view.js'
import type { Count } from '../../store/store.js'
import type { Caller } from '../access/caller.js'
import type { Call } from '../endpoint.js'
import { Problem } from '../http/problem.js'

type AnyCall = Pick<Call<unknown, unknown, unknown>, 'app' | 'caller'>

/** The token of one tenant limits every request to that tenant. */
export function ownTenant<T extends { readonly tenantId?: string | undefined }>(caller: Caller, asked: T): T {
  if (caller.tenantId === undefined) return asked
  if (asked.tenantId !== undefined && asked.tenantId !== caller.tenantId) {
    throw new Problem(403, 'FORBIDDEN', `tenantId: this token is for ${caller.tenantId} only`)
  }
  return { ...asked, tenantId: caller.tenantId }
}

export function isOwn(caller: Caller, thing: { readonly tenantId?: string }): boolean {
  return caller.tenantId === undefined || thing.tenantId === caller.tenantId
}

/** The job or schedule, if this caller may see it; one of another tenant is not found. */
export async function ownJobOrSchedule({ app, caller }: AnyCall, id: string): Promise<JobOrSchedule> {
  const found = await ownOf(caller, id, one => app.chronos.byId.get(one))
  if (found) return found
  throw noSuch('job', id)
}

/** What this caller means by the id. A tenant has names of its own for schedules; those that others gave it work too. */
export async function ownOf<T extends { readonly tenantId?: string }>(
  caller: Caller,
  id: string,
  get: (id: string) => Promise<T | undefined>,
): Promise<T | undefined> {
  const { tenantId } = caller
  const found = await get(id)
  if (found && isOwn(caller, found)) return found
  const named = tenantId === undefined ? undefined : await get(idOfTenant(id, tenantId))
  return named && isOwn(caller, named) ? named : undefined
}

export function noSuch(what: string, id: string): ChronosError {
  return new ChronosError('NOT_FOUND', `there is no ${what} "${id}"`)
}

const HIDDEN = '•••'

/** Viewers don't see the secrets of HTTP jobs. */
export function shownTo(caller: Caller, job: JobView): JobView {
  return caller.role === 'viewer' && job.name === 'http' ? { ...job, payload: withoutSecrets(job.payload) } : job
}

/** Viewers don't see the secrets of a schedule's HTTP jobs either. */
export function scheduleShownTo<View extends ScheduleView>(caller: Caller, schedule: View): View {
  if (caller.role !== 'viewer' || schedule.job !== 'http') return schedule
  return { ...schedule, payload: withoutSecrets(schedule.payload) }
}

export function eitherShownTo(caller: Caller, found: JobOrSchedule): JobOrSchedule {
  if (found.kind === 'job') return shownTo(caller, found)
  const { occurrence, api, headers, ...schedule } = scheduleShownTo(caller, found)
  const { url, headers: sent } = (api === undefined ? {} : schedule.payload) as Partial<HttpRequest>
  return {
    ...schedule,
    ...present({ api: url, headers: sent, occurrence: occurrence && shownTo(caller, occurrence) }),
  }
}

/** A page of jobs and their count, as this caller may see them. */
export async function jobsShownTo(
  caller: Caller,
  { jobs }: Chronos,
  filter: JobQuery,
  page: PageQuery,
): Promise<List<JobView> & { readonly count: Count }> {
  const search = searchOf(caller)
  const [found, count] = await withCount(filter, page, {
    list: () => jobs.list(filter, page, search),
    count: () => jobs.count(filter, undefined, search),
  })
  return { ...found, data: found.data.map(job => shownTo(caller, job)), count }
}

/** The same, with the schedules that were made in the short form. */
export async function allShownTo(
  caller: Caller,
  { byId }: Chronos,
  filter: ListQuery,
  page: PageQuery,
): Promise<List<JobOrSchedule> & { readonly count: Count }> {
  const search = searchOf(caller)
  const [found, count] = await withCount(filter, page, {
    list: () => byId.list(filter, page, search),
    count: () => byId.count(filter, undefined, search),
  })
  return { ...found, data: found.data.map(one => eitherShownTo(caller, one)), count }
}

interface Asked<T> {
  readonly list: () => Promise<List<T>>
  readonly count: () => Promise<Count>
}

/** A search for a text that fills no page has found all that its count would find, and is not repeated for it. */
async function withCount<T>(
  { q, error }: Pick<JobQuery, 'q' | 'error'>,
  { limit = PAGE_DEFAULT, cursor }: PageQuery,
  { list, count }: Asked<T>,
): Promise<readonly [List<T>, Count]> {
  if ((q === undefined && error === undefined) || cursor !== undefined) return Promise.all([list(), count()])
  const found = await list()
  const { data, searched } = found
  if (searched === undefined || data.length >= limit) return [found, await count()]
  return [found, { value: data.length, relation: searched.complete ? 'exact' : 'at-least' }]
}

const searchOf = ({ role }: Caller): SearchOptions => ({ masksSecrets: role === 'viewer' })

function withoutSecrets(payload: unknown): unknown {
  if (!isPlainObject(payload)) return payload
  const { headers, url } = payload
  return present({
    ...payload,
    url: typeof url === 'string' ? url.replace(PARAMETER, withoutSecret) : url,
    headers: isPlainObject(headers) ? Object.fromEntries(Object.entries(headers).map(headerShown)) : headers,
  })
}

const PARAMETER = /([?&;])([^=&;#]+)=[^&;#]*/g

function withoutSecret(whole: string, mark: string, name: string): string {
  return isSecretHeader(decoded(name)) ? `${mark}${name}=${HIDDEN}` : whole
}

function decoded(name: string): string {
  return [...new URLSearchParams(name).keys()][0] ?? name
}

const headerShown = ([name, value]: [string, unknown]) => [name, isSecretHeader(name) ? HIDDEN : value] as const
