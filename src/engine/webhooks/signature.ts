import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Dice } from '../../core/values/clock.js'
import { ChronosError, shown } from '../../core/values/error.js'
import type { JobMessage, JobNews } from '../../core/webhook/message.js'
import type { MessageType } from '../../core/webhook/webhook.js'
import { systemClock } from '../time/system.js'

// Standard Webhooks 1.0.0, symmetric: https://www.standardwebhooks.com

export type { JobMessage } from '../../core/webhook/message.js'

const PREFIX = 'whsec_'
const KEY_BYTES_MIN = 16
const KEY_BYTES_MAX = 128
const TOLERANCE_MS = 300_000
/** The number of signatures of a message that are checked. */
const SIGNATURES_MAX = 16

/** 256 bits. */
export function newSecret(dice: Dice): string {
  return PREFIX + Buffer.from(dice.token() + dice.token(), 'hex').toString('base64')
}

/** Undefined if the text is not a secret. */
function keyOf(secret: unknown): Buffer | undefined {
  if (typeof secret !== 'string' || !/^(?:whsec_)?[A-Za-z0-9+/]+={0,2}$/.test(secret)) return undefined
  const key = Buffer.from(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret, 'base64')
  return key.length >= KEY_BYTES_MIN && key.length <= KEY_BYTES_MAX ? key : undefined
}

function mac(key: Buffer, id: string, timestampS: string, body: string | Uint8Array): Buffer {
  // Sign the bytes as sent: decoding an invalid text would change the body.
  return createHmac('sha256', key).update(`${id}.${timestampS}.`).update(body).digest()
}

export interface SignatureHeaders {
  readonly 'webhook-id': string
  readonly 'webhook-timestamp': string
  readonly 'webhook-signature': string
}

/** One signature per secret, in their order. `id` has no dot, because a dot separates it from the rest. */
export function sign(id: string, at: number, body: string | Uint8Array, secrets: readonly string[]): SignatureHeaders {
  const timestamp = String(Math.floor(at / 1000))
  const keys = secrets.flatMap(secret => keyOf(secret) ?? [])
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': keys.map(key => `v1,${mac(key, id, timestamp, body).toString('base64')}`).join(' '),
  }
}

export interface VerifyOptions {
  /** The raw body, before it was parsed. */
  readonly body: string | Uint8Array
  readonly headers: HeadersLike
  /** `whsec_…`, as returned when the endpoint was created. */
  readonly secret?: string
  /** While a secret is being rotated: a signature by any of them is accepted. */
  readonly secrets?: readonly string[]
  /** The maximum difference between the message's time and now. Default 5 minutes. */
  readonly toleranceMs?: number
  /** Default: the time of this machine. */
  readonly now?: Date | number
}

type HeadersLike =
  | { get(name: string): string | null | undefined }
  | Readonly<Record<string, string | readonly string[] | undefined>>

interface Envelope {
  /** The same for all attempts: a receiver that has seen it may answer 200 and do nothing. */
  readonly id: string
  /** When the event happened. */
  readonly timestamp: string
  /** When this attempt was sent. */
  readonly sentAt: Date
}

/** A message whose signature is valid. `type` tells which `data` it has. */
export type WebhookMessage =
  | (Envelope & { readonly type: JobNews['type']; readonly data: JobMessage })
  | (Envelope & {
      readonly type: Exclude<MessageType, JobNews['type']>
      readonly data: Readonly<Record<string, unknown>>
    })

/**
 * For receivers: verifies the signature and the time of a webhook and returns its message. Throws if it is not valid.
 */
export function verifyWebhook(options: VerifyOptions): WebhookMessage {
  const { body, headers, toleranceMs = TOLERANCE_MS } = options
  const keys = keysOf(options)
  checkBody(body)
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map(name =>
    headerOf(headers, name),
  ) as [string, string, string]
  checkTime(timestamp, options.now, toleranceMs)
  const given = signatures.split(' ').slice(0, SIGNATURES_MAX)
  const expected = keys.map(key => mac(key, id, timestamp, body))
  // Every pair is compared, so that the duration reveals nothing.
  const fits = given.map(one => expected.map(bytes => isEqual(one, bytes)).includes(true))
  if (!fits.includes(true)) {
    throw new ChronosError(
      'SIGNATURE_INVALID',
      'webhook: no signature matches; check the secret, and that the body is the raw bytes received, not re-serialized JSON',
    )
  }
  return { id, ...parsed(body), sentAt: new Date(Number(timestamp) * 1000) } as WebhookMessage
}

function keysOf({ secret, secrets = [] }: VerifyOptions): readonly Buffer[] {
  const all = secret === undefined ? secrets : [secret, ...secrets]
  const keys = all.map(keyOf)
  if (keys.length > 0 && !keys.includes(undefined)) return keys as readonly Buffer[]
  // Never shown: a misspelt secret is still secret.
  throw new ChronosError('INVALID_OPTION', 'verifyWebhook: secret: expected "whsec_" and base64, got something else')
}

/** A framework that has parsed the body passes an object; the bytes are gone then. */
function checkBody(body: unknown): void {
  if (typeof body === 'string' || body instanceof Uint8Array) return
  throw new ChronosError(
    'INVALID_OPTION',
    `verifyWebhook: body: expected the bytes that were received, got ${shown(body)}; in Express use express.raw({ type: '*/*' }) on this route, before express.json()`,
  )
}

function headerOf(headers: HeadersLike, name: string): string {
  const value = isGetter(headers) ? headers.get(name) : fieldOf(headers ?? {}, name)
  const text = Array.isArray(value) ? value.join(' ') : value
  if (typeof text === 'string' && text !== '') return text
  throw new ChronosError('SIGNATURE_MISSING', `webhook: missing header ${name}: the request is unsigned`)
}

function isGetter(headers: HeadersLike): headers is { get(name: string): string | null | undefined } {
  return typeof (headers as { get?: unknown } | undefined)?.get === 'function'
}

function fieldOf(headers: Readonly<Record<string, unknown>>, name: string): unknown {
  return headers[name] ?? Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
}

function checkTime(timestamp: string, now: Date | number = systemClock.now(), toleranceMs: number): void {
  const sentAt = /^\d{1,12}$/.test(timestamp) ? Number(timestamp) * 1000 : Number.NaN
  if (Number.isNaN(sentAt)) {
    throw new ChronosError(
      'SIGNATURE_INVALID',
      `webhook: expected seconds in webhook-timestamp, got ${shown(timestamp)}`,
    )
  }
  if (Math.abs(Number(now) - sentAt) <= toleranceMs) return
  throw new ChronosError(
    'SIGNATURE_EXPIRED',
    `webhook: sent ${new Date(sentAt).toISOString()}, too far from now: it is a replayed message, or a clock is wrong`,
    { details: { timestamp, toleranceMs } },
  )
}

function isEqual(token: string, expected: Buffer): boolean {
  const [version, text = ''] = token.split(',', 2)
  const given = Buffer.from(text, 'base64')
  return version === 'v1' && given.length === expected.length && timingSafeEqual(given, expected)
}

function parsed(body: string | Uint8Array): Pick<WebhookMessage, 'type' | 'timestamp' | 'data'> {
  const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8')
  try {
    const { type, timestamp, data } = JSON.parse(text) as WebhookMessage
    if (typeof type === 'string') return { type, timestamp, data }
  } catch {
    // The error below covers this case as well.
  }
  throw new ChronosError(
    'INVALID_PAYLOAD',
    'webhook: signature is valid, but the body is not a webhook message: expected { type, timestamp, data }',
  )
}
