import type { Job } from '../core/job/job.js'

type Scoped = Pick<Job, 'tenantId' | 'name'>

/** Keys and `unique` values are scoped by tenant and job name; jobs without a tenant share one scope. */
export function keyOf(job: Scoped, key: string): string {
  return JSON.stringify([job.tenantId ?? null, job.name, key])
}

export function isLive(job: Pick<Job, 'state'>): boolean {
  return job.state === 'waiting' || job.state === 'running'
}
