import type { FailureKind, StatusMatch } from '../policy/policy.js'
import { type HttpErrorFacts, httpErrorFacts } from './http-error.js'
import { type Link, property } from './thrown.js'

/** What the built-in table says about a failure. */
export interface KnownFailure {
  readonly kind: FailureKind
  /** What identified it: `ECONNRESET`, `HTTP 503`, `ValidationError`. */
  readonly word: string
  /**
   * false: the request was certainly not sent. true: it was sent, and its outcome is unknown. Absent: the failure is
   * not about a request, or there was a response.
   */
  readonly maybeExecuted?: boolean
}

/** All given fields must match one error of the chain. */
interface Row {
  readonly types?: readonly string[]
  /** Complete codes, or prefixes that end with a star. */
  readonly codes?: readonly string[]
  readonly syscalls?: readonly string[]
  readonly message?: RegExp
  readonly as: FailureKind
  readonly maybeExecuted?: boolean
}

const PERMANENT_TYPES = ['ValidationError', 'NotFoundError', 'UnauthorizedError', 'ForbiddenError', 'SyntaxError']

/**
 * Errors of Chronos itself and well-known error classes. They are checked before the code, and after a status: a client
 * that names an error `NotFoundError` and gives it the status 503 reports a failure of the other side.
 */
const TYPES: readonly Row[] = [
  { types: PERMANENT_TYPES, as: 'permanent' },
  { types: ['ChronosError'], codes: ['INVALID_PAYLOAD', 'EFFECT_UNKNOWN'], as: 'permanent' },
]

