import { statusFits } from '../failure/known-failures.js'
import { toPayload } from '../job/payload.js'
import type { StatusMatch } from '../policy/policy.js'
import { isStatus } from '../policy/rules.js'
import { type Duration, toMs } from '../values/duration.js'
import { ChronosError, shown } from '../values/error.js'
import { fitsUtf8 } from '../values/json.js'
import { type Form, readForm } from '../values/options-reader.js'
import { parseHeaders } from './headers.js'

export const URL_LENGTH_MAX = 8_192
export const HTTP_BODY_MAX_BYTES = 256 * 1024
export const HTTP_TIMEOUT_DEFAULT_MS = 30_000
export const HTTP_TIMEOUT_MAX_MS = 30 * 60_000
export const REDIRECTS_MAX = 3
const STATUSES_MAX = 100

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const
export type HttpMethod = (typeof METHODS)[number]

/** An HTTP call as users write it, and as it is stored: the payload of a job named `http`. */
export interface HttpRequest {
  /** Default: `POST` with a body, `GET` without one. */
  readonly method?: HttpMethod | Lowercase<HttpMethod>
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** Text is sent unchanged; any other value as JSON. At most 256 KiB. */
  readonly body?: unknown
  /** From the DNS lookup to the last byte that is read. Default 30 s, at most 30 minutes. */
  readonly timeout?: Duration
  /** Responses that count as success: `[200, 204]`, `['2xx']`, `[[200, 299]]`. Default: every 2xx. */
  readonly expectedStatuses?: readonly StatusMatch[]
  /** How many redirects are followed, each checked like the first URL. Default 0, at most 3. */
  readonly followRedirects?: number
  /** Whether 4xx responses are retried too. Default false: most of them are permanent. */
  readonly retryClientErrors?: boolean
  /** Whether the beginning of the response body is stored. Default true. */
  readonly captureBody?: boolean
}

/** The same, validated and complete. */
export interface HttpCall {
  readonly method: HttpMethod
  readonly url: string
  readonly origin: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly timeoutMs: number
  readonly expectedStatuses: readonly StatusMatch[]
  readonly followRedirects: number
  readonly retryClientErrors: boolean
  readonly captureBody: boolean
}

const KEYS: readonly (keyof HttpRequest)[] = [
  'method',
  'url',
  'headers',
  'body',
  'timeout',
  'expectedStatuses',
  'followRedirects',
  'retryClientErrors',
  'captureBody',
]

/** Validates an HTTP call for library, REST and CLI. The egress rules decide where it may go. */
export function parseHttpRequest(input: unknown, where: string): HttpCall {
  const form = readForm(input, where, KEYS, 'INVALID_PAYLOAD')
  const url = parseUrl(form.get('url'), `${where}.url`)
  const { text, type } = bodyOf(form.get('body'), `${where}.body`)
  const method = methodOf(form.get('method'), text !== undefined, `${where}.method`)
  if (text !== undefined && (method === 'GET' || method === 'HEAD')) {
    throw refused(`${where}.body: ${method} takes no body; leave it out, or use POST`)
  }
  const headers = parseHeaders(form.get('headers') ?? {}, `${where}.headers`)
  return {
    method,
    url: url.href,
    origin: url.origin,
    headers: type === undefined || 'content-type' in headers ? headers : { 'content-type': type, ...headers },
    ...(text !== undefined && { body: text }),
    timeoutMs: timeoutOf(form.get('timeout'), `${where}.timeout`),
    expectedStatuses: statusesOf(form.get('expectedStatuses'), `${where}.expectedStatuses`),
    followRedirects: redirectsOf(form.get('followRedirects'), `${where}.followRedirects`),
    retryClientErrors: flagOf(form, 'retryClientErrors', false, where),
    captureBody: flagOf(form, 'captureBody', true, where),
  }
}

/** Whether a response is a success. */
export function isExpected({ expectedStatuses }: HttpCall, status: number): boolean {
  return expectedStatuses.some(match => statusFits(match, status))
}

