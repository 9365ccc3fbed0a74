import { parseUrl } from '../http/request.js'
import { timeText } from '../job/view.js'
import { type PartialPolicy, type PolicyInput, parsePolicy } from '../policy/policy.js'
import { ChronosError, shown } from '../values/error.js'
import { checkKeys, checkName, checkText, checkWord } from '../values/limits.js'

/** Deliveries are jobs of this queue. They raise no events of their own, and do not count as retries of anybody's work. */
export const DELIVERIES = 'chronos:deliveries'
export const DELIVERY_JOB = 'chronos:delivery'

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

/** What may be sent: `webhook.test` goes to whom it was asked for, whatever else that one wants. */
export type MessageType = WebhookEvent | 'webhook.test'

export interface Secret {
  /** `whsec_…` */
  readonly value: string
  readonly createdAt: number
  /** It was replaced, and signs until then beside its successor. */
  readonly expiresAt?: number
}

/** `gone`: it answered 410. `failing`: nothing got through for days. */
export type DisabledReason = 'gone' | 'failing' | 'by-hand'

/** Somebody who wants to hear of events, and where. */
export interface Endpoint {
  readonly id: string
  readonly url: string
  readonly events: readonly WebhookEvent[]
  /** Only of jobs in these queues. */
  readonly queues?: readonly string[]
  /** Only of jobs with these names. */
  readonly names?: readonly string[]
  /** Only what belongs to this tenant; without one, everything. */
  readonly tenantId?: string
  readonly retry?: PartialPolicy
  readonly state: 'enabled' | 'disabled'
  readonly disabledReason?: DisabledReason
  readonly disabledAt?: number
  /** The first failure since anything got through. */
  readonly failingSince?: number
  /** The newest first. */
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

/** What a person may say of an endpoint. */
export type EndpointSettings = Pick<Endpoint, 'url' | 'events' | 'queues' | 'names' | 'tenantId' | 'retry'>

const KEYS = ['url', 'events', 'queues', 'names', 'tenantId', 'retry'] as const
const LIST_MAX = 100
export const ENDPOINTS_MAX = 1_000
/** After so long without a success an endpoint is disabled. */
export const FAILING_MAX_MS = 5 * 86_400_000
/** A secret that was replaced signs for so long beside the new one. */
export const SECRET_OVERLAP_MS = 86_400_000
/** Secrets that sign at the same time. */
export const SECRETS_MAX = 5

export function parseEndpoint(input: unknown, where: string): EndpointSettings {
  checkKeys(input, KEYS, where)
  const { url, events, queues, names, tenantId, retry } = input as EndpointInput
  if (tenantId !== undefined) checkText(tenantId, `${where}: tenantId`)
  checkList(events, `${where}: events`)
  for (const event of events) checkWord(event, WEBHOOK_EVENTS, `${where}: events`)
  for (const [key, list] of Object.entries({ queues, names })) {
    if (list === undefined) continue
    checkList(list, `${where}: ${key}`)
    for (const name of list) checkName(name, `${where}: ${key}`)
  }
  return {
    url: webhookUrl(url, `${where}: url`),
    events: [...new Set(events)],
    ...(queues && { queues: [...new Set(queues)] }),
    ...(names && { names: [...new Set(names)] }),
    ...(tenantId !== undefined && { tenantId }),
    ...(retry !== undefined && { retry: parsePolicy(retry, `${where}: retry`, { stored: true }) }),
  }
}

/** An address as webhooks take it; whether it may be reached is for the egress rules. */
export function webhookUrl(value: unknown, where: string): string {
  try {
    return parseUrl(value, where).href
  } catch (error) {
    if (!(error instanceof ChronosError)) throw error
    throw new ChronosError('INVALID_OPTION', error.message)
  }
}

function checkList(list: unknown, where: string): void {
  if (Array.isArray(list) && list.length > 0 && list.length <= LIST_MAX) return
  throw new ChronosError('INVALID_OPTION', `${where}: expected a list of 1 to ${LIST_MAX}, got ${shown(list)}`)
}

/** What decides who wants to hear of something. */
export interface Subject {
  readonly type: WebhookEvent
  readonly tenantId?: string
  /** Where it is about a job. */
  readonly job?: { readonly queue: string; readonly name: string }
}

/** One that is disabled misses what happens meanwhile: kept for it, it would fill the dead letters of others. */
export function wants(endpoint: Endpoint, { type, tenantId, job }: Subject): boolean {
  if (endpoint.state !== 'enabled' || !endpoint.events.includes(type)) return false
  if (endpoint.tenantId !== undefined && endpoint.tenantId !== tenantId) return false
  if (job === undefined) return true
  return (endpoint.queues?.includes(job.queue) ?? true) && (endpoint.names?.includes(job.name) ?? true)
}

// ---------------------------------------------------------------- secrets

/** Those that sign at this time, the newest first. */
export function liveSecrets(secrets: readonly Secret[], now: number): readonly string[] {
  return secrets.filter(({ expiresAt = Number.POSITIVE_INFINITY }) => expiresAt > now).map(({ value }) => value)
}

/** The new one signs first; the one before it a while longer, so that receivers can change over. */
export function withSecret(secrets: readonly Secret[], value: string, now: number): readonly Secret[] {
  const old = secrets
    .filter(({ expiresAt = Number.POSITIVE_INFINITY }) => expiresAt > now)
    .map(secret => ({ ...secret, expiresAt: Math.min(secret.expiresAt ?? Infinity, now + SECRET_OVERLAP_MS) }))
  return [{ value, createdAt: now }, ...old].slice(0, SECRETS_MAX)
}

// ---------------------------------------------------------------- health

/** What an endpoint becomes when a delivery failed; itself where nothing changes. */
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

/** An endpoint as people see it: its secrets are told once, when they are made. */
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
  /** How many secrets sign at present, and until when those that were replaced do. */
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
