import type { Job } from '../core/job/job.js'
import { RESERVED } from '../core/queue/internal.js'

type Scoped = Pick<Job, 'tenantId' | 'name'>

/** Keys and `unique` values are scoped by tenant and job name; jobs without a tenant share one scope. */
export function keyOf(job: Scoped, key: string): string {
  return JSON.stringify([job.tenantId ?? null, job.name, key])
}

/** Where the values of `throttle` are kept among the keys. The name of no job is reserved, so no user's key is there. */
export function throttleScope({ tenantId, name }: Scoped): Scoped {
  return { name: `${RESERVED}throttle:${name}`, ...(tenantId !== undefined && { tenantId }) }
}

/** Where the ids of enqueues that replaced a payload are kept among the keys. */
export const REPLACED_SCOPE: Scoped = { name: `${RESERVED}replaced` }

export function isLive(job: Pick<Job, 'state'>): boolean {
  return job.state === 'waiting' || job.state === 'running'
}
