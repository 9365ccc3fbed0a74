import { type Duration, HOUR_MS, toMs } from '../core/values/duration.js'
import { ChronosError, shown } from '../core/values/error.js'
import { checkKeys, freeText } from '../core/values/limits.js'
import { present } from '../core/values/present.js'
import { boolean, integer, read, text } from '../core/values/schema.js'
import { object } from '../core/values/shape.js'
import { traceUrl } from '../core/values/trace-url.js'
import type { GivenLog } from '../engine/client/log.js'
import type { Authorize } from './access/authorize.js'

export interface ServerOptions {
  /** The path of API and dashboard: `/`, or `/chronos` behind a proxy. */
  readonly basePath?: string
  /** A token with the role admin. With it, every request needs authentication. */
  readonly token?: string
  /** A token with the role viewer, for example for Prometheus; it is given beside `token` or with tokens of the store. */
  readonly viewerToken?: string
  /** Every request needs a token of `chronos tokens create`, also while there is none. */
  readonly tokens?: true
  /** Authenticates requests by the rules of your application, in place of tokens. */
  readonly authorize?: Authorize
  /** Every caller is an admin, even if the store has tokens. */
  readonly open?: true
  /** Allowed values of the Host header, beside those of loopback. `*` allows every name. */
  readonly allowedHosts?: readonly string[]
  /** Refuses every change, whatever the caller's role. */
  readonly readOnly?: boolean
  /**
   * The MCP server at `/mcp`. It only reads; with `allowWrites`, callers with the role operator can use tools that change
   * something. false disables it.
   */
  readonly mcp?: false | { readonly allowWrites?: boolean }
  /** Whether this process runs schedules, redrives, webhooks and alerts too (`chronos.maintain()`). Default: true. */
  readonly maintenance?: boolean
  /** The largest request body, in bytes. Default: 4 MiB. */
  readonly maxBody?: number
  /** The limit of concurrent event streams, and of requests that wait for the end of a job. Default: 500. */
  readonly maxListeners?: number
  /** A request that takes longer is answered with 503. Default: 30 s. */
  readonly requestTimeout?: Duration
  /** How long `close()` waits for requests in progress. Default: 5 s. */
  readonly closeTimeout?: Duration
  /** The name and colour of this installation in the dashboard: `production`, `crimson`. */
  readonly env?: { readonly name: string; readonly color?: string }
  /** Makes the trace of an attempt a link in the dashboard: `https://tempo.example/trace/{traceId}`. */
  readonly traceUrl?: string
  /** Answers other requests below the base path; returns `undefined` for those it does not handle. */
  readonly extra?: (request: Request) => Promise<Response | undefined>
  /** Folder of the built dashboard; false disables it. Default: the one in this package. */
  readonly dashboard?: string | false
  /** A pino logger, or false for none. Default: stderr. */
  readonly log?: GivenLog | false
}

export interface ServerSettings {
  /** Starts with a slash and does not end with one; empty for the root. */
  readonly basePath: string
  readonly token?: string
  readonly viewerToken?: string
  readonly requireToken: boolean
  readonly authorize?: Authorize
  readonly open: boolean
  readonly allowedHosts: readonly string[]
  readonly readOnly: boolean
  readonly mcp: false | { readonly allowWrites: boolean }
  readonly maintenance: boolean
  readonly maxBodyBytes: number
  readonly maxListeners: number
  readonly requestTimeoutMs: number
  readonly closeTimeoutMs: number
  readonly env?: { readonly name: string; readonly color?: string }
  readonly traceUrl?: string
  readonly extra?: (request: Request) => Promise<Response | undefined>
}

const OPTIONS: readonly (keyof ServerOptions)[] = [
  'basePath',
  'token',
  'viewerToken',
  'tokens',
  'authorize',
  'open',
  'allowedHosts',
  'readOnly',
  'mcp',
  'maintenance',
  'maxBody',
  'maxListeners',
  'requestTimeout',
  'closeTimeout',
  'env',
  'traceUrl',
  'extra',
  'dashboard',
  'log',
]
const MIB = 1024 * 1024
const mcpOptions = object({}, { allowWrites: boolean })
export const TOKEN_LENGTH_MIN = 16

