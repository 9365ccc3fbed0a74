import { HttpError } from '../../core/failure/http-error.js'
import { formatMs } from '../../core/values/duration.js'
import { present } from '../../core/values/present.js'
import { cleanText } from '../../core/values/text.js'
import { DELIVERIES, DELIVERY_JOB } from '../../core/webhook/delivery.js'
import { type Endpoint, liveSecrets } from '../../core/webhook/webhook.js'
import { defineJob, type JobContext, type JobDefinition } from '../client/definition.js'
import type { Egress, EgressAnswer } from '../egress/egress.js'
import type { StoreTime } from '../time/store-time.js'
import type { Endpoints } from './endpoints.js'
import type { DeliveryPayload } from './outbox.js'
import { sign } from './signature.js'

const TIMEOUT_MS = 15_000
const ANSWER_BYTES = 16 * 1024
/** How much of an unsuccessful response is kept in the log of the attempt. */
const ANSWER_KEPT_BYTES = 2_000

/** Records the results of deliveries to an endpoint. */
export interface Health {
  succeeded(endpointId: string): void
  failed(endpointId: string): void
  /** The endpoint answered 410: no more deliveries are sent to it. */
  gone(endpointId: string): Promise<void>
}

interface DeliveryParts {
  readonly endpoints: Endpoints
  readonly egress: Egress
  readonly time: StoreTime
  readonly health: Health
}

/** One message to one endpoint. The payload is the message; every attempt sends the same bytes with the same id. */
export function deliveryJob(parts: DeliveryParts): JobDefinition<DeliveryPayload> {
  return defineJob<DeliveryPayload, unknown>({
    name: DELIVERY_JOB,
    queue: DELIVERIES,
    timeout: 2 * TIMEOUT_MS,
    retry: 'webhook',
    run: (payload, job) => deliver(payload, job, parts),
  })
}

interface Target {
  readonly url: string
  readonly secrets: readonly string[]
}

async function deliver(payload: DeliveryPayload, job: JobContext, parts: DeliveryParts): Promise<unknown> {
  const { url, secrets } = await targetOf(payload, job, parts)
  const { messageId, body, endpointId } = payload
  const sentAt = parts.time.now()
  try {
    const answer = await parts.egress.send({
      method: 'POST',
      url,
      headers: {
        'content-type': 'application/json',
        'accept-encoding': 'identity',
        'user-agent': 'chronos-jobs-webhooks',
        'x-chronos-attempt': String(job.attempt),
        ...sign(messageId, sentAt, body, secrets),
      },
      body,
      timeoutMs: TIMEOUT_MS,
      bodyMaxBytes: ANSWER_BYTES,
      signal: job.signal,
    })
    return await judge(answer, payload, job, parts)
  } catch (error) {
    if (error instanceof Refusal || job.signal.aborted) throw error
    if (endpointId !== undefined) parts.health.failed(endpointId)
    throw again(error)
  }
}

async function targetOf(
  { endpointId, url }: DeliveryPayload,
  { tenantId }: JobContext,
  { endpoints, time }: DeliveryParts,
): Promise<Target> {
  if (endpointId === undefined) return { url: url!, secrets: await endpoints.perJobSecrets() }
  const endpoint = await endpoints.find(endpointId)
  const why = whyNot(endpoint, tenantId)
  if (why !== undefined) throw new HttpError(`webhook ${endpointId} ${why}`, { kind: 'endpoint-disabled' })
  const { url: its, secrets } = endpoint!
  return { url: its, secrets: liveSecrets(secrets, time.now()) }
}

function whyNot(endpoint: Endpoint | undefined, tenantId: string | undefined): string | undefined {
  if (!endpoint) return 'was deleted'
  if (endpoint.state !== 'enabled') return `is disabled (${endpoint.disabledReason ?? 'by-hand'})`
  // The message may be about the job of another tenant.
  const isForeign = endpoint.tenantId !== undefined && endpoint.tenantId !== tenantId
  return isForeign ? 'was given to a tenant after this message was made' : undefined
}

async function judge(
  answer: EgressAnswer,
  { endpointId }: DeliveryPayload,
  job: JobContext,
  { health }: DeliveryParts,
): Promise<unknown> {
  const { status, timing } = answer
  if (status >= 200 && status < 300) {
    if (endpointId !== undefined) health.succeeded(endpointId)
    return { status, timing }
  }
  job.log(`answered ${status} in ${formatMs(timing.totalMs)}`, { status, timing, body: bodyOf(answer) })
  if (endpointId !== undefined && status === 410) await health.gone(endpointId)
  else if (endpointId !== undefined) health.failed(endpointId)
  throw refusal(answer)
}

/** Only 410 is final: any other response may change once the owner has fixed the endpoint. */
function refusal({ status, headers }: EgressAnswer): Refusal {
  const kept: Record<string, string> = {}
  for (const name of ['retry-after', 'date']) if (headers[name] !== undefined) kept[name] = headers[name]
  const isThrottled = status === 429 || (status === 503 && 'retry-after' in kept)
  const kind = status === 410 ? 'gone' : isThrottled ? 'throttled' : 'transient'
  const words = status >= 300 && status < 400 ? `answered ${status}; redirects are not followed` : `answered ${status}`
  return new Refusal(`the webhook ${words}`, { kind, status, headers: kept })
}

/** There was a response, and its result has been recorded. */
class Refusal extends HttpError {}

/** Requests without a response are retried too, even certificate errors: certificates are renewed sooner or later. */
function again(error: unknown): unknown {
  if (!(error instanceof HttpError)) return error
  const { message, code, name } = error
  return new HttpError(
    message,
    present({ kind: 'transient', code, timedOut: name === 'TimeoutError', maybeExecuted: true }),
  )
}

function bodyOf({ body, truncated }: EgressAnswer): string {
  const text = cleanText(Buffer.from(body).toString('utf8'), ANSWER_KEPT_BYTES)
  return truncated && !text.endsWith('…') ? `${text}…` : text
}
