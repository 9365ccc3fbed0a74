import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { createAdaptorServer } from '@hono/node-server'
import { type Context, Hono } from 'hono'
import { toStoredError } from '../core/failure/outcome.js'
import type { Clock, Dice, Timer } from '../core/values/clock.js'
import { ChronosError } from '../core/values/error.js'
import { integer, read } from '../core/values/schema.js'
import type { Chronos } from '../engine/client/chronos.js'
import { type Log, logOf } from '../engine/client/log.js'
import { type Loop, startLoop } from '../engine/time/loop.js'
import { Access } from './access/access.js'
import { hostCheck, isLoopback } from './access/origin.js'
import { Quota } from './access/quota.js'
import { Tokens } from './access/tokens.js'
import type { Application } from './application.js'
import { AuditLog } from './audit-log.js'
import { EventFeed } from './events/feed.js'
import { Health } from './health.js'
import { Assets } from './http/assets.js'
import { BodyBudget } from './http/body.js'
import { limitConnections } from './http/connections.js'
import { Idempotency } from './http/idempotency.js'
import { LargePages } from './http/large-pages.js'
import { type Listener, listenerOf } from './http/listener.js'
import { Problem, problemBody, problemOf } from './http/problem.js'
import { apiOf, credentialsOf, type Env } from './http/router.js'
import { Slots } from './http/slots.js'
import { type Metrics, metricsOf } from './metrics/metrics.js'
import { openApiDocument } from './openapi.js'
import { ENDPOINTS } from './routes/all.js'
import { SavedViews } from './saved-views.js'
import { parseServerOptions, type ServerOptions, type ServerSettings } from './settings.js'

export interface Listening {
  readonly host: string
  readonly port: number
  readonly url: string
}

export interface ListenOptions {
  /** Default: 127.0.0.1, reachable from this machine only. */
  readonly host?: string
  /** Default: 4100. 0 chooses a free port. */
  readonly port?: number
}

export const PORT_DEFAULT = 4100
export const HOST_DEFAULT = '127.0.0.1'
/** A server inside another one does not know the addresses that it is reached at. */
const ANY_ADDRESS = '0.0.0.0'
const PROBES = new Set(['/healthz', '/readyz'])
/** All request bodies together; parsed, they take several times as much memory. */
const BODIES_MAX_BYTES = 64 * 1024 * 1024
const HEADERS_TIMEOUT_MS = 10_000
/**
 * Longer than the 60 s for which load balancers keep connections, so that the client is the one that closes. A busy server
 * would close connections whose next request it has not read yet, and the client would not know whether it was executed.
 */
const KEEP_ALIVE_MS = 65_000
/** How often requests that take too long to arrive are looked for. */
const CONNECTIONS_CHECK_MS = 5_000
/** A client that reads nothing for so long after the time of a request is disconnected. Event streams have heartbeats. */
const UNREAD_TIMEOUT_MS = 30_000
const REQUEST_ID = /^[\w.:-]{1,100}$/
/** The first request should not wait for a prune. */
const PRUNE_FIRST_MS = 60_000
/** How often idle connections are closed during shutdown. */
const CLOSE_IDLE_MS = 50

/** REST API, event stream and dashboard of one Chronos. `close()` closes the server only, not the Chronos. */
export class ChronosServer {
  readonly #app: Application
  readonly #settings: ServerSettings
  readonly #assets: Promise<Assets>
  readonly #hono: Hono<Env>
  readonly #metrics: Metrics
  #checkHost: (request: Request) => void
  readonly #closing = new AbortController()
  #server: Server | undefined
  #pruning: Loop | undefined

