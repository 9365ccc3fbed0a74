import { timeText } from '../../core/job/view.js'
import type { SeriesQuery } from '../../engine/figures/statistics.js'
import type { StoreInfo } from '../../store/store.js'
import type { Application } from '../application.js'
import type { AuditLogQuery } from '../audit-log.js'
import { type Answer, type Endpoint, endpoint, ok } from '../endpoint.js'
import { seriesQuery, seriesSchema, statsSchema } from '../schemas/stats.js'
import { auditLogList, auditLogQuery, auditSchema, systemSchema, workerList } from '../schemas/system.js'
import { VERSION } from '../version.js'

const workers = endpoint({
  method: 'get',
  path: '/workers',
  tag: 'operations',
  summary: 'Workers of the whole fleet, newest first',
  role: 'viewer',
  tenants: 'none',
  answers: ok(workerList, 'All of them'),
  async handle({ app }): Promise<Answer> {
    return { body: { data: await app.chronos.workers(), page: {} } }
  },
})

const stats = endpoint({
  method: 'get',
  path: '/stats',
  tag: 'operations',
  summary: 'The whole fleet in numbers',
  role: 'viewer',
  tenants: 'none',
  answers: ok(statsSchema, 'As it is now'),
  async handle({ app }): Promise<Answer> {
    return { body: await app.chronos.stats() }
  },
})

const series = endpoint({
  method: 'get',
  path: '/stats/series',
  tag: 'operations',
  summary: 'What happened, step by step: for charts',
  role: 'viewer',
  tenants: 'none',
  query: seriesQuery,
  answers: ok(seriesSchema, 'A point for every step, also for those in which nothing happened'),
  async handle({ app, query }): Promise<Answer> {
    return { body: await app.chronos.series(query as SeriesQuery) }
  },
})

const auditLog = endpoint({
  method: 'get',
  path: '/audit',
  tag: 'operations',
  summary: 'Who changed what, newest first',
  description:
    'The audit log. Entries are kept for 90 days. Enqueues and lease calls are summed up per caller and second.',
  role: 'admin',
  tenants: 'none',
  query: auditLogQuery,
  answers: ok(auditLogList, 'A page of entries'),
  async handle({ app, query }): Promise<Answer> {
    return { body: await app.auditLog.list(query as AuditLogQuery) }
  },
})

const PROMISES: Readonly<Record<StoreInfo['durability'], string>> = {
  none: 'in memory: what is acknowledged is gone when this process ends',
  'process-crash': 'what is acknowledged survives a crash of Chronos, and may be lost with the power',
  'power-loss': 'what is acknowledged survives a crash and a loss of power',
}

const system = endpoint({
  method: 'get',
  path: '/system',
  tag: 'operations',
  summary: 'This server, its store and its settings',
  role: 'viewer',
  tenants: 'none',
  answers: ok(systemSchema, 'As it is now'),
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
        settings: shownSettings(app),
      },
    }
  },
})

/** Without secrets. */
function shownSettings({ settings, access }: Application): object {
  const { basePath, readOnly, allowedHosts, maxBodyBytes, requestTimeoutMs, closeTimeoutMs, env } = settings
  return {
    basePath,
    authRequired: access.isRequired,
    readOnly,
    allowedHosts,
    maxBodyBytes,
    requestTimeoutMs,
    closeTimeoutMs,
    ...(env && { env }),
  }
}

const audit = endpoint({
  method: 'get',
  path: '/system/verify',
  tag: 'operations',
  takesLong: true,
  summary: 'Whether every job that was ever enqueued is accounted for',
  description: 'Looks at every job: on a large store it takes a while.',
  role: 'operator',
  tenants: 'none',
  answers: ok(auditSchema, 'What was found'),
  async handle({ app }): Promise<Answer> {
    return { body: await app.chronos.verify() }
  },
})

export const OPERATIONS: readonly Endpoint[] = [workers, stats, series, auditLog, system, audit]
