import type { AlertView } from '../../core/alert/alert.js'
import type { RuleView } from '../../core/alert/settings.js'
import type { SilenceInput, SilenceView } from '../../core/alert/silence.js'
import type { AuditLogEntry } from '../../core/audit/entry.js'
import type { Forecast } from '../../core/forecast/forecast.js'
import type { HttpRequest } from '../../core/http/request.js'
import type { IncidentReport } from '../../core/incident/report.js'
import type { DeadBulkOptions } from '../../core/job/bulk.js'
import type { Explanation } from '../../core/job/explain.js'
import type { AttemptView, JobView } from '../../core/job/view.js'
import type { QueueSettings } from '../../core/queue/settings.js'
import type { RecoverOptions, RedriveOptions } from '../../core/redrive/redrive.js'
import type { SavedView, SavedViewInput } from '../../core/saved-view/saved-view.js'
import type { OccurrenceView } from '../../core/schedule/occurrences.js'
import type { EndpointInput, EndpointView } from '../../core/webhook/webhook.js'
import type { RuleChanges } from '../../engine/alerts/alerts.js'
import type { EnqueueOptions, EnqueueResult } from '../../engine/client/enqueuer.js'
import type { ErrorBreakdown } from '../../engine/dead/breakdown.js'
import type { BulkResult, ErrorGroupList, ErrorGroupView } from '../../engine/dead/dead.js'
import type { DryRun, RedriveView } from '../../engine/dead/redrives.js'
import type { CircuitView } from '../../engine/dependencies/circuits.js'
import type { StatsSeries } from '../../engine/figures/series.js'
import type { FleetStats } from '../../engine/figures/statistics.js'
import type { JobChanges } from '../../engine/jobs/edit.js'
import type { LogView } from '../../engine/jobs/log-view.js'
import type { List } from '../../engine/jobs/query.js'
import type { QueueReport, RetryWave } from '../../engine/jobs/queue-report.js'
import type { JobTimeline } from '../../engine/jobs/timeline.js'
import type { PartitionView } from '../../engine/limits/partitions.js'
import type { NameList, NameReport } from '../../engine/names/view.js'
import type { ScheduleView } from '../../engine/schedules/view.js'
import type { IntegrityReport } from '../../engine/upkeep/integrity.js'
import type { WorkerPage, WorkerView } from '../../engine/worker/fleet.js'
import type { NewToken, TokenInput, TokenView } from '../../server/access/tokens.js'
import type { Count } from '../../store/store.js'
import { segment } from '../shell/router.js'
import { type Parameter, request } from './http.js'

/** Every call of the REST API, by noun. There is no cache here. */

export type Filter = Readonly<Record<string, Parameter>>

export type Page = { readonly limit?: number | undefined; readonly cursor?: string | undefined }

/** A list with the total count. */
export type Counted<T> = List<T> & { readonly count: Count }

/** The body of a new job. With `http` it calls a URL. */
export interface NewJobBody extends Omit<EnqueueOptions, 'runAt' | 'deadline' | 'tx'> {
  readonly name?: string
  readonly payload?: unknown
  readonly http?: HttpRequest
}

export interface RedriveBody extends RedriveOptions {
  readonly filter: Filter
}

type Signal = AbortSignal | undefined

/** Lists and reads of one path. */
const some =
  <T>(path: string, fixed?: object) =>
  (query: Filter & Page = {}, signal?: Signal) =>
    request<T>('GET', path, { query: { ...query, ...fixed }, signal })
const all =
  <T>(path: string) =>
  (signal?: Signal) =>
    request<{ readonly data: readonly T[] }>('GET', path, { signal })

/** The server requires `all` with an empty filter. */
const chosen = (filter: Filter): object => (Object.keys(filter).length === 0 ? { filter, all: true } : { filter })

/** Acts on everything that matches, not only on what a page shows. */
const bulk =
  (path: string) =>
  (filter: Filter, options: DeadBulkOptions): Promise<BulkResult> =>
    request('POST', path, { body: { ...chosen(filter), ...options } })
export type Bulk = ReturnType<typeof bulk>

const job = (id: string, verb = ''): string => `/jobs/${segment(id)}${verb}`

export const jobs = {
  list: some<Counted<JobView>>('/jobs', { kind: 'job' }),
  timeline: (id: string, signal?: Signal) => request<JobTimeline>('GET', job(id, '/timeline'), { signal }),
  explain: (id: string, signal?: Signal) => request<Explanation>('GET', job(id, '/explain'), { signal }),
  logs: (id: string, page: Page = {}, signal?: Signal) =>
    request<List<LogView>>('GET', job(id, '/logs'), { query: { ...page }, signal }),
  create: (body: NewJobBody, idempotencyKey?: string) =>
    request<JobView & EnqueueResult>('POST', '/jobs', { body, idempotencyKey }),
  cancel: (id: string) => request<JobView>('POST', job(id, '/cancel')),
  retry: (id: string) => request<JobView>('POST', job(id, '/retry')),
  runNow: (id: string) => request<JobView>('POST', job(id, '/run-now')),
  replay: (id: string) => request<EnqueueResult>('POST', job(id, '/replay')),
  edit: (id: string, body: JobChanges) => request<JobView>('PATCH', job(id), { body }),
  delete: (id: string) => request<void>('DELETE', job(id)),
  cancelAll: bulk('/jobs:cancel'),
  retryAll: bulk('/jobs:retry'),
  deleteAll: bulk('/jobs:delete'),
}

