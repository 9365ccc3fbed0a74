import { ChronosError, shown } from './core/error.js'
import { Chronos } from './engine/chronos.js'
import type { ChronosOptions } from './engine/options.js'
import { systemClock, systemDice } from './engine/system.js'
import { sqlite } from './sqlite.js'
import { memoryStore } from './store/memory.js'
import type { Store } from './store/store.js'

export type { AlertView } from './core/alert.js'
export type { RuleSettings, RuleView } from './core/alert-rules.js'
export { exponential, fibonacci, fixed, linear, list } from './core/builders.js'
export type { Duration } from './core/duration.js'
export { ChronosError, type ErrorCode, PermanentError } from './core/error.js'
export type { EventName, Events } from './core/event.js'
export type { Explanation } from './core/explain.js'
export type { HttpRequest } from './core/http-request.js'
export type { JobState } from './core/job.js'
export type { Policy, PolicyInput, Rule } from './core/policy.js'
export { preview } from './core/preview.js'
export { RetryAfter } from './core/retry-after.js'
export type { SilenceInput, SilenceView } from './core/silence.js'
export type { AttemptView, JobView } from './core/view.js'
export type { EndpointInput, EndpointView, WebhookEvent } from './core/webhook.js'
export type { ChannelOptions } from './engine/alert-channels.js'
export type { AlertsOptions } from './engine/alerts.js'
export type { AuditReport } from './engine/audit.js'
export type { BulkOptions, BulkResult } from './engine/bulk.js'
export type { Chronos } from './engine/chronos.js'
export type { CircuitView } from './engine/circuits.js'
export type { ErrorGroupView } from './engine/dead.js'
export { defineJob, type JobContext, type JobDefinition } from './engine/definition.js'
export type { EgressOptions } from './engine/egress/rules.js'
export type { EnqueueOptions, EnqueueResult } from './engine/enqueuer.js'
export type { JobChanges } from './engine/job-edit.js'
export type { JobQuery, List, PageQuery } from './engine/job-query.js'
export type { JobTimeline } from './engine/job-timeline.js'
export type {
  ClaimOptions,
  ExtendOptions,
  LeaseEnd,
  LeaseExtension,
  LeaseView,
  ReportedError,
} from './engine/leases.js'
export type { WorkOptions } from './engine/options.js'
export type { QueueReport, RetryWave } from './engine/queue-report.js'
export type { ReconcileAnswer, ReconcileAttempt, ReconcileJob } from './engine/reconcile.js'
export type { RedriveOptions, RedriveView } from './engine/redrives.js'
export type { ScheduleOptions } from './engine/schedule-options.js'
export type { ScheduleView } from './engine/schedule-view.js'
export { verifyWebhook, type WebhookMessage } from './engine/signature.js'
export type { FleetStats, SeriesQuery, StatsSeries } from './engine/statistics.js'
export type { WorkerStats } from './engine/stats.js'
export type { Meter } from './engine/telemetry.js'
export type { OpenTelemetry } from './engine/tracing.js'
export type { Worker } from './engine/worker.js'

export interface CreateOptions extends ChronosOptions {
  /** `sqlite:./chronos.db`, `postgres://…`, `memory:`, or a store of the doors `chronos-jobs/sqlite` and `/postgres`. */
  readonly store: string | Store
}

export function createChronos(options: CreateOptions): Chronos {
  const { store, ...rest } = options
  return new Chronos(opener(store), systemClock, systemDice, rest)
}

/** Checked at once, opened at the first use: a wrong address should not wait for a job to be noticed. */
function opener(store: unknown): () => Promise<Store> {
  if (typeof store === 'object' && store !== null) return async () => store as Store
  const url = String(store)
  if (url === 'memory:') {
    const memory = memoryStore({ clock: systemClock })
    return async () => memory
  }
  if (/^postgres(ql)?:\/\//.test(url)) return async () => (await import('./postgres.js')).postgres(url)
  const path = url.startsWith('sqlite:') ? url.slice('sqlite:'.length) : ''
  if (path === '') {
    throw new ChronosError(
      'INVALID_OPTION',
      `createChronos: store ${shown(store)} is not known; use "sqlite:./chronos.db", "postgres://…" or "memory:"`,
    )
  }
  return async () => sqlite(path)
}
