import { url, urlOf } from '../http/request.js'
import { timeText } from '../job/view.js'
import type { PartitionLimits } from '../partition/limits.js'
import { partialPolicy, storedPolicyInput } from '../policy/form.js'
import { type PartialPolicy, type PolicyInput, policyLevel } from '../policy/policy.js'
import { freeText, name } from '../values/limits.js'
import { present } from '../values/present.js'
import { type Rate, rate } from '../values/rate.js'
import { about, anyText, flaw, type Infer, integer, named, oneOf, read, type Schema, schema } from '../values/schema.js'
import { list, listOf, nullable, object, view } from '../values/shape.js'
import { timestamp } from '../values/time.js'
import { endpointKey } from './delivery.js'

export const WEBHOOK_EVENTS = [
  'job.succeeded',
  'job.dead',
  'job.cancelled',
  'job.retrying',
  'circuit.opened',
  'circuit.closed',
  'schedule.skipped',
  'webhook.disabled',
  'alert.firing',
  'alert.resolved',
] as const

export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number]

/** The events that may be sent: `webhook.test` goes to the requested endpoint, whatever its events are. */
export type MessageType = WebhookEvent | 'webhook.test'

export interface Secret {
  /** `whsec_…` */
  readonly value: string
  readonly createdAt: number
  /** It was replaced, and signs until then beside its successor. */
  readonly expiresAt?: number
}

/** `gone`: it responded with 410. `failing`: no delivery succeeded for days. */
export type DisabledReason = 'gone' | 'failing' | 'by-hand'

export const endpointState = oneOf(['enabled', 'disabled'])

/** An endpoint that receives events. */
export interface Endpoint {
  readonly id: string
  readonly url: string
  readonly events: readonly WebhookEvent[]
  /** Only events of jobs in these queues. */
  readonly queues?: readonly string[]
  /** Only events of jobs with these names. */
  readonly names?: readonly string[]
  /** Only events of this tenant; if absent, all events. */
  readonly tenantId?: string
  readonly retry?: PartialPolicy
  /** Its own limits, over all processes. */
  readonly concurrency?: number
  readonly rate?: Rate
  readonly state: 'enabled' | 'disabled'
  readonly disabledReason?: DisabledReason
  readonly disabledAt?: number
  /** The first failure since the last successful delivery. */
  readonly failingSince?: number
  /** Newest first. */
  readonly secrets: readonly Secret[]
  readonly createdAt: number
  readonly updatedAt: number
}

const event = oneOf(WEBHOOK_EVENTS)
const SECRET = '`whsec_` and 16 to 128 bytes in base64'
/** The value is never shown, because a misspelt secret is still secret. */
export const webhookSecret = schema<string>({
  kinds: ['string'],
  expects: SECRET,
  check(given) {
    if (typeof given === 'string' && /^whsec_[A-Za-z0-9+/]{22,171}={0,2}$/.test(given)) return given
    throw flaw(`expected ${SECRET}, got something else`)
  },
  json: () => ({ type: 'string', pattern: '^whsec_[A-Za-z0-9+/]{22,171}={0,2}$' }),
  fromText: text => text,
})
const LIST_MAX = 100
const names = list(name, { min: 1, max: LIST_MAX, of: 'names', empty: 'expected at least one name, got an empty list' })

/** How many deliveries an endpoint gets at the same time, over all processes, unless its settings say otherwise. */
export const ENDPOINT_CONCURRENCY = 10
/** One endpoint that never answers must leave room for the others in every process. */
const ENDPOINT_CONCURRENCY_MAX = 100

const concurrency = integer(1, ENDPOINT_CONCURRENCY_MAX)
const CONCURRENCY_WORDS = `How many deliveries are sent at the same time, over all processes: 1 to ${ENDPOINT_CONCURRENCY_MAX}. Default ${ENDPOINT_CONCURRENCY}.`
const RATE_WORDS =
  'How many deliveries are sent per second, minute or hour, over all processes: `20/s`, `600/m`. Default: no limit.'

/** The limits of an endpoint as an operator changes them: null is the default, and what is absent stays as it is. */
export const endpointLimits = named(
  'WebhookLimits',
  object({}, { concurrency: about(nullable(concurrency), CONCURRENCY_WORDS), rate: about(nullable(rate), RATE_WORDS) }),
  { example: { concurrency: 2, rate: '20/s' } },
)
export type EndpointLimitsInput = Infer<typeof endpointLimits>

