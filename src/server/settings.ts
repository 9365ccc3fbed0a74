import { type Duration, HOUR_MS, toMs } from '../core/values/duration.js'
import { ChronosError, shown } from '../core/values/error.js'
import { checkInteger, checkKeys, checkText } from '../core/values/limits.js'
import type { Log } from '../engine/client/log.js'

export interface ServerOptions {
  /** Where everything lives: `/`, or `/chronos` behind a proxy. */
  readonly basePath?: string
  /** A token that may do everything. Where one is given nobody comes in without. */
  readonly token?: string
  /** Names under which the server may be called; on loopback its own are known. `*` allows every name. */
  readonly allowedHosts?: readonly string[]
  /** Refuses every change, whoever asks. */
  readonly readOnly?: boolean
  /** Whether schedules, redrives, webhooks and alerts are seen to in this process too (`chronos.maintain()`). Default true. */
  readonly maintenance?: boolean
  /** The most that a request may carry, in bytes. Default 4 MiB. */
  readonly maxBody?: number
  /** How many may listen to events at once. Default 500. */
  readonly maxListeners?: number
  /** After so long a request is answered with 503. Default 30 s. */
  readonly requestTimeout?: Duration
  /** How long requests under way may go on after `close()`. Default 5 s. */
  readonly closeTimeout?: Duration
  /** A name and a colour for this installation, shown in the dashboard: `production`, `crimson`. */
  readonly env?: { readonly name: string; readonly color?: string }
  /** Answers what is not Chronos' own, below the base path; `undefined` where it knows nothing of it. */
  readonly extra?: (request: Request) => Promise<Response | undefined>
  /** Folder of the built dashboard; false serves none. Default: the one in this package. */
  readonly dashboard?: string | false
  /** A pino logger, or false for none. Default: lines on stderr. */
  readonly log?: Log | false
}

export interface ServerSettings {
  /** Begins with a slash and does not end with one; empty for the root. */
  readonly basePath: string
  readonly token?: string
  readonly allowedHosts: readonly string[]
  readonly readOnly: boolean
  readonly maintenance: boolean
  readonly maxBodyBytes: number
  readonly maxListeners: number
  readonly requestTimeoutMs: number
  readonly closeTimeoutMs: number
  readonly env?: { readonly name: string; readonly color?: string }
  readonly extra?: (request: Request) => Promise<Response | undefined>
}

const OPTIONS: readonly (keyof ServerOptions)[] = [
  'basePath',
  'token',
  'allowedHosts',
  'readOnly',
  'maintenance',
  'maxBody',
  'maxListeners',
  'requestTimeout',
  'closeTimeout',
  'env',
  'extra',
  'dashboard',
  'log',
]
const MIB = 1024 * 1024
export const TOKEN_LENGTH_MIN = 16

export function parseServerOptions(options: ServerOptions): ServerSettings {
  const where = 'createServer'
  checkKeys(options, OPTIONS, where)
  const { token, allowedHosts = [], readOnly = false, maxBody = 4 * MIB, maxListeners = 500, env, extra } = options
  if (token !== undefined) checkToken(token, `${where}: token`)
  for (const host of allowedHosts) checkText(host, `${where}: allowedHosts`)
  if (env) checkText(env.name, `${where}: env.name`, 40)
  checkInteger(maxBody, `${where}: maxBody`, 1024, 64 * MIB)
  checkInteger(maxListeners, `${where}: maxListeners`, 1, 10_000)
  return {
    basePath: basePathOf(options.basePath ?? '/'),
    ...(token !== undefined && { token }),
    allowedHosts: allowedHosts.map(host => host.toLowerCase()),
    readOnly,
    maintenance: options.maintenance ?? true,
    maxBodyBytes: maxBody,
    maxListeners,
    requestTimeoutMs: toMs(options.requestTimeout ?? '30s', `${where}: requestTimeout`, { min: 10, max: HOUR_MS }),
    closeTimeoutMs: toMs(options.closeTimeout ?? '5s', `${where}: closeTimeout`, { max: HOUR_MS }),
    ...(env && { env }),
    ...(extra && { extra }),
  }
}

function checkToken(token: unknown, where: string): void {
  if (typeof token === 'string' && token.length >= TOKEN_LENGTH_MIN && /^[\x21-\x7e]+$/.test(token)) return
  throw new ChronosError(
    'INVALID_OPTION',
    `${where}: expected at least ${TOKEN_LENGTH_MIN} characters without spaces; make one with \`chronos tokens create\` or \`openssl rand -hex 24\``,
  )
}

function basePathOf(path: string): string {
  if (typeof path === 'string' && /^(\/[A-Za-z0-9._~-]+)*\/?$/.test(path)) return path.replace(/\/$/, '')
  throw new ChronosError(
    'INVALID_OPTION',
    `createServer: basePath: expected a path such as /chronos, got ${shown(path)}`,
  )
}