/** Parsed once; every later check uses the result. */
export function parseUrl(value: unknown, where: string): URL {
  if (typeof value !== 'string' || value.length > URL_LENGTH_MAX || !URL.canParse(value)) {
    throw refused(`${where}: expected an address such as "https://api.example.com/orders", got ${shownUrl(value)}`)
  }
  const url = new URL(value)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw refused(`${where}: expected http: or https:, got ${shown(url.protocol)}`)
  }
  if (url.username !== '' || url.password !== '') {
    throw refused(`${where}: a name or password in the address is not sent; use an authorization header`)
  }
  url.hash = ''
  return url
}

/** A URL may contain a secret anywhere after its host. */
function shownUrl(value: unknown): string {
  if (typeof value !== 'string') return shown(value)
  if (value.length > URL_LENGTH_MAX) return `a text of ${value.length} characters`
  return shown(/^[^?#@]{0,40}/.exec(value)?.[0] ?? '')
}

function bodyOf(body: unknown, where: string): { readonly text?: string; readonly type?: string } {
  if (body === undefined) return {}
  const text = typeof body === 'string' ? body : toPayload(body, where)
  if (!fitsUtf8(text, HTTP_BODY_MAX_BYTES)) {
    throw new ChronosError('PAYLOAD_TOO_LARGE', `${where}: is over 256 KiB; store it elsewhere and send a reference`)
  }
  return { text, type: typeof body === 'string' ? 'text/plain; charset=utf-8' : 'application/json' }
}

function methodOf(method: unknown, hasBody: boolean, where: string): HttpMethod {
  if (method === undefined) return hasBody ? 'POST' : 'GET'
  const known = typeof method === 'string' ? METHODS.find(one => one === method.toUpperCase()) : undefined
  if (known === undefined) throw refused(`${where}: expected one of ${METHODS.join(', ')}, got ${shown(method)}`)
  return known
}

function timeoutOf(timeout: unknown, where: string): number {
  return timeout === undefined ? HTTP_TIMEOUT_DEFAULT_MS : toMs(timeout, where, { min: 1, max: HTTP_TIMEOUT_MAX_MS })
}

function statusesOf(statuses: unknown, where: string): readonly StatusMatch[] {
  if (statuses === undefined) return ['2xx']
  if (!Array.isArray(statuses) || statuses.length === 0 || statuses.length > STATUSES_MAX) {
    throw refused(`${where}: expected a list such as [200, "3xx", [500, 504]], got ${shown(statuses)}`)
  }
  const [from, to] = statuses
  // No server sends status x99, so this is a range that was written as a list.
  if (statuses.length === 2 && isStatus(from) && isStatus(to) && to % 100 === 99) {
    throw refused(`${where}: a list of statuses, or a range in a list: [[${from}, ${to}]]`)
  }
  const odd = statuses.findIndex(status => !isStatusMatch(status))
  if (odd < 0) return statuses as readonly StatusMatch[]
  throw refused(
    `${where}[${odd}]: expected a status from 100 to 599, "4xx" or a range [500, 504], got ${shown(statuses[odd])}`,
  )
}

function isStatusMatch(value: unknown): value is StatusMatch {
  if (isStatus(value)) return true
  if (typeof value === 'string') return /^[1-5]xx$/.test(value)
  return Array.isArray(value) && value.length === 2 && value.every(isStatus) && value[0]! <= value[1]!
}

function redirectsOf(value: unknown, where: string): number {
  if (value === undefined) return 0
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= REDIRECTS_MAX) return value
  throw refused(`${where}: expected a whole number from 0 to ${REDIRECTS_MAX}, got ${shown(value)}`)
}

function flagOf(form: Form, key: keyof HttpRequest, otherwise: boolean, where: string): boolean {
  const value = form.get(key) ?? otherwise
  if (typeof value !== 'boolean') throw refused(`${where}.${key}: expected true or false, got ${shown(value)}`)
  return value
}

function refused(message: string): ChronosError {
  return new ChronosError('INVALID_PAYLOAD', message)
}