/** A webhook endpoint as users write it. An update replaces every setting. */
export const webhookInput = named(
  'WebhookInput',
  object(
    {
      url: about(url, 'Receives signed POST requests.', { label: 'URL', placeholder: 'https://shop.example/hooks' }),
      events: list(event, {
        min: 1,
        max: LIST_MAX,
        of: 'events',
        empty: 'expected at least one event, got an empty list',
      }),
    },
    {
      queues: about(names, 'Only events of jobs in these queues.', { label: 'Queues', placeholder: 'payments, mail' }),
      names: about(names, 'Only events of jobs with these names.', { label: 'Job names' }),
      tenantId: about(freeText, 'Only events of this tenant; if absent, all events.', { label: 'Tenant' }),
      retry: about(storedPolicyInput as Schema<PolicyInput>, 'Default: after 30 s, 60 s and 120 s.', {
        label: 'Retries',
        hint: 'For failed deliveries',
      }),
      concurrency: about(concurrency, CONCURRENCY_WORDS, {
        label: 'At the same time',
        placeholder: `${ENDPOINT_CONCURRENCY}`,
      }),
      rate: about(rate, RATE_WORDS, { label: 'Rate', placeholder: '600/m' }),
      secret: about(
        webhookSecret,
        'Signs the messages, so that several installations can share it. Default: a new one. In an update, the old one also signs for another day.',
      ),
    },
  ),
  { example: { url: 'https://shop.example/hooks', events: ['job.dead'] } },
)

export type EndpointInput = Infer<typeof webhookInput>

/** The settings of an endpoint that a user can give. */
export type EndpointSettings = Pick<
  Endpoint,
  'url' | 'events' | 'queues' | 'names' | 'tenantId' | 'retry' | 'concurrency' | 'rate'
>

/** A given secret is not among the settings, which are shown. */
export interface ParsedEndpoint {
  readonly settings: EndpointSettings
  readonly secret: string | undefined
}

export const ENDPOINTS_MAX = 1_000
/** An endpoint without a success for this long is disabled. */
export const FAILING_MAX_MS = 5 * 86_400_000
/** How long a replaced secret still signs beside the new one. */
export const SECRET_OVERLAP_MS = 86_400_000
/** The maximum number of secrets that sign at the same time. */
export const SECRETS_MAX = 5

export function parseEndpoint(input: unknown, where: string): ParsedEndpoint {
  const { url: given, events, queues, names: own, retry, secret, ...others } = read(webhookInput, input, `${where}:`)
  const unique = <T>(all: readonly T[] | undefined): readonly T[] | undefined => all && [...new Set(all)]
  const settings = present({
    url: urlOf(given).href,
    events: [...new Set(events)],
    queues: unique(queues),
    names: unique(own),
    ...others,
    retry: retry === undefined ? undefined : policyLevel(retry),
  })
  return { settings, secret }
}

/** The properties of an event that decide which endpoints receive it. */
export interface Subject {
  readonly type: WebhookEvent
  readonly tenantId?: string
  /** Present if it is about a job. */
  readonly job?: { readonly queue: string; readonly name: string }
}

/** A disabled endpoint misses events: storing them for it would fill the dead letters. */
export function wants(endpoint: Endpoint, { type, tenantId, job }: Subject): boolean {
  if (endpoint.state !== 'enabled' || !endpoint.events.includes(type)) return false
  if (endpoint.tenantId !== undefined && endpoint.tenantId !== tenantId) return false
  if (job === undefined) return true
  return (endpoint.queues?.includes(job.queue) ?? true) && (endpoint.names?.includes(job.name) ?? true)
}

// ---------------------------------------------------------------- limits

/** The limits of the deliveries queue: each endpoint is a partition, and its own limits are an override. */
export function deliveryLimits(endpoints: readonly Endpoint[]): PartitionLimits {
  const own = endpoints
    .filter(one => one.concurrency !== undefined || one.rate !== undefined)
    .map(one => [endpointKey(one.id), present({ concurrency: one.concurrency, rate: one.rate })])
  return { concurrency: ENDPOINT_CONCURRENCY, ...(own.length > 0 && { override: Object.fromEntries(own) }) }
}

