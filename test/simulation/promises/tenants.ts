import type { World } from '../world/world.js'
import type { StoredJob } from './runs.js'

/** The services of the last tenant are always up: its calls are never deferred because of what others met. */
export function checkTenants({ plan, verdict, coverage }: World, stored: readonly StoredJob[]): void {
  const { tenants, services } = plan.features
  if (tenants.length === 0 || services.length === 0) return
  const healthy = tenants.at(-1)
  for (const { job, rows } of stored) {
    if (job.name !== 'call' || job.tenantId !== healthy) continue
    coverage.count("call beside another tenant's outage")
    for (const { run, status, decision } of rows) {
      const isDelayed = status === 'deferred' && decision.deferredBy !== 'budget'
      const what = (): string => `run ${run} of ${job.id} of ${healthy} was deferred: ${decision.why}`
      verdict.expect(!isDelayed, "a tenant does not delay another tenant's work", what)
    }
  }
}
