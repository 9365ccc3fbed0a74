import { url, urlOf } from '../http/request.js'
import { timeText } from '../job/view.js'
import { type PartialPolicy, type PolicyInput, parsePolicy } from '../policy/policy.js'
import { ChronosError, shown } from '../values/error.js'
import { checkKeys, checkName, checkText, checkWord } from '../values/limits.js'
import { read } from '../values/schema.js'

/** Deliveries are jobs of this queue. They raise no events, and do not count as retries of the user's jobs. */
export const DELIVERIES = 'chronos:deliveries'
export const DELIVERY_JOB = 'chronos:delivery'

const ENDPOINT = 'webhook:'

/** The dependency of deliveries to an endpoint id, or to the origin of a job's own URL. */
export const endpointKey = (endpoint: string): string => ENDPOINT + endpoint

/** Whether the dependency is an endpoint, and not a URL that a job named. */
export const isEndpointKey = (key: string): boolean =>
  key.startsWith(ENDPOINT) && !/^https?:/.test(key.slice(ENDPOINT.length))

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

export interface EndpointInput {
  readonly url: string
  readonly events: readonly WebhookEvent[]
  readonly queues?: readonly string[]
  readonly names?: readonly string[]
  readonly tenantId?: string
  /** Default: after 30 s, 60 s and 120 s. */
  readonly retry?: PolicyInput
}

/** The settings of an endpoint that a user can give. */
export type EndpointSettings = Pick<Endpoint, 'url' | 'events' | 'queues' | 'names' | 'tenantId' | 'retry'>

const KEYS = ['url', 'events', 'queues', 'names', 'tenantId', 'retry'] as const
const LIST_MAX = 100
export const ENDPOINTS_MAX = 1_000
/** An endpoint without a success for this long is disabled. */
export const FAILING_MAX_MS = 5 * 86_400_000
/** How long a replaced secret still signs beside the new one. */
export const SECRET_OVERLAP_MS = 86_400_000
/** The maximum number of secrets that sign at the same time. */
export const SECRETS_MAX = 5

export function parseEndpoint(input: unknown, where: string): EndpointSettings {
  checkKeys(input, KEYS, where)
  const { url: given, events, queues, names, tenantId, retry } = input as EndpointInput
  if (tenantId !== undefined) checkText(tenantId, `${where}: tenantId`)
  checkList(events, `${where}: events`)
  for (const event of events) checkWord(event, WEBHOOK_EVENTS, `${where}: events`)
  for (const [key, list] of Object.entries({ queues, names })) {
    if (list === undefined) continue
    checkList(list, `${where}: ${key}`)
    for (const name of list) checkName(name, `${where}: ${key}`)
  }
  return {
    url: webhookUrl(given, `${where}: url`),
    events: [...new Set(events)],
    ...(queues && { queues: [...new Set(queues)] }),
    ...(names && { names: [...new Set(names)] }),
    ...(tenantId !== undefined && { tenantId }),
    ...(retry !== undefined && { retry: parsePolicy(retry, `${where}: retry`, { stored: true }) }),
  }
}

/** A URL as webhooks accept it; the egress rules decide whether it may be reached. */
export function webhookUrl(value: unknown, where: string): string {
  return urlOf(read(url, value, where)).href
}

function checkList(list: unknown, where: string): void {
  if (Array.isArray(list) && list.length > 0 && list.length <= LIST_MAX) return
  throw new ChronosError('INVALID_OPTION', `${where}: expected a list of 1 to ${LIST_MAX}, got ${shown(list)}`)
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

// ---------------------------------------------------------------- secrets

/** The secrets that sign at this time, newest first. */
export function liveSecrets(secrets: readonly Secret[], now: number): readonly string[] {
  return secrets.filter(({ expiresAt = Number.POSITIVE_INFINITY }) => expiresAt > now).map(({ value }) => value)
}

/** The new secret signs first; the previous one signs for a while longer, so that receivers can switch. */
export function withSecret(secrets: readonly Secret[], value: string, now: number): readonly Secret[] {
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

export function afterSuccess(endpoint: Endpoint): Endpoint {
  if (endpoint.failingSince === undefined) return endpoint
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

/** An endpoint as users see it: its secrets are shown only once, when they are made. */
export interface EndpointView {
  readonly id: string
  readonly url: string
  readonly events: readonly WebhookEvent[]
  readonly queues?: readonly string[]
  readonly names?: readonly string[]
  readonly tenantId?: string
  readonly retry?: PartialPolicy
  readonly state: Endpoint['state']
  readonly disabledReason?: DisabledReason
  readonly disabledAt?: string
  readonly failingSince?: string
  /** How many secrets sign at present, and until when the replaced ones do. */
  readonly secrets: readonly { readonly createdAt: string; readonly expiresAt?: string }[]
  readonly createdAt: string
  readonly updatedAt: string
}

export function viewEndpoint(endpoint: Endpoint, now: number): EndpointView {
  const { secrets, createdAt, updatedAt, disabledAt, failingSince, ...rest } = endpoint
  const live = secrets.filter(({ expiresAt = Number.POSITIVE_INFINITY }) => expiresAt > now)
  return {
    ...rest,
    ...(disabledAt !== undefined && { disabledAt: timeText(disabledAt) }),
    ...(failingSince !== undefined && { failingSince: timeText(failingSince) }),
    secrets: live.map(secret => ({
      createdAt: timeText(secret.createdAt),
      ...(secret.expiresAt !== undefined && { expiresAt: timeText(secret.expiresAt) }),
    })),
    createdAt: timeText(createdAt),
    updatedAt: timeText(updatedAt),
  }
}