export const dead = {
  list: some<Counted<JobView>>('/dead'),
  groups: some<ErrorGroupList>('/dead/groups'),
  group: (fingerprint: string, tenantId?: string, signal?: Signal) =>
    request<ErrorGroupView>('GET', `/dead/groups/${segment(fingerprint)}`, { query: { tenantId }, signal }),
  setGroup: (fingerprint: string, state: 'open' | 'resolved' | 'ignored', tenantId?: string) =>
    request<ErrorGroupView>('PATCH', `/dead/groups/${segment(fingerprint)}`, { query: { tenantId }, body: { state } }),
  breakdown: (fingerprint: string, query: Filter, signal?: Signal) =>
    request<ErrorBreakdown>('GET', `/dead/groups/${segment(fingerprint)}/breakdown`, { query, signal }),
  assign: (fingerprint: string, assignee: string | null, tenantId?: string) =>
    request<ErrorGroupView>('PUT', `/dead/groups/${segment(fingerprint)}/assignee`, {
      query: { tenantId },
      body: { assignee },
    }),
  addNote: (fingerprint: string, text: string, tenantId?: string) =>
    request<ErrorGroupView>('POST', `/dead/groups/${segment(fingerprint)}/notes`, {
      query: { tenantId },
      body: { text },
    }),
  removeNote: (fingerprint: string, id: string, tenantId?: string) =>
    request<ErrorGroupView>('DELETE', `/dead/groups/${segment(fingerprint)}/notes/${segment(id)}`, {
      query: { tenantId },
    }),
  acknowledge: bulk('/dead/acknowledge'),
  discard: bulk('/dead/discard'),
}

const redrive = (id: string, verb = ''): string => `/redrives/${segment(id)}${verb}`

export const redrives = {
  list: some<List<RedriveView>>('/redrives'),
  get: (id: string, signal?: Signal) => request<RedriveView>('GET', redrive(id), { signal }),
  start: (body: RedriveBody) => request<RedriveView>('POST', '/redrives', { body }),
  count: (body: RedriveBody) => request<DryRun>('POST', '/redrives', { body: { ...body, dryRun: true } }),
  setRate: (id: string, rate: string) => request<RedriveView>('PATCH', redrive(id), { body: { rate } }),
  pause: (id: string) => request<RedriveView>('POST', redrive(id, '/pause')),
  resume: (id: string) => request<RedriveView>('POST', redrive(id, '/resume')),
  abort: (id: string) => request<RedriveView>('POST', redrive(id, '/abort')),
}

/** A run of one of a schedule's jobs. */
export type ScheduleRun = AttemptView & { readonly jobId: string }

const schedule = (id: string, verb = ''): string => `/schedules/${segment(id)}${verb}`

export const schedules = {
  list: some<List<ScheduleView>>('/schedules'),
  get: (id: string, signal?: Signal) => request<ScheduleView>('GET', schedule(id), { signal }),
  /** The attempts of all jobs of the schedule, newest first. */
  history: (id: string, page: Page = {}, signal?: Signal) =>
    request<List<ScheduleRun>>('GET', schedule(id, '/history'), { query: { ...page }, signal }),
  create: (id: string, body: object) => request<ScheduleView>('POST', '/schedules', { body: { id, ...body } }),
  put: (id: string, body: object, version?: number) =>
    request<ScheduleView>('PUT', schedule(id), { body, ...(version !== undefined && { ifMatch: `"${version}"` }) }),
  delete: (id: string) => request<void>('DELETE', schedule(id)),
  pause: (id: string) => request<ScheduleView>('POST', schedule(id, '/pause')),
  resume: (id: string) => request<ScheduleView>('POST', schedule(id, '/resume')),
  run: (id: string) => request<EnqueueResult>('POST', schedule(id, '/run')),
  preview: (body: object, signal?: Signal) =>
    request<{ readonly data: readonly OccurrenceView[] }>('POST', '/schedules:preview', { body, signal }),
}

const webhook = (id: string, verb = ''): string => `/webhooks/${segment(id)}${verb}`

export const webhooks = {
  list: some<List<EndpointView>>('/webhooks'),
  get: (id: string, signal?: Signal) => request<EndpointView>('GET', webhook(id), { signal }),
  create: (body: EndpointInput) => request<EndpointView & { readonly secret: string }>('POST', '/webhooks', { body }),
  put: (id: string, body: EndpointInput) => request<EndpointView>('PUT', webhook(id), { body }),
  delete: (id: string) => request<void>('DELETE', webhook(id)),
  test: (id: string) => request<JobView>('POST', webhook(id, '/test')),
  rotateSecret: (id: string) => request<{ readonly secret: string }>('POST', webhook(id, '/rotate-secret')),
  enable: (id: string) => request<EndpointView>('POST', webhook(id, '/enable')),
  disable: (id: string) => request<EndpointView>('POST', webhook(id, '/disable')),
  recover: (id: string, body: RecoverOptions) => request<RedriveView>('POST', webhook(id, '/recover'), { body }),
  deliveries: (id: string, filter: Filter & Page = {}, signal?: Signal) =>
    request<List<JobView>>('GET', webhook(id, '/deliveries'), { query: { ...filter }, signal }),
}

