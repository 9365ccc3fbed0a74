import type { Chronos } from './engine/client/chronos.js'
import { systemClock, systemDice } from './engine/time/system.js'
import type { Authentication } from './server/access/authorize.js'
import { type Metrics, metricsOf as metricsWith } from './server/metrics/metrics.js'
import { ChronosServer } from './server/server.js'
import type { ServerOptions } from './server/settings.js'

export type { AuditLogEntry } from './core/audit/entry.js'
export type { Authentication, Authorize, Authorized } from './server/access/authorize.js'
export type { Role } from './server/access/caller.js'
export type { NewToken, TokenInput, TokenView } from './server/access/tokens.js'
export type { Listener } from './server/http/listener.js'
export type { Metrics, Scrape } from './server/metrics/metrics.js'
export type { ChronosServer, Listening } from './server/server.js'
export type { ServerOptions } from './server/settings.js'

/** A server that was not told how to authenticate: it only listens on loopback. */
export type LocalServer = Omit<ChronosServer, 'fetch' | 'listener'>

/**
 * REST API and dashboard of a Chronos: `listen()` opens a port, `fetch` works inside another server. The latter must be
 * told how to authenticate.
 */
export function createServer(chronos: Chronos, options: ServerOptions & Authentication): ChronosServer
export function createServer(chronos: Chronos, options?: ServerOptions): LocalServer
export function createServer(chronos: Chronos, options: ServerOptions = {}): ChronosServer {
  return new ChronosServer(chronos, options, systemClock, systemDice)
}

/** The metrics of `/metrics`, to serve from your own application: `(await metricsOf(chronos).render()).text`. */
export function metricsOf(chronos: Chronos): Metrics {
  return metricsWith(chronos, systemClock)
}