  constructor(chronos: Chronos, options: ServerOptions, clock: Clock, dice: Dice) {
    const settings = parseServerOptions(options)
    const log = logOf(options.log)
    const store = (): ReturnType<Chronos['store']> => chronos.store()
    const tokens = new Tokens(store, clock, dice)
    this.#settings = settings
    this.#checkHost = hostCheck(settings.allowedHosts, ANY_ADDRESS)
    this.#app = {
      chronos,
      settings,
      clock,
      dice,
      log,
      tokens,
      access: new Access({ ...settings, store, tokens, clock, dice }),
      auditLog: new AuditLog({ store, clock, dice, log }),
      savedViews: new SavedViews({ connection: { store }, log }, clock),
      quota: new Quota(chronos, clock),
      idempotency: new Idempotency(store, clock),
      feed: new EventFeed({ chronos, store, clock, dice, maxListeners: settings.maxListeners }),
      health: new Health(chronos, clock),
      waiting: new Slots(settings.maxListeners),
      following: new Slots(settings.maxListeners),
      bodies: new BodyBudget(Math.max(BODIES_MAX_BYTES, settings.maxBodyBytes)),
      pages: new LargePages(clock),
      closing: this.#closing.signal,
    }
    const folder = options.dashboard ?? fileURLToPath(new URL('../dashboard/', import.meta.url))
    this.#assets = Assets.read(folder === false ? undefined : folder, settings.basePath)
    this.#metrics = metricsOf(chronos, clock)
    this.#hono = this.#routes()
  }

  get tokens(): Tokens {
    return this.#app.tokens
  }

  /** Answers requests below the base path inside another server, which any client may reach: it must know its callers. */
  get fetch(): (request: Request, env?: unknown) => Promise<Response> {
    const { authorize, requireToken, open } = this.#settings
    if (authorize || requireToken || open) return this.#fetch
    throw new ChronosError(
      'NOT_ALLOWED',
      'createServer: a server inside another one must be told how to authenticate; give `authorize(request)`, ' +
        '`tokens: true` (those of `chronos tokens create`), `token`, or `open: true` to make every caller an admin',
    )
  }

  /** The same for a Node server: `app.use('/jobs', board.listener)`. */
  get listener(): Listener {
    return listenerOf(this.fetch)
  }

  readonly #fetch = (request: Request, env?: unknown): Promise<Response> =>
    Promise.resolve(this.#hono.fetch(request, env as Record<string, unknown>))

  /** Makes `/readyz` return 503, so that a load balancer sends no new requests; requests are still answered. */
  drain(): void {
    this.#app.health.isDraining = true
  }

  async listen({ host = HOST_DEFAULT, port = PORT_DEFAULT }: ListenOptions = {}): Promise<Listening> {
    const { auditLog, clock, dice, log } = this.#app
    read(integer(0, 65_535), port, 'listen: port')
    await this.#checkBind(host)
    this.#checkHost = hostCheck(this.#settings.allowedHosts, host)
    const server = createAdaptorServer({
      fetch: this.#hono.fetch,
      overrideGlobalObjects: false,
      serverOptions: { connectionsCheckingInterval: CONNECTIONS_CHECK_MS },
    }) as Server
    const { requestTimeoutMs } = this.#settings
    server.keepAliveTimeout = KEEP_ALIVE_MS
    server.headersTimeout = HEADERS_TIMEOUT_MS
    server.requestTimeout = requestTimeoutMs
    server.timeout = requestTimeoutMs + UNREAD_TIMEOUT_MS
    limitConnections(server)
    this.#server = server
    try {
      server.listen(port, host)
      await once(server, 'listening')
    } catch (error) {
      throw cantListen(host, port, error)
    }
    this.#pruning = startLoop({
      name: 'audit-log',
      clock,
      dice,
      log,
      firstAfterMs: PRUNE_FIRST_MS,
      step: () => auditLog.prune(),
    })
    if (this.#settings.maintenance) this.#app.chronos.maintain()
    const { port: bound } = server.address() as AddressInfo
    const name = host.includes(':') ? `[${host}]` : host
    return { host, port: bound, url: `http://${name}:${bound}${this.#settings.basePath}/` }
  }

  /** Ends event streams at once, and lets requests in progress finish within `closeTimeout`. */
  async close(): Promise<void> {
    this.drain()
    this.#closing.abort()
    this.#app.feed.close()
    const server = this.#server
    if (server) {
      const closed = once(server, 'close')
      server.close()
      const patience = this.#app.clock.timer(this.#settings.closeTimeoutMs, () => server.closeAllConnections())
      const closing = this.#closeIdle(server)
      await closed
      closing.cancel()
      patience.cancel()
    }
    await this.#pruning?.stop()
    await this.#app.auditLog.flush()
    this.#metrics.close()
  }

  /** A client keeps its connection open after a response, which would keep the server from closing. */
  #closeIdle(server: Server): Timer {
    server.closeIdleConnections()
    let next = this.#app.clock.timer(CLOSE_IDLE_MS, () => {
      next = this.#closeIdle(server)
    })
    return { cancel: () => next.cancel() }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** An address that other machines can reach needs a token. */
  async #checkBind(host: string): Promise<void> {
    const { access } = this.#app
    if (isLoopback(host)) {
      // Asked now, so that the answer is known if the store goes down.
      void access.isRequired().catch(() => undefined)
      return
    }
    if (this.#settings.open) return
    if (!(await access.isRequired())) {
      throw new ChronosError(
        'NOT_ALLOWED',
        `listen: ${host} is reachable from other machines, but there is no token; ` +
          'set CHRONOS_TOKEN, create a token with `chronos tokens create`, or listen on 127.0.0.1',
      )
    }
    access.require()
  }

  #routes(): Hono<Env> {
    const app = this.#app
    const { basePath } = this.#settings
    const hono = new Hono<Env>().basePath(basePath || '/')
    hono.use('*', async (context, next) => {
      const asked = context.req.header('X-Request-Id')
      const requestId = asked !== undefined && REQUEST_ID.test(asked) ? asked : app.dice.token()
      context.set('requestId', requestId)
      // Probes use IP addresses as the host.
      if (!PROBES.has(context.req.path.slice(basePath.length))) this.#checkHost(context.req.raw)
      await next()
      headersFor(context, requestId)
      // An open connection would keep the server from closing.
      if (app.closing.aborted) context.res.headers.set('Connection', 'close')
    })
    hono.onError((error, context) => this.#failed(error, context))
    hono.notFound(context => this.#failed(notFound(context), context))
    let document: object | undefined
    hono.get('/healthz', context => context.json({ status: 'alive' }))
    hono.get('/readyz', async context => {
      const { isReady, checks } = await app.health.publicReadiness()
      return context.json({ status: isReady ? 'ready' : 'unavailable', checks }, isReady ? 200 : 503)
    })
    hono.get('/robots.txt', context => context.text('User-agent: *\nDisallow: /\n'))
    hono.get('/api/openapi.json', context => {
      document ??= openApiDocument(ENDPOINTS, basePath)
      return context.json(document)
    })
    hono.route('/api/v1', apiOf(app, ENDPOINTS))
    hono.get('/metrics', async context => {
      const { tenantId } = await app.access.callerOf(credentialsOf(context))
      if (tenantId !== undefined) throw new Problem(403, 'FORBIDDEN', 'not available to the token of one tenant')
      const { contentType, text } = await this.#metrics.render()
      return context.body(text, 200, { 'Content-Type': contentType })
    })
    hono.all('/mcp', async context => (await import('./mcp/http.js')).answerMcp(app, context))
    hono.all('*', context => this.#rest(context))
    return hono
  }

  /** Answers everything else: the owner's own routes, and the dashboard. */
  async #rest(context: Context<Env>): Promise<Response> {
    const extra = await this.#settings.extra?.(context.req.raw)
    if (extra) return extra
    await this.#app.access.checkPage(context.req.raw)
    const name = context.req.path.slice(this.#settings.basePath.length + 1)
    const isRead = context.req.method === 'GET' || context.req.method === 'HEAD'
    const isOurs = !name.startsWith('api/')
    const asked = {
      ifNoneMatch: context.req.header('If-None-Match'),
      acceptEncoding: context.req.header('Accept-Encoding'),
    }
    const found = isRead && isOurs ? await (await this.#assets).answer(name, asked) : undefined
    if (found) return found
    throw notFound(context)
  }

  #failed(error: unknown, context: Context<Env>): Response {
    const problem = problemOf(error)
    const requestId = context.get('requestId') ?? this.#app.dice.token()
    const facts = {
      requestId,
      method: context.req.method,
      path: context.req.path,
      status: problem.status,
      code: problem.code,
    }
    if (problem.status >= 500) {
      this.#app.log.error(
        { event: 'request.failed', ...facts, error: toStoredError(problem.cause ?? problem) },
        'request failed',
      )
    } else this.#app.log.debug({ event: 'request.refused', ...facts }, 'request refused')
    for (const [name, value] of Object.entries(problem.headers)) context.header(name, value)
    headersFor(context, requestId)
    context.header('Content-Type', 'application/problem+json')
    return context.body(JSON.stringify(problemBody(problem, requestId)), problem.status as 400)
  }
}

function headersFor(context: Context, requestId: string): void {
  const { headers } = context.res
  headers.set('X-Request-Id', requestId)
  headers.set('X-Content-Type-Options', 'nosniff')
  headers.set('X-Frame-Options', 'DENY')
  headers.set('Referrer-Policy', 'no-referrer')
  headers.set('Cross-Origin-Resource-Policy', 'same-origin')
  if (!headers.has('Content-Security-Policy'))
    headers.set('Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'")
  if (!headers.has('Cache-Control')) headers.set('Cache-Control', 'no-store')
}

function notFound(context: Context): Problem {
  return new Problem(404, 'NO_SUCH_ROUTE', `no route for ${context.req.method} ${context.req.path}`)
}

function cantListen(host: string, port: number, error: unknown): ChronosError {
  const { code } = error as { code?: string }
  const why =
    code === 'EADDRINUSE'
      ? `port ${port} is in use; choose another with --port or CHRONOS_PORT`
      : code === 'EACCES'
        ? `port ${port} requires elevated privileges; choose one above 1023 with --port or CHRONOS_PORT`
        : (error as Error).message
  return new ChronosError('NOT_ALLOWED', `listen: ${host}: ${why}`, { cause: error })
}

export type { Log }