const UNREACHABLE = ['EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'ENETDOWN']
const NAMES = ['ENOTFOUND', 'EAI_*', 'ENODATA', 'ESERVFAIL', 'EREFUSED', 'ETIMEOUT']
const NO_SOCKET = ['ECONNREFUSED', 'EADDRNOTAVAIL', 'EADDRINUSE', 'EMFILE', 'ENFILE', 'UND_ERR_CONNECT_TIMEOUT']
const CUT_OFF = ['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'ETIMEDOUT', 'ESOCKETTIMEDOUT', 'ERR_STREAM_PREMATURE_CLOSE']
const UNDICI_CUT_OFF = [
  'UND_ERR_SOCKET',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
  'UND_ERR_ABORTED',
]
const CERTIFICATES = [
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REVOKED',
  'CERT_UNTRUSTED',
  'CERT_REJECTED',
  'CERT_SIGNATURE_FAILURE',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'HOSTNAME_MISMATCH',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]
const OUR_SIDE = ['ERR_INVALID_URL', 'ERR_INVALID_CHAR', 'UND_ERR_INVALID_ARG', 'UND_ERR_NOT_SUPPORTED']

/** Codes of Node, its HTTP clients, DNS and TLS for a request without a response. The first matching row counts. */
const CODES: readonly Row[] = [
  // An open connection (its route disappeared) and a failed connect report the same code.
  { codes: UNREACHABLE, syscalls: ['read', 'write', 'writev'], as: 'transient', maybeExecuted: true },
  { codes: [...NAMES, ...NO_SOCKET, ...UNREACHABLE], as: 'transient', maybeExecuted: false },
  { codes: ['ETIMEDOUT'], syscalls: ['connect'], as: 'transient', maybeExecuted: false },
  { codes: ['ECONNRESET'], message: /before secure TLS connection/, as: 'transient', maybeExecuted: false },
  { codes: ['ERR_HTTP2_*'], message: /NGHTTP2_REFUSED_STREAM/, as: 'transient', maybeExecuted: false },
  { codes: [...CUT_OFF, ...UNDICI_CUT_OFF, 'ERR_HTTP2_*', 'HPE_*'], as: 'transient', maybeExecuted: true },
  { codes: ['ERR_SSL_*'], message: /unexpected eof|bad record mac/i, as: 'transient', maybeExecuted: true },
  { codes: [...CERTIFICATES, 'ERR_SSL_*'], as: 'permanent', maybeExecuted: false },
  // This is almost always the handshake, but not certainly.
  { codes: ['EPROTO'], as: 'permanent' },
  { codes: OUR_SIDE, as: 'permanent', maybeExecuted: false },
  { message: /^bad port$|URL that includes credentials/, as: 'permanent', maybeExecuted: false },
  { codes: ['ESSRFBLOCKED'], as: 'blocked', maybeExecuted: false },
  // Aborts by Chronos never get here: such a run ends with the reason for its interruption.
  { codes: ['ABORT_ERR'], as: 'transient', maybeExecuted: true },
  { types: ['TimeoutError', 'AbortError'], as: 'transient', maybeExecuted: true },
]

/**
 * The status of an error that a handler throws may mean anything, so only the unambiguous ones count (R9). If the call
 * is the job itself, every status of its response counts.
 */
interface StatusRow {
  readonly statuses: readonly StatusMatch[]
  readonly thrown?: FailureKind
  readonly answer: FailureKind
}

const STATUSES: readonly StatusRow[] = [
  { statuses: ['3xx'], answer: 'permanent' },
  { statuses: [400, 401, 403, 404, 410, 422], thrown: 'permanent', answer: 'permanent' },
  { statuses: [408, 425], thrown: 'transient', answer: 'transient' },
  { statuses: [429], thrown: 'throttled', answer: 'throttled' },
  { statuses: ['4xx'], answer: 'permanent' },
  { statuses: ['5xx'], thrown: 'transient', answer: 'transient' },
]

/** The statuses for which `Retry-After` is honoured. */
export const RETRY_AFTER_STATUSES: readonly number[] = [408, 425, 429, 503]

export interface HttpAnswer {
  readonly status: number
  /** The response has a `Retry-After`. */
  readonly retryAfter?: boolean
  /**
   * The same idempotency key was sent before, so a conflict may be with our own first call, which may still be running.
   */
  readonly repeated?: boolean
}

/** Classifies an HTTP response where the call is the job. Undefined: a success, or not a final response. */
export function knownAnswer({ status, retryAfter = false, repeated = false }: HttpAnswer): KnownFailure | undefined {
  const word = `HTTP ${status}`
  if (status === 409 && repeated) return { kind: 'transient', word }
  if (status === 503 && retryAfter) return { kind: 'throttled', word }
  const row = statusRow(status)
  return row && { kind: row.answer, word }
}

function statusRow(status: number): StatusRow | undefined {
  return STATUSES.find(({ statuses }) => statuses.some(match => statusFits(match, status)))
}

/** Identifies one error of a chain by its status, else its class, else its code. */
export function knownFailure(link: Link, retryAfter: boolean): KnownFailure | undefined {
  const call = httpErrorFacts(link.value)
  if (call) return knownCall(call, link)
  const byType = TYPES.find(row => rowFits(row, link))
  const status = link.status === undefined ? undefined : statusRow(link.status)
  // A class says more than a status that agrees with it.
  if (status?.thrown !== undefined && status.thrown !== byType?.as) {
    const kind = link.status === 503 && retryAfter ? 'throttled' : status.thrown
    return { kind, word: `HTTP ${link.status}` }
  }
  if (byType && isOfResponse(link)) return { kind: 'transient', word: 'SyntaxError of a response body' }
  if (byType) return known(byType, link)
  const byCode = CODES.find(row => rowFits(row, link))
  return byCode && known(byCode, link)
}

/** Chronos made this call itself, so its own observations take precedence over the code. */
function knownCall({ kind, status, code, maybeExecuted }: HttpErrorFacts, link: Link): KnownFailure {
  return {
    kind: kind ?? CODES.find(row => rowFits(row, link))?.as ?? 'transient',
    word: status === undefined ? (code ?? 'no answer') : `HTTP ${status}`,
    ...(maybeExecuted !== undefined && { maybeExecuted }),
  }
}

/** System calls that run before a connection exists. */
const CONNECTING = /^(?:connect|bind|getaddrinfo|query\w+)$/

function known(row: Row, link: Link): KnownFailure {
  const { as: kind, maybeExecuted, message } = row
  const type = row.types?.find(one => link.types.includes(one))
  const word = row.codes !== undefined ? link.code! : (type ?? `"${message?.exec(messageOf(link))?.[0]}"`)
  // A file that could not be opened says nothing about a request.
  const elsewhere = maybeExecuted === false && link.syscall !== undefined && !CONNECTING.test(link.syscall)
  return { kind, word, ...(maybeExecuted !== undefined && !elsewhere && { maybeExecuted }) }
}

function rowFits(row: Row, link: Link): boolean {
  const { types, codes, syscalls, message } = row
  if (types !== undefined && !isOneOf(types, link.types)) return false
  if (codes !== undefined && (link.code === undefined || !fitsOne(codes, link.code))) return false
  if (syscalls !== undefined && !syscalls.includes(link.syscall ?? '')) return false
  return message === undefined || message.test(messageOf(link))
}

// Loops, because every failure is compared with every row, and a function for each comparison takes as long as the comparison.

function isOneOf(types: readonly string[], found: readonly string[]): boolean {
  for (const type of types) if (found.includes(type)) return true
  return false
}

function fitsOne(codes: readonly string[], code: string): boolean {
  for (const match of codes) if (codeFits(match, code)) return true
  return false
}

function codeFits(match: string, code: string): boolean {
  return match.endsWith('*') ? code.startsWith(match.slice(0, -1)) : match === code
}

/** Text that begins with markup was meant to be JSON: the error page of a gateway. */
const MARKUP =
  /^(?:Unexpected token '<', "\s*<.* is not valid JSON|Unexpected token < in JSON at position 0|JSON Parse error: Unrecognized token '<')/s
/** The caller of `JSON.parse` belongs to an HTTP client: that of Node, Deno, Bun, or a package. */
const CLIENT_PARSED =
  /^[^\n]*\n\s+at (?:Object\.|JSON\.)?parse \(<anonymous>\)\n[^\n]*(?:node:internal\/deps\/undici\/|ext:deno_fetch\/|\/node_modules\/(?:undici|node-fetch|node-fetch-native|axios|got|ky|ofetch|superagent|needle|phin|wretch|cross-fetch)\/)/

/**
 * `response.json()` of an error page throws a SyntaxError. The page passes, unlike a mistake in the code or in the
 * data of the handler.
 */
function isOfResponse(link: Link): boolean {
  if (!link.types.includes('SyntaxError')) return false
  const stack = property(link.value, 'stack')
  const message = messageOf(link)
  const frames = typeof stack === 'string' ? stack.slice(stack.indexOf(message) + message.length) : ''
  return MARKUP.test(message) || CLIENT_PARSED.test(frames.slice(0, MESSAGE_LOOKED_AT))
}

const MESSAGE_LOOKED_AT = 1_000

function messageOf(link: Link): string {
  const message = property(link.value, 'message')
  return typeof message === 'string' ? message.slice(0, MESSAGE_LOOKED_AT) : ''
}

export function statusFits(match: StatusMatch, status: number | undefined): boolean {
  if (status === undefined) return false
  if (typeof match === 'number') return match === status
  if (typeof match === 'string') return Number(match[0]) === Math.floor(status / 100)
  return match[0] <= status && status <= match[1]
}