export function withLimits(endpoint: Endpoint, change: EndpointLimitsInput, now: number): Endpoint {
  const { concurrency, rate, ...rest } = { ...endpoint, ...change }
  return { ...rest, ...present({ concurrency: concurrency ?? undefined, rate: rate ?? undefined }), updatedAt: now }
}

// ---------------------------------------------------------------- secrets

/** The secrets that sign at this time, newest first. */
export function liveSecrets(secrets: readonly Secret[], now: number): readonly string[] {
  return secrets.filter(({ expiresAt = Number.POSITIVE_INFINITY }) => expiresAt > now).map(({ value }) => value)
}

/** The new secret signs first; the previous one signs for a while longer, so that receivers can switch. */
export function withSecret(secrets: readonly Secret[], value: string, now: number): readonly Secret[] {
  if (secrets[0]?.value === value) return secrets
  const old = secrets
    .filter(({ expiresAt = Number.POSITIVE_INFINITY }) => expiresAt > now)
    .map(secret => ({ ...secret, expiresAt: Math.min(secret.expiresAt ?? Infinity, now + SECRET_OVERLAP_MS) }))
  return [{ value, createdAt: now }, ...old].slice(0, SECRETS_MAX)
}

// ---------------------------------------------------------------- health

/** The endpoint after a failed delivery; the same object if nothing changes. */
export function afterFailure(endpoint: Endpoint, now: number): Endpoint {
  if (endpoint.state === 'disabled') return endpoint
  const failingSince = endpoint.failingSince ?? now
  if (now - failingSince >= FAILING_MAX_MS) return disabled({ ...endpoint, failingSince }, 'failing', now)
  return endpoint.failingSince === undefined ? { ...endpoint, failingSince } : endpoint
}

/** The same after a successful one. A disabled endpoint stays as it is: a delivery that began before may end later. */
export function afterSuccess(endpoint: Endpoint): Endpoint {
  if (endpoint.state === 'disabled' || endpoint.failingSince === undefined) return endpoint
  const { failingSince: _, ...rest } = endpoint
  return rest
}

export function disabled(endpoint: Endpoint, reason: DisabledReason, now: number): Endpoint {
  if (endpoint.state === 'disabled') return endpoint
  return { ...endpoint, state: 'disabled', disabledReason: reason, disabledAt: now, updatedAt: now }
}

export function enabled(endpoint: Endpoint, now: number): Endpoint {
  const { disabledReason: _reason, disabledAt: _at, failingSince: _since, ...rest } = endpoint
  return { ...rest, state: 'enabled', updatedAt: now }
}

// ---------------------------------------------------------------- views

/** The name of an endpoint in a sentence: its path may be long, and its query a secret. */
export function endpointHost({ url }: Pick<Endpoint, 'url'>): string {
  return URL.canParse(url) ? new URL(url).host : url
}

/** An endpoint as users see it: its secrets are shown only once, when they are made. */
export const endpointView = named(
  'Webhook',
  view(
    {
      id: anyText,
      url: anyText,
      events: listOf(oneOf(WEBHOOK_EVENTS)),
      state: endpointState,
      secrets: about(
        listOf(view({ createdAt: timestamp }, { expiresAt: timestamp })),
        'The secrets that currently sign messages; each is shown only once, when it is created.',
      ),
      createdAt: timestamp,
      updatedAt: timestamp,
    },
    {
      queues: listOf(anyText),
      names: listOf(anyText),
      tenantId: anyText,
      retry: partialPolicy,
      concurrency: about(integer(), 'Its own limit; absent: the default.'),
      rate: about(rate, 'Its own limit.'),
      disabledReason: oneOf(['gone', 'failing', 'by-hand']),
      disabledAt: timestamp,
      failingSince: about(timestamp, 'The first failure since the last successful delivery.'),
    },
  ),
)
export type EndpointView = Infer<typeof endpointView>

export function viewEndpoint(endpoint: Endpoint, now: number): EndpointView {
  const { secrets, createdAt, updatedAt, disabledAt, failingSince, ...rest } = endpoint
  const live = secrets.filter(({ expiresAt = Number.POSITIVE_INFINITY }) => expiresAt > now)
  return present({
    ...rest,
    disabledAt: timeText(disabledAt),
    failingSince: timeText(failingSince),
    secrets: live.map(secret =>
      present({ createdAt: timeText(secret.createdAt), expiresAt: timeText(secret.expiresAt) }),
    ),
    createdAt: timeText(createdAt),
    updatedAt: timeText(updatedAt),
  })
}
