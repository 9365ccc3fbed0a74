import { auditLogEntry } from '../../core/audit/entry.js'
import { forecastQuery, forecast as forecastView } from '../../core/forecast/forecast.js'
import { incidentReport } from '../../core/incident/report.js'
import { timeText } from '../../core/job/view.js'
import { freeText } from '../../core/values/limits.js'
import { present } from '../../core/values/present.js'
import { about, anyText, boolean, type Infer, integer, named, oneOf } from '../../core/values/schema.js'
import { listOf, object, view } from '../../core/values/shape.js'
import { timestamp } from '../../core/values/time.js'
import { seriesQuery, statsSeries } from '../../engine/figures/series.js'
import { fleetStats } from '../../engine/figures/statistics.js'
import { incidentQuery } from '../../engine/incident/incident.js'
import { tenantQuery } from '../../engine/jobs/query.js'
import { integrityReport } from '../../engine/upkeep/integrity.js'
import { workerPage, workerView } from '../../engine/worker/fleet.js'
import type { StoreInfo } from '../../store/store.js'
import type { Application } from '../application.js'
import { type Answer, type Endpoint, endpoint, NOTHING, ok } from '../endpoint.js'
import { check } from '../health.js'
import { VERSION } from '../version.js'
import { envView } from './session.js'
import { ownTenant } from './tenancy.js'
import { listSchema } from './words.js'

const settingsView = view(
  {
    basePath: anyText,
    authRequired: boolean,
    readOnly: boolean,
    allowedHosts: listOf(anyText),
    maxBodyBytes: integer(),
    requestTimeoutMs: integer(),
    closeTimeoutMs: integer(),
  },
  { env: envView },
)

const systemView = named(
  'System',
  view({
    version: anyText,
    node: anyText,
    now: about(timestamp, 'The time of the store.'),
    startedAt: timestamp,
    uptimeMs: integer(),
    store: view({
      kind: about(anyText, '`memory`, `sqlite`, `postgres`, or the name of a custom store.'),
      engine: about(anyText, { example: 'SQLite 3.53.0' }),
      location: anyText,
      schemaVersion: integer(),
      durability: oneOf(['none', 'process-crash', 'power-loss']),
      promise: about(anyText, 'The durability in words.'),
    }),
    workers: about(integer(), 'Workers in this process.'),
    maintenance: about(boolean, 'Whether sweeper, scheduler and the other loops run here.'),
    events: view({ listeners: integer(), maxListeners: integer() }),
    ready: boolean,
    checks: listOf(check),
    settings: settingsView,
  }),
)

const workers = endpoint({
  method: 'get',
  path: '/workers',
  tool: 'list_workers',
  call: 'workers().data',
  tag: 'operations',
  summary: 'List the workers of the whole fleet, newest first',
  role: 'viewer',
  tenants: 'none',
  answers: ok(listSchema(workerView, 'WorkerList'), 'All workers'),
  handle: async ({ app }) => ({ body: { data: await app.chronos.workers(), page: {} } }),
})

const worker = endpoint({
  method: 'get',
  path: '/workers/{id}',
  call: 'fleet.get(id)',
  tag: 'operations',
  summary: 'Get a worker and the jobs that it runs',
  role: 'viewer',
  tenants: 'none',
  answers: ok(workerPage, 'The worker'),
  handle: async ({ app, params: { id } }) => ({ body: await app.chronos.fleet.get(id) }),
})

const drain = endpoint({
  method: 'post',
  path: '/workers/{id}/drain',
  tool: 'drain_worker',
  did: ({ id }) => `drained worker ${id}`,
  call: 'fleet.drain(id)',
  tag: 'operations',
  summary: 'Drain a worker: it claims no more jobs, ends those that it runs, and stops',
  description:
    'The worker obeys at once if it runs in the process of this server, otherwise at its next heartbeat. `chronos worker` and `chronos serve` then exit with 0; a worker within an application raises `worker.drained`; the next claim of a pull worker returns `draining`.',
  role: 'operator',
  tenants: 'none',
  body: NOTHING,
  answers: ok(workerPage, 'The worker'),
  async handle({ app, params: { id } }): Promise<Answer> {
    const worker = await app.chronos.fleet.drain(id)
    app.feed.changed(['workers'])
    return { body: worker }
  },
})

const stats = endpoint({
  method: 'get',
  path: '/stats',
  tool: 'get_stats',
  call: 'stats()',
  tag: 'operations',
  summary: 'Get statistics of the whole fleet',
  role: 'viewer',
  tenants: 'none',
  answers: ok(fleetStats, 'The current statistics'),
  handle: async ({ app }) => ({ body: await app.chronos.stats() }),
})

