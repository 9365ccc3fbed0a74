import { ChronosError, ERROR_CODES, type ErrorCode } from '../core/values/error.js'
import { present } from '../core/values/present.js'

/** What the user of a client can do about an error: the ways out differ between a program and the command line. */
export interface Hints {
  readonly token: string
  readonly url: string
  readonly server: string
}

/** The part of a problem document (RFC 9457) that clients show. */
interface Document {
  readonly code: string
  readonly detail: string
  readonly requestId?: string
  readonly details?: object
}

/** API error codes and the error codes of the library. */
const CODES: Readonly<Record<string, ErrorCode>> = {
  INVALID_REQUEST: 'INVALID_OPTION',
  NOT_JSON: 'INVALID_OPTION',
  BODY_TOO_LARGE: 'PAYLOAD_TOO_LARGE',
  UNAUTHENTICATED: 'NOT_ALLOWED',
  FORBIDDEN: 'NOT_ALLOWED',
  CROSS_SITE: 'NOT_ALLOWED',
  UNKNOWN_HOST: 'NOT_ALLOWED',
  NO_SUCH_ROUTE: 'STORE_NOT_SUPPORTED',
  METHOD_NOT_ALLOWED: 'STORE_NOT_SUPPORTED',
  UNSUPPORTED_MEDIA_TYPE: 'STORE_NOT_SUPPORTED',
  PRECONDITION_FAILED: 'VERSION_CONFLICT',
  IDEMPOTENCY_KEY_REUSED: 'KEY_CONFLICT',
  IDEMPOTENCY_KEY_IN_USE: 'KEY_CONFLICT',
  IDEMPOTENCY_OUTCOME_UNKNOWN: 'STORE_UNKNOWN',
  TOO_MANY_REQUESTS: 'STORE_UNAVAILABLE',
  TOO_MANY_CLIENTS: 'STORE_UNAVAILABLE',
  SHUTTING_DOWN: 'STORE_UNAVAILABLE',
}

const isOurs = (code: string): code is ErrorCode => (ERROR_CODES as readonly string[]).includes(code)

/** An error response as the error that a store would throw. */
export function errorOf(status: number, body: unknown, url: string, hints: Hints): Error {
  const problem = documentOf(body)
  if (!problem) {
    const isGateway = status === 502 || status === 504
    return isGateway
      ? unreachable(url, `a gateway answered ${status}`, hints)
      : noChronos(url, `it answered ${status}`, hints)
  }
  const { code, detail, requestId, details: facts } = problem
  const known = isOurs(code) ? code : CODES[code]
  const words = status === 401 ? `${detail}; ${hints.token}` : detail
  const details = { ...present({ status, code, requestId }), ...facts }
  if (known !== undefined) return new ChronosError(known, words, { details })
  return new Error(`${url}: ${detail} (request ${requestId ?? 'unknown'})`)
}

function documentOf(body: unknown): Document | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const { code, detail, requestId, details } = body as Readonly<Record<string, unknown>>
  if (typeof code !== 'string' || typeof detail !== 'string') return undefined
  return present({
    code,
    detail,
    requestId: typeof requestId === 'string' ? requestId : undefined,
    details: typeof details === 'object' && details !== null ? details : undefined,
  })
}

export function noChronos(url: string, why: string, hints: Hints): ChronosError {
  return new ChronosError('STORE_NOT_SUPPORTED', `${url} is not a Chronos server (${why}); ${hints.url}`)
}

export function unreachable(url: string, cause: unknown, hints: Hints): ChronosError {
  const inner = (cause as { readonly cause?: unknown } | null)?.cause ?? cause
  const { code, message } = Object(inner) as { readonly code?: unknown; readonly message?: unknown }
  const why = typeof code === 'string' ? code : String(message ?? inner)
  return new ChronosError(
    'STORE_UNAVAILABLE',
    `cannot reach ${url} (${why}); is a server running there? ${hints.server}`,
    { cause },
  )
}
