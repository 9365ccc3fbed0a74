import { getConnInfo } from '@hono/node-server/conninfo'
import { type Context, Hono } from 'hono'
import { getCookie } from 'hono/cookie'
import { inexactInteger } from '../../core/values/json.js'
import { flawAt, fromTexts, type Schema, tryRead } from '../../core/values/schema.js'
import { PAGE_DEFAULT } from '../../engine/jobs/query.js'
import { type Credentials, SESSION_COOKIE } from '../access/access.js'
import type { Caller } from '../access/caller.js'
import { checkOrigin } from '../access/origin.js'
import type { Application } from '../application.js'
import { type Answer, type Call, type Endpoint, successOf } from '../endpoint.js'
import { readBody } from './body.js'
import { repeatId } from './idempotency.js'
import { checked, checkRights, perform } from './perform.js'
import { invalidRequest, Problem } from './problem.js'
import { LONG_MS, requestTimedOut, within } from './timeout.js'

/** Variables of a request's context. */
export interface Env {
  readonly Variables: { requestId: string }
}

const ANONYMOUS: Caller = { id: 'anonymous', name: 'anonymous', role: 'viewer', by: 'open' }
/** Before authentication a client can only send a token. */
const OPEN_BODY_MAX_BYTES = 1024
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,200}$/

/** The API: every endpoint runs the same checks in the same order. */
export function apiOf(app: Application, endpoints: readonly Endpoint[]): Hono<Env> {
  const api = new Hono<Env>()
  for (const endpoint of endpoints) {
    const timeoutMs = endpoint.takesLong ? LONG_MS : app.settings.requestTimeoutMs
    api.on(endpoint.method.toUpperCase(), honoPath(endpoint.path), context =>
      within(app.clock, timeoutMs, counted(app, endpoint, context), () => {
        throw requestTimedOut(timeoutMs)
      }),
    )
  }
  const patterns = endpoints.map(({ method, path }) => ({ method: method.toUpperCase(), matches: patternOf(path) }))
  api.all('*', context => {
    const path = context.req.path.slice(`${app.settings.basePath}/api/v1`.length)
    const allowed = [...new Set(patterns.filter(({ matches }) => matches.test(path)).map(({ method }) => method))]
    const { method } = context.req
    if (allowed.length === 0) {
      throw new Problem(404, 'NO_SUCH_ROUTE', `no route for ${method} ${path}; /api/openapi.json lists the routes`)
    }
    const Allow = allowed.join(', ')
    throw new Problem(405, 'METHOD_NOT_ALLOWED', `${path} does not support ${method}; use ${Allow}`, {
      headers: { Allow },
    })
  })
  return api
}

const honoPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1')
const patternOf = (path: string): RegExp => new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`)

/** Counts the bytes of the body against the server's budget until the request is answered. */
function counted(app: Application, endpoint: Endpoint, context: Context<Env>): Promise<Response> {
  let held = 0
  const onBytes = (bytes: number): void => {
    app.bodies.take(bytes)
    held += bytes
  }
  const release = (): void => {
    app.bodies.give(held)
    held = 0
  }
  return answer(app, endpoint, context, { onBytes, release }).finally(release)
}

async function answer(
  app: Application,
  endpoint: Endpoint,
  context: Context<Env>,
  { onBytes, release }: { readonly onBytes: (bytes: number) => void; readonly release: () => void },
): Promise<Response> {
  const startedAt = app.clock.now()
  const credentials = credentialsOf(context)
  const caller = endpoint.isOpen ? anonymous(context) : await app.access.callerOf(credentials)
  checkRights(app, endpoint, caller)
  const params = checked(endpoint.params, context.req.param(), 'path')
  const query = checked(endpoint.query, fromTexts(endpoint.query, queryOf(context.req.url)), 'query')
  const maxBytes = endpoint.isOpen ? OPEN_BODY_MAX_BYTES : app.settings.maxBodyBytes
  const text = endpoint.body === undefined ? '' : await readBody(context.req.raw, maxBytes, onBytes)
  const body = endpoint.body === undefined ? undefined : checked(endpoint.body, parsed(text, endpoint.body), 'body')
  checkIntegers(text, endpoint)
  const key = endpoint.creates ? keyOf(context) : undefined
  const { signal } = context.req.raw
  return app.pages.inTurn(itemsOf(endpoint, query), signal, async () => {
    const { call, answer: given } = await perform(app, endpoint, {
      app,
      caller,
      params,
      query,
      body,
      text,
      requestId: context.get('requestId'),
      startedAt,
      ifMatch: unquoted(context.req.header('If-Match')),
      repeatId: key === undefined ? undefined : repeatId(caller.id, `${endpoint.method} ${context.req.path}`, key),
      signal,
      credentials,
      isSecure: isSecure(context.req.raw),
      header: name => context.req.header(name),
    })
    if (!endpoint.wait) return respond(endpoint, given, context)
    // A request that waits needs its body no longer.
    release()
    return respond(endpoint, await endpoint.wait(call as Call<never, never, never>, given), context)
  })
}

/** How many items the answer may have. */
function itemsOf({ method, query: { optional } }: Endpoint, query: unknown): number {
  if (method !== 'get' || !('limit' in optional)) return 0
  return (query as { readonly limit?: number }).limit ?? PAGE_DEFAULT
}

export function credentialsOf(context: Context<Env>): Credentials {
  return {
    address: addressOf(context),
    authorization: context.req.header('Authorization'),
    session: getCookie(context, SESSION_COOKIE),
    request: context.req.raw,
  }
}

/** Signing in needs no authentication, but must come from our own pages. */
function anonymous(context: Context<Env>): Caller {
  checkOrigin(context.req.raw)
  return ANONYMOUS
}

function isSecure(request: Request): boolean {
  return request.url.startsWith('https:') || request.headers.get('X-Forwarded-Proto') === 'https'
}

/** The client's address. Requests without a socket, as in `server.fetch(…)`, share one. */
export function addressOf(context: Context): string {
  try {
    return getConnInfo(context).remote.address ?? 'unknown'
  } catch {
    return 'unknown'
  }
}

function parsed(text: string, schema: Schema): unknown {
  // The body may be left out where every field is optional.
  if (text === '' && mayBeLeftOut(schema)) return {}
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Problem(400, 'NOT_JSON', `the body is not JSON: ${(error as Error).message}`)
  }
}

/** A worker's report is never refused because of a number: its job would run again. */
function checkIntegers(text: string, { tag }: Endpoint): void {
  const found = tag === 'leases' ? undefined : inexactInteger(text)
  if (found) throw invalidRequest(flawAt(found.path, found.says).list, 'body')
}

export function mayBeLeftOut(body: Schema): boolean {
  return 'value' in tryRead(body, {})
}

/** A repeated name becomes a list, which only some schemas accept. */
function queryOf(url: string): Record<string, string | string[]> {
  const query: Record<string, string | string[]> = {}
  for (const [name, value] of new URL(url).searchParams) {
    const before = Object.hasOwn(query, name) ? query[name] : undefined
    Object.defineProperty(query, name, {
      value: before === undefined ? value : [before, value].flat(),
      enumerable: true,
      configurable: true,
      writable: true,
    })
  }
  return query
}

function keyOf(context: Context): string | undefined {
  const key = context.req.header('Idempotency-Key')
  if (key === undefined || IDEMPOTENCY_KEY.test(key)) return key
  throw new Problem(422, 'INVALID_REQUEST', 'Idempotency-Key: expected 1 to 200 visible ASCII characters')
}

function unquoted(tag: string | undefined): string | undefined {
  return tag?.replace(/^W\//, '').replace(/^"(.*)"$/, '$1')
}

function respond(endpoint: Endpoint, given: Answer, context: Context): Response {
  const { status = successOf(endpoint), body, headers = {}, etag } = given
  for (const [name, value] of Object.entries(headers)) context.header(name, value)
  if (etag !== undefined) {
    context.header('ETag', `"${etag}"`)
    if (endpoint.method === 'get' && unquoted(context.req.header('If-None-Match')) === etag)
      return context.body(null, 304)
  }
  if (body instanceof ReadableStream) return context.body(body, status as 200)
  return body === undefined ? context.body(null, status as 204) : context.json(body as object, status as 200)
}