export function parseServerOptions(options: ServerOptions): ServerSettings {
  const where = 'createServer'
  checkKeys(options, OPTIONS, where)
  const { token, allowedHosts = [], readOnly = false, maxBody = 4 * MIB, maxListeners = 500, env, extra } = options
  if (token !== undefined) checkToken(token, `${where}: token`)
  if (options.viewerToken !== undefined) checkToken(options.viewerToken, `${where}: viewerToken`)
  checkAuthentication(options, where)
  for (const host of allowedHosts) read(freeText, host, `${where}: allowedHosts`)
  if (env) read(text(40), env.name, `${where}: env.name`)
  if (options.traceUrl !== undefined) read(traceUrl, options.traceUrl, `${where}: traceUrl`)
  read(integer(1024, 64 * MIB), maxBody, `${where}: maxBody`)
  read(integer(1, 10_000), maxListeners, `${where}: maxListeners`)
  return present({
    basePath: basePathOf(options.basePath ?? '/'),
    token,
    viewerToken: options.viewerToken,
    requireToken: (token ?? options.viewerToken) !== undefined || options.tokens === true,
    authorize: options.authorize,
    open: options.open ?? false,
    allowedHosts: allowedHosts.map(host => host.toLowerCase()),
    readOnly,
    mcp: mcpOf(options.mcp, `${where}: mcp`),
    maintenance: options.maintenance ?? true,
    maxBodyBytes: maxBody,
    maxListeners,
    requestTimeoutMs: toMs(options.requestTimeout ?? '30s', `${where}: requestTimeout`, { min: 10, max: HOUR_MS }),
    closeTimeoutMs: toMs(options.closeTimeout ?? '5s', `${where}: closeTimeout`, { max: HOUR_MS }),
    env,
    traceUrl: options.traceUrl,
    extra,
  })
}

function mcpOf(given: ServerOptions['mcp'] = {}, where: string): ServerSettings['mcp'] {
  if (given === false) return false
  return { allowWrites: read(mcpOptions, given, where).allowWrites ?? false }
}

function checkAuthentication({ authorize, open, ...given }: ServerOptions, where: string): void {
  const tokens = given.tokens
  const token = given.token ?? given.viewerToken
  for (const [name, value] of Object.entries({ tokens, open })) {
    if (value !== undefined) read(boolean, value, `${where}: ${name}`)
  }
  if (authorize !== undefined && typeof authorize !== 'function') {
    throw new ChronosError('INVALID_OPTION', `${where}: authorize: expected a function, got ${shown(authorize)}`)
  }
  const ways = Object.entries({ authorize, open, tokens: tokens || token }).filter(([, value]) => value)
  if (ways.length < 2) return
  const names = ways.map(([name]) => name).join(' and ')
  throw new ChronosError('INVALID_OPTION', `${where}: ${names} exclude each other; give one way to authenticate`)
}

function checkToken(token: unknown, where: string): void {
  if (typeof token === 'string' && token.length >= TOKEN_LENGTH_MIN && /^[\x21-\x7e]+$/.test(token)) return
  throw new ChronosError(
    'INVALID_OPTION',
    `${where}: expected at least ${TOKEN_LENGTH_MIN} characters without spaces; create one with \`chronos tokens create\` or \`openssl rand -hex 24\``,
  )
}

function basePathOf(path: string): string {
  if (typeof path === 'string' && /^(\/[A-Za-z0-9._~-]+)*\/?$/.test(path)) return path.replace(/\/$/, '')
  throw new ChronosError(
    'INVALID_OPTION',
    `createServer: basePath: expected a path such as /chronos, got ${shown(path)}`,
  )
}