const series = endpoint({
  method: 'get',
  path: '/stats/series',
  call: 'series(...)',
  tag: 'operations',
  summary: 'Get statistics over time, for charts',
  role: 'viewer',
  tenants: 'none',
  query: seriesQuery,
  answers: ok(statsSeries, 'One point per step, including steps without activity'),
  handle: async ({ app, query }) => ({ body: await app.chronos.series(query) }),
})

const incident = endpoint({
  method: 'get',
  path: '/incident',
  tool: 'get_incident',
  call: 'incident(...)',
  tag: 'operations',
  summary: 'Report what happened in a time range',
  description:
    'Outcomes, errors that began or spiked, circuits, alerts, deploys, redrives and changes by operators, as data and as sentences. Changes by operators are included for admins. The token of a tenant sees its own jobs, errors, circuits and redrives.',
  role: 'viewer',
  tenants: 'own',
  query: incidentQuery,
  answers: ok(incidentReport, 'The report'),
  handle: async ({ app, caller, query }) => ({
    body: await app.chronos.incident(ownTenant(caller, query), { actions: caller.role === 'admin' }),
  }),
})

const forecast = endpoint({
  method: 'get',
  path: '/forecast',
  tool: 'forecast_deaths',
  call: 'forecast(...)',
  tag: 'operations',
  summary: 'Forecast when waiting jobs die if nothing improves',
  description:
    'Computed with the retry policies of the jobs: every run fails at once, and starts when it is due. Reads at most 50,000 waiting jobs. The token of a tenant sees its own jobs.',
  role: 'viewer',
  tenants: 'own',
  query: forecastQuery,
  answers: ok(forecastView, 'The forecast'),
  handle: async ({ app, caller, query }) => ({ body: await app.chronos.forecast(ownTenant(caller, query)) }),
})

const auditLog = endpoint({
  method: 'get',
  path: '/audit',
  tag: 'operations',
  summary: 'List the audit log, newest first',
  description:
    'Who changed what. Entries are kept for 90 days. Enqueues and lease calls are summed up per caller, action and second.',
  role: 'admin',
  tenants: 'none',
  query: object({}, { ...tenantQuery.optional, id: about(freeText, 'Only this entry.') }),
  answers: ok(listSchema(auditLogEntry, 'AuditLog'), 'A page of entries'),
  handle: async ({ app, query }) => ({ body: await app.auditLog.list(query) }),
})

const PROMISES: Readonly<Record<StoreInfo['durability'], string>> = {
  none: 'in memory: acknowledged writes are lost when this process ends',
  'process-crash': 'acknowledged writes survive a crash of Chronos, but may be lost in a power failure',
  'power-loss': 'acknowledged writes survive a crash and a power failure',
}

const system = endpoint({
  method: 'get',
  path: '/system',
  tag: 'operations',
  summary: 'Get this server, its store and its settings',
  role: 'viewer',
  tenants: 'none',
  answers: ok(systemView, 'The current state'),
  async handle({ app }): Promise<Answer> {
    const { chronos, feed, health, clock, settings } = app
    const [{ now, ...store }, { isReady, checks }] = await Promise.all([chronos.info(), health.readiness()])
    return {
      body: {
        version: VERSION,
        node: process.versions.node,
        now: timeText(now),
        startedAt: timeText(health.startedAt),
        uptimeMs: Math.max(0, Math.round(clock.now() - health.startedAt)),
        store: { ...store, promise: PROMISES[store.durability] },
        ...chronos.here(),
        events: { listeners: feed.size, maxListeners: settings.maxListeners },
        ready: isReady,
        checks,
        settings: await shownSettings(app),
      },
    }
  },
})

/** The settings without secrets. */
async function shownSettings({ settings, access }: Application): Promise<Infer<typeof settingsView>> {
  const { basePath, readOnly, allowedHosts, maxBodyBytes, requestTimeoutMs, closeTimeoutMs, env } = settings
  return present({
    basePath,
    authRequired: await access.isRequired(),
    readOnly,
    allowedHosts,
    maxBodyBytes,
    requestTimeoutMs,
    closeTimeoutMs,
    env,
  })
}

const verify = endpoint({
  method: 'get',
  path: '/system/verify',
  tool: 'verify_jobs',
  call: 'verify()',
  tag: 'operations',
  takesLong: true,
  summary: 'Run the integrity check: is every job that was ever enqueued accounted for?',
  description: 'Reads every job, which takes a while on a large store.',
  role: 'operator',
  tenants: 'none',
  answers: ok(integrityReport, 'The integrity report'),
  handle: async ({ app }) => ({ body: await app.chronos.verify() }),
})

export const OPERATIONS: readonly Endpoint[] = [
  workers,
  worker,
  drain,
  stats,
  series,
  incident,
  forecast,
  auditLog,
  system,
  verify,
]