type CircuitName = Pick<CircuitView, 'key' | 'tenantId'>

export const circuits = {
  list: some<List<CircuitView>>('/circuits'),
  open: ({ key, tenantId }: CircuitName) =>
    request<CircuitView>('POST', `/circuits/${segment(key)}/open`, { body: { tenantId } }),
  close: ({ key, tenantId }: CircuitName, hold = false) =>
    request<CircuitView>('POST', `/circuits/${segment(key)}/close`, { body: { tenantId, hold } }),
}

export const alerts = {
  list: some<List<AlertView>>('/alerts'),
  rules: all<RuleView>('/alerts/rules'),
  setRules: (body: RuleChanges) => request<{ readonly data: readonly RuleView[] }>('PUT', '/alerts/rules', { body }),
  silences: all<SilenceView>('/alerts/silences'),
  silence: (body: SilenceInput) => request<SilenceView>('POST', '/alerts/silences', { body }),
  unsilence: (id: string) => request<void>('DELETE', `/alerts/silences/${segment(id)}`),
  test: () => request<{ readonly channels: readonly string[] }>('POST', '/alerts:test'),
}

export const workers = {
  list: all<WorkerView>('/workers'),
  get: (id: string, signal?: Signal) => request<WorkerPage>('GET', `/workers/${segment(id)}`, { signal }),
  drain: (id: string) => request<WorkerPage>('POST', `/workers/${segment(id)}/drain`),
}

export const tokens = {
  list: all<TokenView>('/tokens'),
  create: (body: TokenInput) => request<NewToken>('POST', '/tokens', { body }),
  revoke: (id: string) => request<void>('DELETE', `/tokens/${segment(id)}`),
}

export const savedViews = {
  list: all<SavedView>('/saved-views'),
  create: (body: SavedViewInput) => request<SavedView>('POST', '/saved-views', { body }),
  delete: (id: string) => request<void>('DELETE', `/saved-views/${segment(id)}`),
}

export const audit = {
  list: some<List<AuditLogEntry>>('/audit'),
}

const queue = (name: string, verb = ''): string => `/queues/${segment(name)}${verb}`

export const queues = {
  list: some<List<QueueReport>>('/queues'),
  /** Those that need a worker, then those with the most activity. */
  busiest: (signal?: Signal) => queues.list({ sort: 'busiest', limit: 100 }, signal),
  get: (name: string, signal?: Signal) => request<QueueReport>('GET', queue(name), { signal }),
  set: (name: string, body: QueueSettings) => request<QueueReport>('PUT', queue(name), { body }),
  partitions: (name: string, asked: Filter & Page, signal?: Signal) =>
    request<List<PartitionView>>('GET', queue(name, '/partitions'), { query: { ...asked }, signal }),
  delete: (name: string) => request<void>('DELETE', queue(name)),
  pause: (name: string) => request<QueueReport>('POST', queue(name, '/pause')),
  resume: (name: string) => request<QueueReport>('POST', queue(name, '/resume')),
  retryWave: (name: string, window: string, signal?: Signal) =>
    request<RetryWave>('GET', queue(name, '/retry-wave'), { query: { window }, signal }),
}

export const names = {
  list: some<NameList>('/names'),
  get: (name: string, asked: Filter, signal?: Signal) =>
    request<NameReport>('GET', `/names/${segment(name)}`, { query: { ...asked }, signal }),
}

export const stats = {
  get: (signal?: Signal) => request<FleetStats>('GET', '/stats', { signal }),
  /** `from` and `to` are times, `step` whole minutes. */
  series: some<StatsSeries>('/stats/series'),
  incident: some<IncidentReport>('/incident'),
  forecast: some<Forecast>('/forecast'),
}

/** The server, its store and its settings. */
export interface System {
  readonly version: string
  readonly node: string
  readonly now: string
  readonly startedAt: string
  readonly uptimeMs: number
  readonly store: {
    readonly kind: 'memory' | 'sqlite' | 'postgres'
    readonly engine: string
    readonly location: string
    readonly schemaVersion: number
    readonly durability: 'none' | 'process-crash' | 'power-loss'
    readonly promise: string
  }
  /** The workers of this process. */
  readonly workers: number
  readonly maintenance: boolean
  readonly events: { readonly listeners: number; readonly maxListeners: number }
  readonly ready: boolean
  readonly checks: readonly { readonly name: string; readonly isOk: boolean; readonly detail: string }[]
  readonly settings: Readonly<Record<string, unknown>>
}

export const system = {
  get: (signal?: Signal) => request<System>('GET', '/system', { signal }),
  /** Reads every job, which takes a while on a large store. */
  audit: (signal?: Signal) => request<IntegrityReport>('GET', '/system/verify', { signal }),
}
