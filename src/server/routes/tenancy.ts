import type { JobView } from '../../core/job/view.js'
import { ChronosError } from '../../core/values/error.js'
import type { ScheduleView } from '../../engine/schedules/view.js'
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

/** The job, if this caller may see it; a job of another tenant is not found. */
export async function ownJob({ app, caller }: AnyCall, id: string): Promise<JobView> {
  const job = await app.chronos.jobs.get(id)
  if (job && isOwn(caller, job)) return job
  throw noSuch('job', id)
}

export function noSuch(what: string, id: string): ChronosError {
  return new ChronosError('NOT_FOUND', `there is no ${what} "${id}"`)
}

const SECRET_HEADERS = /^(authorization|proxy-authorization|cookie|x-api-key|.*(token|secret|password|api-?key).*)$/i
const HIDDEN = '•••'

/** Viewers don't see the secrets of HTTP jobs. */
export function shownTo(caller: Caller, job: JobView): JobView {
  return caller.role === 'viewer' && job.name === 'http' ? { ...job, payload: withoutSecrets(job.payload) } : job
}

/** Viewers don't see the secrets of a schedule's HTTP jobs either. */
export function scheduleShownTo(caller: Caller, schedule: ScheduleView): ScheduleView {
  if (caller.role !== 'viewer' || schedule.job !== 'http') return schedule
  return { ...schedule, payload: withoutSecrets(schedule.payload) }
}

function withoutSecrets(payload: unknown): unknown {
  const headers = (payload as { headers?: Readonly<Record<string, unknown>> } | null)?.headers
  if (typeof headers !== 'object' || headers === null) return payload
  const safe = Object.entries(headers).map(([name, value]) => [name, SECRET_HEADERS.test(name) ? HIDDEN : value])
  return { ...(payload as object), headers: Object.fromEntries(safe) }
}
