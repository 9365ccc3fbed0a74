import { excess } from '../../core/job/bulk.js'
import { ChronosError, type ErrorCode } from '../../core/values/error.js'
import { present } from '../../core/values/present.js'
import { about, anyText, boolean, type Flaw, type Infer, integer, named } from '../../core/values/schema.js'
import { listOf, view } from '../../core/values/shape.js'

/** Error codes of the server itself, beside those of the library. */
export type RequestCode =
  | 'INVALID_REQUEST'
  | 'NOT_JSON'
  | 'BODY_TOO_LARGE'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'UNAUTHENTICATED'
  | 'FORBIDDEN'
  | 'CROSS_SITE'
  | 'UNKNOWN_HOST'
  | 'NO_SUCH_ROUTE'
  | 'METHOD_NOT_ALLOWED'
  | 'PRECONDITION_FAILED'
  | 'IDEMPOTENCY_KEY_REUSED'
  | 'IDEMPOTENCY_KEY_IN_USE'
  | 'IDEMPOTENCY_OUTCOME_UNKNOWN'
  | 'TOO_MANY_REQUESTS'
  | 'TOO_MANY_CLIENTS'
  | 'OVERLOADED'
  | 'SHUTTING_DOWN'
  | 'UNEXPECTED'

/** One error in a request: its place (a JSON pointer, or `query.limit`) and a message. */
const fault = view({ pointer: anyText, detail: anyText })
type Fault = Infer<typeof fault>

/** The document of RFC 9457. */
export const problemSchema = named(
  'Problem',
  view(
    {
      type: anyText,
      title: anyText,
      status: integer(),
      code: about(anyText, 'Stable: programs may depend on it.'),
      detail: about(anyText, 'A sentence that names the field, the value and the fix.'),
      requestId: anyText,
      retryable: boolean,
    },
    { errors: listOf(fault), details: about(excess, 'The counts of `TOO_MANY_MATCHES`.') },
  ),
)

interface ProblemOptions {
  readonly errors?: readonly Fault[]
  readonly details?: Infer<typeof excess>
  readonly headers?: Readonly<Record<string, string>>
  readonly cause?: unknown
}

/** An error response, RFC 9457 on the wire. */
export class Problem extends Error {
  override readonly name: string = 'Problem'
  readonly status: number
  readonly code: RequestCode | ErrorCode
  readonly errors: readonly Fault[] | undefined
  readonly details: Infer<typeof excess> | undefined
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, code: RequestCode | ErrorCode, detail: string, options: ProblemOptions = {}) {
    super(detail, 'cause' in options ? { cause: options.cause } : undefined)
    this.status = status
    this.code = code
    this.errors = options.errors
    this.details = options.details
    this.headers = options.headers ?? {}
  }
}

/** Codes whose status is not 422. */
const STATUS_OF: Readonly<Partial<Record<ErrorCode, number>>> = {
  PAYLOAD_TOO_LARGE: 413,
  UNKNOWN_JOB: 404,
  NOT_FOUND: 404,
  KEY_CONFLICT: 409,
  VERSION_CONFLICT: 412,
  NOT_ALLOWED: 409,
  TOO_MANY_MATCHES: 409,
  LEASE_LOST: 409,
  EFFECT_UNKNOWN: 409,
  ROLLED_BACK: 409,
  CANCELLED: 409,
  JOB_DEAD: 409,
  JOB_CANCELLED: 409,
  OUTCOME_UNKNOWN: 409,
  CLOSED: 503,
  TIMED_OUT: 503,
  STOPPED: 503,
  STORE_UNAVAILABLE: 503,
  STORE_UNKNOWN: 503,
  STORE_FULL: 503,
  STORE_READ_ONLY: 503,
  STORE_NOT_A_DATABASE: 503,
  STORE_CORRUPT: 503,
  STORE_NEWER: 503,
  STORE_NOT_SUPPORTED: 503,
}

const RETRY_AFTER_S = '2'
const RETRYABLE = new Set([429, 503])
const FAULTS_MAX = 20

/** Turns any thrown value into an error response. The reason of an unexpected error goes to the log only. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error
  if (!(error instanceof ChronosError)) {
    return new Problem(500, 'UNEXPECTED', 'unexpected error; the server log has the details under this request id', {
      cause: error,
    })
  }
  const status = STATUS_OF[error.code] ?? 422
  return new Problem(status, error.code, error.message, {
    cause: error,
    ...present({ errors: faultsOf(error.details['errors']) }),
    ...(error.code === 'TOO_MANY_MATCHES' && { details: error.details as Infer<typeof excess> }),
    ...(status === 503 && { headers: { 'Retry-After': RETRY_AFTER_S } }),
  })
}

/** The fields that an error of core is about. */
function faultsOf(errors: unknown): readonly Fault[] | undefined {
  if (!Array.isArray(errors)) return undefined
  return (errors as readonly { readonly path: Flaw['path']; readonly detail: string }[]).map(({ path, detail }) => ({
    pointer: pointerTo(path),
    detail,
  }))
}

/** The place and the message of each error in a request; the first ones if there are many. */
export function invalidRequest(flaws: readonly Flaw[], part: 'path' | 'query' | 'body'): Problem {
  const errors = flaws.slice(0, FAULTS_MAX).map(({ path, says }) => ({
    pointer: part === 'body' ? pointerTo(path) : `${part}.${path.join('.')}`,
    detail: says,
  }))
  const { pointer, detail } = errors[0]!
  const [code, ...others] = new Set(flaws.map(flaw => flaw.code))
  const shared = others.length === 0 ? code : undefined
  return new Problem(422, shared ?? 'INVALID_REQUEST', `${pointer}: ${detail}`, { errors })
}

function pointerTo(path: Flaw['path']): string {
  return `/${path.map(name => String(name).replaceAll('~', '~0').replaceAll('/', '~1')).join('/')}`
}

const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not found',
  405: 'Method not allowed',
  409: 'Conflict',
  412: 'Precondition failed',
  413: 'Content too large',
  415: 'Unsupported media type',
  421: 'Misdirected request',
  422: 'Unprocessable content',
  429: 'Too many requests',
  500: 'Internal server error',
  503: 'Service unavailable',
}

export function problemBody(problem: Problem, requestId: string): Infer<typeof problemSchema> {
  const { status, code, message, errors, details } = problem
  return {
    type: `/problems/${code.toLowerCase().replaceAll('_', '-')}`,
    title: TITLES[status] ?? 'Error',
    status,
    code,
    detail: message,
    requestId,
    retryable: RETRYABLE.has(status),
    ...present({ errors, details }),
  }
}
