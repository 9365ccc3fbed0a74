import type { StandardSchemaV1 } from '@standard-schema/spec'
import { HttpError } from '../../core/failure/http-error.js'
import { knownAnswer } from '../../core/failure/known-failures.js'
import {
  HTTP_TIMEOUT_MAX_MS,
  type HttpCall,
  type HttpRequest,
  isExpected,
  parseHttpRequest,
} from '../../core/http/request.js'
import { lessonOfHeaders, RATE_HEADERS } from '../../core/partition/lesson.js'
import { formatMs } from '../../core/values/duration.js'
import { ChronosError } from '../../core/values/error.js'
import { defineBuiltIn, HTTP_JOB, type JobContext, type JobDefinition } from '../client/definition.js'
import { EgressBlocked } from '../egress/blocked.js'
import type { Egress, EgressAnswer } from '../egress/egress.js'
import { Attempt } from '../worker/attempt.js'
import { BODY_KEPT_BYTES, logResponse, type Response, responseOf } from './http-response.js'

/** The request has its own timeout; this one is for a handler that hangs. */
const TIMEOUT_MS = HTTP_TIMEOUT_MAX_MS + 60_000

/** A job that is an HTTP request: its payload is the request, its result the response. */
export function httpJob(egress: Egress, traceHeaders: TraceHeaders = () => ({})): JobDefinition<HttpRequest> {
  return defineBuiltIn(
    {
      name: HTTP_JOB,
      payload: SCHEMA,
      timeout: TIMEOUT_MS,
      retry: 'http',
      run: (call, job) => perform(call, job, egress, traceHeaders),
    },
    call => call.origin,
  )
}

const SCHEMA: StandardSchemaV1<HttpRequest, HttpCall> = {
  '~standard': {
    version: 1,
    vendor: 'chronos-jobs',
    validate(input) {
      try {
        return { value: parseHttpRequest(input, 'request') }
      } catch (error) {
        if (error instanceof ChronosError) return { issues: [{ message: error.message }] }
        throw error
      }
    },
  },
}

/** Checks a request as far as possible without a DNS lookup. */
export function checkedRequest(request: HttpRequest, egress: Egress): HttpCall {
  const call = parseHttpRequest(request, 'http')
  try {
    egress.check(call.url)
  } catch (error) {
    if (!(error instanceof EgressBlocked)) throw error
    throw new ChronosError('NOT_ALLOWED', `http.url: ${error.message}`, { cause: error })
  }
  return call
}

/** Headers with the trace context of the attempt, if tracing is on. */
type TraceHeaders = (job: JobContext) => Readonly<Record<string, string>>

async function perform(call: HttpCall, job: JobContext, egress: Egress, traceHeaders: TraceHeaders): Promise<Response> {
  const answer = await egress.send({
    method: call.method,
    url: call.url,
    headers: { ...traceHeaders(job), ...headersOf(call, job) },
    ...(call.body !== undefined && { body: call.body }),
    timeoutMs: call.timeoutMs,
    bodyMaxBytes: BODY_KEPT_BYTES,
    redirectsMax: call.followRedirects,
    freshConnection: job.delivery === 'at-most-once',
    signal: job.signal,
  })
  if (job instanceof Attempt) learn(job, answer)
  const response = responseOf(answer, call)
  if (isExpected(call, answer.status)) return response
  logResponse(response, `answered ${answer.status} in ${formatMs(answer.timing.totalMs)}`, job)
  throw refusal(answer, call, job)
}

/** What any response says about the rate of the job's partition; an error says more. */
function learn(attempt: Attempt, { headers }: EgressAnswer): void {
  if (attempt.claimed.lane === undefined) return
  attempt.lesson = lessonOfHeaders(name => headers[name], attempt.clock.now().getTime())
}

const SIDE_EFFECT_METHODS: readonly string[] = ['POST', 'PATCH']

function headersOf({ method, headers }: HttpCall, job: JobContext): Record<string, string> {
  const key = SIDE_EFFECT_METHODS.includes(method) ? { 'idempotency-key': quoted(job.key) } : {}
  return {
    ...key,
    ...headers,
    'accept-encoding': 'identity',
    'user-agent': 'chronos-jobs',
    'x-chronos-job-id': job.id,
    'x-chronos-attempt': String(job.attempt),
    'x-chronos-max-attempts': String(job.maxAttempts),
    'x-chronos-scheduled-at': job.runAt.toISOString(),
  }
}

/** A structured header string (RFC 9651); characters that it can't contain are percent-encoded. */
function quoted(key: string): string {
  const plain = key.replace(/[^\x20-\x7e]+/gu, encodeURIComponent)
  return `"${plain.replace(/["\\]/g, '\\$&')}"`
}

/** The error for an unexpected status. */
function refusal({ status, headers }: EgressAnswer, call: HttpCall, job: JobContext): HttpError {
  const kept: Record<string, string> = {}
  for (const name of ['retry-after', 'date', ...RATE_HEADERS])
    if (headers[name] !== undefined) kept[name] = headers[name]
  // A conflict with an earlier request may be one with our own.
  const repeated = SIDE_EFFECT_METHODS.includes(call.method) && (job.run > 1 || job.generation > 1)
  const known = knownAnswer({ status, retryAfter: 'retry-after' in kept, repeated })
  const isClientError = status >= 400 && status < 500
  const kind = known?.kind === 'permanent' && isClientError && call.retryClientErrors ? 'transient' : known?.kind
  return new HttpError(`${call.method} ${call.origin} answered ${status}`, {
    // A success status that was not expected: repeating the request would not change it.
    kind: kind ?? 'permanent',
    status,
    headers: kept,
  })
}
