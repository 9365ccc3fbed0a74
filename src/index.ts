import { ChronosError, shown } from './core/values/error.js'
import { Chronos } from './engine/client/chronos.js'
import type { ChronosOptions } from './engine/client/options.js'
import { systemClock, systemDice } from './engine/time/system.js'
import { sqlite } from './sqlite.js'
import { memoryStore } from './store/memory.js'
import type { Store } from './store/store.js'

export type { AlertView } from './core/alert/alert.js'
export type { RuleSettings } from './core/alert/form.js'
export type { RuleView } from './core/alert/settings.js'
export type { SilenceInput, SilenceView } from './core/alert/silence.js'
export { RetryAfter } from './core/failure/retry-after.js'
export type { HttpRequest } from './core/http/request.js'
export type { BulkOptions } from './core/job/bulk.js'
export type { EventName, Events } from './core/job/event.js'
export type { Explanation } from './core/job/explain.js'
export type { DeathReason, JobState, RunStatus } from './core/job/job.js'
export type { Transaction } from './core/job/options.js'
export type { Decision } from './core/job/transition.js'
export type { AttemptView, JobView } from './core/job/view.js'
export type { EverywhereEvent } from './core/listener/listener.js'
export type { Limit, PartitionLimits, QueueLimits, Units } from './core/partition/limits.js'
export { exponential, fibonacci, fixed, linear, list } from './core/policy/builders.js'
export type { Policy, PolicyInput, Rule } from './core/policy/policy.js'
export { type PreviewRow, previewInput as preview } from './core/policy/preview.js'
export type { Duration } from './core/values/duration.js'
export { ChronosError, type ErrorCode, PermanentError } from './core/values/error.js'
export type { EndpointInput, EndpointView, WebhookEvent } from './core/webhook/webhook.js'
export type { AlertsOptions } from './engine/alerts/alerts.js'
export type { ChannelOptions } from './engine/alerts/channels.js'
export type { Chronos } from './engine/client/chronos.js'
export {
  type BatchHandler,
  defineJob,
  type Handler,
  type JobContext,
  type JobDefinition,
} from './engine/client/definition.js'
export type { EnqueueOptions, EnqueueResult } from './engine/client/enqueuer.js'
export type { WorkOptions } from './engine/client/options.js'
export type { ErrorGroupView } from './engine/dead/dead.js'
export type { RedriveOptions, RedriveView } from './engine/dead/redrives.js'
export type { CircuitView } from './engine/dependencies/circuits.js'
export type { EgressOptions } from './engine/egress/rules.js'
export type { SeriesQuery, StatsSeries } from './engine/figures/series.js'
export type { FleetStats } from './engine/figures/statistics.js'
export type { Meter } from './engine/figures/telemetry.js'
export type { OpenTelemetry } from './engine/figures/tracing.js'
export type { BulkResult } from './engine/jobs/bulk.js'
export type { JobOrSchedule } from './engine/jobs/by-id.js'
export type { JobChanges } from './engine/jobs/edit.js'
export type { JobOf } from './engine/jobs/jobs.js'
export type { HistoryQuery, JobQuery, List, PageQuery } from './engine/jobs/query.js'
export type { QueueReport, RetryWave } from './engine/jobs/queue-report.js'
export type { JobTimeline } from './engine/jobs/timeline.js'
export type {
  ClaimOptions,
  ExtendOptions,
  LeaseEnd,
  LeaseExtension,
  LeaseView,
  ReportedError,
} from './engine/leases/leases.js'
export type { PartitionsQuery, PartitionView } from './engine/limits/partitions.js'
export type { EverywhereOptions, StopListening } from './engine/listeners/everywhere.js'
export type { NameList, NameListQuery, NameQuery, NameReport, NameSummary } from './engine/names/view.js'
export type { FollowOptions, JobUpdate } from './engine/results/follow.js'
export type { WaitOptions } from './engine/results/waiters.js'
export type { ScheduleOptions } from './engine/schedules/options.js'
export type { JobSchedule, ScheduleView } from './engine/schedules/view.js'
export type { IntegrityReport } from './engine/upkeep/integrity.js'
export { type JobMessage, verifyWebhook, type WebhookMessage } from './engine/webhooks/signature.js'
export type { ReconcileAnswer, ReconcileAttempt, ReconcileJob } from './engine/worker/reconcile.js'
export type { WorkerStats } from './engine/worker/stats.js'
export type { Worker } from './engine/worker/worker.js'

export interface CreateOptions extends ChronosOptions {
  /** `sqlite:./chronos.db`, `postgres://…`, `memory:`, or a store from `chronos-jobs/sqlite` or `chronos-jobs/postgres`. */
  readonly store: string | Store
}

export function createChronos(options: CreateOptions): Chronos {
  const { store, ...rest } = options
  return new Chronos(opener(store), systemClock, systemDice, rest)
}

/** Checks the address at once and opens the store on first use, so that a wrong address fails early. */
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
    // The rest of the address may contain a password.
    const scheme = /^[^:]*:/.exec(url)?.[0]
    const named = typeof store !== 'string' || scheme === undefined || scheme === url ? store : `${scheme}…`
    throw new ChronosError(
      'INVALID_OPTION',
      `createChronos: store ${shown(named)} is unknown; use "sqlite:./chronos.db", "postgres://…" or "memory:"`,
    )
  }
  return async () => sqlite(path)
}
