import { statusFits } from '../failure/known-failures.js'
import { toPayload } from '../job/payload.js'
import { type StatusMatch, statuses } from '../policy/rules.js'
import { toMs } from '../values/duration.js'
import { ChronosError, shown } from '../values/error.js'
import { fitsUtf8 } from '../values/json.js'
import { present } from '../values/present.js'
import {
  about,
  anything,
  boolean,
  coded,
  duration,
  flaw,
  flawAt,
  type Infer,
  integer,
  named,
  read,
  refined,
  type Schema,
  schema,
} from '../values/schema.js'
import { object } from '../values/shape.js'
import { headers } from './headers.js'

export const URL_LENGTH_MAX = 8_192
export const HTTP_BODY_MAX_BYTES = 256 * 1024
export const HTTP_TIMEOUT_DEFAULT_MS = 30_000
export const HTTP_TIMEOUT_MAX_MS = 30 * 60_000
export const REDIRECTS_MAX = 3

export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const
export type HttpMethod = (typeof METHODS)[number]

const method = schema<HttpMethod | Lowercase<HttpMethod>>({
  kinds: ['string'],
  expects: `one of ${METHODS.join(', ')}`,
  check(given) {
    if (typeof given === 'string' && METHODS.some(one => one === given.toUpperCase())) return given as HttpMethod
    throw flaw(`expected ${method.expects}, got ${shown(given)}`)
  },
  // Lower case is accepted too; clients that are generated from the document need one spelling.
  json: () => ({ type: 'string', enum: METHODS }),
})

/** A URL that can be called; it is kept as it was written. The egress rules decide where a call may go. */
export const url = schema<string>({
  kinds: ['string'],
  expects: 'an address such as "https://api.example.com/orders"',
  check(given) {
    const problem = urlProblem(given)
    if (problem === undefined) return given as string
    throw flaw(problem)
  },
  json: () => ({ type: 'string', minLength: 1, maxLength: URL_LENGTH_MAX }),
  control: 'url',
})

const body: Schema<unknown> = { ...anything, kinds: anything.kinds.filter(kind => kind !== 'null') }

/** An HTTP call as users write it, and as it is stored: the payload of a job named `http`. */
export const httpRequest = named(
  'HttpRequest',
  coded(
    'INVALID_PAYLOAD',
    refined(
      object(
        { url: about(url, { label: 'URL', placeholder: 'https://api.example.com/charge' }) },
        {
          method: about(method, 'Default: `POST` with a body, `GET` without one.', { label: 'Method', hint: '' }),
          headers: about(headers, { label: 'Headers', hint: 'One per line: name: value' }),
          body: about(body, 'Text is sent unchanged; any other value as JSON. At most 256 KiB.', {
            label: 'Body',
            hint: 'JSON is sent as JSON, anything else as text',
          }),
          timeout: about(
            duration({ min: 1, max: HTTP_TIMEOUT_MAX_MS }),
            'From the DNS lookup to the last byte that is read. Default 30s, at most 30m.',
          ),
          expectedStatuses: about(
            statuses,
            'Responses that count as success: `[200, 204]`, `["2xx"]`, `[[200, 299]]`. Default: every 2xx.',
          ),
          followRedirects: about(
            integer(0, REDIRECTS_MAX),
            `How many redirects are followed, each checked like the first URL. Default 0, at most ${REDIRECTS_MAX}.`,
          ),
          retryClientErrors: about(
            boolean,
            'Whether 4xx responses are retried too. Default false: most of them are permanent.',
          ),
          captureBody: about(boolean, 'Whether the beginning of the response body is stored. Default true.'),
        },
      ),
      bodyProblem,
    ),
  ),
)

export type HttpRequest = Infer<typeof httpRequest>

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

function bodyProblem({ method: called = 'POST', body: sent }: { readonly method?: string; readonly body?: unknown }) {
  const name = called.toUpperCase()
  if (sent === undefined || (name !== 'GET' && name !== 'HEAD')) return undefined
  return flawAt(['body'], `${name} takes no body; leave it out, or use POST`)
}

/** Validates an HTTP call for library, REST and CLI. */
export function parseHttpRequest(input: unknown, where: string): HttpCall {
  const given = read(httpRequest, input, where, 'INVALID_PAYLOAD')
  const { text, type } = bodyOf(given.body, `${where}.body`)
  const called = given.method?.toUpperCase() ?? (text === undefined ? 'GET' : 'POST')
  const { href, origin } = urlOf(given.url)
  return present({
    method: called as HttpMethod,
    url: href,
    origin,
    headers: sentHeaders(given.headers ?? {}, type),
    body: text,
    timeoutMs: given.timeout === undefined ? HTTP_TIMEOUT_DEFAULT_MS : toMs(given.timeout, 'timeout'),
    expectedStatuses: given.expectedStatuses ?? ['2xx'],
    followRedirects: given.followRedirects ?? 0,
    retryClientErrors: given.retryClientErrors ?? false,
    captureBody: given.captureBody ?? true,
  })
}

/** Names are sent in lower case. A body has a content type unless one was given. */
function sentHeaders(given: Readonly<Record<string, string>>, type: string | undefined): HttpCall['headers'] {
  const own = Object.fromEntries(Object.entries(given).map(([name, value]) => [name.toLowerCase(), value]))
  return type === undefined ? own : { 'content-type': type, ...own }
}

/** Whether a response is a success. */
export function isExpected({ expectedStatuses }: HttpCall, status: number): boolean {
  return expectedStatuses.some(match => statusFits(match, status))
}

function urlProblem(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > URL_LENGTH_MAX || !URL.canParse(value)) {
    return `expected ${url.expects}, got ${shownUrl(value)}`
  }
  const { protocol, username, password } = new URL(value)
  if (protocol !== 'http:' && protocol !== 'https:') return `expected http: or https:, got ${shown(protocol)}`
  if (username === '' && password === '') return undefined
  return 'a name or password in the address is not sent; use an authorization header'
}

/** A checked URL without its fragment, which is never sent. */
export function urlOf(checked: string): URL {
  const parsed = new URL(checked)
  parsed.hash = ''
  return parsed
}

/** A URL may contain a secret anywhere after its host. */
function shownUrl(value: unknown): string {
  if (typeof value !== 'string') return shown(value)
  if (value.length > URL_LENGTH_MAX) return `a text of ${value.length} characters`
  return shown(/^[^?#@]{0,40}/.exec(value)?.[0] ?? '')
}

function bodyOf(given: unknown, where: string): { readonly text?: string; readonly type?: string } {
  if (given === undefined) return {}
  const text = typeof given === 'string' ? given : toPayload(given, where)
  if (!fitsUtf8(text, HTTP_BODY_MAX_BYTES)) {
    throw new ChronosError('PAYLOAD_TOO_LARGE', `${where}: is over 256 KiB; store it elsewhere and send a reference`)
  }
  return { text, type: typeof given === 'string' ? 'text/plain; charset=utf-8' : 'application/json' }
}
